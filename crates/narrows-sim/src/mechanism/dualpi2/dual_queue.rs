//! The two queues, and the controller that couples them. Names are those of RFC 9332 App. A.

use narrows_proto::units::{Span, Time};

use super::counters::DualPi2Counters;
use super::scheduler::Turns;
use super::settings::DualPi2;
use crate::mechanism::marking::Verdict;
use crate::packet::{CE, ECT, Packet, Parcel, Trailers};
use crate::ring::Ring;
use crate::switch::sojourn;

/// Settings as the queues of a switch need them.
#[derive(Clone, Debug)]
pub(super) struct Law {
    update: Span,
    alpha: f64,
    beta: f64,
    target: f64,
    /// k.
    coupling: f64,
    p_cmax: f64,
    min_th: Span,
    max_th: Span,
    th_len: u32,
    /// Two of the largest packets.
    two_packets: u64,
}

impl Law {
    pub(super) fn new(config: &DualPi2, largest: u64) -> Self {
        let (alpha, beta) = config.gains();
        Self {
            update: config.update(),
            alpha,
            beta,
            target: config.target.as_secs_f64(),
            coupling: config.coupling,
            p_cmax: (1.0 / (config.coupling * config.coupling)).min(1.0),
            min_th: config.l4s_min,
            max_th: config.l4s_min + config.l4s_range,
            th_len: config.l4s_packets,
            two_packets: 2 * largest,
        }
    }

    /// p'_L, the likelihood by which L marks for its own queue (Fig. 5).
    fn laqm(&self, qdelay: Span) -> f64 {
        if qdelay >= self.max_th {
            1.0
        } else if qdelay > self.min_th {
            (qdelay - self.min_th).as_secs_f64() / (self.max_th - self.min_th).as_secs_f64()
        } else {
            0.0
        }
    }
}

/// The queues L and C of a queue of a port.
#[derive(Clone, Debug)]
pub(super) struct DualQueue {
    lq: Queue,
    cq: Queue,
    controller: Controller,
    turns: Turns,
    /// Updates so far.
    updates: u64,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    packets: Ring<Packet>,
    bytes: u64,
    len: u32,
    /// Sum of likelihoods.
    count: f64,
}

/// The base controller.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Controller {
    /// p'.
    pub(super) p: f64,
    /// Delay at the last update, in seconds.
    prevq: f64,
}

impl Controller {
    /// Updates p' by the delay, in seconds (Fig. 8).
    pub(super) fn update(&mut self, law: &Law, curq: f64) {
        let change = law.alpha * (curq - law.target) + law.beta * (curq - self.prevq);
        self.p = (self.p + change).clamp(0.0, 1.0);
        self.prevq = curq;
    }
}

impl Queue {
    fn push(&mut self, parcel: Parcel<'_>) {
        self.bytes += u64::from(parcel.packet.size());
        self.len += 1;
        self.packets.push_with(parcel);
    }

    fn pop(&mut self, slots: &mut Trailers) -> Packet {
        let packet = self.packets.pop(slots);
        self.bytes -= u64::from(packet.size());
        self.len -= 1;
        packet
    }

    /// Time that the first packet has waited; 0 if there is none.
    #[inline]
    fn time(&self, now: Time) -> Span {
        self.packets.front().map_or(Span::ZERO, |packet| sojourn(*packet, now))
    }

    /// Whether the likelihoods of packets have come to one that is chosen (Fig. 4).
    #[inline]
    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let chosen = self.count > 1.0;
        if chosen {
            self.count -= 1.0;
        }
        chosen
    }
}

/// Whether a packet waits in L (§2.3).
fn is_l4s(packet: Packet) -> bool {
    packet.is_l4s() || packet.is(ECT) && packet.is(CE)
}

impl DualQueue {
    pub(super) fn new(turns: Turns) -> Self {
        let (lq, cq) = (Queue::default(), Queue::default());
        Self { lq, cq, controller: Controller::default(), turns, updates: 0 }
    }

    #[cfg(test)]
    pub(super) fn set_p(&mut self, p: f64) {
        self.controller.p = p;
    }

    #[cfg(test)]
    pub(super) fn p(&self) -> f64 {
        self.controller.p
    }

    /// Makes up for all updates that were due by `now`: since the last one nothing has come or gone.
    pub(super) fn advance(&mut self, law: &Law, now: Time) {
        let due = (now - Time::ZERO).as_ps() / law.update.as_ps();
        let is_empty = self.lq.len + self.cq.len == 0;
        while self.updates < due {
            if is_empty && self.controller == Controller::default() {
                self.updates = due;
                return;
            }
            self.updates += 1;
            let at = Time::ZERO + law.update * self.updates;
            self.controller.update(law, self.cq.time(at).max(self.lq.time(at)).as_secs_f64());
        }
    }

    /// A packet leaves at once, and the link was free.
    pub(super) fn pass(&mut self, law: &Law, now: Time, packet: Packet, counters: &mut DualPi2Counters) {
        self.advance(law, now);
        self.turns.reset();
        *(if is_l4s(packet) { &mut counters.l4s } else { &mut counters.classic }) += 1;
    }

    pub(super) fn push(&mut self, law: &Law, now: Time, parcel: Parcel<'_>, counters: &mut DualPi2Counters) {
        self.advance(law, now);
        if is_l4s(parcel.packet) {
            self.lq.push(parcel);
            counters.max_l4s = counters.max_l4s.max(self.lq.bytes);
        } else {
            self.cq.push(parcel);
        }
    }

    /// The packet that goes next, which must exist, and what becomes of it (Fig. 7).
    pub(super) fn pop(
        &mut self,
        law: &Law,
        now: Time,
        slots: &mut Trailers,
        counters: &mut DualPi2Counters,
    ) -> (Packet, Verdict) {
        self.advance(law, now);
        let both = self.lq.len > 0 && self.cq.len > 0;
        let (of_lq, of_cq) = (self.lq.time(now), self.cq.time(now));
        let from_l4s = if both { self.turns.l4s_first(of_lq, of_cq) } else { self.lq.len > 0 };
        // So little waits that the base controller has no say.
        let p = if self.lq.bytes + self.cq.bytes < law.two_packets { 0.0 } else { self.controller.p };
        let (packet, verdict) = if from_l4s {
            let packet = self.lq.pop(slots);
            let verdict = self.judge_l4s(law, p, of_lq);
            counters.l4s += 1;
            counters.l4s_marks += u64::from(verdict == Verdict::Mark);
            counters.l4s_drops += u64::from(verdict == Verdict::Drop);
            (packet, verdict)
        } else {
            let packet = self.cq.pop(slots);
            let verdict = self.judge_classic(law, p, packet.is(ECT));
            counters.classic += 1;
            counters.classic_marks += u64::from(verdict == Verdict::Mark);
            counters.classic_drops += u64::from(verdict == Verdict::Drop);
            (packet, verdict)
        };
        if both && verdict != Verdict::Drop {
            self.turns.charge(from_l4s, packet.size());
        }
        (packet, verdict)
    }

    /// Verdict on a packet that has been taken out of L after it had waited for `qdelay`.
    fn judge_l4s(&mut self, law: &Law, p: f64, qdelay: Span) -> Verdict {
        let p_cl = (law.coupling * p).min(1.0);
        if p_cl < 1.0 {
            let native = if self.lq.len >= law.th_len { law.laqm(qdelay) } else { 0.0 };
            return if self.lq.recur(native.max(p_cl)) { Verdict::Mark } else { Verdict::Pass };
        }
        if self.lq.recur(p * p) {
            Verdict::Drop
        } else if self.lq.recur(p_cl) {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }

    /// Verdict on a packet that has been taken out of C.
    fn judge_classic(&mut self, law: &Law, p: f64, ect: bool) -> Verdict {
        let p_c = p * p;
        match self.cq.recur(p_c) {
            false => Verdict::Pass,
            true if ect && p_c < law.p_cmax => Verdict::Mark,
            true => Verdict::Drop,
        }
    }
}
