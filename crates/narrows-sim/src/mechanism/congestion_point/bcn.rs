//! BCN's congestion point.
//!
//! ```text
//! Qoff   = Qeq − q              within ±Qeq
//! Qdelta = q − q_old            within ±2·Qeq
//! e      = Qoff − W·Qdelta
//!     q > Qsc             stop (BCN0)
//!     q > Qeq and e < 0   slower
//!     e > 0               faster, if the frame is tagged with this congestion point
//! ```
//! The slides of 2005 quantise e to four levels each way; how is not said in their text. Here the levels are parts of the
//! largest |e|, Qeq·(2W + 1), that double from one to the next, as the reactions do. The proposal of 2006 sends Qoff and
//! Qdelta themselves.

use narrows_proto::cnm::Signal;
use narrows_proto::units::Bytes;

use super::message::Message;
use crate::random::Stream;

/// A congestion point of BCN (Bergamasco, IEEE 802.1 Interim, Berlin, May 2005; Bergamasco & Pan, BCN 2.0, 2006).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bcn {
    /// Content of its messages.
    pub version: BcnVersion,
    /// Qeq, where the queue is meant to settle. The packet on the wire does not wait.
    pub set_point: Bytes,
    /// Qsc: above it sources are stopped; never if left out.
    pub severe: Option<Bytes>,
    /// W, the weight of the queue's change.
    pub weight: f64,
    /// Which frames are samples.
    pub sampling: Sampling,
    /// Version of 2005: from which parts of the largest |e| on the level is 2, 3, 4.
    pub levels: [f64; 3],
    /// Its messages as frames.
    pub message: Message,
}

impl Default for Bcn {
    fn default() -> Self {
        Self {
            version: BcnVersion::default(),
            set_point: Bytes::new(24_000), // 16 frames of 1500 B
            severe: None,
            weight: 2.0,
            sampling: Sampling::Random(0.01),
            levels: [0.125, 0.25, 0.5],
            message: Message::default(),
        }
    }
}

/// Content of messages of BCN.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
pub enum BcnVersion {
    /// One of nine signals: BCN−4 to BCN+4.
    #[default]
    #[serde(rename = "2005")]
    Levels,
    /// The queue's offset and change.
    #[serde(rename = "2006")]
    Explicit,
}

/// Which frames are samples.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// Each with this probability (Pm).
    Random(f64),
    /// One in so many.
    Every(u32),
}

impl Bcn {
    /// Frames that pass before the next sample.
    pub(super) fn next_sample(&self, random: &mut Stream) -> i64 {
        match self.sampling {
            Sampling::Every(frames) => i64::from(frames) - 1,
            Sampling::Random(probability) if probability >= 1.0 => 0,
            // Geometric: P(n) = (1 − p)^n·p.
            Sampling::Random(probability) => {
                (libm::log(1.0 - random.uniform()) / libm::log1p(-probability)).min(1e15) as i64
            }
        }
    }

    /// Signal to the source of a frame when `waiting` bytes wait, and `before` at the sample before. `ours` says that the
    /// frame is tagged with this congestion point.
    pub(super) fn signal(&self, waiting: u64, before: u64, ours: bool) -> Option<Signal> {
        let (set_point, waiting, before) = (self.set_point.as_f64(), waiting as f64, before as f64);
        if self.severe.is_some_and(|severe| waiting > severe.as_f64()) {
            return Some(Signal::Stop);
        }
        let offset = (set_point - waiting).clamp(-set_point, set_point);
        let delta = (waiting - before).clamp(-2.0 * set_point, 2.0 * set_point);
        let error = offset - self.weight * delta;
        let slower = error < 0.0 && waiting > set_point;
        let faster = error > 0.0 && ours;
        if !slower && !faster {
            return None;
        }
        Some(match self.version {
            BcnVersion::Explicit => Signal::Explicit { slower },
            BcnVersion::Levels => {
                let part = error.abs() / (set_point * (2.0 * self.weight + 1.0));
                let level = 1 + self.levels.iter().filter(|bound| part >= **bound).count() as i8;
                Signal::Level(if slower { -level } else { level })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn bcn() -> Bcn {
        Bcn { severe: Some(Bytes::new(100_000)), ..Bcn::default() }
    }

    #[test]
    fn signals_follow_the_queue_as_worked_out_by_hand() {
        // Qeq 24 000, W 2: largest |e| is 24 000·5 = 120 000; levels from 15 000, 30 000 and 60 000 on.
        let signal = |waiting, before| bcn().signal(waiting, before, false);
        // e = (24 000 − 30 000) − 2·0 = −6 000
        assert_eq!(signal(30_000, 30_000), Some(Signal::Level(-1)));
        // e = −6 000 − 2·4 500 = −15 000
        assert_eq!(signal(30_000, 25_500), Some(Signal::Level(-2)));
        // e = −12 000 − 2·12 000 = −36 000
        assert_eq!(signal(36_000, 24_000), Some(Signal::Level(-3)));
        // Qoff is cut at −24 000, Qdelta at 48 000: e = −120 000
        assert_eq!(signal(90_000, 0), Some(Signal::Level(-4)));
        // Above Qsc.
        assert_eq!(signal(100_001, 100_001), Some(Signal::Stop));
        // The queue is above Qeq but shrinks fast: e = −6 000 + 2·10 000 > 0. Nothing for frames of others.
        assert_eq!(signal(30_000, 40_000), None);
        // It grows, e < 0, but is below Qeq: e = 4 000 − 2·20 000.
        assert_eq!(signal(20_000, 0), None);
    }

    #[test]
    fn frames_it_limits_are_to_speed_up() {
        let signal = |waiting, before| bcn().signal(waiting, before, true);
        // e = 24 000 − 12 000 = 12 000
        assert_eq!(signal(12_000, 12_000), Some(Signal::Level(1)));
        // e = 24 000
        assert_eq!(signal(0, 0), Some(Signal::Level(2)));
        // e = 4 000 + 2·15 000 = 34 000
        assert_eq!(signal(20_000, 35_000), Some(Signal::Level(3)));
        // e = 24 000 + 2·48 000
        assert_eq!(signal(0, 60_000), Some(Signal::Level(4)));
        // e = −6 000 + 2·10 000 = 14 000
        assert_eq!(signal(30_000, 40_000), Some(Signal::Level(1)));
    }

    #[test]
    fn the_version_of_2006_says_the_sign_only() {
        let bcn = Bcn { version: BcnVersion::Explicit, ..bcn() };
        assert_eq!(bcn.signal(30_000, 30_000, false), Some(Signal::Explicit { slower: true }));
        assert_eq!(bcn.signal(0, 0, true), Some(Signal::Explicit { slower: false }));
        assert_eq!(bcn.signal(100_001, 0, true), Some(Signal::Stop));
    }

    #[test]
    fn random_samples_are_as_frequent_as_asked_for() {
        let mut random = Stream::new(1, Purpose::Sampling, 0);
        let bcn = Bcn { sampling: Sampling::Random(0.01), ..bcn() };
        let draws = 100_000;
        let frames: i64 = (0..draws).map(|_| 1 + bcn.next_sample(&mut random)).sum();
        // ±1 %: three standard deviations of the mean of 10^5 draws.
        assert!((frames as f64 / f64::from(draws) / 100.0 - 1.0).abs() < 0.01, "{frames}");
        let every = |sampling| Bcn { sampling, ..Bcn::default() }.next_sample(&mut random.clone());
        assert_eq!([every(Sampling::Every(100)), every(Sampling::Random(1.0))], [99, 0]);
    }
}
