//! Accurate ECN feedback: acknowledgments count the packets that arrived marked.
//!
//! ```text
//! Count    packets that arrived marked (CE), repetitions included             RFC 9768 §3.2.1
//! ACE      the last three bits of 5 + count, in every acknowledgment           §3.2.2
//! Waiting  none for the first marked packet after one without a mark,          §3.2.2.5.1
//!          nor once two marked packets are not acknowledged
//! Reading  of an acknowledgment that delivers 8 packets or more: as many       §3.2.2.5.2
//!          marks as ACE and the packets allow
//! SYN      says ECT; the three bits of the SYN-ACK say how it arrived          §3.1.2, ECN++
//! Mangled  once a codepoint arrived changed, packets say Not-ECT               §3.2.2.3
//! ```
//! An exact count stands for the option of byte counters, which tells as much: it adds 8 B to an acknowledgment, unless three blocks
//! leave no room (they go first), where the count arrives all the same.
//!
//! Both ends know at once what they agree on (`peer_ecn`), as if from an earlier connection. As nothing but the SYN is sent before the
//! SYN-ACK says it, the codepoint of that is all that would differ. That the SYN arrived changed shows in any form; of data only the option shows it, whose counters of the other codepoints stand here as a flag. A mark of the SYN reaches the
//! control with the first acknowledgment.
//!
//! Differs from RFC 9768: nothing is negotiated, so the SYN to a receiver that has no counts says Not-ECT, as that of a control without
//! them does. A client that does not know would say ECT, and a mark of that SYN would be noticed by nobody.
//! Differs from RFC 9768: there are neither counts of bytes nor of other codepoints, and an acknowledgment of 8 packets is read as if
//! many marks were likely, whatever came before. A SYN-ACK says Not-ECT of a SYN that arrived with any other codepoint than it was
//! sent with.

use crate::units::Bytes;

/// Form in which acknowledgments count marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "AccurateEcn")]
pub enum AccurateEcn {
    /// The whole count, as the option of accurate ECN feedback has it; 8 B more of an acknowledgment.
    #[serde(rename = "count")]
    Count,
    /// Three bits of it, the field ACE of the header: after lost or thinned acknowledgments the sender guesses.
    #[serde(rename = "ace")]
    Ace,
}

/// The count that an acknowledgment carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CeCount {
    /// It carries none.
    #[default]
    None,
    /// Marked packets since the flow began, modulo 2^32.
    Exact(u32),
    /// Its last three bits, from 5 on.
    Ace(u8),
}

/// Bytes of the option in an acknowledgment, with padding.
const OPTION: u64 = 8;

/// Options besides the time stamps have so many bytes of the header at most.
const ROOM: u64 = 28;

/// ACE before the first mark.
const FIRST: u32 = 5;

/// The three bits of a SYN-ACK: how the SYN arrived.
const SYN_NOT_ECT: u8 = 0b010;
const SYN_ECT: u8 = 0b011;
const SYN_CE: u8 = 0b110;

impl CeCount {
    /// Answer to a SYN.
    pub(super) fn of_syn(ce: bool, mangled: bool) -> Self {
        Self::Ace(match (ce, mangled) {
            (true, _) => SYN_CE,
            (false, true) => SYN_NOT_ECT,
            (false, false) => SYN_ECT,
        })
    }

    /// Of a SYN-ACK: the codepoint of the SYN arrived changed.
    pub(super) fn says_mangled(self) -> bool {
        self == Self::Ace(SYN_NOT_ECT)
    }

    /// Of a SYN-ACK: the SYN was marked.
    pub(super) fn says_marked(self) -> bool {
        self == Self::Ace(SYN_CE)
    }

    pub(super) fn of(form: AccurateEcn, packets: u32) -> Self {
        match form {
            AccurateEcn::Count => Self::Exact(packets),
            AccurateEcn::Ace => Self::Ace(ace(packets)),
        }
    }

    /// Size of the options of an acknowledgment that has others of `size`.
    pub fn options(self, size: u64) -> u64 {
        if matches!(self, Self::Exact(_)) { (size + OPTION).min(size.max(ROOM)) } else { size }
    }

    /// The field ACE; none if it carries no count.
    pub fn ace(self) -> Option<u8> {
        match self {
            Self::None => None,
            Self::Exact(packets) => Some(ace(packets)),
            Self::Ace(bits) => Some(bits),
        }
    }

    /// Marks beyond `known` of an acknowledgment that delivers so many packets.
    fn beyond(self, known: u32, delivered: u32) -> u32 {
        match self {
            // One that was overtaken has counted fewer.
            Self::Exact(packets) => u32::try_from(packets.wrapping_sub(known) as i32).unwrap_or(0),
            // Without anything delivered it may have been overtaken.
            Self::Ace(bits) if delivered > 0 => {
                let least = u32::from(bits).wrapping_sub(u32::from(ace(known))) % 8;
                least + delivered.saturating_sub(least) / 8 * 8
            }
            Self::None | Self::Ace(_) => 0,
        }
    }
}

fn ace(packets: u32) -> u8 {
    (packets.wrapping_add(FIRST) % 8) as u8
}

/// Marked packets as a receiver counts them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counter {
    packets: u32,
    /// The count of the last acknowledgment.
    reported: u32,
}

impl Counter {
    pub(super) fn add(&mut self, packets: u32) {
        self.packets = self.packets.wrapping_add(packets);
    }

    /// Marks that no acknowledgment has reported.
    pub(super) fn unreported(&self) -> u32 {
        self.packets.wrapping_sub(self.reported)
    }

    pub(super) fn report(&mut self, form: AccurateEcn) -> CeCount {
        self.reported = self.packets;
        CeCount::of(form, self.packets)
    }
}

/// Marks as a sender reads them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    packets: u32,
    /// Marked payload that the controller has not received.
    owed: Bytes,
}

impl Known {
    /// A packet besides data was marked.
    pub(super) fn owe(&mut self, size: Bytes) {
        self.owed = self.owed.saturating_add(size);
    }

    /// An acknowledgment delivers `acked` bytes in segments of `mss`. Returns the marked part of them: no more than all.
    pub(super) fn on_ack(&mut self, count: CeCount, acked: Bytes, mss: Bytes) -> Bytes {
        let delivered = u32::try_from(acked.get().div_ceil(mss.get())).unwrap_or(u32::MAX);
        let more = count.beyond(self.packets, delivered);
        self.packets = self.packets.wrapping_add(more);
        self.owed = self.owed.saturating_add(mss.saturating_mul(more.into()));
        let marked = self.owed.min(acked);
        self.owed -= marked;
        marked
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AckFrame, Endpoint, Params, Poll, Receiver, Segment, Segmentation, Sender};
    use super::*;
    use crate::cc::parts::SplitMix;
    use crate::cc::{Config, Ecn, PeerEcn};
    use crate::units::{BitRate, Span, Time};

    const MSS: Bytes = Bytes::new(1000);

    /// Marked packets of 10 000 at random, and as many as a sender learns of from acknowledgments of which `loses` are lost.
    fn counted(form: AccurateEcn, p: f64, ack_every: u64, loses: impl Fn(u64) -> bool) -> [u64; 2] {
        let params = Params { accurate_ecn: Some(form), ack_every, ..Params::default() };
        let (mut random, mut receiver) = (SplitMix::new(3), Receiver::new(Ecn::Counted));
        let (mut known, mut edge, mut acks) = (Known::default(), 0, 0);
        let [mut truth, mut learned] = [0, 0];
        for number in 0..10_000 {
            let ce = random.uniform() < p;
            truth += u64::from(ce);
            let segment =
                Segment { seq: number * 1000, len: 1000, ce, fin: number == 9_999, ..Segment::default() };
            receiver.on_segment(&params, Time::ZERO, &segment, |frame| {
                acks += 1;
                if !loses(acks) || segment.fin {
                    learned += known.on_ack(frame.ce, Bytes::new(frame.ack - edge), MSS).get() / 1000;
                    edge = frame.ack;
                }
            });
        }
        [truth, learned]
    }

    #[test]
    fn lost_acknowledgments_hide_no_mark() {
        for form in [AccurateEcn::Count, AccurateEcn::Ace] {
            for p in [0.01, 0.1, 0.5] {
                let [truth, learned] = counted(form, p, 2, |ack| ack % 8 == 0);
                assert_eq!(truth, learned, "{form:?}, p = {p}");
            }
        }
    }

    #[test]
    fn thinned_to_one_of_eight_three_bits_tell_of_marks_that_were_none() {
        // One of eight acknowledgments covers some 16 packets, of which one is marked: nine could be.
        let [truth, learned] = counted(AccurateEcn::Count, 0.05, 2, |ack| ack % 8 > 0);
        assert_eq!(truth, learned);
        let [truth, learned] = counted(AccurateEcn::Ace, 0.05, 2, |ack| ack % 8 > 0);
        assert!(learned > 5 * truth, "{learned} of {truth}");
    }

    #[test]
    fn the_first_mark_is_acknowledged_at_once_and_then_every_second() {
        let params = Params { ack_every: 100, ..Params::default() };
        let mut receiver = Receiver::new(Ecn::Counted);
        let mut acks = Vec::new();
        for (number, ce) in (0..).zip([false, false, true, true, true, true, false, true]) {
            let segment = Segment { seq: number * 1000, len: 1000, ce, ..Segment::default() };
            receiver
                .on_segment(&params, Time::ZERO, &segment, |frame| acks.push((frame.ack / 1000, frame.ce)));
        }
        assert_eq!(acks, [(3, 1), (5, 3), (8, 5)].map(|(ack, marks)| (ack, CeCount::Exact(marks))));
    }

    #[test]
    fn an_acknowledgment_of_many_packets_is_read_as_the_most_marks_that_fit() {
        // ACE was 5 and is 2: 5 marks or 13 of 20 packets.
        assert_eq!(CeCount::Ace(2).beyond(0, 20), 13);
        assert_eq!(CeCount::Ace(2).beyond(0, 7), 5);
        assert_eq!(CeCount::Exact(5).beyond(0, 20), 5);
    }

    #[test]
    fn an_acknowledgment_that_was_overtaken_says_nothing() {
        assert_eq!(CeCount::Exact(5).beyond(6, 0), 0);
        assert_eq!(CeCount::Ace(ace(5)).beyond(6, 0), 0);
    }

    #[test]
    fn marks_of_what_delivers_nothing_are_paid_with_what_does() {
        let mut known = Known::default();
        assert_eq!(known.on_ack(CeCount::Exact(3), Bytes::ZERO, MSS), Bytes::ZERO);
        assert_eq!(known.on_ack(CeCount::Exact(3), MSS * 2, MSS), MSS * 2);
        assert_eq!(known.on_ack(CeCount::Exact(3), MSS * 2, MSS), MSS);
    }

    #[test]
    fn the_count_goes_on_beyond_its_last_value() {
        assert_eq!(CeCount::Exact(1).beyond(u32::MAX, 2), 2);
        assert_eq!([0, 2, 3].map(ace), [5, 7, 0]);
    }

    #[test]
    fn no_other_control_says_ect_1_by_itself() {
        let params = Params::default();
        let says = |cc: &Config| params.says_l4s(cc) && cc.ecn() != Ecn::Off;
        let named: Vec<_> = Config::all().into_iter().filter(says).map(|cc| cc.name()).collect();
        assert_eq!(named, ["prague"]);
    }

    /// A Prague flow after a SYN that arrived so, and after these acknowledgments.
    fn prague_after(syn: Segment, frames: &[AckFrame]) -> Sender {
        let params = Params::default();
        let at = Endpoint { link: BitRate::from_gbps(1), seed: 1 };
        let mut sender = Sender::new(&params, &Config::Prague(Default::default()), at, Bytes::new(1 << 20));
        sender.start(&params, Time::ZERO);
        let Poll::Send(_) = sender.poll_transmit(&params, Time::ZERO) else { panic!("a SYN") };
        let mut receiver = Receiver::new(Ecn::Counted);
        let now = Time::ZERO + Span::from_ms(10);
        receiver.on_segment(&params, now, &syn, |frame| sender.on_ack(&params, now, &frame));
        let mut now = now;
        for frame in frames {
            while let Poll::Send(_) = sender.poll_transmit(&params, now) {}
            now += Span::from_ms(10);
            sender.on_ack(&params, now, frame);
        }
        sender
    }

    fn says_ect(mut sender: Sender) -> bool {
        match sender.poll_transmit(&Params::default(), Time::ZERO + Span::from_secs(1)) {
            Poll::Send(segment) => !segment.not_ect,
            other => panic!("{other:?}"),
        }
    }

    const SYN: Segment = Segment {
        seq: 0,
        len: 0,
        syn: true,
        fin: false,
        cwr: false,
        retransmission: false,
        goes_on: false,
        pushed: false,
        spin: false,
        requests_ack: false,
        not_ect: false,
        ce: false,
        mangled: false,
        merged: 0,
        entropy: 0,
    };

    #[test]
    fn a_syn_that_arrives_changed_ends_ect() {
        assert!(says_ect(prague_after(SYN, &[])));
        assert!(says_ect(prague_after(Segment { ce: true, ..SYN }, &[])));
        assert!(!says_ect(prague_after(Segment { mangled: true, ..SYN }, &[])));
    }

    #[test]
    fn data_that_arrives_changed_ends_ect_if_the_option_shows_it() {
        let frame = |mangled| AckFrame { ack: 1448, ce: CeCount::Exact(0), mangled, ..AckFrame::default() };
        assert!(says_ect(prague_after(SYN, &[frame(false)])));
        assert!(!says_ect(prague_after(SYN, &[frame(true)])));
        let told = |form| {
            let params = Params { accurate_ecn: Some(form), ack_every: 1, ..Params::default() };
            let (mut receiver, mut told) = (Receiver::new(Ecn::Counted), false);
            let segment = Segment { len: 1000, mangled: true, ..Segment::default() };
            receiver.on_segment(&params, Time::ZERO, &segment, |frame| told |= frame.mangled);
            told
        };
        assert_eq!([AccurateEcn::Count, AccurateEcn::Ace].map(told), [true, false]);
    }

    #[test]
    fn a_marked_syn_halves_the_first_window() {
        let frame = AckFrame { ack: 1448, ce: CeCount::Exact(0), ..AckFrame::default() };
        let window = |ce| {
            let mut half = Bytes::ZERO;
            prague_after(Segment { ce, ..SYN }, &[frame]).inside(&mut |name, value| {
                if name == "window_bytes" {
                    half = Bytes::from_f64(value.number().expect("a number"));
                }
            });
            half
        };
        assert_eq!([false, true].map(window), [10, 5].map(|segments| Bytes::new(1448 * segments)));
    }

    #[test]
    fn what_is_agreed_on_is_what_both_ends_have() {
        let named =
            |name: &str| Config::all().into_iter().find(|cc| cc.name() == name).expect("it is registered");
        let cubic = Config::Cubic(crate::cc::cubic::Params { ecn: true, ..Default::default() });
        let agreed = |peer_ecn| {
            let params = Params { peer_ecn, ..Params::default() };
            [&named("prague"), &named("dctcp"), &cubic].map(|cc| (params.ecn(cc), params.says_l4s(cc)))
        };
        let [off, classic] = [Ecn::Off, Ecn::Classic].map(|ecn| (ecn, false));
        assert_eq!(agreed(PeerEcn::Accurate), [(Ecn::Counted, true), (Ecn::Accurate, false), classic]);
        assert_eq!(agreed(PeerEcn::Classic), [classic, off, classic]);
        assert_eq!(agreed(PeerEcn::Off), [off; 3]);
    }

    #[test]
    fn bursts_are_as_short_as_the_control_allows() {
        let params = Params { segmentation: Some(Segmentation::default()), ..Params::default() };
        let of = |cc: Config| params.under(&cc).segmentation.map(|bursts| (bursts.within, bursts.least));
        assert_eq!(of(Config::Prague(Default::default())), Some((Span::from_us(244), 1)));
        assert_eq!(of(Config::Cubic(Default::default())), Some((Span::from_ms(1), 2)));
    }

    #[test]
    fn three_blocks_leave_no_room_for_the_option() {
        assert_eq!([0, 12, 20, 28].map(|size| CeCount::Exact(0).options(size)), [8, 20, 28, 28]);
        assert_eq!(CeCount::Ace(0).options(12), 12);
    }
}
