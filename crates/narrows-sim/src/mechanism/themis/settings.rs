//! Settings, and what is counted.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::{BitRate, Span, Time};

use crate::ids::FlowId;
use crate::mechanism::settings::SwitchSettings;
use crate::record::{counters, max, sum};

/// Themis (ICNP 2025) at a switch at the border of a data center, for traffic under DCQCN. Values are those of the authors' code.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Themis {
    /// Notify sources in this data center of marks; true.
    pub notify: bool,
    /// Clear these marks; true. Left as they are, receivers send CNPs as well. So the authors of Themis model Annulus, at all switches of a
    /// data center.
    pub clear: bool,
    /// Time from one notification of a flow until the next; 5 us.
    pub gap: Span,
    /// Time until a notification has been made; 2 us.
    pub delay: Span,
    /// Flows whose last notification a switch remembers, chosen by a hash; 65 536.
    pub table: u32,
    /// Hold packets of flows that are asked to slow down, until their sources can react. None are held if left out.
    pub hold: Option<Hold>,
}

impl Default for Themis {
    fn default() -> Self {
        Self {
            notify: true,
            clear: true,
            gap: Span::from_us(5),
            delay: Span::from_us(2),
            table: 1 << 16,
            hold: None,
        }
    }
}

/// The time that packets are held.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Hold {
    /// CNPs after which there is a second pass; 5.
    pub threshold: u32,
    /// The most passes; 1000.
    pub most: u32,
    /// Time without a CNP after which there are half as many passes; 500 us.
    pub release: Span,
    /// Rate of the loop; 1.6 Tb/s.
    pub loop_rate: BitRate,
    /// Time that a pass takes besides; 200 ns.
    pub loop_delay: Span,
}

impl Default for Hold {
    fn default() -> Self {
        Self {
            threshold: 5,
            most: 1_000,
            release: Span::from_us(500),
            loop_rate: BitRate::from_gbps(1_600),
            loop_delay: Span::from_ns(200),
        }
    }
}

/// Memory of an entry of the table.
pub const BYTES_OF_ENTRY: u64 = size_of::<Entry>() as u64;

/// The flow that was notified last of those with the same place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) flow: FlowId,
    /// When it may be notified again.
    pub(super) again: Time,
}

impl SwitchSettings for Themis {
    const AT_PORTS: bool = true;
}

impl Themis {
    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let second = Span::from_secs(1);
        ranges.unless(self.gap <= second, "gap", self.gap, "at most 1 s")?;
        ranges.unless(self.delay <= second, "delay", self.delay, "at most 1 s")?;
        ranges.unless((1..=1 << 24).contains(&self.table), "table", self.table, "1 to 16 777 216")
    }
}

impl Hold {
    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { threshold, most, release, loop_rate, loop_delay } = *self;
        ranges.unless(threshold > 0, "threshold", threshold, "at least 1")?;
        ranges.unless((1..=1_000_000).contains(&most), "most", most, "1 to 1 000 000")?;
        ranges.unless(release > Span::ZERO, "release", release, "above 0")?;
        ranges.unless(loop_rate > BitRate::ZERO, "loop_rate", loop_rate, "above 0")?;
        ranges.unless(loop_delay <= Span::from_ms(1), "loop_delay", loop_delay, "at most 1 ms")
    }
}

counters! {
    #[derive(Eq)]
    /// Marks and notifications at a port.
    pub struct ThemisCounters {
        /// Marks cleared.
        pub cleared: u64 = sum,
        /// Notifications sent to sources.
        pub notified: u64 = sum,
    }
}

counters! {
    #[derive(Eq)]
    /// Packets held at all switches.
    pub struct ThemisRecord {
        /// Packets held.
        pub held: u64 = sum,
        /// The most passes of a packet.
        pub passes: u64 = max,
        /// The most bytes that were held at a switch at once.
        pub most: u64 = max,
    }
}
