//! Diagnostics for people.

use std::io::IsTerminal;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Severity};
use narrows::diagnostic::{self, Diagnostic, Rejection};

use crate::excerpt;
use crate::output::to_stderr_as_it_is;

/// A diagnostic in the form miette draws.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.message)]
struct Drawn(Diagnostic, Option<NamedSource<String>>);

impl miette::Diagnostic for Drawn {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(self.0.code.name()))
    }

    fn severity(&self) -> Option<Severity> {
        Some(match self.0.severity {
            diagnostic::Severity::Error => Severity::Error,
            diagnostic::Severity::Warning => Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.0.help.as_ref().map(|help| Box::new(help) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.1.as_ref().map(|source| source as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.0.place.as_ref()?;
        let label = LabeledSpan::new_with_span(Some("here".into()), place.span.clone());
        Some(Box::new(std::iter::once(label)))
    }
}

/// All diagnostics as the command prints them, without colors.
pub fn text(rejection: &Rejection) -> String {
    let texts: Vec<_> = rejection.0.iter().map(|one| drawn(one, GraphicalTheme::unicode_nocolor())).collect();
    texts.join("\n")
}

/// Prints all diagnostics to standard error.
pub(crate) fn show(rejection: &Rejection) {
    for diagnostic in &rejection.0 {
        show_one(diagnostic);
    }
    if let Some(first) = rejection.0.first() {
        complain!("narrows explain {} says more", first.code.name());
    }
}

/// Prints one diagnostic to standard error.
pub(crate) fn show_one(diagnostic: &Diagnostic) {
    let terminal = std::io::stderr().is_terminal();
    let theme = if terminal { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    to_stderr_as_it_is(drawn(diagnostic, theme));
}

fn drawn(diagnostic: &Diagnostic, theme: GraphicalTheme) -> String {
    let tame = excerpt::tame(diagnostic);
    let diagnostic: &Diagnostic = &tame;
    let source = diagnostic.place.as_ref().map(|place| {
        let source = &place.source;
        NamedSource::new(source.name.clone(), source.text.clone())
    });
    let handler = GraphicalReportHandler::new_themed(theme).with_width(110).with_links(false);
    let mut text = String::new();
    match handler.render_report(&mut text, &Drawn(diagnostic.clone(), source)) {
        Ok(()) => text.trim_end().to_owned(),
        Err(_) => diagnostic.to_string(),
    }
}
