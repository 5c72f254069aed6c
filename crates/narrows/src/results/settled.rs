//! Whether flows that last for the whole run have come to rest.
//!
//! The measured time, from the last start of such a flow on, is cut into eight parts. The goodput of a group trends if it has a direction
//! and a size:
//! ```text
//! direction   of the 28 pairs of parts at most one is out of order (Kendall's test); parts of a goodput without a trend are so
//!             ordered 16 times in 8! = 40 320, 0.04 %
//! size        the mean of the last two parts differs from that of the first two by more than 10 % of the mean of all
//! ```
//! Noise of one part may hang together with that of the next: with a correlation of a half still less than 1 % are so ordered. A saw
//! tooth that is longer than the measured time is a trend: it is not known what would follow.
//!
//! The time left follows from thirds. If each step from third to third is r times the one before, with r below 0.9, the
//! goodput approaches a limit like r^t, and the time until 5 % of that are missing is known; otherwise it is not.

use std::cmp::Ordering;

use narrows_proto::units::{Bytes, Span};
use narrows_sim::Sampled;

use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{Plan, PlannedGroup, SLICES};

const PARTS: usize = 8;
/// Pairs of parts, but for one, count as in order, one counts against.
const LEAST_SCORE: i32 = 28 - 2;
const LEAST_CHANGE: f64 = 0.1;
const LEAST_APPROACH: f64 = 0.9;
const CLOSE: f64 = 0.05;

/// A goodput that trends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Trend {
    /// The last two parts less the first two, as a part of the mean.
    change: f64,
    /// Further time until it has settled, in lengths of the measured time; none if it does not slow down.
    more: Option<f64>,
}

/// Trends of the flows that last, group by group.
pub(super) fn trends(plan: &Plan, sampled: &Sampled) -> Vec<Diagnostic> {
    let moments = &plan.traffic.sampled;
    let (Some(first), Some(last)) = (moments.first(), moments.last()) else { return Vec::new() };
    let measured = last.saturating_since(*first);
    let told = |(number, group): (usize, &PlannedGroup)| {
        let slice = |slice: usize| {
            let at = |moment| sampled.at(moment, number);
            at(slice + 1).saturating_sub(at(slice))
        };
        let slices: [Bytes; SLICES] = std::array::from_fn(slice);
        let trend = trend(&slices.map(Bytes::as_f64))?;
        Some(warning(&group.name, trend, measured, plan.slowest_cycle(number)))
    };
    plan.groups.iter().enumerate().filter(|(number, _)| plan.lasts(*number)).filter_map(told).collect()
}

/// A control with slow cycles needs at least one of them more.
fn warning(group: &str, trend: Trend, measured: Span, cycle: Option<Span>) -> Diagnostic {
    let verb = if trend.change > 0.0 { "rises" } else { "falls" };
    let percent = (100.0 * trend.change.abs()).round();
    let more = trend.more.map(|more| Span::from_secs_f64(measured.as_secs_f64() * more));
    let left = match (more, cycle) {
        (Some(more), cycle) if cycle.is_none_or(|cycle| more >= cycle) => {
            format!("and may need about {more:.1} more to settle")
        }
        (more, Some(cycle)) if more.is_some() || cycle > measured => {
            format!("and may need at least {cycle:.1} more to settle")
        }
        _ => "and does not slow down, so that nothing says when it will have settled".into(),
    };
    let message = format!(
        "the goodput of traffic \"{group}\" still {verb}, by {percent} % of its mean over {measured:.1}, {left}"
    );
    let help = "set stop.after later, and measure.from to where it has settled";
    Diagnostic::warning(Code::NotSettled, message).help(help)
}

/// The trend of a goodput over slices of equal length, if it has one.
fn trend(slices: &[f64; SLICES]) -> Option<Trend> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let parts: Vec<_> = slices.chunks(SLICES / PARTS).map(mean).collect();
    let all = mean(&parts);
    let change = (mean(&parts[PARTS - 2..]) - mean(&parts[..2])) / all;
    let score = score(&parts);
    if score.abs() < LEAST_SCORE || f64::from(score) * change <= 0.0 || change.abs() <= LEAST_CHANGE {
        return None;
    }
    let thirds: Vec<_> = slices.chunks(SLICES / 3).map(mean).collect();
    Some(Trend { change, more: approach(thirds[0], thirds[1], thirds[2]) })
}

/// Pairs of parts of which the later one is more, less those of which it is less.
fn score(parts: &[f64]) -> i32 {
    let later = |(number, one): (usize, &f64)| {
        let signs = parts[number + 1..].iter().map(|other| match other.total_cmp(one) {
            Ordering::Greater => 1,
            Ordering::Less => -1,
            Ordering::Equal => 0,
        });
        signs.sum::<i32>()
    };
    parts.iter().enumerate().map(later).sum()
}

/// Time from the end of the three thirds until little is missing to the limit, in lengths of all three.
fn approach(first: f64, second: f64, third: f64) -> Option<f64> {
    let ratio = (third - second) / (second - first);
    if ratio >= LEAST_APPROACH || !ratio.is_finite() {
        return None;
    }
    // A last step that is none, or goes back, is noise around the limit.
    let ratio = ratio.max(0.01);
    let missing = (third - second) * ratio / (1.0 - ratio);
    let limit = third + missing;
    // From the middle of the last third to its end it is half a step.
    let left = (missing.abs() * ratio.sqrt() / (CLOSE * limit.abs())).ln() / -ratio.ln();
    Some(left.max(1.0) / 3.0)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use narrows_sim::{Purpose, Stream};
    use proptest::prelude::*;

    use super::*;
    use crate::document::Document;
    use crate::results::Results;
    use crate::run::Options;

    /// Noise with a standard deviation of 1 whose slices hang together.
    fn noise(correlation: f64, random: &mut Stream) -> [f64; SLICES] {
        // The sum of twelve numbers between 0 and 1 is about normal, with a variance of 1.
        let mut next = || (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
        let mut value = next();
        std::array::from_fn(|_| {
            value = correlation * value + (1.0 - correlation * correlation).sqrt() * next();
            value
        })
    }

    #[test]
    fn stationary_noise_is_no_trend() {
        let mut random = Stream::new(1, Purpose::Workload, 0);
        // Of 4000 runs; the expected share is 0.04 % without correlation. With 0.7 what happens in a part is still felt two parts later.
        for (correlation, deviation, most) in
            [(0.0, 0.05, 4), (0.0, 0.3, 8), (0.5, 0.05, 8), (0.5, 0.3, 16), (0.7, 0.3, 40)]
        {
            let alarm = |_: &usize| {
                let goodput = noise(correlation, &mut random).map(|noise| (1.0 + deviation * noise).max(0.0));
                trend(&goodput).is_some()
            };
            let alarms = (0..4000).filter(alarm).count();
            assert!(alarms <= most, "{alarms} with {correlation} and {deviation}");
        }
    }

    #[test]
    fn saw_teeth_that_fit_into_the_measured_time_are_no_trend() {
        for period in [2.7, 5.0, 9.0, 13.0] {
            for phase in 0..20 {
                let at = |slice: usize| 0.7 + 0.3 * ((slice as f64 / period + f64::from(phase) / 20.0) % 1.0);
                assert_eq!(trend(&std::array::from_fn(at)), None, "{period} {phase}");
            }
        }
    }

    #[test]
    fn what_begins_late_but_rests_then_is_no_trend() {
        for ramp in 1..6 {
            let at = |slice: usize| if slice < ramp { 0.0 } else { 10.0 + (slice * 7 % 5) as f64 / 10.0 };
            assert_eq!(trend(&std::array::from_fn(at)), None, "{ramp}");
        }
        assert_eq!(trend(&[0.0; SLICES]), None, "nothing at all");
        assert_eq!(trend(&[5.0; SLICES]), None, "always the same");
    }

    /// Warnings after a run.
    fn said(cc: &str, marking: &str, measured: &str) -> Vec<Diagnostic> {
        let stop = format!("stop.after = \"20 s\"\nmeasure = {{ {measured} }}");
        run(cc, marking, &stop, 1).doubts().cloned().collect()
    }

    /// Warnings before a run that stops so, with so many flows, and after it.
    fn told(cc: &str, stop: &str, flows: &str) -> Vec<Diagnostic> {
        let results = run(cc, "\"off\"", stop, flows.parse().unwrap_or(1));
        results.plan.warnings.iter().chain(results.doubts()).cloned().collect()
    }

    fn run(cc: &str, marking: &str, stop: &str, flows: u32) -> Results {
        let text = format!(
            r#"
            version = 2
            name = "settled"
            {stop}
            topology.dumbbell = {{ hosts = {flows}, host_rate = "1 Gb/s", bottleneck_rate = "50 Mb/s", host_delay = "1 us", bottleneck_delay = "50 ms" }}
            switches.default = {{ buffer = {{ size = "100 kB", sharing = "per_port" }}, marking = {marking} }}
            traffic = [{{ name = "long", pattern.long_lived = {{ from = "left/*", to = "right/*" }}, cc = {{ {cc} = {{}} }} }}]
            "#
        );
        let plan = Arc::new(Plan::new(Document::parse("settled.toml", text, "").unwrap()).unwrap());
        crate::run::run(&plan, Options::default(), |_| ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn a_run_that_ends_while_a_window_grows_says_so() {
        // Reno loses half of its window at the end of slow start, and gains a segment in 100 ms: 208 take 20 s.
        let said = said("reno", "\"off\"", "from = \"4 s\"");
        let [warning] = &said[..] else { panic!("{said:?}") };
        assert_eq!(warning.code, Code::NotSettled);
        assert!(warning.message.starts_with("the goodput of traffic \"long\" still rises, by "), "{warning}");
        assert!(warning.message.contains("over 16.0 s, and does not slow down"), "{warning}");
    }

    #[test]
    fn flows_under_bbr_need_at_least_the_time_between_two_probes_of_the_round_trip_time() {
        let trend = Trend { change: 0.5, more: Some(0.25) };
        let said = |cycle| warning("wan", trend, Span::from_secs_f64(2.0), cycle).message;
        assert!(said(None).ends_with("may need about 500.0 ms more to settle"), "{}", said(None));
        let bbr = said(Some(Span::from_secs_f64(10.0)));
        assert!(bbr.ends_with("may need at least 10.0 s more to settle"), "{bbr}");
    }

    #[test]
    fn slow_start_over_fewer_round_trips_than_a_trend_can_be_seen_in_is_warned_of() {
        // Base RTT 100 ms. What is sent in 3 or 7 of them is bursts and gaps, in which no trend is seen; slow start takes six.
        let codes = |from: &str| {
            let said = told("cubic", from, "");
            said.into_iter().map(|warning| warning.code).collect::<Vec<_>>()
        };
        assert_eq!(codes("stop.after = \"300 ms\""), [Code::FewRoundTrips]);
        assert_eq!(codes("stop.after = \"700 ms\""), [Code::FewRoundTrips]);
        let late = "stop.after = \"1200 ms\"\nmeasure.from = \"500 ms\"";
        assert_eq!(codes(late), [Code::FewRoundTrips], "seven are measured");
        assert_eq!(codes("stop.after = \"1200 ms\""), []);
    }

    #[test]
    fn a_window_that_stands_at_what_the_link_carries_is_settled() {
        assert_eq!(said("fixed", "\"off\"", ""), []);
    }

    proptest! {
        #[test]
        fn an_approach_is_a_trend_whose_end_is_known(time in 0.3..1.5_f64, up: bool, seed: u64) {
            let mut random = Stream::new(seed, Purpose::Workload, 0);
            let noise = noise(0.0, &mut random);
            // From 0 to 1, or from 2 to 1, with a time constant in lengths of the measured time.
            let exact = |slice: usize| {
                let missing = (-(slice as f64 + 0.5) / SLICES as f64 / time).exp();
                if up { 1.0 - missing } else { 1.0 + missing }
            };
            let goodput: [f64; SLICES] = std::array::from_fn(|slice| exact(slice) * (1.0 + 0.002 * noise[slice]));
            let found = trend(&goodput).expect("it trends");
            prop_assert_eq!(found.change > 0.0, up);
            // 5 % are missing after ln(20) time constants.
            let more = (20_f64.ln() * time - 1.0).max(1.0 / 3.0);
            if let Some(found) = found.more {
                prop_assert!(found < 2.0 * more + 0.5 && found > 0.5 * more - 0.2, "{} instead of {}", found, more);
            } else {
                prop_assert!(time > 1.0, "{}", time);
            }
        }
    }

    #[test]
    fn what_rises_evenly_has_no_end() {
        let found = trend(&std::array::from_fn(|slice| slice as f64)).expect("it rises");
        assert_eq!(found.more, None);
        assert!((found.change - 1.565).abs() < 0.01, "{}", found.change);
        let falls = trend(&std::array::from_fn(|slice| 30.0 - slice as f64)).expect("it falls");
        assert!(falls.change < -0.5 && falls.more.is_none());
    }
}
