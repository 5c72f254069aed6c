//! Who may use how much of a switch's packet memory.
//!
//! A packet is in the memory from the moment it joins a queue until it begins to be sent. It is dropped if the memory is full, or if
//! its queue would hold more than its share.
//! ```text
//! per_port    each port has `size` for itself
//! static      each of n ports has size/n for itself
//! complete    first come, first served
//! dynamic     a queue may hold alpha times what is free                Choudhury & Hahne, ToN 1998
//! ```
//! Under dynamic sharing N congested queues get alpha·B/(1 + N·alpha) each, and a part of the memory stays free for those that
//! are not.

use narrows_proto::units::Bytes;

use crate::record::DropCause;

/// Packet memory of a switch.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// All of it, or with `per_port` the part of each port. A packet on the wire no longer occupies any.
    pub size: Bytes,
    /// Rule by which it is shared.
    #[serde(default)]
    pub sharing: Sharing,
}

/// Rule by which packet memory is shared.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Each port has `size` for itself.
    PerPort,
    /// Each port has an equal part of `size` for itself.
    Static,
    /// First come, first served.
    Complete,
    /// A queue may hold α times what is free (Choudhury & Hahne, ToN 1998).
    Dynamic(Dynamic),
}

/// Dynamic thresholds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dynamic {
    /// α, kept to a precision of 2^-16; N congested queues get αB/(1 + Nα) each.
    pub alpha: f64,
}

impl Default for Sharing {
    /// Dynamic with α = 1, the usual setting of shared-buffer switches.
    fn default() -> Self {
        Self::Dynamic(Dynamic { alpha: 1.0 })
    }
}

impl Dynamic {
    /// The smallest α that is not 0 at the precision it is kept with.
    pub const LEAST: f64 = 1.0 / 65_536.0;

    /// α · 2^16.
    fn scaled(self) -> u64 {
        (self.alpha * 65_536.0) as u64
    }
}

impl Buffer {
    /// Memory of a switch with this many ports.
    pub fn total(&self, ports: usize) -> Bytes {
        match self.sharing {
            Sharing::PerPort => self.size.saturating_mul(ports as u64),
            _ => self.size,
        }
    }

    /// The most one queue can ever hold, on a switch with this many ports.
    pub fn largest_queue(&self, ports: usize) -> Bytes {
        match self.sharing {
            Sharing::PerPort | Sharing::Complete => self.size,
            Sharing::Static => self.size / ports.max(1) as u64,
            Sharing::Dynamic(Dynamic { alpha }) => {
                Bytes::from_f64(self.size.as_f64() * alpha / (1.0 + alpha))
            }
        }
    }

    /// Whether a queue of an otherwise empty switch with this many ports takes a packet of this size.
    pub fn admits(&self, ports: usize, packet: Bytes) -> bool {
        Memory::new(self, ports).admit(0, packet.get()).is_ok()
    }

    /// The smallest `size` with which, shared like this, it [admits](Self::admits) a packet.
    pub fn least(&self, ports: usize, packet: Bytes) -> Bytes {
        match self.sharing {
            Sharing::PerPort | Sharing::Complete => packet,
            Sharing::Static => packet.saturating_mul(ports.max(1) as u64),
            Sharing::Dynamic(dynamic) => {
                let least = (u128::from(packet.get()) << 16).div_ceil(dynamic.scaled().max(1).into());
                packet.max(Bytes::new(u64::try_from(least).unwrap_or(u64::MAX)))
            }
        }
    }
}

/// Packet memory in use.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    total: u64,
    /// The most any queue may hold, whatever is free.
    queue_limit: u64,
    /// α · 2^16.
    alpha: Option<u64>,
    /// Bytes waiting in all queues. Plain ports are brought up to date late, so this may be too much, never too little.
    pub(crate) used: u64,
}

impl Memory {
    pub(crate) fn new(buffer: &Buffer, ports: usize) -> Self {
        let alpha = match buffer.sharing {
            Sharing::Dynamic(dynamic) => Some(dynamic.scaled()),
            _ => None,
        };
        let queue_limit = if alpha.is_some() { buffer.size } else { buffer.largest_queue(ports) };
        Self { total: buffer.total(ports).get(), queue_limit: queue_limit.get(), alpha, used: 0 }
    }

    /// Whether a queue of `backlog` bytes may take `size` more.
    #[inline(always)]
    pub(crate) fn admit(&self, backlog: u64, size: u64) -> Result<(), DropCause> {
        if self.used + size > self.total {
            return Err(DropCause::BufferFull);
        }
        let limit = self.limit(self.total - self.used);
        if backlog + size > limit { Err(DropCause::QueueLimit) } else { Ok(()) }
    }

    /// The most a queue may hold, whatever else comes, before `bytes` more have come in all; none if not even they fit.
    #[inline(always)]
    pub(crate) fn sure_limit(&self, bytes: u64) -> Option<u64> {
        Some(self.limit(self.total.checked_sub(self.used + bytes)?))
    }

    /// The most a queue may hold while so much is free.
    #[inline(always)]
    fn limit(&self, free: u64) -> u64 {
        match self.alpha {
            Some(alpha) => (((u128::from(free) * u128::from(alpha)) >> 16) as u64).min(self.queue_limit),
            None => self.queue_limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn memory(sharing: Sharing) -> Memory {
        Memory::new(&Buffer { size: Bytes::new(100_000), sharing }, 4)
    }

    /// Fills `queues` queues in turn with packets of 10 bytes until none takes more.
    fn fill(memory: &mut Memory, queues: usize) -> Vec<u64> {
        let mut backlog = vec![0; queues];
        loop {
            let before = backlog.clone();
            for queue in &mut backlog {
                if memory.admit(*queue, 10).is_ok() {
                    *queue += 10;
                    memory.used += 10;
                }
            }
            if backlog == before {
                return backlog;
            }
        }
    }

    #[test]
    fn congested_queues_settle_at_the_share_of_choudhury_and_hahne() {
        for (alpha, queues) in [(1.0, 1), (1.0, 3), (0.5, 2), (8.0, 4), (0.125, 2)] {
            let backlog = fill(&mut memory(Sharing::Dynamic(Dynamic { alpha })), queues);
            let share = alpha * 100_000.0 / (1.0 + queues as f64 * alpha);
            // One packet of 10 bytes either way.
            assert!(
                backlog.iter().all(|queue| (*queue as f64 - share).abs() <= 10.0),
                "{alpha} {backlog:?} {share}"
            );
        }
    }

    #[test]
    fn parts_of_ports_are_their_own() {
        assert_eq!(fill(&mut memory(Sharing::Static), 4), [25_000; 4]);
        assert_eq!(fill(&mut memory(Sharing::PerPort), 4), [100_000; 4]);
        assert_eq!(fill(&mut memory(Sharing::Complete), 4), [25_000; 4]);
        assert_eq!(fill(&mut memory(Sharing::Complete), 1), [100_000]);
    }

    #[test]
    fn a_full_memory_and_a_full_queue_are_told_apart() {
        let mut full = memory(Sharing::Complete);
        full.used = 99_995;
        assert_eq!(full.admit(0, 10), Err(DropCause::BufferFull));
        assert_eq!(memory(Sharing::Static).admit(24_995, 10), Err(DropCause::QueueLimit));
    }

    proptest! {
        #[test]
        fn the_least_size_that_admits_a_packet_is_the_least(packet in 1..70_000_u64, ports in 1..65_usize, alpha in Dynamic::LEAST..16.0) {
            for sharing in [Sharing::PerPort, Sharing::Static, Sharing::Complete, Sharing::Dynamic(Dynamic { alpha })] {
                let packet = Bytes::new(packet);
                let buffer = |size| Buffer { size, sharing };
                let least = buffer(Bytes::ZERO).least(ports, packet);
                prop_assert!(buffer(least).admits(ports, packet));
                prop_assert!(!buffer(least - Bytes::new(1)).admits(ports, packet));
            }
        }

        #[test]
        fn what_fits_a_fuller_memory_fits(used in 0..100_000_u64, less in 0..100_000_u64, backlog in 0..50_000_u64, size in 1..2_000_u64, alpha in 0.01..16.0) {
            // So an occupancy that is only known to be at most `used` may admit, but never refuse.
            let mut memory = memory(Sharing::Dynamic(Dynamic { alpha }));
            memory.used = used;
            let fuller = memory.admit(backlog, size);
            memory.used = used.saturating_sub(less);
            prop_assert!(fuller.is_err() || memory.admit(backlog, size).is_ok());
        }
    }
}
