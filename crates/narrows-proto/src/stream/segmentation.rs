//! Segmentation offload: how much a sender hands to its network card at once, and when it rather waits for more room.
//!
//! ```text
//! Size      rate · within                                        tcp_tso_autosize of Linux
//!             + most >> (smallest RTT / 512 us)                  with rtt_term (Linux 5.18)
//!           from `least` segments to `most` bytes
//! Rate      that of the pacing, otherwise                        tcp_update_pacing_rate
//!             2 · cwnd / SRTT      while the window doubles
//!             1.2 · cwnd / SRTT    otherwise, cwnd in whole segments
//! Window    no more than half of it, so that two bursts can be   tcp_cwnd_test, tcp_mss_split_point
//!           under way, and no more than it has room for
//! Waiting   if there is room for less than a burst: for the      tcp_tso_should_defer
//!           next acknowledgment, unless
//!             losses are being repaired,
//!             nothing was sent, or paid for by pacing, for 1 ms,
//!             there is room for a third of the window, or
//!             the acknowledgment is further away than SRTT/2 or `ack_within`
//! Buffers   with `socket_buffers`: most/mss segments, at most half   tcp_xmit_size_goal
//!             of the largest window of the receiver; the rest of
//!             one waits for room for itself alone,                   tcp_write_xmit
//!             and takes on segments of the next one if `joined`      tcp_grow_skb (6.10)
//! End       says PSH with `push_bursts`, if the burst has several          __tcp_transmit_skb
//!           segments; `receiver.rs` and `merging.rs` do not wait then
//! ```
//!
//! A burst that has begun leaves whole, one segment after the other: the card has it. With pacing it is released at once, and the
//! next one when all of it has been paid for.
//!
//! Linux also lets a connection have no more in front of its link than two bursts or 1 ms at its rate (TCP small queues). Here the card
//! asks a connection for a segment when its link is free, so it never has more of it than the rest of one burst, and window and
//! pacing are looked at when a burst begins to leave; unless the host has a queue, whose rule it is then ([`Handed`]).
//!
//! Differs from Linux: whether the window doubles is read off the window, once in a round trip, since not every control has a
//! slow start threshold. The receiver's window limits a socket buffer when it begins to leave, not when it is written. Segments have the
//! time at which they leave, not that of their burst, unless their host has a queue. Retransmissions leave one by one.

use crate::cc::{Offload, OutOfRange, Ranges};
use crate::units::{BitRate, Bytes, Span, Time};

/// Settings of segmentation offload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Segmentation")]
pub struct Segmentation {
    /// Segments of a burst at a low rate (`tcp_min_tso_segs` of Linux: 2).
    pub least: u64,
    /// Most payload of a burst (`gso_max_size` of Linux: 64 KiB).
    pub most: Bytes,
    /// A burst takes so long at the rate of the connection. Linux has 1/1024 s.
    pub within: Span,
    /// Larger bursts on short paths: `most`, halved for every 512 us of the smallest round-trip time, is added, as in Linux
    /// since 5.18. Inside a data center bursts have the full size then, whatever the rate.
    pub rtt_term: bool,
    /// A burst waits for more room if the next acknowledgment is expected within this time, and within half of a round trip. Linux 6.12
    /// has 1 ms, 4.9 half of a round trip alone.
    pub ack_within: Span,
    /// Data waits in socket buffers, each of as many whole segments as `most`, or as half of the largest window that the receiver has
    /// offered if that is less. What is left of one waits for room for itself, not for a whole burst: 5 of 45 segments if bursts have
    /// eight. In one long buffer if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_buffers: Option<SocketBuffers>,
}

/// Segments that leave with the rest of a socket buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SocketBuffers {
    /// Nothing: no burst has segments of two buffers. Linux before 6.10.
    Apart,
    /// As much of the next one as there is room for in the burst and in the window. Linux since 6.10.
    Joined,
}

impl Default for Segmentation {
    fn default() -> Self {
        let within = Span::from_ms(1);
        Self {
            least: 2,
            most: Bytes::new(65_536),
            within,
            rtt_term: false,
            ack_within: RECENT,
            socket_buffers: None,
        }
    }
}

/// `tcp_tso_rtt_log` of Linux, 2^9 us.
const RTT_STEP: Span = Span::from_us(512);

/// A write that lies further back is no reason to wait.
const RECENT: Span = Span::from_ms(1);

/// `tcp_tso_win_divisor` of Linux.
const WINDOW_PARTS: u64 = 3;

/// Room that a burst is to be cut out of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The byte of the flow that is next.
    pub(super) next: u64,
    /// Bytes that have not been sent.
    pub(super) unsent: Bytes,
    /// The window, and what is under way of it.
    pub(super) window: Bytes,
    pub(super) inflight: Bytes,
    /// Room of the receiver.
    pub(super) receiver: Bytes,
    /// Losses are being repaired.
    pub(super) repairs: bool,
    /// When the oldest segment that waits for an acknowledgment was sent.
    pub(super) oldest_sent_at: Option<Time>,
    /// When pacing lets the next burst leave; in the past without pacing.
    pub(super) release: Time,
}

/// Properties of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) mss: Bytes,
    /// A full segment on the wire.
    pub(super) packet: Bytes,
    /// That of the pacing, if there is one.
    pub(super) rate: Option<BitRate>,
    pub(super) cwnd: Bytes,
    /// Zero before the first sample.
    pub(super) srtt: Span,
    /// [`Span::MAX`] before the first sample.
    pub(super) min_rtt: Span,
}

/// The next burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// So many segments.
    Segments(u32),
    /// Waits for more room in the window.
    Window,
    /// Waits for more room at the receiver.
    Receiver,
}

/// The last burst that a connection has handed over, and its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    /// Segments; one without segmentation offload.
    pub segments: u32,
    /// Payload of as many full segments.
    pub payload: Bytes,
    /// That of the pacing, otherwise what it would be. None before the first round-trip time.
    pub rate: Option<BitRate>,
}

/// The bursts of a connection.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    /// Segments of the burst under way that have not left.
    pub(super) left: u32,
    /// Segments of that burst.
    size: u32,
    /// The first byte of the flow beyond the socket buffer that is being cut, the low half of its number.
    buffer: u32,
    /// Segments of that buffer.
    whole: u16,
    doubles: bool,
    began: Time,
    /// The window when the round trip began.
    cwnd: Bytes,
}

impl Default for Bursts {
    fn default() -> Self {
        let (began, cwnd) = (Time::ZERO, Bytes::ZERO);
        Self { left: 0, size: 0, buffer: 0, whole: 0, doubles: true, began, cwnd }
    }
}

impl Segmentation {
    /// Checks ranges that types cannot express, for segments of `mss`.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub(super) fn check(&self, mss: Bytes, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { least, most, within, ack_within, .. } = *self;
        ranges.unless((1..=1000).contains(&least), "segmentation.least", least, "1 to 1 000 segments")?;
        ranges.unless(
            most <= Bytes::new(1 << 20),
            "segmentation.most",
            most,
            "at most 1 MiB, twice the most that Linux has",
        )?;
        ranges.unless(
            most >= mss * 2 && most >= mss.saturating_mul(least),
            "segmentation.most",
            most,
            "room for two full segments, and for `least` segments",
        )?;
        ranges.unless(
            (Span::from_us(1)..=Span::from_secs(1)).contains(&within),
            "segmentation.within",
            within,
            "1 us to 1 s",
        )?;
        let most = Span::from_secs(60);
        ranges.unless(ack_within <= most, "segmentation.ack_within", ack_within, "at most 60 s")
    }

    /// The most segments of a burst at this rate, headers included, on a path of any length.
    pub fn largest(&self, mss: Bytes, packet: Bytes, rate: BitRate) -> u64 {
        let rate = Some(rate);
        self.goal(&Pace { mss, packet, rate, cwnd: mss, srtt: Span::ZERO, min_rtt: Span::ZERO }, true)
    }

    /// The part of it that controls know.
    pub(super) fn offload(&self) -> Offload {
        Offload { least: self.least, most: self.most, within: self.within }
    }

    /// Segments of a burst that nothing cuts short.
    fn goal(&self, pace: &Pace, doubles: bool) -> u64 {
        let Pace { mss, packet, rate, min_rtt, .. } = *pace;
        let most = self.most.get();
        let bytes = match rate {
            // Rates count headers, windows and bursts do not.
            Some(rate) => (rate * self.within).get() * mss.get() / packet.get(),
            None => pace.of_window(doubles).map_or(most, |rate| (rate * self.within).get()),
        };
        let halvings = min_rtt.as_ps() / RTT_STEP.as_ps();
        let more = if self.rtt_term && halvings < 32 { most >> halvings } else { 0 };
        self.offload().segments_of(bytes.saturating_add(more), mss)
    }
}

impl Room {
    /// The receiver's window.
    fn offered(&self) -> Bytes {
        self.receiver.saturating_add(self.inflight)
    }
}

impl Pace {
    /// The pacing rate that Linux computes without pacing, too; none before the first sample.
    #[inline]
    fn of_window(&self, doubles: bool) -> Option<BitRate> {
        let Self { mss, cwnd, srtt, .. } = *self;
        let whole = mss * (cwnd.get() / mss.get()).max(1);
        (srtt > Span::ZERO).then(|| BitRate::per(whole, srtt).scaled(ratio(doubles)))
    }
}

/// Ratio of the pacing rate to cwnd/SRTT (`tcp_update_pacing_rate` of Linux).
fn ratio(doubles: bool) -> f64 {
    if doubles { 2.0 } else { 1.2 }
}

impl Bursts {
    /// Ratio of the pacing rate to cwnd/SRTT.
    pub(super) fn ratio(&self) -> f64 {
        ratio(self.doubles)
    }

    /// The burst that may begin now. At least one segment fits.
    pub(super) fn cut(&mut self, settings: &Segmentation, pace: &Pace, now: Time, room: &Room) -> Cut {
        let mss = pace.mss.get();
        let free = room.window.saturating_sub(room.inflight);
        let [in_window, at_receiver] = [free, room.receiver].map(|bytes| (bytes.get() / mss).max(1));
        let fits = in_window.min(at_receiver);
        let wanted = settings.goal(pace, self.doubles).min(room.unsent.get().div_ceil(mss));
        let (needed, wanted) = match settings.socket_buffers {
            None => (wanted, wanted),
            Some(buffers) => {
                let needed = wanted.min(self.rest_of_buffer(settings, pace.mss, room));
                (needed, if buffers == SocketBuffers::Joined { wanted } else { needed })
            }
        };
        if fits < needed && self.waits(settings, pace, now, room, fits) {
            return if in_window <= at_receiver { Cut::Window } else { Cut::Receiver };
        }
        let half = (room.window.get() / 2 / mss).max(1);
        Cut::Segments(wanted.min(fits).min(half) as u32)
    }

    /// Segments that are left of the socket buffer. The next one begins if there are none.
    fn rest_of_buffer(&mut self, settings: &Segmentation, mss: Bytes, room: &Room) -> u64 {
        let mss = mss.get();
        // Both are near each other, so that the low halves suffice.
        let left = |buffer: u32| buffer.wrapping_sub(room.next as u32) as i32;
        while left(self.buffer) <= 0 {
            let most = settings.most.min(room.offered() / 2).get() / mss;
            self.whole = self.whole.max(most.clamp(1, u16::MAX.into()) as u16);
            self.buffer = self.buffer.wrapping_add((u64::from(self.whole) * mss) as u32);
        }
        (left(self.buffer) as u64).div_ceil(mss)
    }

    /// It is better to wait for more room than to send the `fits` segments that there is room for.
    fn waits(&self, settings: &Segmentation, pace: &Pace, now: Time, room: &Room, fits: u64) -> bool {
        let Some(sent_at) = room.oldest_sent_at else { return false };
        let chunk = room.window.min(room.offered()).get() / WINDOW_PARTS;
        let soon = (pace.srtt / 2).min(settings.ack_within);
        !room.repairs
            && now.saturating_since(self.began.max(room.release)) <= RECENT
            && fits * pace.mss.get() < chunk
            && sent_at + pace.srtt <= now + soon
    }

    /// The last burst.
    #[inline]
    pub(super) fn handed(&self, pace: &Pace) -> Handed {
        let segments = self.size.max(1);
        let rate = pace.rate.or_else(|| pace.of_window(self.doubles));
        Handed { segments, payload: pace.mss * u64::from(segments), rate }
    }

    /// A burst of so many segments begins.
    pub(super) fn begin(&mut self, now: Time, segments: u32) {
        self.left = segments;
        self.size = segments;
        self.began = now;
    }

    /// The next segment is the last of a burst of several.
    pub(super) fn ends(&self) -> bool {
        self.left == 1 && self.size > 1
    }

    /// The next segment is the first of a burst, or alone.
    pub(super) fn begins(&self) -> bool {
        self.left == 0 || self.left == self.size
    }

    /// A round trip begins with this window.
    pub(super) fn on_round(&mut self, cwnd: Bytes) {
        // Twice as much in slow start, hardly more beyond.
        self.doubles = cwnd.get() / 4 > self.cwnd.get() / 3;
        self.cwnd = cwnd;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1448);

    fn pace() -> Pace {
        let (packet, cwnd) = (Bytes::new(1538), MSS * 100);
        Pace { mss: MSS, packet, rate: None, cwnd, srtt: Span::ZERO, min_rtt: Span::MAX }
    }

    /// 100 segments, of which `inflight` are under way since `sent_at`.
    fn room(inflight: u64, sent_at: Span) -> Room {
        Room {
            next: 0,
            unsent: MSS * 1000,
            window: MSS * 100,
            inflight: MSS * inflight,
            receiver: Bytes::MAX,
            repairs: false,
            oldest_sent_at: Some(Time::ZERO + sent_at),
            release: Time::ZERO,
        }
    }

    #[test]
    fn without_pacing_the_size_follows_from_window_and_round_trip() {
        let settings = Segmentation::default();
        assert_eq!(settings.goal(&pace(), true), 45);
        // 100 segments in 20 ms: 5 in a millisecond, times 2 or 1.2.
        let far = Pace { srtt: Span::from_ms(20), ..pace() };
        assert_eq!((settings.goal(&far, true), settings.goal(&far, false)), (10, 6));
        let slow = Pace { srtt: Span::from_secs(1), ..pace() };
        assert_eq!(settings.goal(&slow, true), 2);
    }

    #[test]
    fn a_burst_is_what_the_rate_sends_in_a_millisecond_at_least_two_segments_and_at_most_64_kib() {
        // Linux: 2^-10 s at the pacing rate (`sk_pacing_shift` = 10). So long a packet of 1538 B takes at 12.6 Mb/s; 45 of them, of which
        // 1448 B each are payload and 65 160 B in all, at 566.96832 Mb/s.
        let settings = Segmentation { within: Span::from_ps(976_562_500), ..Segmentation::default() };
        let table: [(u64, u64); 12] = [
            (1_000, 2),        //     0.08 packets
            (10_000, 2),       //     0.79
            (30_000, 2),       //     2.38
            (38_000, 3),       //     3.02
            (50_000, 3),       //     3.97
            (100_000, 7),      //     7.94
            (200_000, 15),     //    15.87
            (500_000, 39),     //    39.68
            (566_968, 44),     //    44.99997
            (566_969, 45),     //    45.00005
            (1_000_000, 45),   //    79.37
            (100_000_000, 45), // 7937.1
        ];
        for (kbps, segments) in table {
            let pace = Pace { rate: Some(BitRate::from_bps(kbps * 1000)), ..pace() };
            assert_eq!(settings.goal(&pace, false), segments, "{kbps} kb/s");
            // It leaves whole if the window has room for two, and never exceeds what the window holds.
            let cut = |window| {
                Bursts::default().cut(&settings, &pace, Time::ZERO, &Room { window, ..room(0, Span::ZERO) })
            };
            for window in [1_u64, 2, 3, 10, 100] {
                let expected = segments.min((window / 2).max(1)) as u32;
                assert_eq!(cut(MSS * window), Cut::Segments(expected), "{kbps} kb/s, {window} segments");
            }
        }
    }

    #[test]
    fn what_a_window_has_beyond_whole_segments_makes_no_burst_larger() {
        // 12 segments in 1.44 ms times 1.2 are 10 in a millisecond: 10 in a little less than 1.44 ms, and 9 in a little more.
        let burst = |cwnd, us| {
            let pace = Pace { cwnd, srtt: Span::from_us(us), ..pace() };
            Segmentation::default().goal(&pace, false)
        };
        assert_eq!([1439, 1441].map(|us| burst(MSS * 12, us)), [10, 9]);
        assert_eq!(burst(MSS * 12 + Bytes::new(1447), 1441), 9);
    }

    #[test]
    fn short_paths_have_larger_bursts_with_the_term_for_the_round_trip() {
        let settings = Segmentation { rtt_term: true, ..Segmentation::default() };
        let on = |min_rtt| settings.goal(&Pace { srtt: Span::from_secs(1), min_rtt, ..pace() }, false);
        // 64 KiB, 8 KiB, 512 B and nothing.
        assert_eq!([50, 1600, 3600, 500_000].map(|us| on(Span::from_us(us))), [45, 5, 2, 2]);
        // Bytes are added and not segments: 5 792 B and 8 192 B.
        let pace = Pace {
            cwnd: Bytes::new(5_792),
            srtt: Span::from_us(1200),
            min_rtt: Span::from_us(1600),
            ..pace()
        };
        assert_eq!(settings.goal(&pace, false), 9);
    }

    #[test]
    fn a_burst_is_cut_short_by_half_the_window_and_by_what_is_left() {
        let (settings, mut bursts) = (Segmentation::default(), Bursts::default());
        let mut cut = |room| bursts.cut(&settings, &pace(), Time::ZERO, &room);
        assert_eq!(cut(room(0, Span::ZERO)), Cut::Segments(45));
        assert_eq!(cut(Room { window: MSS * 50, ..room(0, Span::ZERO) }), Cut::Segments(25));
        assert_eq!(cut(Room { unsent: MSS * 3, ..room(0, Span::ZERO) }), Cut::Segments(3));
        assert_eq!(cut(Room { unsent: Bytes::new(1), ..room(0, Span::ZERO) }), Cut::Segments(1));
        assert_eq!(cut(Room { window: Bytes::new(1), ..room(0, Span::ZERO) }), Cut::Segments(1));
    }

    /// Sizes of bursts, zero where one waits, as acknowledgments leave so many segments under way. 64 KiB hold 45 segments; 100 in 14 ms
    /// times 1.2 are 8 in a millisecond. The next acknowledgment is always near.
    fn bursts(buffers: SocketBuffers, receiver: Bytes, inflight: &[u64]) -> Vec<u32> {
        let settings = Segmentation { socket_buffers: Some(buffers), ..Segmentation::default() };
        let pace = Pace { srtt: Span::from_ms(14), ..pace() };
        let at = |us| Time::ZERO + Span::from_us(us);
        let mut bursts = Bursts::default();
        for _ in 0..2 {
            bursts.on_round(MSS * 100);
        }
        bursts.begin(at(14_000), 0);
        let mut next = 0;
        let mut cut = |inflight: &u64| {
            let room = Room { next, receiver, ..room(*inflight, Span::ZERO) };
            let Cut::Segments(segments) = bursts.cut(&settings, &pace, at(14_500), &room) else { return 0 };
            next += MSS.get() * u64::from(segments);
            segments
        };
        inflight.iter().map(&mut cut).collect()
    }

    #[test]
    fn the_rest_of_a_socket_buffer_waits_for_room_for_itself_and_takes_on_the_next_one_if_joined() {
        // Five bursts of eight; five segments are left, for which there is room for four, five and six.
        let acks = [92, 92, 92, 92, 92, 96, 95, 95, 92];
        let apart = bursts(SocketBuffers::Apart, Bytes::MAX, &acks);
        assert_eq!(apart, [8, 8, 8, 8, 8, 0, 5, 0, 8]);
        // One of the second buffer leaves with those five. It has 44 left: five bursts, and four segments.
        let acks = [92, 92, 92, 92, 92, 96, 94, 94, 92, 92, 92, 92, 92, 97, 96];
        let joined = bursts(SocketBuffers::Joined, Bytes::MAX, &acks);
        assert_eq!(joined, [8, 8, 8, 8, 8, 0, 6, 0, 8, 8, 8, 8, 8, 0, 4]);
    }

    #[test]
    fn a_socket_buffer_holds_half_of_the_largest_window_of_the_receiver() {
        // 40 segments: 8, 8 and 4 of each 20.
        let found = bursts(SocketBuffers::Apart, MSS * 40, &[0, 0, 0, 0, 0, 0]);
        assert_eq!(found, [8, 8, 4, 8, 8, 4]);
        // A window that has become smaller leaves them as they are.
        let mut next = 0;
        let mut bursts = Bursts::default();
        let mut rest = |receiver| {
            let room = Room { next, receiver, ..room(0, Span::ZERO) };
            let rest = bursts.rest_of_buffer(&Segmentation::default(), MSS, &room);
            next += MSS.get() * rest;
            rest
        };
        assert_eq!([40, 20, 60].map(|segments| rest(MSS * segments)), [20, 20, 30]);
    }

    #[test]
    fn a_socket_buffer_may_lie_across_4_gib() {
        let (settings, end) = (Segmentation::default(), (1_u64 << 32) + MSS.get() * 3);
        let mut bursts = Bursts { buffer: end as u32, ..Bursts::default() };
        let mut rest = |next| bursts.rest_of_buffer(&settings, MSS, &Room { next, ..room(0, Span::ZERO) });
        assert_eq!([end - MSS.get() * 5, end - MSS.get(), end].map(&mut rest), [5, 1, 45]);
    }

    #[test]
    fn it_waits_only_if_an_acknowledgment_is_near_and_little_fits() {
        let (settings, mut bursts) = (Segmentation::default(), Bursts::default());
        let near = Pace { srtt: Span::from_us(100), ..pace() };
        let at = |us| Time::ZERO + Span::from_us(us);
        bursts.begin(at(0), 0);
        let mut cut = |pace: &Pace, us, room| bursts.cut(&settings, pace, at(us), &room);
        // 20 of 100 segments fit; the oldest was sent 60 us ago, 40 us ago.
        assert_eq!(cut(&near, 60, room(80, Span::ZERO)), Cut::Window);
        assert_eq!(cut(&near, 60, room(80, Span::from_us(20))), Cut::Segments(20));
        // A third fits; losses are repaired; nothing was sent for long; nothing is under way.
        assert_eq!(cut(&near, 60, room(66, Span::ZERO)), Cut::Segments(34));
        assert_eq!(cut(&near, 60, Room { repairs: true, ..room(80, Span::ZERO) }), Cut::Segments(20));
        assert_eq!(cut(&near, 1001, room(80, Span::ZERO)), Cut::Segments(20));
        // What was sent last has been paid for 1 ms ago, and a little more than that.
        let paid = [Cut::Window, Cut::Segments(20)];
        let released = |us| Room { release: at(us), ..room(80, Span::from_us(1100)) };
        assert_eq!(
            [200, 199].map(|us| cut(&Pace { srtt: Span::from_us(120), ..near }, 1200, released(us))),
            paid
        );
        let nothing = Room { oldest_sent_at: None, ..room(80, Span::ZERO) };
        assert_eq!(cut(&near, 60, nothing), Cut::Segments(20));
        // The rest of the flow fits.
        assert_eq!(cut(&near, 60, Room { unsent: MSS * 20, ..room(80, Span::ZERO) }), Cut::Segments(20));
        // On a long path the acknowledgment is not near before its last millisecond.
        let far = Pace { rate: Some(BitRate::from_gbps(10)), srtt: Span::from_ms(100), ..pace() };
        bursts.begin(at(98_500), 0);
        let mut cut = |us| bursts.cut(&settings, &far, at(us), &room(80, Span::ZERO));
        assert_eq!((cut(98_900), cut(99_100)), (Cut::Segments(20), Cut::Window));
        // Without that bound it is near in its last half.
        let unbounded = Segmentation { ack_within: Span::from_secs(1), ..settings };
        bursts.begin(at(59_000), 0);
        let mut cut = |us| bursts.cut(&unbounded, &far, at(us), &room(80, Span::ZERO));
        assert_eq!((cut(49_900), cut(50_100)), (Cut::Segments(20), Cut::Window));
        bursts.begin(at(98_500), 0);
        // Room at the receiver is no matter of the window.
        let narrow = Room { window: Bytes::MAX, receiver: MSS * 2, ..room(80, Span::ZERO) };
        assert_eq!(bursts.cut(&settings, &far, at(99_100), &narrow), Cut::Receiver);
    }

    #[test]
    fn a_window_that_doubles_is_known_after_a_round_trip() {
        let mut bursts = Bursts::default();
        let doubles = [10, 20, 40, 41, 20, 21].map(|segments| {
            bursts.on_round(MSS * segments);
            bursts.doubles
        });
        assert_eq!(doubles, [true, true, true, false, false, false]);
    }

    #[test]
    fn settings_out_of_their_range_are_refused() {
        let bad = [
            Segmentation { least: 0, ..Segmentation::default() },
            Segmentation { most: MSS * 2 - Bytes::new(1), ..Segmentation::default() },
            Segmentation { least: 46, ..Segmentation::default() },
            Segmentation { most: Bytes::new(2 << 20), ..Segmentation::default() },
            Segmentation { within: Span::ZERO, ..Segmentation::default() },
            Segmentation { ack_within: Span::from_secs(61), ..Segmentation::default() },
        ];
        let refused =
            bad.map(|settings| settings.check(MSS, &mut Ranges::default()).map_err(|error| error.setting));
        let most = Err("segmentation.most");
        let [least, within, ack_within] =
            ["segmentation.least", "segmentation.within", "segmentation.ack_within"].map(Err);
        assert_eq!(refused, [least, most, most, most, within, ack_within]);
        assert_eq!(Segmentation::default().check(MSS, &mut Ranges::default()), Ok(()));
    }
}
