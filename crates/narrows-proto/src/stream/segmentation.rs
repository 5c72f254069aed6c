//! Segmentation offload: how much a sender hands to its network card at once, and when it rather waits for more room.
//!
//! ```text
//! Size      rate · within                                        tcp_tso_autosize of Linux
//!             + most >> (smallest RTT / 512 us)                  with rtt_term (Linux 5.18)
//!           from `least` segments to `most` bytes
//! Rate      that of the pacing, otherwise                        tcp_update_pacing_rate
//!             2 · cwnd / SRTT      while the window doubles
//!             1.2 · cwnd / SRTT    otherwise
//! Window    no more than half of it, so that two bursts can be   tcp_cwnd_test, tcp_mss_split_point
//!           under way, and no more than it has room for
//! Waiting   if there is room for less than a burst: for the      tcp_tso_should_defer
//!           next acknowledgment, unless
//!             losses are being repaired,
//!             nothing was sent for 1 ms,
//!             there is room for a third of the window, or
//!             the acknowledgment is further away than SRTT/2 or 1 ms
//! ```
//!
//! A burst that has begun leaves whole, one segment after the other: the card has it. With pacing it is released at once, and the
//! next one when all of it has been paid for.
//!
//! Linux also lets a connection have no more in the card than two bursts or 1 ms at its rate (TCP small queues). Here that needs
//! no rule. The card asks a connection for a segment when its link is free, so it never has more of it than the rest of one burst,
//! and window and pacing are looked at when a burst begins to leave.
//!
//! Differs from Linux: whether the window doubles is read off the window, once in a round trip, since not every control has a
//! slow start threshold. Segments have the time at which they leave, not that of their burst. Retransmissions leave one by one.

use crate::cc::OutOfRange;
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
}

impl Default for Segmentation {
    fn default() -> Self {
        Self { least: 2, most: Bytes::new(65_536), within: Span::from_ms(1), rtt_term: false }
    }
}

/// `tcp_tso_rtt_log` of Linux, 2^9 us.
const RTT_STEP: Span = Span::from_us(512);

/// A write that lies further back, and an acknowledgment that lies further ahead, is no reason to wait.
const RECENT: Span = Span::from_ms(1);

/// `tcp_tso_win_divisor` of Linux.
const WINDOW_PARTS: u64 = 3;

/// What a burst is to be cut out of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// What has not been sent.
    pub(super) unsent: Bytes,
    /// The window, and what is under way of it.
    pub(super) window: Bytes,
    pub(super) inflight: Bytes,
    /// What the receiver has room for.
    pub(super) receiver: Bytes,
    /// Losses are being repaired.
    pub(super) repairs: bool,
    /// When the oldest segment that waits for an acknowledgment was sent.
    pub(super) oldest_sent_at: Option<Time>,
}

/// What a connection is like.
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

/// The bursts of a connection.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    /// Segments of the burst under way that have not left.
    pub(super) left: u32,
    doubles: bool,
    began: Time,
    /// The window when the round trip began.
    cwnd: Bytes,
}

impl Default for Bursts {
    fn default() -> Self {
        Self { left: 0, doubles: true, began: Time::ZERO, cwnd: Bytes::ZERO }
    }
}

impl Segmentation {
    /// Checks ranges that types cannot express, for segments of `mss`.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub(super) fn check(&self, mss: Bytes) -> Result<(), OutOfRange> {
        let Self { least, most, within, .. } = *self;
        OutOfRange::unless((1..=1000).contains(&least), "segmentation.least", least, "1 to 1 000 segments")?;
        OutOfRange::unless(
            most <= Bytes::new(1 << 20),
            "segmentation.most",
            most,
            "at most 1 MiB, twice the most that Linux has",
        )?;
        OutOfRange::unless(
            most >= mss * 2 && most >= mss.saturating_mul(least),
            "segmentation.most",
            most,
            "room for two full segments, and for `least` segments",
        )?;
        OutOfRange::unless(
            (Span::from_us(1)..=Span::from_secs(1)).contains(&within),
            "segmentation.within",
            within,
            "1 us to 1 s",
        )
    }

    /// Segments of a burst that nothing cuts short.
    fn goal(&self, pace: &Pace, doubles: bool) -> u64 {
        let Pace { mss, packet, rate, cwnd, srtt, min_rtt } = *pace;
        let most = self.most.get() / mss.get();
        // Rates count headers, windows do not.
        let segments = match rate {
            Some(rate) => (rate * self.within).get() / packet.get(),
            None if srtt == Span::ZERO => most,
            None => {
                let rate = BitRate::per(cwnd, srtt).scaled(if doubles { 2.0 } else { 1.2 });
                (rate * self.within).get() / mss.get()
            }
        };
        let halvings = min_rtt.as_ps() / RTT_STEP.as_ps();
        let extra =
            if self.rtt_term && halvings < 32 { (self.most.get() >> halvings) / mss.get() } else { 0 };
        segments.saturating_add(extra).clamp(self.least.min(most), most)
    }
}

impl Bursts {
    /// The burst that may begin now. At least one segment fits.
    pub(super) fn cut(&self, settings: &Segmentation, pace: &Pace, now: Time, room: &Room) -> Cut {
        let mss = pace.mss.get();
        let free = room.window.saturating_sub(room.inflight);
        let [in_window, at_receiver] = [free, room.receiver].map(|bytes| (bytes.get() / mss).max(1));
        let fits = in_window.min(at_receiver);
        let wanted = settings.goal(pace, self.doubles).min(room.unsent.get().div_ceil(mss));
        if fits < wanted && self.waits(pace, now, room, fits) {
            return if in_window <= at_receiver { Cut::Window } else { Cut::Receiver };
        }
        let half = (room.window.get() / 2 / mss).max(1);
        Cut::Segments(wanted.min(fits).min(half) as u32)
    }

    /// It is better to wait for more room than to send the `fits` segments that there is room for.
    fn waits(&self, pace: &Pace, now: Time, room: &Room, fits: u64) -> bool {
        let Some(sent_at) = room.oldest_sent_at else { return false };
        let chunk = room.window.min(room.receiver.saturating_add(room.inflight)).get() / WINDOW_PARTS;
        let soon = (pace.srtt / 2).min(RECENT);
        !room.repairs
            && now.saturating_since(self.began) <= RECENT
            && fits * pace.mss.get() < chunk
            && sent_at + pace.srtt <= now + soon
    }

    /// A burst of so many segments begins.
    pub(super) fn begin(&mut self, now: Time, segments: u32) {
        self.left = segments;
        self.began = now;
    }

    /// A round trip begins with this window.
    pub(super) fn on_round(&mut self, cwnd: Bytes) {
        // Twice as much in slow start, hardly more beyond.
        self.doubles = cwnd.get() / 4 > self.cwnd.get() / 3;
        self.cwnd = cwnd;
    }
}
