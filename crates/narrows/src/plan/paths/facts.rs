//! Links that have more than a rate and a delay, in words.

use narrows_proto::units::{BitRate, Span};
use narrows_sim::Network;
use narrows_sim::path::{Path, Rate, Steps};
use serde::Serialize;

/// What a direction of a link does beyond a rate and a delay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathFacts {
    /// The link, `from -> to`.
    pub link: String,
    /// What it does, in words.
    pub does: Vec<String>,
}

/// Of all links, in order.
pub(in crate::plan) fn path_facts(network: &Network) -> Vec<PathFacts> {
    let paths = network.paths.iter();
    paths
        .map(|(link, path)| PathFacts { link: network.topology.link_name(*link), does: describe(path) })
        .collect()
}

fn describe(path: &Path) -> Vec<String> {
    let mut does = Vec::new();
    match &path.rate {
        None => {}
        Some(Rate::Steps(steps)) => does.push(format!("rate {}", over_time(steps, BitRate::to_string))),
        Some(Rate::Opportunities(all)) => {
            let mean = BitRate::per(all.per_period(), all.period());
            does.push(format!(
                "{mean:.1} at the opportunities of a trace, which repeats after {}",
                all.period()
            ));
        }
    }
    if let Some(delay) = &path.delay {
        does.push(format!("delay {}", over_time(delay, Span::to_string)));
    }
    if let Some(loss) = &path.loss {
        let mut loss: Vec<_> = loss.values().collect();
        loss.sort_by(f64::total_cmp);
        does.push(format!("loss {} to {}", loss[0], loss[loss.len() - 1]));
    }
    does
}

/// The least and the most of its values, and how often it changes.
fn over_time<T: Copy + Ord>(steps: &Steps<T>, text: impl Fn(&T) -> String) -> String {
    let count = steps.values().count();
    let ends = [steps.values().min(), steps.values().max()];
    let ends: Vec<_> = ends.iter().flatten().map(text).collect();
    let changes = if count == 2 { "1 change".to_owned() } else { format!("{} changes", count - 1) };
    let repeats = steps.period().map_or_else(String::new, |period| format!(", repeated after {period}"));
    format!("{} in {changes}{repeats}", ends.join(" to "))
}
