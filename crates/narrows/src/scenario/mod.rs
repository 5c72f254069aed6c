//! The scenario as a user writes it: one TOML file. Every type here refuses keys it does not know.

mod collective;
mod complete;
mod controls;
mod measure;
mod names;
mod paths;
mod reaction;
mod share;
mod switches;
mod topology;
mod traffic;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::OnceLock;

use narrows_proto::stream;
use narrows_proto::units::Span;
use narrows_sim::{Hosts, RealHosts, Routing, Salt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use collective::{Collective, CollectiveKind, Schedule};
pub(crate) use controls::gemini_of;
pub(crate) use measure::OfNodes;
pub use measure::{Expect, Flows, Measure, Record, RecordFlows, RecordPorts, Stop};
pub use names::Names;
pub(crate) use names::matches;
pub use paths::{
    CsvTrace, DelayOverTime, DelayRamp, DelaySteps, Direction, LinkPath, LossSteps, MahimahiTrace, PathLoss,
    PathProfile, RateOverTime, RateRamp, RateSteps,
};
pub use reaction::ReactionPoints;
pub use share::Share;
pub use switches::{PortChoice, Switch, default_switch};
pub use topology::{Explicit, ExplicitLink, ExplicitSwitch, Topology};
pub use traffic::{Between, Counts, LinkSet, Pairing, Pattern, Poisson, Rpc, SizeSource, Traffic};

use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::document::Document;
pub use crate::reference::variants;

/// The newest version of the format, and the one that is written for users. Hosts are real in it unless it says otherwise; in
/// version 1 they are ideal.
pub const VERSION: i64 = 2;
/// All versions that can be read.
pub const VERSIONS: RangeInclusive<i64> = 1..=VERSION;

/// Keys that may be left out and yet stand in every scenario that [`Scenario::to_toml`] writes. Where all of them are, the scenario is
/// taken for a stored one, which has every setting that there was when it was stored.
const ALWAYS_STORED: [&str; 9] =
    ["seed", "measure", "switches", "routing", "transport", "failures", "record", "expect", "ports"];

/// An experiment.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Version of this format: 2, or 1, in which hosts are ideal if nothing is said of them.
    pub version: i64,
    /// Names the results.
    pub name: String,
    /// The same seed gives the same results.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// When the run ends.
    pub stop: Stop,
    /// Which flows count.
    #[serde(default)]
    pub measure: Measure,
    /// The network.
    pub topology: Topology,
    /// Settings of switches by class (`tor`, `spine`, …); `default` for classes without settings of their own.
    #[serde(default)]
    pub switches: BTreeMap<String, Switch>,
    /// Differences of hosts from ideal machines; real with all defaults if left out, ideal in version 1.
    #[serde(default)]
    pub hosts: Option<Hosts>,
    /// Limiters that listen to the congestion points of switches; none if left out.
    pub reaction_points: Option<ReactionPoints>,
    /// Rule by which switches choose among shortest paths.
    #[serde(default)]
    pub routing: Routing,
    /// Salts of the hash by which switches choose for each flow (`ecmp`, `wcmp`); each has its own if left out.
    #[serde(default, skip_serializing_if = "Salt::is_per_switch")]
    pub hash_salt: Salt,
    /// Settings of connections, for all traffic that does not set them itself.
    #[serde(default)]
    pub transport: stream::Params,
    /// Who sends what to whom.
    #[serde(default)]
    pub traffic: Vec<Traffic>,
    /// Links that fail.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// Links that have more than a rate and a delay: what changes over time, what is lost, held up or put out of order there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<LinkPath>,
    /// Data recorded besides flows.
    #[serde(default)]
    pub record: Record,
    /// Conditions that the results must satisfy.
    #[serde(default)]
    pub expect: Vec<Expect>,
    /// Kind of ports; chosen by what the traffic needs if left out.
    #[serde(default)]
    pub ports: PortChoice,
}

/// A link that fails in both directions.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The two nodes it joins.
    pub link: (String, String),
    /// When it fails.
    pub from: Span,
    /// When it works again; never if left out.
    pub until: Option<Span>,
    /// Time that switches need to notice a change and route around it; they never do if left out.
    pub reroute_after: Option<Span>,
}

static SCHEMA: OnceLock<Value> = OnceLock::new();

/// The schema of what a scenario may say, for errors and for what is left out. [`Scenario::schema`] says more.
fn plain_schema() -> &'static Value {
    SCHEMA.get_or_init(derived_schema)
}

/// As it follows from types.
#[cfg(not(target_family = "wasm"))]
fn derived_schema() -> Value {
    schemars::schema_for!(Scenario).to_value()
}

/// In a page the code that derives it would be a tenth of all. It is handed over with [`Scenario::follow_schema`].
#[cfg(target_family = "wasm")]
fn derived_schema() -> Value {
    Value::Null
}

fn first_seed() -> u64 {
    1
}

impl Scenario {
    /// Keys that are left out, and what errors show, follow this schema, that of [`schema`](Self::schema), instead of one derived once
    /// more. It has no effect after the first scenario has been read.
    pub fn follow_schema(schema: Value) {
        _ = SCHEMA.set(schema);
    }

    /// Reads the scenario in a document.
    ///
    /// # Errors
    /// If it is for a newer version, a key is unknown or missing, or a value cannot be read.
    pub fn from_document(document: &mut Document) -> Checked<Self> {
        document.follow(plain_schema);
        document.inherit("transport", "traffic");
        document.follow_profiles();
        let (mut scenario, is_stored): (Self, bool) = document.read_after(|written| {
            // A newer scenario is told from a mistaken one before anything else is looked at.
            if let Some(version) = written.integer("version").filter(|version| !VERSIONS.contains(version)) {
                let message =
                    format!("the scenario is for version {version}, this narrows reads 1 and {VERSION}");
                return Err(Diagnostic::error(Code::Version, message).at(document.place("version")).into());
            }
            Ok(written.has_all(&ALWAYS_STORED))
        })?;
        let default = if scenario.version == 1 { Hosts::Ideal } else { Hosts::Real(RealHosts::default()) };
        scenario.hosts.get_or_insert(default);
        // Scenarios that were stored before there was a choice drew their pairs.
        let left_out = if is_stored { Pairing::Random } else { Pairing::Auto };
        for pairing in scenario.traffic.iter_mut().filter_map(|group| group.pattern.pairing_mut()) {
            pairing.get_or_insert(left_out);
        }
        // The same holds for those that were stored, or written, before switches were asked for their K.
        if scenario.version > 1 && !is_stored {
            controls::leave_to_switches(&mut scenario.traffic);
        }
        Ok(scenario)
    }

    /// The scenario as TOML, with every setting that has a default. Those whose default follows from other settings are written out
    /// by [`Plan::text`](crate::plan::Plan::text).
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("whatever was read from TOML can be written as TOML")
    }

    /// The files that it names: traces and distributions of sizes.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let traffic = self.traffic.iter_mut().filter_map(|group| group.pattern.file_mut());
        traffic.chain(self.paths.iter_mut().filter_map(LinkPath::file_mut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_scenario_always_stores_tells_it_from_one_that_was_written() {
        let written = crate::templates::find("dumbbell").expect("built in").document().expect("parses");
        let stored = Scenario::from_document(&mut written.clone()).expect("fits").to_toml();
        let stored = Document::parse("stored", stored, "").expect("parses");
        assert!(stored.has_all(&ALWAYS_STORED));
        assert!(!written.has_all(&ALWAYS_STORED));
    }
}
