//! Congestion notification: what a congestion point in a switch reports to the source of a frame (BCN, QCN).

use std::num::NonZeroU16;

/// Names a congestion point: one port of one switch. Frames of limited flows carry it as a tag.
///
/// Differs from IEEE 802.1Qau §33.4.4, whose identifiers have 8 bytes and name each queue of a port: queues of one port
/// differ in the priority of the frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CpId(pub NonZeroU16);

/// A congestion notification message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cnm {
    /// Who sends it.
    pub from: CpId,
    /// Its request.
    pub signal: Signal,
    /// Set point minus queue length, in units of 64 B (cnmQOffset of QCN, Qoff of BCN).
    pub q_offset: i16,
    /// Queue length minus the one at the sample before, in units of 64 B (cnmQDelta of QCN, Qdelta of BCN).
    pub q_delta: i16,
}

/// Request of a congestion notification message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// QCN: slow down; the quantized feedback, 1 to 63.
    Quantized(u8),
    /// BCN of 2005: −4 to −1 request to slow down, 1 to 4 to speed up.
    Level(i8),
    /// BCN of 2006: offset and change of the queue say it; the sign of the feedback.
    Explicit {
        /// It requests to slow down.
        slower: bool,
    },
    /// BCN0: stop.
    Stop,
}

impl Signal {
    /// It requests to slow down or stop. Only such messages make a limiter.
    pub fn is_slower(self) -> bool {
        match self {
            Self::Quantized(_) | Self::Stop => true,
            Self::Level(level) => level < 0,
            Self::Explicit { slower } => slower,
        }
    }

    /// As 8 bits of a frame.
    pub fn to_bits(self) -> u8 {
        match self {
            Self::Quantized(feedback) => feedback.min(63),
            Self::Level(level) => 0x40 | (level & 0x0f) as u8,
            Self::Explicit { slower } => 0x80 | u8::from(slower),
            Self::Stop => 0xc0,
        }
    }

    /// Inverse of [`to_bits`](Self::to_bits).
    pub fn from_bits(bits: u8) -> Self {
        match bits >> 6 {
            0 => Self::Quantized(bits),
            // Four bits with a sign.
            1 => Self::Level((bits << 4) as i8 >> 4),
            2 => Self::Explicit { slower: bits & 1 != 0 },
            _ => Self::Stop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_survive_the_trip() {
        let levels = (-4..=4).filter(|level| *level != 0).map(Signal::Level);
        let explicit = [true, false].map(|slower| Signal::Explicit { slower });
        for signal in (1..=63).map(Signal::Quantized).chain(levels).chain(explicit).chain([Signal::Stop]) {
            assert_eq!(Signal::from_bits(signal.to_bits()), signal);
        }
    }

    #[test]
    fn only_negative_messages_request_to_slow_down() {
        let slower =
            [Signal::Quantized(1), Signal::Level(-1), Signal::Explicit { slower: true }, Signal::Stop];
        assert!(slower.iter().all(|signal| signal.is_slower()));
        assert!(!Signal::Level(1).is_slower() && !Signal::Explicit { slower: false }.is_slower());
    }
}
