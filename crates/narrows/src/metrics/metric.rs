//! One number of a summary, and its name.

use serde::{Deserialize, Deserializer, Serialize};

/// One number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// `group.metric`.
    pub name: String,
    /// Its value; none if there is nothing to take it of.
    pub value: Option<f64>,
}

/// The value of a metric; none if there was nothing to take it of.
pub(crate) fn value(metrics: &[Metric], name: &str) -> Option<f64> {
    metrics.iter().find(|metric| metric.name == name)?.value
}

/// The name that a metric has now: results and scenarios of older versions have `wan_max_utilisation`.
pub(crate) fn current_name(name: &str) -> String {
    name.strip_suffix("_utilisation")
        .map_or_else(|| name.to_owned(), |before| format!("{before}_utilization"))
}

/// Reads the name of a metric, in the spelling of any version.
pub(crate) fn read_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|name| current_name(&name))
}
