//! Small queues: what the kernel has sent waits in a queue of the host, but only a few bursts of each connection.
//!
//! Without it nothing waits: the network card asks a flow for a packet when its link is free. A kernel cannot do that. TCP hands a whole
//! burst over when window and pacing allow it, and from then on the burst counts as sent: the wait for its own link is in its round-trip
//! time, and acknowledgments of the host wait behind it. TCP small queues bound that wait; without them it would be a window.
//!
//! ```text
//! Enqueue   a burst, when window and pacing allow it and no more of its connection
//!           waits than its limit
//! Dequeue   in the order of enqueueing, acknowledgments among the rest
//! Limit     max(bursts * payload of the last burst, rate * within), at most `most`       tcp_small_queue_check
//!           rate: that of the pacing, otherwise 2 or 1.2 * cwnd / SRTT                   tcp_update_pacing_rate
//! Counts    all of a burst until the last of it has left: the card cuts it (TSO)         tcp_wfree
//!           with packet_memory each packet so much until it has left: the kernel cuts
//!           bursts when they enter the queue                                             tcp_gso_segment
//! ```
//! Source: net/ipv4/tcp_output.c and tcp_offload.c of Linux 6.x. What waits must stay below the limit, which is why of two bursts one may
//! wait when the next is handed over.
//!
//! Differs from Linux: headers and the memory of a burst itself are left out of its size, retransmissions have the same limit (Linux
//! doubles it), and a connection of which one burst waits for an acknowledgment is held up like others. A queue in order is that of `pfifo`
//! and `tbf`; `fq` and `fq_codel` take connections in turn. Flows of other transports have no more than one packet here.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::stream::Handed;
use narrows_proto::units::{Bytes, Span};

/// Queues of hosts in front of their network cards, as TCP of a kernel uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SmallQueues {
    /// So many bursts of a connection may wait.
    pub bursts: u32,
    /// Or as much as its rate sends in this time, if that is more. Linux has 1/1024 s.
    pub within: Span,
    /// But never more than this (`tcp_limit_output_bytes`; 4 MiB in Linux 6.x, 256 KiB in 4.9).
    pub most: Bytes,
    /// The kernel cuts bursts into packets before they wait, and each counts with so much memory. If left out, the network card cuts them
    /// (TSO), and a burst counts with its payload until it has left.
    pub packet_memory: Option<Bytes>,
}

impl Default for SmallQueues {
    fn default() -> Self {
        Self { bursts: 2, within: Span::from_ms(1), most: Bytes::new(4 << 20), packet_memory: None }
    }
}

impl SmallQueues {
    /// Checks ranges that types cannot express.
    pub(super) fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { bursts, within, most, packet_memory } = *self;
        let is_some = |bytes: Bytes, most| (1..=most).contains(&bytes.get());
        ranges.unless((1..=1000).contains(&bursts), "small_queues.bursts", bursts, "1 to 1 000")?;
        ranges.unless(within <= Span::from_secs(1), "small_queues.within", within, "at most 1 s")?;
        ranges.unless(is_some(most, 1 << 30), "small_queues.most", most, "1 B to 1 GiB")?;
        let memory = packet_memory.unwrap_or(Bytes::new(1));
        ranges.unless(is_some(memory, 1 << 20), "small_queues.packet_memory", memory, "1 B to 1 MiB")
    }

    /// So many packets of a connection may wait when it hands over the next burst.
    pub(crate) fn may_wait(&self, last: &Handed) -> u64 {
        let Handed { segments, payload, rate } = *last;
        let at_rate = rate.map_or(Bytes::MAX, |rate| rate * self.within);
        let limit = payload.saturating_mul(self.bursts.into()).max(at_rate).min(self.most);
        // One byte more counts while a connection lives (sk_wmem_alloc).
        let below = limit.get().saturating_sub(1);
        match self.packet_memory {
            Some(memory) => below / memory.get(),
            None => below / payload.get().max(1) * u64::from(segments),
        }
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::BitRate;

    use super::*;

    fn burst(segments: u32, mbps: u64) -> Handed {
        let payload = Bytes::new(1448) * u64::from(segments);
        Handed { segments, payload, rate: Some(BitRate::from_bps(mbps * 1_000_000)) }
    }

    #[test]
    fn of_two_bursts_that_the_card_cuts_one_may_wait_when_the_next_is_handed_over() {
        let queues = SmallQueues::default();
        assert_eq!([1, 2, 45].map(|segments| queues.may_wait(&burst(segments, 1))), [1, 2, 45]);
        assert_eq!(SmallQueues { bursts: 1, ..queues }.may_wait(&burst(45, 1)), 0);
        assert_eq!(SmallQueues { bursts: 4, ..queues }.may_wait(&burst(2, 1)), 6);
    }

    #[test]
    fn packets_that_the_kernel_cuts_count_with_their_memory() {
        let queues = SmallQueues { packet_memory: Some(Bytes::new(2304)), ..SmallQueues::default() };
        // 130 320 B and 46 336 B of 2304 B each.
        assert_eq!([45, 16].map(|segments| queues.may_wait(&burst(segments, 1))), [56, 20]);
    }

    #[test]
    fn what_the_rate_sends_in_a_millisecond_may_wait_up_to_a_bound() {
        let queues = SmallQueues::default();
        // 12 500 B are four bursts of 2 896 B and some; 1 250 000 B are 431 of them, 262 144 B are 90.
        assert_eq!([100, 10_000].map(|mbps| queues.may_wait(&burst(2, mbps))), [8, 862]);
        let few = SmallQueues { most: Bytes::new(256 << 10), ..queues };
        assert_eq!(few.may_wait(&burst(2, 10_000)), 180);
        // Before the first round trip the rate has no bound.
        assert_eq!(few.may_wait(&Handed { rate: None, ..burst(2, 1) }), 180);
    }

    #[test]
    fn settings_out_of_their_range_are_refused() {
        let refused =
            |queues: SmallQueues| queues.check(&mut Ranges::default()).map_err(|error| error.setting);
        let queues = SmallQueues::default();
        assert_eq!(refused(queues), Ok(()));
        assert_eq!(refused(SmallQueues { bursts: 0, ..queues }), Err("small_queues.bursts"));
        assert_eq!(refused(SmallQueues { within: Span::from_secs(2), ..queues }), Err("small_queues.within"));
        assert_eq!(refused(SmallQueues { most: Bytes::ZERO, ..queues }), Err("small_queues.most"));
        let none = SmallQueues { packet_memory: Some(Bytes::ZERO), ..queues };
        assert_eq!(refused(none), Err("small_queues.packet_memory"));
    }
}
