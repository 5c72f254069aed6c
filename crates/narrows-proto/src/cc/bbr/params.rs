use super::super::{OutOfRange, Ranges};
use super::policer::PolicerParams;
use crate::units::Span;

/// Settings of BBR. "Linux" is `tcp_bbr.c` of Linux 5.10 or later; 4.9 had `equal_rtt_renews = true` and
/// `ack_aggregation = false`.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Bbr")]
pub struct Params {
    /// Pacing and window gain of STARTUP; 2.885 = 2/ln 2, the least that doubles the rate each round (Linux).
    pub startup_gain: f64,
    /// Pacing gain of DRAIN; 1/2.885, so that one round undoes the last one of STARTUP (Linux).
    pub drain_gain: f64,
    /// Window gain of `PROBE_BW`; 2, for delayed and aggregated acknowledgments (Linux).
    pub cwnd_gain: f64,
    /// Pacing gain of the phase that probes for bandwidth; 1.25 (Linux).
    pub up_gain: f64,
    /// Pacing gain of the phase that drains the queue of the one before; 0.75 (Linux).
    pub down_gain: f64,
    /// Phases of a gain cycle, those two included; 8 (Linux).
    pub cycle_phases: u32,
    /// The phase a gain cycle starts in, from 0. Left out, a random one other than 1, the phase with `down_gain` (Linux).
    pub initial_phase: Option<u32>,
    /// Length of the bandwidth filter in rounds; 10 (Linux: a cycle and two more).
    pub bandwidth_rounds: u64,
    /// STARTUP goes on while the bandwidth grows by this factor; 1.25 (Linux).
    pub full_growth: f64,
    /// Rounds without such growth that end STARTUP; 3 (Linux).
    pub full_rounds: u32,
    /// Length of the filter of the round-trip time, and so the time between two `PROBE_RTT`; 10 s (Linux).
    pub min_rtt_window: Span,
    /// A round-trip time equal to the minimum renews it and postpones `PROBE_RTT`; false. Linux did so before 5.10, as does
    /// BBR draft §4.1.2.3. On a path without noise there is then no `PROBE_RTT` while the queue runs empty now and then.
    pub equal_rtt_renews: bool,
    /// Time that `PROBE_RTT` holds the window down, at least a round; 200 ms (Linux). With 0 s there is no `PROBE_RTT`.
    pub probe_rtt_duration: Span,
    /// The window of `PROBE_RTT` and the smallest outside recovery, in segments; 4 (Linux).
    pub min_window: u64,
    /// Segments that leave the host in one piece; the window has room for three such pieces more. Left out, what segmentation
    /// offload sends at once at the pacing rate, as in Linux, or 1 without it.
    pub send_quantum: Option<u64>,
    /// Pacing stays below the estimate by this fraction, so that queues do not grow by errors; 0.01 (Linux).
    pub pacing_margin: f64,
    /// The round-trip time assumed to pace the initial window; left out, it leaves at line rate. Linux takes the
    /// handshake's, or 1 ms without one.
    pub initial_rtt: Option<Span>,
    /// Detect policers and keep to their rate ("long-term bandwidth"); true (Linux).
    pub policer_detection: bool,
    /// Criteria by which a policer is recognized.
    pub policer: PolicerParams,
    /// Give the window room for acknowledgments that come many at once; true (Linux since 5.1).
    pub ack_aggregation: bool,
    /// Rounds in each of the two halves of the filter that gives that room; 5 (Linux).
    pub extra_acked_rounds: u64,
    /// That room is at most what the path delivers in this time; 100 ms (Linux).
    pub extra_acked_limit: Span,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            startup_gain: 2.885,
            drain_gain: 1.0 / 2.885,
            cwnd_gain: 2.0,
            up_gain: 1.25,
            down_gain: 0.75,
            cycle_phases: 8,
            initial_phase: None,
            bandwidth_rounds: 10,
            full_growth: 1.25,
            full_rounds: 3,
            min_rtt_window: Span::from_secs(10),
            equal_rtt_renews: false,
            probe_rtt_duration: Span::from_ms(200),
            min_window: 4,
            send_quantum: None,
            pacing_margin: 0.01,
            initial_rtt: None,
            policer_detection: true,
            policer: PolicerParams::default(),
            ack_aggregation: true,
            extra_acked_rounds: 5,
            extra_acked_limit: Span::from_ms(100),
        }
    }
}

impl Params {
    pub(super) fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let above_one = |gain: f64| gain > 1.0 && gain <= 100.0;
        let below_one = |gain: f64| gain > 0.0 && gain < 1.0;
        let (up, down) = ("above 1, at most 100", "between 0 and 1, both excluded");
        ranges.unless(above_one(self.startup_gain), "startup_gain", self.startup_gain, up)?;
        ranges.unless(below_one(self.drain_gain), "drain_gain", self.drain_gain, down)?;
        ranges.unless((1.0..=100.0).contains(&self.cwnd_gain), "cwnd_gain", self.cwnd_gain, "1 to 100")?;
        ranges.unless(above_one(self.up_gain), "up_gain", self.up_gain, up)?;
        ranges.unless(below_one(self.down_gain), "down_gain", self.down_gain, down)?;
        ranges.unless(
            (2..=1000).contains(&self.cycle_phases),
            "cycle_phases",
            self.cycle_phases,
            "2 to 1000",
        )?;
        let phase = self.initial_phase.unwrap_or(0);
        ranges.unless(phase < self.cycle_phases, "initial_phase", phase, "less than cycle_phases")?;
        ranges.unless(
            self.bandwidth_rounds >= 1,
            "bandwidth_rounds",
            self.bandwidth_rounds,
            "at least 1 round",
        )?;
        ranges.unless(above_one(self.full_growth), "full_growth", self.full_growth, up)?;
        ranges.unless(self.full_rounds >= 1, "full_rounds", self.full_rounds, "at least 1 round")?;
        let window = self.min_rtt_window;
        ranges.unless(window > Span::ZERO, "min_rtt_window", window, "more than 0 s")?;
        let segments = 1..=1_000_000;
        let expected = "1 to 1 000 000 segments";
        ranges.unless(segments.contains(&self.min_window), "min_window", self.min_window, expected)?;
        let quantum = self.send_quantum.unwrap_or(1);
        ranges.unless(segments.contains(&quantum), "send_quantum", quantum, expected)?;
        let margin = self.pacing_margin;
        ranges.unless((0.0..1.0).contains(&margin), "pacing_margin", margin, "at least 0, below 1")?;
        let rtt = self.initial_rtt.unwrap_or(Span::MAX);
        ranges.unless(rtt > Span::ZERO, "initial_rtt", rtt, "more than 0 s")?;
        let rounds = self.extra_acked_rounds;
        ranges.unless(rounds >= 1, "extra_acked_rounds", rounds, "at least 1 round")?;
        self.policer.check(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_outside_the_cycle_is_refused() {
        let params = Params { cycle_phases: 4, initial_phase: Some(4), ..Params::default() };
        assert_eq!(
            params.check(&mut Ranges::default()).expect_err("phases are 0 to 3").setting,
            "initial_phase"
        );
    }

    #[test]
    fn gains_that_are_no_numbers_are_refused() {
        let params = Params { up_gain: f64::NAN, ..Params::default() };
        assert_eq!(params.check(&mut Ranges::default()).expect_err("not a number").setting, "up_gain");
    }
}
