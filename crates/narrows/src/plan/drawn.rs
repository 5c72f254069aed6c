//! Traffic that is drawn: how far a run may be from the load that was asked for, and how long it must be to come near.
//!
//! Flows come at random and have random sizes, so what `n` of them bring together deviates from its mean: the relative standard
//! deviation of the sum of a Poisson number of sizes `s` is `√(E[s²] / (E[s]² n))`. Of sizes with a long tail most runs bring less than the
//! mean and few bring much more. A remote procedure call brings the sizes of `k` responses at once, whose sum takes the place of `s`:
//! `E[(Σs)²] / E[Σs]² = (E[s²] / E[s]² + k − 1) / k`.

use std::ops::Range;

use narrows_proto::units::{Span, Time};

use super::{Load, Plan, PlannedGroup};
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
    /// Deviation of the load of a group from what was asked for, in the measured time; none without a load.
    pub fn drawing(&self, group: &PlannedGroup) -> Option<Drawing> {
        let sizes = &group.sizes.as_ref()?.sizes;
        let seconds = seconds(group, &self.measured)?;
        let Load { per_second, draws, .. } = *group.load.as_ref()?;
        let draws = f64::from(draws);
        let varies = (sizes.mean_square() / sizes.mean().powi(2) + draws - 1.0) / draws;
        let within = 2.0 * (varies / (per_second * seconds)).sqrt();
        let needed = varies * (2.0 / CLOSE).powi(2) / per_second;
        Some(Drawing { within, needed: Span::from_secs_f64(needed) })
    }

    /// Payload that the flows of a group that start in the measured time of a run that ended then have by its load, on average; of remote
    /// procedure calls that of their responses.
    pub(crate) fn asked(&self, group: usize, ended: Time) -> Option<f64> {
        let Range { start, end } = self.measured;
        let group = &self.groups[group];
        let seconds = seconds(group, &(start..end.min(ended)))?;
        let load = group.load.as_ref()?;
        Some(load.per_second * f64::from(load.draws) * seconds * group.sizes.as_ref()?.sizes.mean())
    }

    /// Warns if a group offered another load than was asked for: this part of it.
    pub(crate) fn doubt_of_load(&self, group: usize, offered: f64) -> Option<Diagnostic> {
        let drawing = self.drawing(&self.groups[group])?;
        let PlannedGroup { name, load, .. } = &self.groups[group];
        let asked = load.as_ref()?.load;
        let what = if self.groups[group].rpcs.is_some() { "calls with responses" } else { "flows" };
        let message = format!(
            "traffic \"{name}\" offered a load of {} in the measured time, {} were asked for: few {what} of sizes that vary were drawn",
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

/// Time in which measured flows or calls of a group may start; none if there is none.
fn seconds(group: &PlannedGroup, measured: &Range<Time>) -> Option<f64> {
    let load = group.load.as_ref()?;
    let time = load.until.min(measured.end).saturating_since(load.from.max(measured.start));
    (time > Span::ZERO).then(|| time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    /// Flows of a size at a load of 0.5 on 10 hosts of 1 Gb/s, started over so many milliseconds.
    fn plan(ms: u64, sizes: &str, seed: u64) -> Plan {
        plan_of(
            ms,
            &format!(
                "poisson = {{ load = 0.5, of = \"host_links\", counts = \"payload\", sizes = {sizes} }}"
            ),
            seed,
        )
    }

    fn plan_of(ms: u64, pattern: &str, seed: u64) -> Plan {
        let text = format!(
            r#"
            version = 2
            name = "drawn"
            seed = {seed}
            stop.after = "{ms} ms"
            topology.star = {{ hosts = 10, rate = "1 Gb/s", delay = "1 us" }}
            switches.default = {{ buffer = {{ size = "1 MB", sharing = "per_port" }} }}
            traffic = [{{ name = "web", pattern.{pattern}, cc = {{ reno = {{}} }} }}]
            "#
        );
        Plan::new(Document::parse("drawn.toml", text, "").unwrap()).unwrap()
    }

    fn drawing(plan: &Plan) -> Drawing {
        plan.drawing(&plan.groups[0]).unwrap()
    }

    /// Offer of a run of the plan, as a part of what was asked for. Requests have 1 B.
    fn offered(plan: &Plan) -> f64 {
        let sizes = plan.traffic.flows.iter().map(|flow| flow.size.get());
        let sum: u64 = sizes.filter(|size| *size > 1).sum();
        sum as f64 / plan.asked(0, Time::ZERO + plan.scenario.stop.after).unwrap()
    }

    #[test]
    fn sizes_that_are_all_the_same_deviate_by_their_number_only() {
        // 5 Gb/s of 62.5 kB are 10 000 flows in a second.
        let found = drawing(&plan(1000, "{ constant = \"62500 B\" }", 1));
        assert!((found.within - 0.02).abs() < 2e-4, "{found:?}");
        assert!((found.needed.as_secs_f64() - 0.04).abs() < 4e-4, "{found:?}");
    }

    fn deviates_as_much_as_is_said(pattern: &str) {
        let said = drawing(&plan_of(200, pattern, 1)).within;
        let runs: Vec<_> = (1..=100).map(|seed| offered(&plan_of(200, pattern, seed))).collect();
        let mean = runs.iter().sum::<f64>() / 100.0;
        let deviation = (runs.iter().map(|run| (run - mean).powi(2)).sum::<f64>() / 99.0).sqrt();
        // Of 100 runs the standard deviation is known to about 10 %, more of sizes with a tail.
        assert!((deviation * 2.0 / said - 1.0).abs() < 0.3, "{pattern}: {deviation} {said}");
        assert!((mean - 1.0).abs() < 2.0 * said / 10.0, "{pattern}: {mean}");
    }

    #[test]
    fn what_is_drawn_deviates_as_much_as_is_said() {
        let load = "load = 0.5, of = \"host_links\", counts = \"payload\"";
        deviates_as_much_as_is_said(&format!("poisson = {{ {load}, sizes = \"websearch\" }}"));
        for fan_out in [1, 4] {
            deviates_as_much_as_is_said(&format!(
                "rpc = {{ {load}, sizes = \"websearch\", fan_out = {fan_out}, request = \"1 B\" }}"
            ));
        }
        // Calls whose responses are all the same deviate by their number, which is smaller.
        deviates_as_much_as_is_said(&format!(
            "rpc = {{ {load}, sizes = {{ constant = \"1 MB\" }}, fan_out = 8, request = \"1 B\" }}"
        ));
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
