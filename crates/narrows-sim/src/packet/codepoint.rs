//! Codepoints of ECN, and other marks beside them.

use super::{CE, ECT, EXEMPT, FLAGS, L4S, Packet, pair};

impl Packet {
    /// It has been marked.
    #[inline(always)]
    pub(crate) fn is_marked(self) -> bool {
        const FLAGS_OF: u64 = ((ECT | CE) as u64) << FLAGS;
        self.high() & FLAGS_OF == FLAGS_OF
    }

    /// The same packet as one that ports neither mark nor drop in place of marking; one that is marked stays it. In place of ECT it
    /// has a mark of its own, so that ports need not look at that.
    pub(crate) fn exempt(self) -> Self {
        if self.is(CE) || !self.is(ECT) {
            return self;
        }
        let ect = pair(0, u64::from(ECT) << FLAGS);
        Self { header: (self.header | u128::from(EXEMPT)) & !ect, ..self }
    }

    /// It is one that [`exempt`](Self::exempt) made.
    pub(crate) fn is_exempt(self) -> bool {
        self.header as u64 & EXEMPT != 0
    }

    /// It may be marked and is of a scalable control, ECT(1); one that is marked stays it.
    #[inline(always)]
    pub(crate) fn is_l4s(self) -> bool {
        self.header as u64 & L4S != 0 && self.is(ECT)
    }

    /// The same packet with these marks besides its own.
    #[inline(always)]
    pub(crate) fn with_marks(self, marks: u64) -> Self {
        Self { header: self.header | u128::from(marks), ..self }
    }

    /// It has all of these marks.
    #[inline(always)]
    pub(crate) fn has_marks(self, marks: u64) -> bool {
        self.header as u64 & marks == marks
    }

    /// The same packet as one that cannot be marked. Without ECT the bit of CE is no codepoint: acknowledgments have another use for it.
    pub(crate) fn bleached(self) -> Self {
        let codepoint = if self.is(ECT) { ECT | CE } else { 0 };
        Self { header: self.header & !pair(EXEMPT, u64::from(codepoint) << FLAGS), ..self }
    }

    /// The same packet with the codepoint it had before it was marked.
    pub(crate) fn unmarked(self) -> Self {
        if self.is_marked() {
            Self { header: self.header & !pair(0, u64::from(CE) << FLAGS), ..self }
        } else {
            self
        }
    }

    /// The same packet with ECT(0) in place of ECT(1).
    pub(crate) fn classic(self) -> Self {
        if self.is_l4s() && !self.is_marked() {
            Self { header: self.header & !u128::from(L4S), ..self }
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fields;
    use super::super::{ANSWERS_AGAIN, FIN, Fields, Kind};
    use super::*;

    #[test]
    fn an_exempt_packet_is_not_marked_and_a_marked_one_stays_it() {
        let plain = Packet::new(Fields { flags: ECT, kind: Kind::Data, ..fields() });
        assert!(plain.exempt().is_exempt() && !plain.exempt().is_marked() && !plain.exempt().is(ECT));
        let marked = plain.with(CE);
        assert!(marked.exempt().is_marked() && !marked.exempt().is_exempt());
        let deaf = Packet::new(fields());
        assert_eq!(deaf.exempt(), deaf);
    }

    #[test]
    fn codepoints_are_changed_and_nothing_else() {
        let l4s = Packet::new(Fields { flags: ECT | FIN, kind: Kind::Data, ..fields() }).with_marks(L4S);
        let marked = l4s.with(CE);
        assert!(l4s.is_l4s() && l4s.classic().is(ECT) && !l4s.classic().is_l4s());
        assert_eq!((marked.classic(), marked.unmarked(), l4s.unmarked()), (marked, l4s, l4s));
        for packet in [l4s, marked, l4s.exempt()] {
            let bleached = packet.bleached();
            assert!(!bleached.is(ECT) && !bleached.is_marked() && !bleached.is_exempt() && bleached.is(FIN));
        }
        let fin = Packet::new(Fields { flags: FIN, kind: Kind::Data, ..fields() });
        assert_eq!(fin.bleached(), fin);
        let answer = Packet::new(Fields { flags: ANSWERS_AGAIN, kind: Kind::Ack, ..fields() });
        assert_eq!(answer.bleached(), answer);
    }
}
