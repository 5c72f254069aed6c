//! Detection of queues that mark by classic rules: they are long, and the round-trip time varies.

use crate::cc::{OutOfRange, Ranges};
use crate::units::Span;

/// Settings of the detection of queues that mark by classic rules.
///
/// Once per update of alpha the score rises by lg(mdev/`jitter`)/2, which may be negative, and by lg(queue/`queue`)/2 if that is
/// positive; mdev is the mean deviation of the round-trip time, queue its mean less the least.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "PragueEcnFallback")]
pub struct Fallback {
    /// V0: mean deviation of the round-trip time between those of L4S and of classic queues.
    pub jitter: Span,
    /// D0: a longer queue speaks for a classic one.
    pub queue: Span,
    /// Up to this score the queue counts as one of L4S, beyond this and 1 as a classic one; between them in part. The score is 0 to
    /// twice this and 1.
    pub sticky: f64,
    /// At a classic queue alpha counts as this at least.
    pub least_alpha: f64,
}

impl Default for Fallback {
    fn default() -> Self {
        let [jitter, queue] = [750, 2000].map(Span::from_us);
        Self { jitter, queue, sticky: 8.0, least_alpha: 0.625 }
    }
}

impl Fallback {
    pub(super) fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { jitter, queue, sticky, least_alpha: alpha } = *self;
        ranges.unless(jitter > Span::ZERO, "jitter", jitter, "more than 0 s")?;
        ranges.unless(queue > Span::ZERO, "queue", queue, "more than 0 s")?;
        ranges.unless((0.0..=1000.0).contains(&sticky), "sticky", sticky, "0 to 1000")?;
        ranges.unless((0.0..=1.0).contains(&alpha), "least_alpha", alpha, "0 to 1")
    }
}

/// The largest number of halvings of a gain.
const MOST_SHIFT: f64 = 18.0;

/// Less than this of a deviation or a queue counts as this.
const LEAST: f64 = 1e-6;

/// State of the detection. Times in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detector {
    settings: Fallback,
    /// Weight of a sample of the round-trip time: of its deviation half of that.
    pub(super) gain: f64,
    /// Zero before the first sample.
    pub(super) srtt: f64,
    pub(super) min_rtt: f64,
    pub(super) mdev: f64,
    pub(super) score: f64,
}

impl Detector {
    pub(super) fn new(settings: Fallback) -> Self {
        let gain = libm::exp2(-MOST_SHIFT);
        Self { settings, gain, srtt: 0.0, min_rtt: f64::INFINITY, mdev: LEAST, score: 0.0 }
    }

    /// A round-trip time was measured.
    pub(super) fn measure(&mut self, rtt: f64) {
        self.min_rtt = self.min_rtt.min(rtt);
        if self.srtt == 0.0 {
            self.srtt = rtt;
            return;
        }
        let error = rtt - self.srtt;
        self.srtt += self.gain * error;
        self.mdev += self.gain / 2.0 * (error.abs() - self.mdev);
    }

    /// The window was reduced to so many packets: averages are to last for several of its sawteeth, ssthresh^1.5 packets.
    pub(super) fn scale(&mut self, ssthresh: f64) {
        let lg = libm::log2(ssthresh.max(1.0)).floor();
        self.gain = libm::exp2(-(lg + (lg / 2.0).floor() + 1.0).min(MOST_SHIFT));
    }

    /// Alpha is updated.
    pub(super) fn update(&mut self) {
        if self.srtt == 0.0 {
            return;
        }
        let Fallback { jitter, queue, sticky, .. } = self.settings;
        let lg = |time: f64, unit: Span| libm::log2(time.max(LEAST) / unit.as_secs_f64());
        let more = lg(self.mdev, jitter) / 2.0 + (lg(self.srtt - self.min_rtt, queue) / 2.0).max(0.0);
        self.score = (self.score + more).clamp(0.0, 2.0 * sticky + 1.0);
    }

    /// Alpha counts as this at least.
    pub(super) fn least_alpha(&self) -> f64 {
        let Fallback { sticky, least_alpha, .. } = self.settings;
        (self.score - sticky).clamp(0.0, 1.0) * least_alpha
    }
}
