//! Traffic that is drawn: how far a run may be from the load that was asked for, and how long it must be to come near.
//!
//! Flows come at random and have random sizes, so what `n` of them bring together deviates from its mean: the relative standard
//! deviation of the sum of a Poisson number of sizes `s` is `√(E[s²] / (E[s]² n))`. Of sizes with a long tail most runs bring less than the
//! mean and few bring much more.

use std::ops::Range;

use narrows_proto::units::{Span, Time};

use super::{Plan, PlannedGroup};
use crate::diagnostic::{Code, Diagnostic};
use crate::numbers::number;

/// An offered load that differs from the one asked for by more than this part of it is said to be another.
pub(crate) const CLOSE: f64 = 0.1;

/// Deviations of what a run offers from the load that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawing {
    /// Two standard deviations, as a part of the load: 95 of 100 runs are as near, about.
    pub within: f64,
    /// Time in which flows have to start for these to be 10 %.
    pub needed: Span,
}

impl Drawing {
    /// A run is likely to offer about what was asked for.
    pub fn is_close(&self) -> bool {
        self.within <= CLOSE
    }
}

impl Plan {
    /// Deviation of the load of a group from what was asked for, in the measured time; none without a load, and of remote procedure
    /// calls.
    pub fn drawing(&self, group: &PlannedGroup) -> Option<Drawing> {
        let sizes = &group.sizes.as_ref()?.sizes;
        let seconds = seconds(group, &self.measured)?;
        let per_second = group.load.as_ref()?.per_second;
        let varies = sizes.mean_square() / sizes.mean().powi(2);
        let within = 2.0 * (varies / (per_second * seconds)).sqrt();
        let needed = varies * (2.0 / CLOSE).powi(2) / per_second;
        Some(Drawing { within, needed: Span::from_secs_f64(needed) })
    }

    /// Payload that the flows of a group that start in the measured time of a run that ended then have by its load, on average.
    pub(crate) fn asked(&self, group: usize, ended: Time) -> Option<f64> {
        let Range { start, end } = self.measured;
        let group = &self.groups[group];
        let seconds = seconds(group, &(start..end.min(ended)))?;
        Some(group.load.as_ref()?.per_second * seconds * group.sizes.as_ref()?.sizes.mean())
    }

    /// Warns if a group offered another load than was asked for: this part of it.
    pub(crate) fn doubt_of_load(&self, group: usize, offered: f64) -> Option<Diagnostic> {
        let drawing = self.drawing(&self.groups[group])?;
        let PlannedGroup { name, load, .. } = &self.groups[group];
        let asked = load.as_ref()?.load;
        let message = format!(
            "traffic \"{name}\" offered a load of {} in the measured time, {} were asked for: few flows of sizes that vary were drawn",
            number(asked * offered),
            number(asked),
        );
        let help = format!(
            "to be within 10 % in 95 of 100 runs takes {:.0} of measured time, about; or average over more seeds",
            drawing.needed
        );
        ((offered - 1.0).abs() > CLOSE).then(|| Diagnostic::warning(Code::OtherLoad, message).help(help))
    }
}

/// Time in which measured flows of a group may start; none if there is none, or they are no flows one by one.
fn seconds(group: &PlannedGroup, measured: &Range<Time>) -> Option<f64> {
    let load = group.load.as_ref().filter(|_| group.rpcs.is_none())?;
    let time = load.until.min(measured.end).saturating_since(load.from.max(measured.start));
    (time > Span::ZERO).then(|| time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    /// Flows of a size at a load of 0.5 on 10 hosts of 1 Gb/s, started over so many milliseconds.
    fn plan(ms: u64, sizes: &str, seed: u64) -> Plan {
        let text = format!(
            r#"
            version = 2
            name = "drawn"
            seed = {seed}
            stop.after = "{ms} ms"
            topology.star = {{ hosts = 10, rate = "1 Gb/s", delay = "1 us" }}
            switches.default = {{ buffer = {{ size = "1 MB", sharing = "per_port" }} }}
            traffic = [{{ name = "web", pattern.poisson = {{ load = 0.5, of = "host_links", counts = "payload", sizes = {sizes} }}, cc = {{ reno = {{}} }} }}]
            "#
        );
        Plan::new(Document::parse("drawn.toml", text, "").unwrap()).unwrap()
    }

    fn drawing(plan: &Plan) -> Drawing {
        plan.drawing(&plan.groups[0]).unwrap()
    }

    /// Offer of a run of the plan, as a part of what was asked for.
    fn offered(plan: &Plan) -> f64 {
        let sum: u64 = plan.traffic.flows.iter().map(|flow| flow.size.get()).sum();
        sum as f64 / plan.asked(0, Time::ZERO + plan.scenario.stop.after).unwrap()
    }

    #[test]
    fn sizes_that_are_all_the_same_deviate_by_their_number_only() {
        // 5 Gb/s of 62.5 kB are 10 000 flows in a second.
        let found = drawing(&plan(1000, "{ constant = \"62500 B\" }", 1));
        assert!((found.within - 0.02).abs() < 2e-4, "{found:?}");
        assert!((found.needed.as_secs_f64() - 0.04).abs() < 4e-4, "{found:?}");
    }

    #[test]
    fn what_is_drawn_deviates_as_much_as_is_said() {
        let said = drawing(&plan(200, "\"websearch\"", 1)).within;
        let runs: Vec<_> = (1..=100).map(|seed| offered(&plan(200, "\"websearch\"", seed))).collect();
        let mean = runs.iter().sum::<f64>() / 100.0;
        let deviation = (runs.iter().map(|run| (run - mean).powi(2)).sum::<f64>() / 99.0).sqrt();
        // Of 100 runs the standard deviation is known to about 10 %, more of sizes with a tail.
        assert!((deviation * 2.0 / said - 1.0).abs() < 0.3, "{deviation} {said}");
        assert!((mean - 1.0).abs() < 2.0 * said / 10.0, "{mean}");
    }

    #[test]
    fn a_load_that_was_not_offered_is_doubted_and_one_that_was_is_not() {
        let plan = plan(20, "\"websearch\"", 1);
        let doubt = plan.doubt_of_load(0, 0.62).unwrap();
        assert!(
            doubt
                .message
                .starts_with("traffic \"web\" offered a load of 0.31 in the measured time, 0.5 were")
        );
        assert_eq!(plan.doubt_of_load(0, 0.91), None);
    }
}
