//! A receive buffer whose size, and the window that it announces, follow what arrives: dynamic right-sizing.
//!
//! ```text
//! Window   what fits into `part` of the buffer besides segments out of order, and no more     __tcp_select_window of Linux
//!          than a limit that begins with `first_window` and grows by                         tcp_grow_window
//!          two segments for each that arrives. It never shrinks.
//! Buffer   once in a round trip, if more was delivered in it than in the best before:         tcp_rcv_space_adjust
//!              window = 2·delivered + 16 segments
//!              more for a sender that grows: `growth`
//!              buffer = window/part, at most `most`; it never shrinks
//! ```
//! While the limit grows each segment is acknowledged at once. On the wire the window has 16 bits, in units of a power of two that
//! `most` fits into (RFC 7323 §2).
//!
//! Differs from Linux: it has round-trip times from timestamps in milliseconds and smooths them; here they are exact, one in a round trip (the
//! spin bit of acknowledgments), and the last one counts. `part` does not follow the memory that segments take (`scaling_ratio`).
//! Every flow begins with a buffer of its own, also on a kept connection. The application reads at once.

use crate::cc::{OutOfRange, Ranges};
use crate::units::{Bytes, Span, Time};

/// Settings of a receive buffer that follows what arrives.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ReceiveBuffer")]
pub struct ReceiveBuffer {
    /// Its size at first (`tcp_rmem`, the second number).
    pub initial: Bytes,
    /// Its largest size (`tcp_rmem`, the third number).
    pub most: Bytes,
    /// The part of it that is announced; the rest is for what the system adds to payload (`tcp_adv_win_scale`, `scaling_ratio`).
    pub part: f64,
    /// The window announced at first, rounded down to full segments, at least two.
    pub first_window: Bytes,
    /// Rule by which it follows a sender that grows.
    pub growth: BufferGrowth,
}

/// Rule by which a receive buffer follows a sender that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BufferGrowth {
    /// Half as much again if a quarter more was delivered than in the best round trip before, twice as much from half as much more
    /// (Linux 4.9).
    Steps,
    /// More by twice the part by which more was delivered (Linux 6.12).
    Proportional,
}

impl Default for ReceiveBuffer {
    fn default() -> Self {
        Self {
            initial: Bytes::new(131_072),
            most: Bytes::new(6_291_456),
            part: 0.5,
            first_window: Bytes::new(65_535),
            growth: BufferGrowth::Proportional,
        }
    }
}

/// The most that the announced window shifts (RFC 7323 §2.3).
const MOST_SHIFT: u32 = 14;

impl ReceiveBuffer {
    pub(super) fn check(&self, mss: Bytes, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { initial, most, part, first_window, .. } = *self;
        ranges.unless(part > 0.0 && part <= 1.0, "receive_buffer.part", part, "more than 0, at most 1")?;
        ranges.unless(
            initial.as_f64() * part >= mss.as_f64() * 3.0,
            "receive_buffer.initial",
            initial,
            "room for three full segments in its part",
        )?;
        ranges.unless(
            (initial..=Bytes::new(1 << 30)).contains(&most),
            "receive_buffer.most",
            most,
            "receive_buffer.initial to 1 GiB",
        )?;
        ranges.unless(
            first_window >= mss && first_window.as_f64() <= initial.as_f64() * part,
            "receive_buffer.first_window",
            first_window,
            "room for a full segment, at most the part of receive_buffer.initial",
        )
    }

    /// The unit of the announced window.
    #[inline]
    pub fn unit(&self) -> u64 {
        let bits = u64::BITS - self.most.get().leading_zeros();
        1 << bits.saturating_sub(u16::BITS).min(MOST_SHIFT)
    }

    /// The window announced at first.
    pub(super) fn first(&self, mss: Bytes) -> u64 {
        let whole = self.first_window.get() / mss.get();
        whole.max(2) * mss.get()
    }

    /// Window of a buffer of this size, in bytes.
    fn window_of(&self, size: u64) -> u64 {
        (size as f64 * self.part) as u64
    }
}

/// The state of a receiver.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    mss: u64,
    size: u64,
    /// The most that is ever announced for this size (`window_clamp`).
    clamp: u64,
    /// The limit that grows with what arrives (`rcv_ssthresh`).
    limit: u64,
    /// Nothing beyond may be sent.
    edge: u64,
    /// [`Span::MAX`] if it is not known.
    rtt: Span,
    /// Start of the round trip whose delivered bytes are measured.
    delivered: Round,
    /// The most that was delivered in a round trip (`rcvq_space.space`).
    best: u64,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    at: u64,
    since: Time,
}

impl Buffer {
    pub(super) fn new(settings: &ReceiveBuffer, mss: Bytes, now: Time) -> Self {
        let first = settings.first(mss);
        let mss = mss.get();
        let size = settings.initial.get();
        let begin = Round { at: 0, since: now };
        Self {
            mss,
            size,
            // One segment is kept back.
            clamp: (settings.window_of(size) - mss).max(2 * mss),
            limit: first,
            edge: first,
            rtt: Span::MAX,
            delivered: begin,
            best: match settings.growth {
                BufferGrowth::Steps => first,
                BufferGrowth::Proportional => first.min(10 * mss),
            },
        }
    }

    /// A round trip took so long: that of the handshake, or of an acknowledgment and the data it let out.
    pub(super) fn on_round_trip(&mut self, rtt: Span) {
        self.rtt = rtt;
    }

    #[cfg(test)]
    pub(super) fn round_trip(&self) -> Span {
        self.rtt
    }

    /// A unit of `len` bytes arrived; everything below `next` has, and `held` bytes beyond. Returns whether the limit grew.
    pub(super) fn on_data(
        &mut self,
        settings: &ReceiveBuffer,
        now: Time,
        next: u64,
        len: u64,
        held: u64,
    ) -> bool {
        let grows = self.limit < self.clamp && self.limit < self.free(settings, held);
        if grows {
            self.limit = (self.limit + 2 * len.max(self.mss)).min(self.clamp);
        }
        if self.rtt < Span::MAX && now.saturating_since(self.delivered.since) >= self.rtt {
            self.end_round(settings, next - self.delivered.at);
            self.delivered = Round { at: next, since: now };
        }
        grows
    }

    /// So much was delivered in a round trip.
    fn end_round(&mut self, settings: &ReceiveBuffer, delivered: u64) {
        if delivered <= self.best {
            return;
        }
        let steady = 2 * delivered + 16 * self.mss;
        let window = match settings.growth {
            BufferGrowth::Steps if delivered >= self.best + self.best / 2 => 2 * steady,
            BufferGrowth::Steps if delivered >= self.best + self.best / 4 => steady + steady / 2,
            BufferGrowth::Steps => steady,
            BufferGrowth::Proportional => {
                let more = u128::from(steady) * u128::from(delivered - self.best) / u128::from(self.best);
                steady.saturating_add(u64::try_from(2 * more).unwrap_or(u64::MAX))
            }
        };
        let size = ((window as f64 / settings.part) as u64).min(settings.most.get());
        if size > self.size {
            self.size = size;
            self.clamp = match settings.growth {
                BufferGrowth::Steps => window,
                BufferGrowth::Proportional => settings.window_of(size),
            };
        }
        self.best = delivered;
    }

    fn free(&self, settings: &ReceiveBuffer, held: u64) -> u64 {
        settings.window_of(self.size).saturating_sub(held)
    }

    /// The window that an acknowledgment of everything below `next` announces, in units.
    pub(super) fn announce(&mut self, settings: &ReceiveBuffer, next: u64, held: u64) -> u16 {
        let window = self.free(settings, held).min(self.limit).min(self.clamp);
        let unit = settings.unit();
        let window = window.max(self.edge.saturating_sub(next));
        let units = u16::try_from(window.div_ceil(unit)).unwrap_or(u16::MAX);
        self.edge = next + u64::from(units) * unit;
        units
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn linux_4_9() -> ReceiveBuffer {
        ReceiveBuffer {
            initial: Bytes::new(376_000),
            first_window: Bytes::new(29_200),
            growth: BufferGrowth::Steps,
            ..ReceiveBuffer::default()
        }
    }

    /// A sender whose window doubles each round trip of 100 ms and which fills it as far as the announced window lets it: the bytes of
    /// each round trip, and the window at its end.
    fn doubling(settings: &ReceiveBuffer, rounds: u64) -> Vec<(u64, u64)> {
        let rtt = Span::from_ms(100);
        let mut buffer = Buffer::new(settings, Bytes::new(MSS), Time::ZERO);
        buffer.on_round_trip(rtt);
        let (mut next, mut window) = (0, settings.first(Bytes::new(MSS)));
        let round = |round: u64| {
            let segments = (10 << round).min(window / MSS);
            for number in 0..segments {
                let now = Time::ZERO + rtt * (round + 1) + Span::from_us(number);
                next += MSS;
                buffer.on_data(settings, now, next, MSS, 0);
                window = u64::from(buffer.announce(settings, next, 0)) * settings.unit();
            }
            (segments, window / MSS)
        };
        (0..rounds).map(round).collect()
    }

    #[test]
    fn the_window_stays_ahead_of_a_sender_that_doubles_it() {
        for settings in [ReceiveBuffer::default(), linux_4_9()] {
            let rounds = doubling(&settings, 8);
            for (round, (segments, window)) in rounds.iter().enumerate() {
                assert_eq!(*segments, 10 << round, "{rounds:?}");
                let needed = (2 * segments).min(settings.window_of(settings.most.get()) / MSS);
                assert!(*window + 1 >= needed, "{rounds:?}");
            }
        }
    }

    #[test]
    fn the_window_ends_at_the_part_of_the_largest_buffer() {
        for settings in [ReceiveBuffer::default(), linux_4_9()] {
            let (segments, window) = doubling(&settings, 12)[11];
            let most = settings.window_of(settings.most.get()) / MSS;
            assert!((most..=most + 1).contains(&window) && (most - 1..=most + 1).contains(&segments));
        }
    }

    #[test]
    fn the_buffer_grows_by_what_was_delivered() {
        // 2·40 + 16 segments, twice of it because 40 are twice the best, in half of the buffer.
        let settings = linux_4_9();
        let mut buffer = Buffer::new(&settings, Bytes::new(MSS), Time::ZERO);
        buffer.end_round(&settings, 40 * MSS);
        assert_eq!((buffer.clamp, buffer.size), (2 * 96 * MSS, 4 * 96 * MSS));
        // A quarter more; a little more; less.
        buffer.end_round(&settings, 50 * MSS);
        assert_eq!(buffer.clamp, 192 * MSS, "3/2·116 segments are less than it has");
        buffer.end_round(&settings, 100 * MSS);
        assert_eq!(buffer.clamp, 2 * 216 * MSS);
        // 10 segments are the best at first; 20 are 100 % more: (2·20 + 16)·(1 + 2·1).
        let settings = ReceiveBuffer::default();
        let mut buffer = Buffer::new(&settings, Bytes::new(MSS), Time::ZERO);
        buffer.end_round(&settings, 20 * MSS);
        assert_eq!(buffer.clamp, 56 * 3 * MSS);
    }

    #[test]
    fn the_window_of_a_sender_behind_a_queue_grows_to_the_end() {
        // The handshake took 10 ms. Segments arrive evenly spread over round trips of 100 ms, as many as the window lets.
        for settings in [ReceiveBuffer::default(), linux_4_9()] {
            let (handshake, rtt) = (Span::from_ms(10), Span::from_ms(100));
            let mut buffer = Buffer::new(&settings, Bytes::new(MSS), Time::ZERO);
            let (mut next, mut window) = (0, settings.first(Bytes::new(MSS)));
            for round in 1..=20 {
                let segments = window / MSS;
                buffer.on_round_trip(if round > 1 { rtt } else { handshake });
                for number in 0..segments {
                    let now = Time::ZERO + rtt * round + rtt * number / segments;
                    next += MSS;
                    buffer.on_data(&settings, now, next, MSS, 0);
                    window = u64::from(buffer.announce(&settings, next, 0)) * settings.unit();
                }
            }
            assert!(window >= settings.window_of(settings.most.get()), "{window}");
        }
    }

    #[test]
    fn what_is_out_of_order_takes_room_but_takes_nothing_back() {
        let settings = ReceiveBuffer::default();
        let mut buffer = Buffer::new(&settings, Bytes::new(MSS), Time::ZERO);
        let unit = settings.unit();
        assert_eq!(unit, 128);
        let edge = u64::from(buffer.announce(&settings, 0, 0)) * unit;
        assert_eq!(
            u64::from(buffer.announce(&settings, MSS, 64_000)) * unit,
            (edge - MSS).next_multiple_of(unit)
        );
    }
}
