//! The sending end of a link with a [`Path`]: when a packet has been sent, whether and when it arrives.

use std::ops::Range;

use narrows_proto::units::{Span, Time};

use super::bucket::Bucket;
use super::jitter::Jitters;
use super::loss::Bursts;
use super::mangling::Mangling;
use super::slots::Filling;
use super::steps::Cursor;
use super::timing::Timing;
use super::{Excess, Path};
use crate::link::{Egress, Errors, Outage};
use crate::mechanism::marking::Verdict;
use crate::packet::{ECT, Packet};
use crate::random::{Purpose, Stream};
use crate::record::{DropCause, PortCounters};

/// In place of the number of a line: the link has none.
pub(crate) const NO_LINE: u32 = u32::MAX;

/// The sending end of a link with a [`Path`].
#[derive(Debug)]
pub(crate) struct Line {
    /// Sent and lost so far.
    pub(crate) counters: PortCounters,
    pub(crate) egress: Egress,
    timing: Timing,
    loss: Loss,
    bursts: Option<Bursts>,
    jitter: Option<Jitters>,
    slots: Option<Filling>,
    ecn: Option<Mangling>,
    thins: bool,
    policer: Option<(Bucket, Excess)>,
    /// Everything between the first bit sent and the last bit received must lie outside these times.
    outages: Vec<Outage>,
    /// When the last of all packets so far arrives.
    latest: Time,
    /// When bytes count as measured.
    measured: Range<Time>,
}

/// Random loss.
#[derive(Debug)]
enum Loss {
    None,
    Fixed(Errors),
    Steps(Cursor<f64>, Stream),
}

/// Outcome of a packet.
pub(crate) struct Crossing {
    /// When the link is free again.
    pub(crate) sent: Time,
    pub(crate) arrives: Result<Time, DropCause>,
    /// The far end has to look where it belongs: it overtakes packets that were sent before, or may make some needless.
    pub(crate) by_place: bool,
}

/// Parts that a line is made from besides its path.
pub(crate) struct LineParts {
    pub(crate) egress: Egress,
    /// Propagation delay of the wire; what the egress has beyond that is added to any delay.
    pub(crate) delay: Span,
    pub(crate) error_rate: f64,
    pub(crate) outages: Vec<Outage>,
    pub(crate) measured: Range<Time>,
    pub(crate) seed: u64,
}

impl Line {
    pub(crate) fn new(path: &Path, parts: LineParts) -> Self {
        let LineParts { egress, delay, error_rate, outages, measured, seed } = parts;
        let random = || Stream::new(seed, Purpose::LinkErrors, egress.link.0.into());
        let added = egress.delay.saturating_sub(delay);
        Self {
            counters: PortCounters::default(),
            egress,
            timing: Timing::new(path, egress.wire_time, delay, added),
            loss: match &path.loss {
                Some(steps) => Loss::Steps(Cursor::new(steps), random()),
                None if error_rate > 0.0 => Loss::Fixed(Errors::new(error_rate, random())),
                None => Loss::None,
            },
            bursts: path.bursts.map(|model| Bursts::new(model, seed, egress.link.0.into())),
            jitter: path.jitter.as_ref().map(|jitter| Jitters::new(jitter, seed, egress.link.0.into())),
            slots: path.slots.as_ref().map(|slots| Filling::new(slots, seed, egress.link.0.into())),
            ecn: path.ecn,
            thins: path.thins(),
            policer: path.policer.map(|policer| (Bucket::new(policer.rate, policer.burst), policer.excess)),
            outages,
            latest: Time::ZERO,
            measured,
        }
    }

    /// A packet begins to be sent. The link must be free.
    pub(crate) fn send(&mut self, now: Time, packet: Packet) -> Crossing {
        let size = packet.size();
        self.count(now, size);
        let sent = self.timing.sent_at(now, size.into());
        let mut arrival = self.timing.arrival(sent);
        if let Some(jitter) = &mut self.jitter {
            arrival += jitter.draw();
            if !jitter.reorders {
                arrival = arrival.max(self.latest);
            }
        }
        if let Some(cause) = self.loses(now, arrival) {
            self.counters.count_drop(cause, size);
            return Crossing { sent, arrives: Err(cause), by_place: false };
        }
        if let Some(slots) = &mut self.slots {
            arrival = slots.take(arrival, size);
        }
        let by_place = self.thins || arrival < self.latest;
        self.latest = arrival.max(self.latest);
        Crossing { sent, arrives: Ok(arrival), by_place }
    }

    /// The packet with the codepoint that it leaves with.
    pub(crate) fn mangle(&mut self, packet: Packet) -> Packet {
        let Some(ecn) = self.ecn else { return packet };
        let changed = ecn.apply(packet);
        self.counters.mangled += u64::from(changed != packet);
        changed
    }

    /// A packet is about to join the queue in front of the link.
    pub(crate) fn police(&mut self, now: Time, packet: Packet) -> Verdict {
        let Some((bucket, excess)) = &mut self.policer else { return Verdict::Pass };
        match excess {
            _ if bucket.take(now, packet.size()) => Verdict::Pass,
            Excess::Mark if packet.is(ECT) => Verdict::Mark,
            Excess::Mark | Excess::Drop => Verdict::Drop,
        }
    }

    fn count(&mut self, now: Time, size: u16) {
        let bytes = u64::from(size);
        self.counters.packets += 1;
        self.counters.bytes += bytes;
        if self.measured.contains(&now) {
            self.counters.measured_bytes += bytes;
        }
    }

    /// Why a packet is lost, if it is.
    fn loses(&mut self, now: Time, arrival: Time) -> Option<DropCause> {
        if self.outages.iter().any(|outage| now < outage.until && arrival >= outage.from) {
            return Some(DropCause::LinkDown);
        }
        let lost = match &mut self.loss {
            Loss::None => false,
            Loss::Fixed(errors) => errors.hits(),
            Loss::Steps(rate, random) => random.uniform() < rate.at(now).value,
        };
        if lost {
            return Some(DropCause::LinkError);
        }
        self.bursts.as_mut().is_some_and(Bursts::hits).then_some(DropCause::BurstLoss)
    }
}
