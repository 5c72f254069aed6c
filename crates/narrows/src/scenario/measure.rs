use narrows_proto::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::{Names, matches};
use crate::mechanism::list::mechanisms;

/// When a run ends.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// After this much simulated time. Traffic starts until then, unless it says otherwise.
    pub after: Span,
    /// Let flows that have started finish, for this much longer at most. Patterns start nothing new after `after`.
    #[serde(default)]
    pub drain: Span,
}

/// Which flows count in summaries: those that start in this time. All others run as well and are in the tables.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Measure {
    /// Warm-up: flows that start earlier do not count.
    pub from: Span,
    /// Cut-off: flows that start later do not count; the end of the run if left out.
    pub until: Option<Span>,
}

/// Makes the settings of what is recorded, with the keys of mechanisms.
macro_rules! record {
    ($($mechanism:ident: $about:literal $key:ident: $written:ident of $rows:ty,)*) => {
        /// Data recorded besides flows. Recording changes nothing else.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Record {
            /// Backlog, marks and drops of ports.
            pub queues: Option<RecordPorts>,
            /// Bytes sent over links.
            pub links: Option<RecordPorts>,
            /// Windows and rates of flows.
            pub windows: Option<RecordFlows>,
            /// Variables of congestion controls besides windows and rates: `alpha`, `ssthresh`, modes.
            pub state: Option<RecordFlows>,
            $(#[doc = $about] pub $key: Option<$written>,)*
        }
    };
}

mechanisms!(record => record);

/// Which switches are recorded.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordNodes {
    /// Their names; `*` stands for any characters. All if left out.
    pub of: Option<Names>,
}

/// Which ports are recorded, and how often.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordPorts {
    /// Length of the intervals over which is aggregated.
    pub interval: Span,
    /// The nodes whose ports are recorded; `*` stands for any characters. All switches if left out.
    pub of: Option<Names>,
}

/// Nodes of which a mechanism records something, as they are written.
pub(crate) trait OfNodes {
    /// Intervals over which is aggregated, if it is.
    fn interval(&self) -> Option<Span>;

    /// The names of the nodes; none for all switches.
    fn names(&self) -> Option<Names>;
}

impl OfNodes for RecordNodes {
    fn interval(&self) -> Option<Span> {
        None
    }

    fn names(&self) -> Option<Names> {
        self.of.clone()
    }
}

impl OfNodes for RecordPorts {
    fn interval(&self) -> Option<Span> {
        Some(self.interval)
    }

    /// Hosts as well, if none are named.
    fn names(&self) -> Option<Names> {
        self.of.clone().or_else(|| Some(Names::One("*".into())))
    }
}

/// Which flows are recorded, and how often.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordFlows {
    /// At most one row per flow in this time.
    pub interval: Span,
    /// Traffic groups whose flows are recorded; all if left out.
    pub of: Option<Names>,
    /// Of each group, the first so many flows; if left out 8, and a warning (N0181) reports groups that have more.
    #[serde(default)]
    pub flows: Flows,
}

impl RecordFlows {
    /// Whether flows of the traffic group of this name are recorded.
    pub(crate) fn has(&self, group: &str) -> bool {
        let names: Vec<_> = self.of.iter().flat_map(Names::iter).collect();
        names.is_empty() || names.iter().any(|name| matches(name, group))
    }
}

/// Number of flows recorded of a group.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Flows(pub u32);

impl Default for Flows {
    fn default() -> Self {
        Self(8)
    }
}

/// A bound on a metric of the summary. A run that breaks one ends with exit status 1.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The metric: `group.name` or `total.name`, as `narrows run --json` prints them.
    #[serde(deserialize_with = "crate::metrics::read_name")]
    pub metric: String,
    /// It must be below this.
    pub below: Option<f64>,
    /// It must be above this.
    pub above: Option<f64>,
}
