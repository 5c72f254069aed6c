//! Profiles of links: what they set in an entry of `paths`, and where it is from. Values that differ from one network to the next are
//! called estimates.

use std::borrow::Cow;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

/// A kind of link, with all that it sets.
pub(crate) struct LinkProfile {
    /// As it stands in scenarios.
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) source: &'static str,
    /// Keys of an entry of `paths`, their values as TOML, and their sources.
    constants: &'static [(&'static str, &'static str, &'static str)],
    differs: &'static [&'static str],
}

/// All kinds.
pub(crate) const LINK_PROFILES: &[LinkProfile] = &[
    LinkProfile {
        name: "wifi",
        summary: "a link over Wi-Fi: frames leave in aggregates when the channel is won",
        source: "IEEE 802.11n, 802.11ac; estimates",
        constants: &[(
            "slots",
            r#"{ gap = { exponential = { mean = "2 ms" } }, max_packets = 64 }"#,
            "an aggregate has up to 64 frames, as many as a block acknowledgment covers (256 in 802.11ax); the mean time between two is an estimate for a channel with some other stations, whose turns take up to 4 ms",
        )],
        differs: &[
            "the time that a station sends is not taken from the other direction, nor from other links: give both directions a profile and a rate each",
            "frames that are lost on the air are retransmitted by stations at once: what is left is for `loss` and `jitter`",
        ],
    },
    LinkProfile {
        name: "cable",
        summary: "the direction from a cable modem: packets wait for grants, and acknowledgments are thinned",
        source: "DOCSIS; estimates",
        constants: &[(
            "slots",
            r#"{ gap = { uniform = { least = "2 ms", most = "8 ms" } }, keep = "last_ack" }"#,
            "grants come 2 to 8 ms after a request, one in a map of 2 ms, and carry all that has waited; many modems discard acknowledgments that newer ones make needless",
        )],
        differs: &["a request takes no time: what comes just before a grant is in it"],
    },
    LinkProfile {
        name: "satellite",
        summary: "a path over satellites in low orbits, which is switched every 15 s",
        source: "estimates",
        constants: &[
            (
                "delay",
                r#"{ steps = { at = [["0 s", "20 ms"], ["15 s", "27 ms"], ["30 s", "23 ms"], ["45 s", "31 ms"]], repeat_after = "60 s" } }"#,
                "satellites are assigned anew every 15 s; delays of one direction are estimates",
            ),
            (
                "jitter",
                r#"{ added = { uniform = { most = "6 ms" } } }"#,
                "an estimate: time of scheduling, in order",
            ),
            (
                "loss",
                r#"{ gilbert_elliott = { p = 0.0005, r = 0.1 } }"#,
                "an estimate: 0.5 % in bursts of ten packets",
            ),
        ],
        differs: &["a switch takes no time; `failures` can make it an outage"],
    },
];

impl LinkProfile {
    /// All of it as Markdown.
    pub(crate) fn about(&self) -> String {
        let mut text = "Sets what an entry leaves out:\n\n".to_owned();
        for (key, value, source) in self.constants {
            text.push_str(&format!("- `{key} = {value}`: {source}\n"));
        }
        text.push_str("\nDiffers:\n\n");
        self.differs.iter().for_each(|what| text.push_str(&format!("- {what}\n")));
        text
    }
}

/// Gives the entries of `paths` the values of their profiles where they have none.
pub(super) fn complete(root: &mut DeTable<'_>) {
    let Some(DeValue::Array(paths)) = root.get_mut("paths").map(Spanned::get_mut) else { return };
    for path in paths.iter_mut() {
        let DeValue::Table(path) = path.get_mut() else { continue };
        let Some(name) = path.get("profile") else { continue };
        let span = name.span();
        let info =
            name.get_ref().as_str().and_then(|name| LINK_PROFILES.iter().find(|info| info.name == name));
        for (key, value, _) in info.map_or(&[][..], |info| info.constants) {
            if !path.contains_key(*key) {
                let value = DeValue::parse(value).expect("constants of profiles are TOML").into_inner();
                path.insert(
                    Spanned::new(span.clone(), Cow::Borrowed(*key)),
                    Spanned::new(span.clone(), value),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::plan::Plan;

    #[test]
    fn every_profile_sets_what_it_lists_and_what_is_written_wins() {
        for info in LINK_PROFILES {
            let text = format!(
                "version = 2\nname = \"a\"\nstop.after = \"1 s\"\n\
                topology.dumbbell = {{ hosts = 1, host_rate = \"1 Gb/s\", bottleneck_rate = \"10 Mb/s\", host_delay = \"1 us\", bottleneck_delay = \"1 ms\" }}\n\
                paths = [{{ link = [\"left/switch\", \"right/switch\"], profile = \"{}\", jitter = {{ added = {{ uniform = {{ most = \"1 ms\" }} }} }} }}]\n\
                traffic = [{{ name = \"one\", pattern.long_lived = {{ flows = 1, from = \"left/host0\", to = \"right/host0\" }}, cc.reno = {{}} }}]",
                info.name
            );
            let plan = Plan::new(Document::parse("a.toml", text, "").expect("TOML"))
                .unwrap_or_else(|error| panic!("{error}"));
            let stored: toml::Value = toml::from_str(&plan.text).expect("TOML");
            let entry = &stored["paths"][0];
            for (key, _, source) in info.constants {
                assert!(entry.get(key).is_some() && !source.is_empty(), "{key}");
            }
            assert_eq!(entry["jitter"]["added"]["uniform"]["most"].as_str(), Some("1 ms"));
            let again = Plan::new(Document::parse("b.toml", plan.text.as_str(), "").expect("TOML"));
            assert_eq!(again.unwrap_or_else(|error| panic!("{error}")).network.paths, plan.network.paths);
        }
    }
}
