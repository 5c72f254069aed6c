//! Fair queueing with controlled delay (FQ-CoDel): flows take turns, those that had nothing waiting first, and CoDel controls each.
//!
//! ```text
//! new          a flow queue that was empty joins the list of new ones, which go before all old ones    RFC 8290 §4.1, §4.2
//! old          where it goes when it has spent its credits, or has run empty
//! leaves       CoDel judges by the sojourn time and by what is left in that flow queue                  §4.2
//! ce_threshold what has waited for longer is marked besides                                             §5.2.7
//! ```
//! A flow that sends less than a quantum each time the old ones have had their turns is always new: none of its packets waits for a queue
//! that others have built. Turns, credits, and what gives way when the packet memory is full are those of `drr`; CoDel is that of
//! `codel`.
//!
//! Differs from RFC 8290 §4.1: what is limited is the packet memory in bytes, not the number of packets.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::{Bytes, Span};

use super::at_ports::PortsSite;
use super::at_queues::{AtQueues, Place};
pub use super::drr::FlowQueueCounters as FqCodelCounters;
use super::drr::{FlowQueues, Popped, Sets, check_flow_queues};
use super::marking::{Codel, CodelState, Verdict};
use super::settings::SwitchSettings;
use crate::packet::{ECT, Packet, Parcel, Trailers};
use crate::record::{DropCause, PortCounters};
use crate::switch::sojourn;

/// FQ-CoDel (RFC 8290), in each queue of a port.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FqCodel {
    /// The sojourn time that a standing queue of a flow may have; 5 ms (RFC 8290 §5.2.2).
    pub target: Span,
    /// Time that sojourn times may stay above; 100 ms (§5.2.1).
    pub interval: Span,
    /// Packets that can be marked are marked in place of dropping (§5.2.6).
    pub ecn: bool,
    /// Packets that have waited for longer are marked if they can be, whatever CoDel says (§5.2.7). None are if left out.
    pub ce_threshold: Option<Span>,
    /// Bytes that a flow queue may send in a turn; 1514 B (§5.2.4).
    pub quantum: Bytes,
    /// Flow queues; 1024 (§5.2.5).
    pub flows: u32,
}

impl Default for FqCodel {
    fn default() -> Self {
        Self {
            target: Span::from_ms(5),
            interval: Span::from_ms(100),
            ecn: true,
            ce_threshold: None,
            quantum: Bytes::new(1_514),
            flows: 1_024,
        }
    }
}

impl SwitchSettings for FqCodel {
    const KEEPS_QUEUES: bool = true;

    fn marks(&self) -> bool {
        self.ecn || self.ce_threshold.is_some()
    }
}

/// Memory that CoDel takes for each flow queue.
pub const BYTES_OF_CODEL: u64 = size_of::<CodelState>() as u64;

impl FqCodel {
    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { target, interval, quantum, flows, .. } = *self;
        ranges.unless(
            target > Span::ZERO && target < interval,
            "target",
            target,
            "above 0, less than the interval",
        )?;
        check_flow_queues(quantum, flows, ranges)
    }
}

/// FQ-CoDel at the ports of a switch.
#[derive(Debug)]
pub(crate) struct FqCodelQueues {
    config: FqCodel,
    codel: Codel,
    /// A flow queue that holds no more than this has no standing queue.
    largest: u64,
    sets: Sets<Controlled>,
    /// By port.
    counters: Vec<FqCodelCounters>,
}

/// Flow queues, and CoDel of each.
#[derive(Debug)]
struct Controlled {
    queues: FlowQueues,
    states: Box<[CodelState]>,
}

impl FqCodelQueues {
    #[inline]
    fn at(&mut self, place: Place) -> (&mut Controlled, &mut FqCodelCounters) {
        let FqCodel { quantum, flows, .. } = self.config;
        let make = |salt| Controlled {
            queues: FlowQueues::new(flows, quantum.get() as u32, true, salt),
            states: vec![CodelState::default(); flows as usize].into_boxed_slice(),
        };
        (self.sets.at(place, make), &mut self.counters[place.port])
    }
}

impl AtQueues for FqCodelQueues {
    const CAUSE: DropCause = DropCause::Codel;

    fn new(site: &PortsSite<'_>) -> Option<Self> {
        let config = site.config.fq_codel.clone()?;
        let FqCodel { target, interval, ecn, .. } = config;
        Some(Self {
            config,
            codel: Codel { target, interval, ecn },
            largest: site.largest.get(),
            sets: Sets::new(site),
            counters: vec![FqCodelCounters::default(); site.ports],
        })
    }

    fn pass(&mut self, place: Place, packet: Packet) -> Verdict {
        let codel = self.codel.clone();
        let (controlled, counters) = self.at(place);
        let flow_queue = controlled.queues.pass(packet, counters);
        controlled.states[flow_queue].judge(&codel, place.now, false, false)
    }

    fn push(&mut self, place: Place, parcel: Parcel<'_>) {
        let (controlled, counters) = self.at(place);
        controlled.queues.push(parcel, counters);
    }

    fn pop(&mut self, place: Place, slots: &mut Trailers) -> (Packet, Verdict) {
        let (codel, largest, ce_threshold) = (self.codel.clone(), self.largest, self.config.ce_threshold);
        let (Controlled { queues, states }, _) = self.at(place);
        let Popped { packet, flow_queue, left } = queues.pop(slots);
        let (waited, ect) = (sojourn(packet, place.now), packet.is(ECT));
        let above = waited >= codel.target && left > largest;
        let mut verdict = states[flow_queue].judge(&codel, place.now, above, codel.ecn && ect);
        if verdict == Verdict::Pass && ect && ce_threshold.is_some_and(|threshold| waited > threshold) {
            verdict = Verdict::Mark;
        }
        if verdict != Verdict::Drop {
            queues.charge(flow_queue, packet);
        }
        (packet, verdict)
    }

    fn overflow(&mut self, place: Place) -> u32 {
        self.at(place).0.queues.overflow()
    }

    fn give_way(&mut self, place: Place, slots: &mut Trailers) -> Option<Packet> {
        self.at(place).0.queues.give_way(slots)
    }

    fn report(&self, port: usize, counters: &mut PortCounters) {
        counters.fq_codel = self.counters[port];
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::Time;

    use super::*;
    use crate::ids::{FlowId, HostId};
    use crate::packet::{Fields, Kind, NO_TRAILERS};
    use crate::switch::waiting;

    const SIZE: u16 = 1_500;

    fn queues(config: FqCodel) -> FqCodelQueues {
        let FqCodel { target, interval, ecn, .. } = config;
        let codel = Codel { target, interval, ecn };
        let (sets, counters) = (Sets::of_ports(vec![7]), vec![FqCodelCounters::default()]);
        FqCodelQueues { config, codel, largest: SIZE.into(), sets, counters }
    }

    fn at(now: Time) -> Place {
        Place { now, port: 0, queue: 0 }
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn push(queues: &mut FqCodelQueues, now: Time, flow: u32, flags: u8) {
        let (flow, to, kind) = (FlowId(flow), HostId(0), Kind::Data);
        let fields =
            Fields { seq: 0, flow, to, size: SIZE, incarnation: 0, kind, priority: 0, flags, trailers: 0 };
        queues.push(at(now), Parcel::bare(waiting(Packet::new(fields), now)));
    }

    /// When flow 1 was hit, of flows whose packets all wait for 20 ms; one leaves every 100 µs.
    fn hit(flags: u8, hungry: u32, until: Time) -> Vec<f64> {
        let mut queues = queues(FqCodel::default());
        let mut times = Vec::new();
        let mut now = Time::ZERO;
        while now < Time::ZERO + Span::from_ms(20) {
            (1..=hungry).for_each(|flow| push(&mut queues, now, flow, flags));
            now += Span::from_us(100) * u64::from(hungry);
        }
        while now < until {
            (1..=hungry).for_each(|flow| push(&mut queues, now, flow, flags));
            for _ in 0..hungry {
                loop {
                    let (packet, verdict) = queues.pop(at(now), &mut NO_TRAILERS.clone());
                    if verdict != Verdict::Pass && packet.flow() == FlowId(1) {
                        times.push((now - ms(20)).as_secs_f64() * 1e3);
                    }
                    if verdict != Verdict::Drop {
                        break;
                    }
                    push(&mut queues, Time::ZERO + (now - ms(20)), packet.flow().0, flags);
                }
                now += Span::from_us(100);
            }
        }
        times
    }

    /// RFC 8289 §5.2 for each flow by itself: 100 ms after the sojourn times of the flow have been above target, then 100/sqrt(n) ms
    /// after each, however many other flows there are.
    #[test]
    fn every_flow_is_controlled_by_the_control_law_of_its_own() {
        for (flags, hungry) in [(ECT, 1), (ECT, 4), (0, 1)] {
            let found = hit(flags, hungry, ms(620));
            let expected = [100.0, 200.0, 270.71, 328.45, 378.45, 423.17, 464.0, 501.79];
            assert!(found.len() >= expected.len(), "{found:?}");
            for (found, expected) in found.iter().zip(expected) {
                // The next packet of the flow leaves up to a turn of all flows later.
                let turn = 0.1 * f64::from(hungry) + 0.11;
                assert!((0.0..=turn).contains(&(found - expected)), "{found} ms instead of {expected} ms");
            }
        }
    }

    #[test]
    fn a_flow_without_a_standing_queue_is_left_alone_while_another_is_controlled() {
        let mut queues = queues(FqCodel { ecn: false, ..FqCodel::default() });
        (0..2_000).for_each(|_| push(&mut queues, Time::ZERO, 1, 0));
        let mut dropped = [0; 3];
        for step in 0..1_000 {
            let now = ms(30 + step);
            push(&mut queues, now, 2, 0);
            let mut sent = 0;
            while sent < 2 {
                let (packet, verdict) = queues.pop(at(now), &mut NO_TRAILERS.clone());
                dropped[packet.flow().index()] += u32::from(verdict == Verdict::Drop);
                sent += u32::from(verdict != Verdict::Drop);
            }
        }
        assert!(dropped[1] > 10 && dropped[2] == 0, "{dropped:?}");
    }

    #[test]
    fn what_has_waited_longer_than_the_threshold_is_marked_at_once() {
        let mut queues = queues(FqCodel { ce_threshold: Some(Span::from_ms(1)), ..FqCodel::default() });
        for flags in [ECT, ECT, 0] {
            push(&mut queues, Time::ZERO, 1, flags);
        }
        let mut judged = |ms_later| queues.pop(at(ms(ms_later)), &mut NO_TRAILERS.clone()).1;
        assert_eq!([judged(1), judged(2), judged(3)], [Verdict::Pass, Verdict::Mark, Verdict::Pass]);
    }
}
