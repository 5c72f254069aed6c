//! Whether a packet that joins or leaves a queue is marked, dropped or left alone.
//!
//! ```text
//! off       nothing; the queue overflows
//! step      marked if more than K waits                                RFC 8257 §3.1
//! red       avg = (1 − w)·avg + w·q at each packet                     Floyd & Jacobson, ToN 1993
//!           chosen with a probability that rises from 0 at min to max_p at max, by the average
//! sojourn   marked if it has waited for longer than a time             Bai et al., CoNEXT 2016 (TCN)
//! codel     dropped or marked while all have waited too long           RFC 8289
//! pie       dropped or marked with a probability that follows the wait  RFC 8033
//! phantom   marked by a counter that drains more slowly than the link   Uno, SC 2025
//! ```
//! Only packets of connections that use ECN can be marked. What RED does to a packet it has chosen and cannot mark is a setting.
//!
//! Step and RED look at packets when they arrive, or with `mark_at = "dequeue"` when they leave: then they see what waits behind the
//! packet, and sources learn of it a queue earlier. Sojourn times and CoDel are known only then. PIE looks at what arrives, and at the
//! sojourn times of what leaves. A packet that does not wait leaves at once, with a sojourn time of 0.

mod codel;
mod phantom;
mod pie;
mod red;
mod step;
mod verdict;

use narrows_proto::units::{BitRate, Bytes, Span, Time};

pub use self::codel::Codel;
pub(crate) use self::codel::CodelState;
use self::codel::CodelSwitch;
use self::phantom::PhantomSwitch;
pub use self::phantom::{Beside, Phantom, PhantomCounters, RealQueue};
pub use self::pie::Pie;
use self::pie::PieSwitch;
use self::red::RedSwitch;
pub use self::red::{Red, RedAction, RedAt};
use self::step::Steps;
pub use self::step::{ScaledThreshold, Step, Threshold};
pub use self::verdict::MarkAt;
pub(crate) use self::verdict::{Entering, Leaving, Verdict};
use crate::packet::{ECT, Kind, Packet};
use crate::random::Stream;
use crate::record::DropCause;

/// Congestion signal of a queue.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Marking {
    /// None; it overflows.
    #[default]
    Off,
    /// Marks every packet that finds more than K waiting (DCTCP).
    Step(Step),
    /// Random early detection.
    Red(Red),
    /// Marks every packet that has waited for longer than a time.
    Sojourn(Sojourn),
    /// Controlled delay.
    Codel(Codel),
    /// Proportional integral controller, enhanced.
    Pie(Pie),
    /// A counter beside the queue that drains more slowly.
    Phantom(Box<Phantom>),
}

impl Marking {
    /// Packets are looked at when they arrive.
    fn at_enqueue(&self) -> bool {
        match self {
            Self::Step(Step { mark_at, .. }) | Self::Red(Red { mark_at, .. }) => *mark_at == MarkAt::Enqueue,
            Self::Pie(_) | Self::Phantom(_) => true,
            Self::Off | Self::Sojourn(_) | Self::Codel(_) => false,
        }
    }

    /// Packets are looked at when they leave. Needs a queue for each priority ([`PortKind::Scheduled`](crate::switch::PortKind)).
    pub fn at_dequeue(&self) -> bool {
        match self {
            Self::Off => false,
            Self::Step(Step { mark_at, .. }) | Self::Red(Red { mark_at, .. }) => *mark_at == MarkAt::Dequeue,
            Self::Sojourn(_) | Self::Codel(_) | Self::Pie(_) => true,
            Self::Phantom(phantom) => phantom.mark_at == MarkAt::Dequeue,
        }
    }

    /// Packets that can be marked may be.
    pub fn marks(&self) -> bool {
        match self {
            Self::Off => false,
            Self::Step(_) | Self::Sojourn(_) | Self::Phantom(_) => true,
            Self::Red(red) => red.action != RedAction::Drop,
            Self::Codel(codel) => codel.ecn,
            Self::Pie(pie) => pie.ecn,
        }
    }
}

/// Marking by sojourn time (Bai et al., CoNEXT 2016, TCN §4).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sojourn {
    /// Packets that have waited for longer are marked if they can be.
    pub above: Span,
}

/// Marking at the ports of a switch.
#[derive(Clone, Debug)]
pub(crate) struct Marker {
    /// Step marking: what finds more than this waiting is marked.
    above: u64,
    /// The rule looks at what arrives, and at what leaves.
    at_enqueue: bool,
    at_dequeue: bool,
    /// Any rule besides step marking on arrival with one threshold for all ports.
    rule: Option<Box<Rule>>,
}

/// A rule by which packets are marked or dropped.
#[derive(Clone, Debug)]
enum Rule {
    Step(Steps),
    Red(RedSwitch),
    Sojourn { above: Span },
    Codel(CodelSwitch),
    Pie(PieSwitch),
    Phantom(Box<PhantomSwitch>),
}

impl Rule {
    /// A packet that is about to join a queue.
    #[inline(never)]
    fn judge(&mut self, entering: &Entering) -> Verdict {
        let Entering { now, port, backlog, idle_since, ect, .. } = *entering;
        match self {
            Self::Step(steps) => steps.judge(port, backlog, ect),
            Self::Red(red) => red.judge(now, port, backlog, idle_since, ect),
            Self::Pie(pie) => pie.judge(entering),
            Self::Phantom(phantom) => phantom.judge(entering),
            Self::Sojourn { .. } | Self::Codel(_) => Verdict::Pass,
        }
    }

    /// A packet that is about to leave. `idle_since` is when the link ran out of packets, if this one has not waited.
    #[inline(never)]
    fn judge_leaving(&mut self, leaving: &Leaving, idle_since: Option<Time>) -> Verdict {
        let Leaving { now, port, left, ect, .. } = *leaving;
        match self {
            Self::Step(steps) => steps.judge(port, left, ect),
            Self::Red(red) => red.judge(now, port, left, idle_since, ect),
            Self::Sojourn { above } if leaving.sojourn > *above && ect => Verdict::Mark,
            Self::Sojourn { .. } => Verdict::Pass,
            Self::Codel(codel) => codel.judge(leaving),
            Self::Pie(pie) => {
                pie.on_leaving(leaving);
                Verdict::Pass
            }
            Self::Phantom(phantom) => phantom.judge_leaving(leaving, idle_since),
        }
    }
}

impl Marker {
    /// `ports` have a rate, and a time that a packet of typical size takes; `largest` is that size.
    pub(crate) fn new(
        marking: &Marking,
        ports: impl Iterator<Item = (BitRate, Span)>,
        largest: Bytes,
        random: Stream,
    ) -> Self {
        let (mut above, mut rule) = (u64::MAX, None);
        match marking {
            Marking::Off => {}
            Marking::Step(Step { k: Threshold::Fixed(k), mark_at: MarkAt::Enqueue }) => above = k.get(),
            Marking::Step(step) => rule = Some(Rule::Step(Steps::new(step.k, ports))),
            Marking::Red(red) => rule = Some(Rule::Red(RedSwitch::new(red, ports, random))),
            Marking::Sojourn(sojourn) => rule = Some(Rule::Sojourn { above: sojourn.above }),
            Marking::Codel(codel) => {
                rule = Some(Rule::Codel(CodelSwitch::new(codel, ports.count(), largest)));
            }
            Marking::Pie(pie) => {
                rule = Some(Rule::Pie(PieSwitch::new(pie, ports.count(), largest, random)));
            }
            Marking::Phantom(phantom) => {
                rule = Some(Rule::Phantom(Box::new(PhantomSwitch::new(phantom, ports, random))));
            }
        }
        let (at_enqueue, at_dequeue) = (rule.is_some() && marking.at_enqueue(), marking.at_dequeue());
        Self { above, at_enqueue, at_dequeue, rule: rule.map(Box::new) }
    }

    /// A packet that finds `backlog` bytes waiting in a queue of `port`. `idle_since` is when the link ran out of packets, if it did.
    #[inline(always)]
    pub(crate) fn judge(
        &mut self,
        now: Time,
        port: usize,
        queue: usize,
        backlog: u64,
        idle_since: Option<Time>,
        packet: Packet,
    ) -> Verdict {
        if self.at_enqueue {
            return self.judge_by_rule(now, port, queue, backlog, idle_since, packet);
        }
        if backlog > self.above && packet.is(ECT) { Verdict::Mark } else { Verdict::Pass }
    }

    /// Out of line, so that ports without a rule compute nothing that only rules need.
    #[inline(never)]
    fn judge_by_rule(
        &mut self,
        now: Time,
        port: usize,
        queue: usize,
        backlog: u64,
        idle_since: Option<Time>,
        packet: Packet,
    ) -> Verdict {
        let Some(rule) = self.rule.as_deref_mut() else { return Verdict::Pass };
        let is_data = matches!(packet.kind(), Kind::Data | Kind::Datagram | Kind::Limited);
        let data = if is_data { packet.size().into() } else { 0 };
        let ect = packet.is(ECT);
        rule.judge(&Entering { now, port, queue, backlog, idle_since, ect, data })
    }

    /// The threshold, if all it does is to mark what finds more than that waiting; the largest number if it does nothing.
    #[inline]
    pub(crate) fn only_step(&self) -> Option<u64> {
        self.rule.is_none().then_some(self.above)
    }

    /// Packets that leave are looked at.
    #[inline]
    pub(crate) fn looks_at_dequeue(&self) -> bool {
        self.at_dequeue
    }

    /// A packet that is about to leave. `idle_since` is when the link ran out of packets, if this one has not waited.
    pub(crate) fn judge_leaving(&mut self, leaving: &Leaving, idle_since: Option<Time>) -> Verdict {
        match self.rule.as_deref_mut() {
            Some(rule) if self.at_dequeue => rule.judge_leaving(leaving, idle_since),
            _ => Verdict::Pass,
        }
    }

    /// The packet that was judged last on its arrival at a port is not queued there.
    #[cold]
    pub(crate) fn take_back(&mut self, port: usize) {
        if let Some(Rule::Phantom(phantom)) = self.rule.as_deref_mut() {
            phantom.take_back(port);
        }
    }

    /// Counters of the phantom queue of a port, if it has one.
    pub(crate) fn counted(&self, port: usize) -> Option<PhantomCounters> {
        match self.rule.as_deref() {
            Some(Rule::Phantom(phantom)) => Some(phantom.counted(port)),
            _ => None,
        }
    }

    /// Why it drops.
    pub(crate) fn cause(&self) -> DropCause {
        match self.rule.as_deref() {
            Some(Rule::Codel(_)) => DropCause::Codel,
            Some(Rule::Pie(_)) => DropCause::Pie,
            _ => DropCause::Red,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{FlowId, HostId};
    use crate::packet::Fields;
    use crate::random::Purpose;

    fn packet(kind: Kind, flags: u8) -> Packet {
        let (flow, to) = (FlowId(1), HostId(2));
        let (seq, size, incarnation, priority, trailers) = (0, 1500, 0, 0, 0);
        Packet::new(Fields { seq, flow, to, size, incarnation, kind, priority, flags, trailers })
    }

    /// A full data packet that can be marked, or not.
    pub(super) fn data(ect: bool) -> Packet {
        packet(Kind::Data, if ect { ECT } else { 0 })
    }

    pub(super) fn ack() -> Packet {
        packet(Kind::Ack, 0)
    }

    fn marker(marking: &Marking) -> Marker {
        let port = (BitRate::from_gbps(10), Span::from_us(1));
        let random = Stream::new(1, Purpose::Marking, 0);
        Marker::new(marking, std::iter::once(port), Bytes::new(1_500), random)
    }

    fn step(mark_at: MarkAt) -> Marking {
        Marking::Step(Step { k: Bytes::new(10_000).into(), mark_at })
    }

    fn leaving(sojourn_us: u64, left: u64, ect: bool) -> Leaving {
        let sojourn = Span::from_us(sojourn_us);
        Leaving { now: Time::ZERO, port: 0, queue: 0, sojourn, left, ect }
    }

    #[test]
    fn a_step_marks_what_finds_more_than_k_and_can_be_marked() {
        let mut marker = marker(&step(MarkAt::Enqueue));
        let mut judge = |backlog, ect| marker.judge(Time::ZERO, 0, 0, backlog, None, data(ect));
        assert_eq!(judge(10_000, true), Verdict::Pass);
        assert_eq!(judge(10_001, true), Verdict::Mark);
        assert_eq!(judge(10_001, false), Verdict::Pass);
        assert!(!marker.looks_at_dequeue());
    }

    #[test]
    fn a_scaled_step_has_a_threshold_for_each_port() {
        let k = ScaledThreshold { bytes: Bytes::new(10_000), per: BitRate::from_gbps(10) };
        let ports = [10, 40].map(|rate| (BitRate::from_gbps(rate), Span::from_us(1)));
        for mark_at in [MarkAt::Enqueue, MarkAt::Dequeue] {
            let marking = Marking::Step(Step { k: Threshold::Scaled(k), mark_at });
            let random = Stream::new(1, Purpose::Marking, 0);
            let mut marker = Marker::new(&marking, ports.into_iter(), Bytes::new(1_500), random);
            for (port, above) in [(0, 10_000), (1, 40_000)] {
                let mut judge = |waiting| match mark_at {
                    MarkAt::Enqueue => marker.judge(Time::ZERO, port, 0, waiting, None, data(true)),
                    MarkAt::Dequeue => {
                        marker.judge_leaving(&Leaving { port, ..leaving(9, waiting, true) }, None)
                    }
                };
                assert_eq!([judge(above), judge(above + 1)], [Verdict::Pass, Verdict::Mark]);
            }
        }
    }

    #[test]
    fn a_step_at_dequeue_marks_what_leaves_more_than_k_behind() {
        let mut marker = marker(&step(MarkAt::Dequeue));
        assert_eq!(
            marker.judge(Time::ZERO, 0, 0, 1 << 30, None, data(true)),
            Verdict::Pass,
            "not on arrival"
        );
        assert_eq!(marker.judge_leaving(&leaving(9, 10_000, true), None), Verdict::Pass);
        assert_eq!(marker.judge_leaving(&leaving(9, 10_001, true), None), Verdict::Mark);
        assert_eq!(marker.judge_leaving(&leaving(9, 10_001, false), None), Verdict::Pass);
    }

    #[test]
    fn a_sojourn_threshold_marks_what_has_waited_longer() {
        let mut marker = marker(&Marking::Sojourn(Sojourn { above: Span::from_us(60) }));
        assert_eq!(marker.judge_leaving(&leaving(60, 1 << 30, true), None), Verdict::Pass);
        assert_eq!(marker.judge_leaving(&leaving(61, 0, true), None), Verdict::Mark);
        assert_eq!(marker.judge_leaving(&leaving(61, 0, false), None), Verdict::Pass);
    }
}
