//! Completions for shells: names of templates, papers and topics, and paths of settings.

use std::ffi::OsStr;

use clap::ValueEnum;
use clap_complete::CompletionCandidate;
use clap_complete::env::Shells;
use narrows::reference::{self, TopicKind, topics_of};

/// The variable that a shell sets when it asks what may come next.
pub(crate) const VARIABLE: &str = "NARROWS_COMPLETE";

/// Shells that completions exist for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

impl Shell {
    /// The script that makes the shell ask this command, whatever it is called.
    pub(crate) fn script(self, command: &str) -> Vec<u8> {
        let name = self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let mut script = Vec::new();
        if let Some(completer) = Shells::builtins().completer(&name) {
            // A vector takes everything.
            let _ = completer.write_registration(VARIABLE, command, command, command, &mut script);
        }
        script
    }
}

pub(super) fn templates() -> Vec<CompletionCandidate> {
    candidates(topics_of(TopicKind::Template))
}

/// Everything that can be explained.
pub(super) fn topics() -> Vec<CompletionCandidate> {
    candidates(reference::topics().into_iter().chain(topics_of(TopicKind::Setting)))
}

fn candidates(topics: impl IntoIterator<Item = reference::Topic>) -> Vec<CompletionCandidate> {
    let candidate =
        |topic: reference::Topic| CompletionCandidate::new(topic.name).help(Some(topic.summary.into()));
    topics.into_iter().map(candidate).collect()
}

/// Paths of settings, for `--set PATH=VALUE`: the keys that may follow.
pub(super) fn settings(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str().filter(|current| !current.contains('=')) else { return Vec::new() };
    let candidate = |found: reference::NextKey| {
        let end = if found.goes_on { "." } else { "=" };
        CompletionCandidate::new(found.path + end).help(Some(found.meaning.into()))
    };
    reference::next_keys(current).into_iter().map(candidate).collect()
}
