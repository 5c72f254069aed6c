//! Narrows held against theory, standards and published measurements.
//!
//! A [`Comparison`] is data (`fidelity/<part>.toml`): a scenario, what is measured in it, the value that a source reports or that a
//! formula gives, and a band around that value, fixed before the first run. A [`Study`] is the list of runs that one call needs, a
//! [`Fidelity`] is what came out. Running is left to [`crate::run::run_all`].
//!
//! To add a comparison: an entry in a file of `fidelity/`, a scenario in `fidelity/scenarios/` with a line in `texts.rs` if none of
//! those that are there can be changed to it by `set`, and a line in `theory` if its formula is new.

mod comparison;
mod markdown;
mod quantity;
mod settings;
mod study;
mod texts;
mod theory;

use std::sync::LazyLock;

use serde::Deserialize;

pub use comparison::{Band, Comparison, Expected};
pub use study::{Fidelity, Outcome, Request, Run, Study};

use texts::FILES;

use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::document::Document;
use crate::scenario::matches;

/// Comparisons that belong together.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its title.
    pub title: String,
    /// Their common subject.
    pub about: String,
    #[serde(rename = "comparison")]
    /// The comparisons.
    pub comparisons: Vec<Comparison>,
}

/// All comparisons.
///
/// # Panics
/// If a file of them cannot be read. They are part of the program.
pub static PARTS: LazyLock<Vec<Part>> = LazyLock::new(|| {
    let part = |(name, text): &(&str, &str)| {
        let document = Document::parse(&format!("fidelity/{name}.toml"), *text, "");
        let part = document.and_then(|document| document.read_into::<Part>());
        part.unwrap_or_else(|rejection| panic!("{rejection}"))
    };
    FILES.iter().map(part).collect()
});

/// All comparisons, in order.
pub fn all() -> impl Iterator<Item = &'static Comparison> {
    PARTS.iter().flat_map(|part| &part.comparisons)
}

/// The comparisons of these names, in order; all of them if there are no names. In a name, `*` stands for any characters.
///
/// # Errors
/// If a name fits none.
pub fn find(names: &[String]) -> Checked<Vec<&'static Comparison>> {
    for name in names {
        if !all().any(|comparison| matches(name, &comparison.id)) {
            let message = format!("no comparison is called \"{name}\"");
            let error = Diagnostic::error(Code::UnknownName, message);
            return Err(error.known(name, all().map(|comparison| comparison.id.as_str())).into());
        }
    }
    let wanted =
        |comparison: &&Comparison| names.is_empty() || names.iter().any(|name| matches(name, &comparison.id));
    Ok(all().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn there_are_at_least_forty_and_no_two_have_one_id() {
        let ids: BTreeSet<_> = all().map(|comparison| &comparison.id).collect();
        assert_eq!(ids.len(), all().count());
        assert!(ids.len() >= 40, "{}", ids.len());
    }

    #[test]
    fn every_scenario_is_used_and_every_comparison_says_all_there_is_to_say() {
        for (name, _) in texts::SCENARIOS {
            assert!(all().any(|comparison| comparison.scenario == *name), "nobody uses {name}");
        }
        for comparison in all() {
            let Comparison { id, title, source, why, .. } = comparison;
            let short: Vec<_> = [title, source, why].into_iter().filter(|text| text.len() < 10).collect();
            assert!(short.is_empty(), "{id}: {short:?}");
            assert!(id.split_once('.').is_some_and(|(part, rest)| !part.is_empty() && !rest.is_empty()));
        }
    }

    #[test]
    fn names_may_have_stars_and_unknown_ones_are_met_with_the_nearest() {
        assert_eq!(find(&[]).unwrap().len(), all().count());
        let some = find(&["dctcp.*".to_owned()]).unwrap();
        assert!(some.len() > 3 && some.iter().all(|comparison| comparison.id.starts_with("dctcp.")));
        let id = &some[0].id;
        let one = find(&[id.clone(), id.clone()]).unwrap();
        assert_eq!(one.len(), 1);
        let error = find(&[format!("{id}x")]).unwrap_err().to_string();
        assert!(error.contains(&format!("did you mean \"{id}\"")), "{error}");
    }
}
