//! QCN's congestion point (IEEE 802.1Qau-2010 §30.2.1, §32.2).
//!
//! ```text
//! Fb  = (Qeq − q) − w·(q − q_old)       within −Qeq·(2w + 1) … 0
//! qFb = ⌊63·|Fb| / (Qeq·(2w + 1))⌋      6 bits
//! ```
//! A sample whose qFb is above zero makes a message. The next sample comes after S(qFb) bytes, 150 kB when all is well and
//! 18.5 kB when it is worst, give or take 15 %.

use narrows_proto::units::Bytes;

use super::message::Message;
use crate::random::Stream;

/// A congestion point of QCN.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Qcn {
    /// Qeq (cpQSetPoint), where the queue is meant to settle. The packet on the wire does not wait.
    pub set_point: Bytes,
    /// w (cpW), the weight of the queue's change.
    pub weight: f64,
    /// Bytes from one sample to the next while there is no congestion (cpSampleBase).
    pub sample_base: Bytes,
    /// Each distance is drawn from this part below to this part above its value.
    pub jitter: f64,
    /// Its messages as frames.
    pub message: Message,
}

impl Default for Qcn {
    /// As in IEEE8021-CN-MIB; the jitter as in the pseudo-code of the standard's authors.
    fn default() -> Self {
        Self {
            set_point: Bytes::new(26_000),
            weight: 2.0,
            sample_base: Bytes::new(150_000),
            jitter: 0.15,
            message: Message::default(),
        }
    }
}

/// Distance between two samples by qFb/8, as parts of the first: 150, 75, 50, 37.5, 30, 25, 21.5 and 18.5 kB.
const DISTANCES: [f64; 8] =
    [1.0, 75.0 / 150.0, 50.0 / 150.0, 37.5 / 150.0, 30.0 / 150.0, 25.0 / 150.0, 21.5 / 150.0, 18.5 / 150.0];

impl Qcn {
    /// qFb when `waiting` bytes wait, and `before` at the sample before.
    pub(super) fn feedback(&self, waiting: u64, before: u64) -> u8 {
        let (set_point, waiting, before) = (self.set_point.as_f64(), waiting as f64, before as f64);
        let worst = set_point * (2.0 * self.weight + 1.0);
        let feedback = (set_point - waiting) - self.weight * (waiting - before);
        (63.0 * (-feedback).clamp(0.0, worst) / worst) as u8
    }

    /// Bytes that pass before the next sample.
    pub(super) fn next_sample(&self, feedback: u8, random: &mut Stream) -> i64 {
        let distance = self.sample_base.as_f64() * DISTANCES[usize::from(feedback >> 3) & 7];
        let jitter = 1.0 + self.jitter * (2.0 * random.uniform() - 1.0);
        (distance * jitter) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn feedback_is_what_comes_out_by_hand() {
        // Qeq 26 000, w 2: the worst is 130 000.
        let qcn = Qcn::default();
        let cases = [
            (26_000, 26_000, 0),  // Fb = 0
            (0, 0, 0),            // Fb = 26 000, no message
            (26_000, 20_000, 5),  // Fb = −12 000: 63·12/130 = 5.8
            (52_000, 52_000, 12), // Fb = −26 000: 63·26/130 = 12.6
            (40_000, 30_000, 16), // Fb = −14 000 − 20 000: 63·34/130 = 16.5
            (30_000, 40_000, 0),  // Fb = −4 000 + 20 000 > 0
            (78_000, 39_000, 63), // Fb = −52 000 − 78 000 = −130 000
            (200_000, 0, 63),     // beyond the worst
        ];
        for (waiting, before, feedback) in cases {
            assert_eq!(qcn.feedback(waiting, before), feedback, "{waiting} {before}");
        }
    }

    #[test]
    fn samples_come_closer_together_the_worse_it_is() {
        let qcn = Qcn { jitter: 0.0, ..Qcn::default() };
        let mut random = Stream::new(1, Purpose::Sampling, 0);
        let distances =
            [0, 7, 8, 16, 24, 32, 40, 48, 63].map(|feedback| qcn.next_sample(feedback, &mut random));
        assert_eq!(distances, [150_000, 150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500]);
    }

    #[test]
    fn distances_stay_within_the_jitter() {
        let (qcn, mut random) = (Qcn::default(), Stream::new(1, Purpose::Sampling, 0));
        let distances: Vec<_> = (0..10_000).map(|_| qcn.next_sample(0, &mut random)).collect();
        assert!(distances.iter().all(|distance| (127_500..=172_500).contains(distance)));
        // ±1 %: the standard deviation of the mean is 0.09 %.
        let mean = distances.iter().sum::<i64>() as f64 / 10_000.0;
        assert!((mean / 150_000.0 - 1.0).abs() < 0.01, "{mean}");
    }
}
