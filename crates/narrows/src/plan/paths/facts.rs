//! Links that have more than a rate and a delay, in words.

use narrows_proto::units::{BitRate, Span};
use narrows_sim::Network;
use narrows_sim::path::{
    Added, Excess, Gap, Jitter, Keep, Mangling, Path, Peak, Policer, Rate, Shaper, Slots, Steps,
};
use serde::Serialize;

/// Behavior of a direction of a link beyond a rate and a delay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathFacts {
    /// The link, `from -> to`.
    pub link: String,
    /// The behavior in words.
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
        let (least, most) = (loss[0], loss[loss.len() - 1]);
        does.push(if least < most { format!("loss {least} to {most}") } else { format!("loss {least}") });
    }
    if let Some(bursts) = &path.bursts {
        does.push(format!("{:.2} % lost in bursts on the mean", 100.0 * bursts.mean_loss()));
    }
    if let Some(Policer { rate, burst, excess }) = path.policer {
        let what = if excess == Excess::Mark { "marked" } else { "dropped" };
        does.push(format!("{what} beyond {rate} and a burst of {burst}"));
    }
    does.extend(path.ecn.map(|ecn| {
        let change = match ecn {
            Mangling::Bleach => "ECN cleared",
            Mangling::ToEct0 => "ECT(1) becomes ECT(0)",
            Mangling::Unmark => "marks taken off",
        };
        change.to_owned()
    }));
    if let Some(Shaper { rate, burst, peak }) = path.shaper {
        let peak = peak.map_or_else(String::new, |Peak { rate, burst }| {
            format!(", sent at {rate} in bursts of {burst}")
        });
        does.push(format!("shaped to {rate} after a burst of {burst}{peak}"));
    }
    does.extend(path.jitter.as_ref().map(jitter));
    does.extend(path.slots.as_ref().map(slots));
    does
}

fn jitter(Jitter { added, late, reorder }: &Jitter) -> String {
    let added = match added {
        None => None,
        Some(Added::Uniform { most }) => Some(format!("up to {most} of jitter")),
        Some(Added::Normal { mean, deviation }) => Some(format!("normal jitter of {mean} ± {deviation}")),
        Some(Added::Pareto { least, shape }) => Some(format!("Pareto jitter from {least} on, shape {shape}")),
    };
    let late = late.map(|late| format!("{} of the packets {} late", late.probability, late.by));
    let order = if *reorder { "which reorders" } else { "in order" };
    added.into_iter().chain(late).chain([order.to_owned()]).collect::<Vec<_>>().join(", ")
}

fn slots(Slots { gap, max_packets, max_bytes, keep }: &Slots) -> String {
    let gap = match gap {
        Gap::Fixed(gap) => format!("slots of {gap}"),
        Gap::Uniform { least, most } => format!("slots of {least} to {most}"),
        Gap::Exponential { mean } => format!("slots at random, {mean} on the mean"),
    };
    let packets = max_packets.map(|packets| format!("at most {packets} packets"));
    let bytes = max_bytes.map(|bytes| format!("at most {bytes}"));
    let keep = (*keep == Keep::LastAck).then(|| "the last acknowledgment of a flow".to_owned());
    [Some(gap), packets, bytes, keep].into_iter().flatten().collect::<Vec<_>>().join(", ")
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
