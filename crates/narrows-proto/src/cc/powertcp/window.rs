//! The window of PowerTCP, for any measure of power.

use std::collections::VecDeque;

use super::super::{Ack, Limit, OutOfRange, Path, Ranges};
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

/// gamma, and N for beta (code of Addanki et al.).
pub(in crate::cc) const GAIN: f64 = 0.9;
pub(in crate::cc) const FLOWS: u32 = 10;

/// The least power: the window is bounded by a packet and the product long before. Our choice.
const LEAST_POWER: f64 = 1.0 / 65_536.0;

/// The ranges of gamma and N.
pub(in crate::cc) fn check(gain: f64, flows: u32, ranges: &mut Ranges) -> Result<(), OutOfRange> {
    ranges.unless(gain > 0.0 && gain <= 1.0, "gain", gain, "above 0, at most 1")?;
    ranges.unless(flows > 0, "flows", flows, "at least 1")
}

/// The range of a base round-trip time.
pub(in crate::cc) fn check_base_rtt(base_rtt: Span, ranges: &mut Ranges) -> Result<(), OutOfRange> {
    let in_range = base_rtt > Span::ZERO && base_rtt <= Span::from_secs(10);
    ranges.unless(in_range, "base_rtt", base_rtt, "more than 0 s, at most 10 s")
}

/// A window that is divided by the power of its path; in bytes on the wire.
#[derive(Clone, Debug)]
pub(in crate::cc) struct PowerWindow {
    /// tau, in seconds.
    tau: f64,
    gain: f64,
    flows: f64,
    /// Bytes per second of the host's link.
    link: f64,
    cwnd: f64,
    /// S; none before the first sample.
    power: Option<f64>,
    /// Windows by when they began, the one in which the last acknowledged packet was sent first.
    past: VecDeque<(Time, f64)>,
    /// A packet on the wire, and the part of it that is payload.
    packet: f64,
    payload: f64,
}

impl PowerWindow {
    pub(in crate::cc) fn new(base_rtt: Span, gain: f64, flows: u32, path: &Path) -> Self {
        let mut window = Self {
            tau: 0.0,
            gain,
            flows: f64::from(flows),
            link: path.link.as_f64() / 8.0,
            cwnd: 0.0,
            power: None,
            past: VecDeque::new(),
            packet: path.packet.as_f64(),
            payload: path.mss.as_f64() / path.packet.as_f64(),
        };
        window.set_tau(base_rtt);
        window.cwnd = window.most();
        window
    }

    /// tau, in seconds.
    pub(in crate::cc) fn tau(&self) -> f64 {
        self.tau
    }

    pub(in crate::cc) fn set_tau(&mut self, base_rtt: Span) {
        self.tau = base_rtt.as_secs_f64();
    }

    /// S.
    pub(in crate::cc) fn power(&self) -> Option<f64> {
        self.power
    }

    /// The product of tau and the rate of the host's link, or a packet.
    fn most(&self) -> f64 {
        (self.link * self.tau).max(self.packet)
    }

    /// Takes a power that held for `dt` seconds into S.
    pub(in crate::cc) fn smooth(&mut self, power: f64, dt: f64) {
        let (power, dt) = (power.max(LEAST_POWER), dt.min(self.tau));
        self.power = Some(match self.power {
            None => power,
            Some(before) => (before * (self.tau - dt) + power * dt) / self.tau,
        });
    }

    /// The window after an acknowledgment, once there is a power.
    pub(in crate::cc) fn update(&mut self, ack: &Ack) {
        let Some(power) = self.power else { return };
        let old = self.at_sending(ack);
        let beta = self.link * self.tau / self.flows;
        let cwnd = self.gain * (old / power + beta) + (1.0 - self.gain) * self.cwnd;
        let cwnd = cwnd.max(self.packet).min(self.most());
        if self.past.is_empty() {
            self.past.push_back((Time::ZERO, self.cwnd));
        }
        if cwnd != self.cwnd {
            self.past.push_back((ack.now, cwnd));
        }
        self.cwnd = cwnd;
    }

    /// The window when the packet was sent that an acknowledgment answers.
    fn at_sending(&mut self, ack: &Ack) -> f64 {
        if let Some(rtt) = ack.rtt {
            let sent = Time::from_ps(ack.now.as_ps().saturating_sub(rtt.as_ps()));
            while self.past.get(1).is_some_and(|(since, _)| *since <= sent) {
                self.past.pop_front();
            }
        }
        self.past.front().map_or(self.cwnd, |(_, window)| *window)
    }

    pub(in crate::cc) fn limit(&self) -> Limit {
        let rate = BitRate::from_f64(self.cwnd * 8.0 / self.tau);
        Limit {
            cwnd: Bytes::from_f64(self.cwnd * self.payload).max(Bytes::from_f64(self.packet * self.payload)),
            pacing: Some(rate.clamp(WireTime::MIN_RATE, WireTime::MAX_RATE)),
        }
    }
}
