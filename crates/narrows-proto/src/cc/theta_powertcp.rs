//! theta-PowerTCP: PowerTCP without telemetry, its power from round-trip times and their change.
//!
//! ```text
//! Each acknowledgment, dt after the last                 Addanki et al. (NSDI 2022), code of the authors for Linux
//!     P = max(1/2, Δrtt/dt + 1)·rtt/tau                   the rate of arrivals at the bottleneck over its rate, times the delay
//!     S = (S·(tau − dt) + P·dt)/tau                       dt at most tau; the first P as it is
//! Once a round trip
//!     cwnd = g·(w_old/S + beta) + (1 − g)·cwnd            w_old the window when the acknowledged packet was sent
//! rate = cwnd/tau
//! ```
//! All else is as in `powertcp`: tau is the base round-trip time, beta the product of tau and the rate of the host's link over N, and
//! a flow begins with that product, which its window never exceeds. If tau is measured a flow begins with the initial window of its
//! transport and has the product from its first round-trip time on. Losses and timeouts do not change the window.
//!
//! The receiver must acknowledge every segment at once (`ack_every = 1`): an acknowledgment that waits counts as delay.
//!
//! That the window changes once a round trip is sure, whether power is measured more often is not. The bound of 1/2 is that of the
//! authors' ns-3 code. Without it a queue that drains while nothing arrives has no power at all: windows jump up to the product, fill
//! the queue once more, and two flows swing for ever. With it flows come to rest with beta in the queue each. With `every_ack = false`
//! one sample for each round trip decides, the change since the one before in it: one flow alone does not rest then.

use super::powertcp::PowerWindow;
use super::powertcp::window;
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter,
};
use crate::units::{Span, Time};

/// Settings of theta-PowerTCP.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ThetaPowerTcp")]
pub struct Params {
    /// tau, the base round-trip time, sending a packet and its acknowledgment included; the smallest that was measured if left out.
    pub base_rtt: Option<Span>,
    /// gamma, the weight of the newest window; 0.9 (code of Addanki et al.: 921/1024).
    pub gain: f64,
    /// N, flows that share a link, for beta; 10 (code of Addanki et al.).
    pub flows: u32,
    /// Measure power with each acknowledgment, not once a round trip; true.
    pub every_ack: bool,
    /// The least that P takes for the rate of arrivals, as a part of that of the bottleneck; 0.5 (the authors' ns-3 code). With 0 there
    /// is no such bound.
    pub least_arrivals: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            base_rtt: None,
            gain: window::GAIN,
            flows: window::FLOWS,
            every_ack: true,
            least_arrivals: 0.5,
        }
    }
}

/// A theta-PowerTCP window.
#[derive(Clone, Debug)]
pub struct ThetaPowertcp(Box<State>);

#[derive(Clone, Debug)]
struct State {
    params: Params,
    path: Path,
    /// None before tau is known.
    window: Option<PowerWindow>,
    /// The smallest round-trip time.
    min_rtt: Span,
    /// The last sample, and when it came.
    last: Option<(Time, Span)>,
    /// A round trip is over and the window has not been updated.
    round_over: bool,
}

impl Algorithm for ThetaPowertcp {
    type Params = Params;
    const SUMMARY: &'static str = "PowerTCP by round-trip times and their change, without telemetry";
    const SOURCE: &'static str = "Addanki et al., NSDI 2022";
    const INSIDE: Described = &[
        ("power", "The smoothed normalized power of the path; 1 if its bottleneck is just busy."),
        ("base_rtt_ps", "tau; no row before it is known."),
    ];
    const READS_DELAY: bool = true;
    const WANTS_EVERY_ACK: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        let window = params.base_rtt.map(|tau| PowerWindow::new(tau, params.gain, params.flows, path));
        let (params, path) = (params.clone(), *path);
        Self(Box::new(State { params, path, window, min_rtt: Span::MAX, last: None, round_over: false }))
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Off
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        window::check_base_rtt(params.base_rtt.unwrap_or(Span::from_ps(1)), ranges)?;
        let least = params.least_arrivals;
        ranges.unless((0.0..=1.0).contains(&least), "least_arrivals", least, "0 to 1")?;
        window::check(params.gain, params.flows, ranges)
    }
}

impl State {
    /// The window, with tau the smallest round-trip time if no other is given.
    fn window(&mut self, rtt: Span) -> &mut PowerWindow {
        let Params { base_rtt, gain, flows, .. } = self.params;
        self.min_rtt = self.min_rtt.min(rtt);
        let tau = base_rtt.unwrap_or(self.min_rtt);
        let window = self.window.get_or_insert_with(|| PowerWindow::new(tau, gain, flows, &self.path));
        window.set_tau(tau);
        window
    }
}

impl Controller for ThetaPowertcp {
    fn on_ack(&mut self, ack: &Ack) {
        let state = &mut *self.0;
        state.round_over |= ack.round_start;
        let Some(rtt) = ack.rtt else { return };
        let (last, every_ack, round_over) = (state.last, state.params.every_ack, state.round_over);
        let least = state.params.least_arrivals;
        let window = state.window(rtt);
        if let Some((at, before)) = last {
            // Acknowledgments at the same moment are one sample, the first.
            let dt = ack.now.saturating_since(at).as_secs_f64();
            if dt <= 0.0 || !(every_ack || round_over) {
                return;
            }
            let gradient = (rtt.as_secs_f64() - before.as_secs_f64()) / dt;
            window.smooth((gradient + 1.0).max(least) * rtt.as_secs_f64() / window.tau(), dt);
            if round_over {
                window.update(ack);
            }
        }
        state.round_over = false;
        state.last = Some((ack.now, rtt));
    }

    fn on_congestion(&mut self, _now: Time, _event: Congestion) {}

    fn limit(&self) -> Limit {
        self.0.window.as_ref().map_or_else(|| Limit::window(self.0.path.initial_window), PowerWindow::limit)
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        let Some(window) = &self.0.window else { return };
        if let Some(power) = window.power() {
            report("power", power.into());
        }
        report("base_rtt_ps", (window.tau() * 1e12).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Config;
    use crate::cc::conformance::{MSS, ack, path};
    use crate::stream::Params as Stream;
    use crate::stream::bottleneck::{Bottleneck, Sample, run};
    use crate::units::{BitRate, Bytes};

    fn theta(base_rtt: Option<Span>) -> ThetaPowertcp {
        ThetaPowertcp::new(&Params { base_rtt, ..Params::default() }, &path())
    }

    /// An acknowledgment at `us` after `rtt` ns. Returns S and the window on the wire.
    fn receive(flow: &mut ThetaPowertcp, us: u64, rtt: u64, round_start: bool) -> (f64, f64) {
        let (now, rtt) = (Time::ZERO + Span::from_us(us), Some(Span::from_ns(rtt)));
        flow.on_ack(&Ack { now, rtt, round_start, ..ack(MSS) });
        let power = flow.0.window.as_ref().and_then(PowerWindow::power);
        (power.unwrap_or(f64::NAN), flow.limit().cwnd.as_f64() * 1.09)
    }

    #[track_caller]
    fn assert_near((power, window): (f64, f64), expected: (f64, f64)) {
        assert!((power - expected.0).abs() < 1e-9, "S = {power}, expected {}", expected.0);
        // The limit is whole bytes of payload.
        assert!((window - expected.1).abs() < 1.1, "{window} B, expected {}", expected.1);
    }

    #[test]
    fn with_one_sample_for_each_round_trip_by_hand() {
        // tau = 10 us at 10 Gb/s: 12 500 B, beta = 1250 B.
        let params = Params { base_rtt: Some(Span::from_us(10)), every_ack: false, ..Params::default() };
        let mut flow = ThetaPowertcp::new(&params, &path());
        receive(&mut flow, 10, 10_000, true);
        assert!(receive(&mut flow, 12, 11_000, false).0.is_nan(), "within a round trip");
        // 2 us more in 11 us: P = (2/11 + 1)·1.2 = 1.418182, the first S. cwnd = 0.9·(12 500/1.418182 + 1250) + 1250 = 10 307.69.
        assert_near(receive(&mut flow, 21, 12_000, true), (1.418_181_818_2, 10_307.69));
        receive(&mut flow, 25, 30_000, false);
        // 2 us less in 10 us: P = 0.8, and dt is all of tau. Sent at 21 us, with that: cwnd = 0.9·(10 307.69/0.8 + 1250) + 1030.77, but no
        // more than the product.
        assert_near(receive(&mut flow, 31, 10_000, true), (0.8, 12_500.0));
    }

    #[test]
    fn the_window_by_hand() {
        let params = Params { base_rtt: Some(Span::from_us(10)), ..Params::default() };
        let mut flow = ThetaPowertcp::new(&params, &path());
        let (_, window) = receive(&mut flow, 10, 10_000, true);
        assert!((window - 12_500.0).abs() < 1.1);
        // 1 us more in 2 us: P = (0.5 + 1)·1.1 = 1.65, the first S. No round trip is over.
        assert_near(receive(&mut flow, 12, 11_000, false), (1.65, 12_500.0));
        // No change in 2 us: P = 1.1, S = 0.8·1.65 + 0.2·1.1 = 1.54.
        assert_near(receive(&mut flow, 14, 11_000, false), (1.54, 12_500.0));
        // 1 us less in 4 us: P = 0.75, S = 0.6·1.54 + 0.4·0.75 = 1.224. cwnd = 0.9·(12 500/1.224 + 1250) + 1250 = 11 566.18.
        assert_near(receive(&mut flow, 18, 10_000, true), (1.224, 11_566.18));
        // Sent at 13 us, with 12 500 B: P = 1, S = 0.5·1.224 + 0.5·1 = 1.112.
        // cwnd = 0.9·(12 500/1.112 + 1250) + 0.1·11 566.18 = 12 398.52.
        assert_near(receive(&mut flow, 23, 10_000, true), (1.112, 12_398.52));
        // Sent at 20 us, with 11 566.18 B: S = 0.3·1.112 + 0.7·1 = 1.0336.
        // cwnd = 0.9·(11 566.18/1.0336 + 1250) + 0.1·12 398.52 = 12 436.02.
        assert_near(receive(&mut flow, 30, 10_000, true), (1.0336, 12_436.02));
    }

    #[test]
    fn a_measured_base_is_the_smallest_round_trip_and_gives_the_first_window() {
        let mut flow = theta(None);
        assert_eq!(flow.limit(), Limit::window(path().initial_window));
        // 20 us at 1.25 B/ns.
        assert!((receive(&mut flow, 20, 20_000, true).1 - 25_000.0).abs() < 1.1);
        receive(&mut flow, 25, 15_000, false);
        receive(&mut flow, 30, 18_000, false);
        assert!((flow.0.window.as_ref().expect("tau is known").tau() - 15e-6).abs() < 1e-15);
    }

    /// Backlog of a bottleneck of 10 Gb/s and 103 us, mean and most, and payload per second, of endless flows that begin a round
    /// trip after another, from 30 to 60 ms.
    fn late(flows: u64, params: &Params) -> (f64, f64, Vec<f64>) {
        let path = Bottleneck::new(BitRate::from_gbps(10), Span::from_us(101), Bytes::new(100_000_000));
        let stream = Stream { ack_every: 1, ..Stream::default() };
        // Hosts have ten times the rate of the bottleneck.
        let params = Params { base_rtt: Some(Span::from_us(103)), flows: 100, ..params.clone() };
        let one = |flow| (Config::ThetaPowertcp(params.clone()), Time::ZERO + Span::from_us(103 * flow));
        let all: Vec<_> = (0..flows).map(one).collect();
        let all = run(&path, &stream, &all, Time::ZERO + Span::from_ms(60), Span::from_us(10));
        let half = all[0].len() / 2;
        let mean = |flow: &[Sample], of: fn(&Sample) -> f64| {
            flow[half..].iter().map(of).sum::<f64>() / (flow.len() - half) as f64
        };
        let most = all[0][half..].iter().map(|sample| sample.queue).max().unwrap_or(Bytes::ZERO);
        let rates = all.iter().map(|flow| mean(flow, |sample| sample.rate.as_f64())).collect();
        (mean(&all[0], |sample| sample.queue.as_f64()), most.as_f64(), rates)
    }

    #[test]
    fn flows_come_to_rest_with_beta_in_the_queue_each() {
        // A hundredth of what a host sends in 103 us at 100 Gb/s.
        let beta = 12_875.0;
        for flows in [1, 2, 8] {
            let (mean, most, rates) = late(flows, &Params::default());
            // Two packets: windows are whole ones, and the packet on the wire does not wait.
            let expected = beta * flows as f64;
            assert!((mean - expected).abs() < 2.0 * 1538.0, "{flows}: {mean} of {expected}");
            assert!(most - mean < 0.1 * expected + 2.0 * 1538.0, "{flows}: {most}, {mean} in the mean");
            // Of payload: 1448 of 1538 B.
            let sum: f64 = rates.iter().sum();
            assert!(sum > 0.99 * 10e9 * 1448.0 / 1538.0, "{flows}: {sum}");
            let fair = sum / flows as f64;
            assert!(rates.iter().all(|rate| (rate / fair - 1.0).abs() < 0.05), "{flows}: {rates:?}");
        }
    }

    #[test]
    fn without_a_bound_of_arrivals_two_flows_swing() {
        for every_ack in [false, true] {
            let (mean, most, _) = late(2, &Params { least_arrivals: 0.0, every_ack, ..Params::default() });
            // 2·beta are 25 750 B; two products of a host, 2.6 MB, wait at times.
            assert!(mean > 10.0 * 25_750.0 && most > 2_000_000.0, "{every_ack}: {mean}, {most}");
        }
    }

    #[test]
    fn arrivals_are_taken_for_half_the_rate_of_the_bottleneck_at_least() {
        let params = Params { base_rtt: Some(Span::from_us(10)), ..Params::default() };
        let mut flow = ThetaPowertcp::new(&params, &path());
        receive(&mut flow, 10, 30_000, true);
        // 10 us less in 11 us: 1/11, so 1/2. P = 1/2·2 = 1, and dt is all of tau.
        let (power, _) = receive(&mut flow, 21, 20_000, false);
        assert!((power - 1.0).abs() < 1e-9, "{power}");
    }
}
