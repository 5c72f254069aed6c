//! PowerTCP: a window from the power of the busiest link, the rate of its arrivals times what is on the path and in the queue.
//!
//! ```text
//! Each acknowledgment, of each link with two records dt apart           Addanki et al. (NSDI 2022), code of the authors for Linux
//!     lambda = max(0, Δqueue + Δsent)/dt                                 what arrived there
//!     P      = lambda·(queue + b·tau)/(b²·tau)                           b its rate; 1 if it is just busy and nothing waits
//! P of the link where it is largest, with its dt, tau at most
//!     S    = (S·(tau − dt) + P·dt)/tau                                   the first P as it is
//!     cwnd = g·(w_old/S + beta) + (1 − g)·cwnd                           w_old the window when the acknowledged packet was sent
//! rate = cwnd/tau
//! ```
//! tau is the base round-trip time and beta the product of tau and the rate of the host's link, over N. A flow begins with that
//! product, which its window never exceeds. Windows are bytes on the wire here; the limit is the payload in them. Losses and timeouts
//! do not change the window.
//!
//! Where windows stand still each flow has beta in the queue: N flows on a link make a queue of N·beta if their windows are below the
//! product, and one alone on a link of its host's rate makes none.
//!
//! The sources leave open how small P may be, which only matters below a window of one packet: 2⁻¹⁶ here. A packet that was sent twice
//! is taken for the oldest whose window is still known.
//!
//! Left out: the form with rates of the authors' ns-3 code, which measures arrivals in switches, smooths over fewer packets and aims at
//! 95 % of the link. Its numbers differ.

pub(in crate::cc) mod window;

#[cfg(test)]
mod tests;

pub(in crate::cc) use self::window::PowerWindow;
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter, Signal,
};
use crate::telemetry::{Latest, Received, Telemetry};
use crate::units::{Span, Time};

/// Settings of PowerTCP.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "PowerTcp")]
pub struct Params {
    /// tau, the base round-trip time; 13 us, as for `hpcc`. It should be the longest of the network, sending a packet and its
    /// acknowledgment included.
    pub base_rtt: Span,
    /// gamma, the weight of the newest window; 0.9 (code of Addanki et al.: 921/1024).
    pub gain: f64,
    /// N, flows that share a link, for beta; 10 (code of Addanki et al.).
    pub flows: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { base_rtt: Span::from_us(13), gain: window::GAIN, flows: window::FLOWS }
    }
}

/// A PowerTCP window.
#[derive(Clone, Debug)]
pub struct Powertcp {
    window: Box<PowerWindow>,
    last: Box<Latest>,
    /// S has changed since the last acknowledgment.
    measured: bool,
}

impl Algorithm for Powertcp {
    type Params = Params;
    const SUMMARY: &'static str =
        "window from the power of the busiest link, by telemetry of switches (RDMA)";
    const SOURCE: &'static str = "Addanki et al., NSDI 2022";
    const INSIDE: Described =
        &[("power", "The smoothed normalized power of the busiest link; 1 if it is just busy.")];
    const READS_DELAY: bool = true;
    const NEEDS_RDMA: bool = true;
    const TELEMETRY: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        let Params { base_rtt, gain, flows } = *params;
        Self {
            window: Box::new(PowerWindow::new(base_rtt, gain, flows, path)),
            last: Box::default(),
            measured: false,
        }
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Off
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Params { base_rtt, gain, flows } = *params;
        window::check_base_rtt(base_rtt, ranges)?;
        window::check(gain, flows, ranges)
    }
}

impl Powertcp {
    /// Takes the power of the busiest link into S. Returns whether anything follows from the records.
    fn measure(&mut self, now: Time, telemetry: &Telemetry) -> bool {
        let tau = self.window.tau();
        let (mut power, mut dt) = (f64::NEG_INFINITY, 0.0);
        let received = self.last.compare(now, telemetry, |hop, before, ns| {
            let (seconds, rate) = (f64::from(ns) * 1e-9, hop.rate.as_f64() / 8.0);
            let queue = hop.queue().as_f64();
            let arrived = queue - before.queue().as_f64() + hop.sent_since(before).as_f64();
            let lambda = (arrived / seconds).max(0.0);
            let here = lambda * (queue + rate * tau) / (rate * rate * tau);
            if here > power {
                (power, dt) = (here, seconds);
            }
        });
        if received == Received::Measured {
            self.window.smooth(power, dt);
        }
        received == Received::Measured
    }
}

impl Controller for Powertcp {
    fn on_ack(&mut self, ack: &Ack) {
        if std::mem::take(&mut self.measured) {
            self.window.update(ack);
        }
    }

    fn on_congestion(&mut self, _now: Time, _event: Congestion) {}

    fn limit(&self) -> Limit {
        self.window.limit()
    }

    fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        if let Signal::Telemetry(telemetry) = signal {
            self.measured = self.measure(now, telemetry);
        }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        if let Some(power) = self.window.power() {
            report("power", power.into());
        }
    }
}
