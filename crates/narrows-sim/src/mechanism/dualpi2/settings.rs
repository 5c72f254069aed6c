//! Settings.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::Span;

use super::scheduler::Scheduler;
use crate::mechanism::settings::SwitchSettings;

/// DualPI2 (RFC 9332 App. A), in each queue of a port.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DualPi2 {
    /// The delay at which the classic queue is held; 15 ms (RFC 9332 App. A.1).
    pub target: Span,
    /// The longest round-trip time for which the controller is stable, RTT_max; 100 ms. Its period and weights follow from it.
    pub rtt_max: Span,
    /// k: L4S packets are marked this many times as likely as the root of the likelihood that classic packets are dropped; 2 (§2.5.1).
    pub coupling: f64,
    /// Sojourn time above which L4S packets begin to be marked, minTh; 800 us.
    pub l4s_min: Span,
    /// Time above that from which all are, range; 400 us. Zero makes a step of it.
    pub l4s_range: Span,
    /// A packet is not marked for its sojourn time if it leaves fewer packets behind, Th_len; 1.
    pub l4s_packets: u32,
    /// Which of the two queues sends next.
    pub scheduler: Scheduler,
}

impl Default for DualPi2 {
    fn default() -> Self {
        Self {
            target: Span::from_ms(15),
            rtt_max: Span::from_ms(100),
            coupling: 2.0,
            l4s_min: Span::from_us(800),
            l4s_range: Span::from_us(400),
            l4s_packets: 1,
            scheduler: Scheduler::default(),
        }
    }
}

impl SwitchSettings for DualPi2 {
    const KEEPS_QUEUES: bool = true;

    fn marks(&self) -> bool {
        true
    }
}

impl DualPi2 {
    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { target, rtt_max, coupling, .. } = *self;
        ranges.timer("target", target)?;
        ranges.unless(rtt_max >= Span::from_ns(300), "rtt_max", rtt_max, "at least 300 ns")?;
        ranges.unless((0.1..=100.0).contains(&coupling), "coupling", coupling, "0.1 to 100")?;
        self.scheduler.check(ranges)
    }

    /// Period of the controller, T (Fig. 2).
    pub(super) fn update(&self) -> Span {
        self.target.min(self.rtt_max / 3)
    }

    /// Weights of the controller, α and β, in Hz (Fig. 2).
    pub(super) fn gains(&self) -> (f64, f64) {
        let rtt_max = self.rtt_max.as_secs_f64();
        (0.1 * self.update().as_secs_f64() / (rtt_max * rtt_max), 0.3 / rtt_max)
    }
}
