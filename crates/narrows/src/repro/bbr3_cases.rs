//! Test cases of the BBR draft: stays in the states of the control, read off the table `state`. Everything else is in the folder
//! `repro/bbr3-cases`.

use std::collections::BTreeSet;

use narrows_proto::units::{Span, Time};
use narrows_sim::observe::StateRow;

use super::{Measured, Model};
use crate::results::Results;
use crate::statistics::mean;

pub(super) const MODELS: &[Model] = &[Model {
    name: "bbr3-cases.states",
    quantities: &[
        "startup_ms",
        "drains",
        "drain_gain",
        "drain_rtts",
        "down_gain",
        "down_to_cruise_percent",
        "down_to_refill_percent",
        "refill_rtts",
        "ups",
        "up_gain",
        "up_rtts",
        "cruise_gain",
        "cycle_s",
        "probe_rtts",
        "probe_rtt_gain",
        "probe_rtt_ms",
        "probe_rtt_every_s",
        "startup_again_percent",
        "bandwidth_mbps",
        "short_mbps",
        "long_kb",
        "longs",
        "long_percent",
        "long_cuts",
        "short_kb",
        "startup_bounded_percent",
        "startup_extra_kb",
        "startup_cwnd_kb",
        "cruise_extra_kb",
        "up_until_s",
        "up_again_rtts",
    ],
    series: &[],
    measure: states,
}];

/// A stay in a state.
#[derive(Clone, Debug, Default)]
struct Stay {
    mode: &'static str,
    from: Time,
    /// When the next one began; none of the last.
    until: Option<Time>,
    pacing_gain: Option<f64>,
    cwnd_gain: Option<f64>,
}

impl Stay {
    fn has(&self, time: Time) -> bool {
        self.from <= time && self.until.is_none_or(|until| time < until)
    }

    fn seconds(&self) -> Option<f64> {
        Some((self.until? - self.from).as_secs_f64())
    }
}

/// All stays of the first flow, in order. At a time the control reports its mode before its gains.
fn stays(rows: &[StateRow]) -> Vec<Stay> {
    let mut all: Vec<Stay> = Vec::new();
    let Some(flow) = rows.first().map(|row| row.flow) else { return all };
    for row in rows.iter().filter(|row| row.flow == flow) {
        if let ("mode", Some(mode)) = (row.name, row.value.word()) {
            if all.last().is_some_and(|last| last.mode == mode) {
                continue;
            }
            if let Some(last) = all.last_mut() {
                last.until = Some(row.at);
            }
            all.push(Stay { mode, from: row.at, ..Stay::default() });
        }
        let Some(last) = all.last_mut() else { continue };
        match row.name {
            "pacing_gain" => last.pacing_gain = row.value.number(),
            "cwnd_gain" => last.cwnd_gain = row.value.number(),
            _ => {}
        }
    }
    all
}

fn states(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let rows = results.state.as_deref().unwrap_or_default();
    let stays = stays(rows);
    let of = |mode: &'static str| stays.iter().filter(move |stay| stay.mode == mode);
    let longest = |mode| of(mode).filter_map(Stay::seconds).reduce(f64::max);
    let shortest = |mode| of(mode).filter_map(Stay::seconds).reduce(f64::min);
    let gain = |mode| mean(&of(mode).filter_map(|stay| stay.pacing_gain).collect::<Vec<_>>());
    let every = |mode| {
        let begins: Vec<_> = of(mode).map(|stay| stay.from).collect();
        mean(&begins.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect::<Vec<_>>())
    };
    // The part of the stays in one mode that another follows, but for those that ProbeRTT ends.
    let followed = |first: &str, then: &str| {
        let others = |pair: &&[Stay]| pair[0].mode == first && pair[1].mode != "probe_rtt";
        let next: Vec<_> = stays.windows(2).filter(others).collect();
        mean(&next.iter().map(|pair| if pair[1].mode == then { 100.0 } else { 0.0 }).collect::<Vec<_>>())
    };
    let numbers = |name: &'static str| {
        rows.iter().filter(move |row| row.name == name).filter_map(|row| row.value.number())
    };
    let last = |name| numbers(name).next_back();
    let min_rtt = numbers("min_rtt_ps").reduce(f64::min).map(|ps| ps / 1e12);
    let in_rtts = |seconds: Option<f64>| Some(seconds? / min_rtt?);
    let again = stays.windows(3).filter(|three| three[0].mode == "startup" && three[1].mode == "probe_rtt");
    let again: Vec<_> = again.map(|three| if three[2].mode == "startup" { 100.0 } else { 0.0 }).collect();

    let count = |mode| of(mode).count() as f64;
    measured.quantity("startup_ms", of("startup").find_map(Stay::seconds).map(|seconds| seconds * 1e3));
    measured.quantity("drains", count("drain"));
    measured.quantity("drain_gain", gain("drain"));
    measured.quantity("drain_rtts", in_rtts(longest("drain")));
    measured.quantity("down_gain", gain("down"));
    measured.quantity("down_to_cruise_percent", followed("down", "cruise"));
    measured.quantity("down_to_refill_percent", followed("down", "refill"));
    measured.quantity("refill_rtts", in_rtts(longest("refill")));
    measured.quantity("ups", count("up"));
    measured.quantity("up_gain", gain("up"));
    measured.quantity("up_rtts", in_rtts(longest("up")));
    measured.quantity("cruise_gain", gain("cruise"));
    measured.quantity("cycle_s", every("refill"));
    measured.quantity("probe_rtts", count("probe_rtt"));
    measured.quantity(
        "probe_rtt_gain",
        mean(&of("probe_rtt").filter_map(|stay| stay.cwnd_gain).collect::<Vec<_>>()),
    );
    measured.quantity("probe_rtt_ms", shortest("probe_rtt").map(|seconds| seconds * 1e3));
    measured.quantity("probe_rtt_every_s", every("probe_rtt"));
    measured.quantity("startup_again_percent", mean(&again));
    measured.quantity("bandwidth_mbps", last("bandwidth_bps").map(|rate| rate / 1e6));
    measured.quantity("short_mbps", numbers("bw_short_bps").reduce(f64::min).map(|rate| rate / 1e6));
    measured.quantity("long_kb", last("inflight_long_bytes").map(|bytes| bytes / 1e3));
    let longs: BTreeSet<_> = numbers("inflight_long_bytes").map(f64::to_bits).collect();
    measured.quantity("longs", longs.len() as f64);
    let part = numbers("inflight_long_bytes").count() as f64 / numbers("pacing_gain").count() as f64;
    measured.quantity("long_percent", 100.0 * part);
    measured.quantity("long_cuts", cuts(rows, &stays));
    measured.quantity("short_kb", numbers("inflight_short_bytes").reduce(f64::min).map(|bytes| bytes / 1e3));
    let startup = of("startup").next().cloned().unwrap_or_default();
    let bounded = value_after(rows, "inflight_long_bytes", startup.until.unwrap_or(Time::NEVER)).is_some();
    measured.quantity("startup_bounded_percent", if bounded { 100.0 } else { 0.0 });
    let extra = |mode| {
        let within = move |row: &&StateRow| of(mode).any(|stay| stay.has(row.at));
        rows.iter()
            .filter(|row| row.name == "extra_acked_bytes")
            .filter(within)
            .filter_map(|row| row.value.number())
    };
    measured.quantity("startup_extra_kb", extra("startup").reduce(f64::max).map(|bytes| bytes / 1e3));
    measured.quantity("cruise_extra_kb", mean(&extra("cruise").collect::<Vec<_>>()).map(|bytes| bytes / 1e3));
    let windows = results.windows.iter().flatten().filter(|row| startup.has(row.at));
    measured.quantity("startup_cwnd_kb", windows.map(|row| row.cwnd.as_f64() / 1e3).reduce(f64::max));
    measured.quantity("up_until_s", of("up").find_map(|stay| stay.until).map(Time::as_secs_f64));
    measured.quantity("up_again_rtts", in_rtts(again_after_up(&stays)));
    measured
}

/// The first value of this name that is reported at a time or within a hundredth of a second after it.
fn value_after(rows: &[StateRow], name: &str, at: Time) -> Option<f64> {
    let is_near = |row: &&StateRow| row.name == name && row.at >= at && row.at <= at + Span::from_ms(10);
    rows.iter().find(is_near)?.value.number()
}

/// Number of times that the long-term bound was lower as soon as UP had ended.
fn cuts(rows: &[StateRow], stays: &[Stay]) -> f64 {
    let is_cut = |until: Time| {
        let name = "inflight_long_bytes";
        let before = rows.iter().rfind(|row| row.name == name && row.at < until)?.value.number()?;
        Some(value_after(rows, name, until)? < before)
    };
    let ends = stays.iter().filter(|stay| stay.mode == "up").filter_map(|stay| stay.until);
    ends.filter(|until| is_cut(*until).unwrap_or(false)).count() as f64
}

/// Seconds from the end of UP to the next REFILL, if it is the shortest time. A REFILL that ends at once leaves UP alone to be seen.
fn again_after_up(stays: &[Stay]) -> Option<f64> {
    let ends = stays.iter().enumerate().filter(|(_, stay)| stay.mode == "up");
    let after = ends.filter_map(|(place, stay)| {
        let refill = stays[place + 1..].iter().find(|stay| ["refill", "up"].contains(&stay.mode))?;
        Some((refill.from - stay.until?).as_secs_f64())
    });
    after.reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_proto::cc::Inside;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn mode(ms: u64, mode: &'static str) -> StateRow {
        row(ms, "mode", Inside::Word(mode))
    }

    fn long(ms: u64, bytes: f64) -> StateRow {
        row(ms, "inflight_long_bytes", Inside::Number(bytes))
    }

    fn row(ms: u64, name: &'static str, value: Inside) -> StateRow {
        StateRow { at: at(ms), flow: narrows_sim::FlowId::from(0), name, value }
    }

    #[test]
    fn a_stay_lasts_until_another_mode_is_reported() {
        let rows = [
            mode(1, "startup"),
            row(1, "pacing_gain", Inside::Number(2.77)),
            mode(5, "startup"),
            mode(9, "drain"),
            row(9, "pacing_gain", Inside::Number(0.5)),
        ];
        let stays = stays(&rows);
        let found: Vec<_> = stays.iter().map(|stay| (stay.mode, stay.seconds(), stay.pacing_gain)).collect();
        assert_eq!(found, [("startup", Some(0.008), Some(2.77)), ("drain", None, Some(0.5))]);
    }

    #[test]
    fn a_stay_has_its_first_moment_and_not_that_of_the_next() {
        let stays = stays(&[mode(1, "up"), mode(5, "down")]);
        assert_eq!([0, 1, 4, 5].map(|ms| stays[0].has(at(ms))), [false, true, true, false]);
        assert!(stays[1].has(at(1_000_000)), "the last does not end");
    }

    #[test]
    fn of_several_flows_the_stays_of_the_first_count() {
        let other = StateRow { flow: narrows_sim::FlowId::from(1), ..mode(2, "drain") };
        assert_eq!(stays(&[mode(1, "startup"), other]).len(), 1);
    }

    #[test]
    fn a_value_counts_within_ten_milliseconds() {
        let rows = [long(20, 7.0)];
        let found = [9, 10, 20, 21].map(|ms| value_after(&rows, "inflight_long_bytes", at(ms)));
        assert_eq!(found, [None, Some(7.0), Some(7.0), None]);
        assert_eq!(value_after(&rows, "inflight_short_bytes", at(20)), None);
    }

    #[test]
    fn a_cut_is_a_lower_bound_right_after_up() {
        // Lower after the first UP, the same after the second, higher after the third, and nothing reported after the last.
        let rows = [
            long(1, 100.0),
            mode(2, "up"),
            mode(10, "down"),
            long(10, 80.0),
            mode(20, "up"),
            mode(30, "down"),
            long(31, 80.0),
            mode(40, "up"),
            mode(50, "down"),
            long(50, 90.0),
            mode(60, "up"),
            mode(70, "down"),
        ];
        assert_eq!(cuts(&rows, &stays(&rows)), 1.0);
    }

    #[test]
    fn the_way_back_is_from_the_end_of_up_to_the_next_refill_or_up() {
        // 40 ms to REFILL, then 25 ms to an UP whose REFILL ended at once; after the last UP none follows.
        let rows = [
            mode(0, "up"),
            mode(10, "down"),
            mode(50, "refill"),
            mode(60, "up"),
            mode(75, "down"),
            mode(100, "up"),
            mode(130, "cruise"),
        ];
        assert_eq!(again_after_up(&stays(&rows)), Some(0.025));
        assert_eq!(again_after_up(&stays(&rows[..2])), None);
    }
}
