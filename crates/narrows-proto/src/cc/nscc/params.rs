use crate::cc::{OutOfRange, Ranges};
use crate::rdma::Credits;
use crate::units::{Bytes, Span};

/// Settings of NSCC. Values are those of uet-htsim.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Nscc")]
pub struct Params {
    /// The longest base round-trip time of the network; 12 us. A longer path takes its propagation for queueing.
    pub rtt: Span,
    /// The base round-trip time of this traffic, before a shorter one is measured; `rtt` if left out.
    pub base_rtt: Option<Span>,
    /// Switches trim packets for which they have no room: the target is 0.75 of `rtt` then, and 1 of it otherwise; true.
    pub trimming: bool,
    /// T: the queueing delay it aims at, in place of that part of `rtt`.
    pub target: Option<Span>,
    /// A is the product of link rate and `rtt` as a multiple of this; 150 kB, 100 Gb/s for 12 us.
    pub reference_bdp: Bytes,
    /// B is T as a multiple of this; 12 us.
    pub reference_rtt: Span,
    /// Full packets, times A·B, that a window of acknowledgments without a mark and without delay adds; 4.
    pub proportional: f64,
    /// Full packets, times A, that a window of acknowledgments adds with a delay above T but without a mark; 5.
    pub fair: f64,
    /// eta: full packets, times A, that are added once in `rtt` whatever arrives; 0.15.
    pub floor: f64,
    /// Part of what is acknowledged, times A, that is added after a whole window without delay; 0.25.
    pub fast: f64,
    /// Less delay than this is none; 1 us.
    pub fast_below: Span,
    /// gamma: the part of the window taken for a mean delay far above T, as far as `max_decrease` allows; 0.8.
    pub gamma: f64,
    /// The largest part of the window taken at once; 0.5.
    pub max_decrease: f64,
    /// w, the weight of the newest acknowledgment in the mean delay; 0.0125.
    pub delay_gain: f64,
    /// A delay above T without a mark counts for the mean delay as this part of the base round-trip time; 0.25.
    pub unmarked_delay: f64,
    /// Increases take effect once more full packets than this have arrived, or `rtt` has passed; 8.
    pub batch: u64,
    /// The first and largest window, as a part of the product of link rate and base round-trip time; 1.5.
    pub max_window: f64,
    /// Reduce the window to what arrives if that is far less; true.
    pub quick_adapt: bool,
    /// Quick adapt sets in below this part of the largest window; 0.125.
    pub quick_below: f64,
    /// Quick adapt takes a delay above this, as a multiple of T, for a sign of it; 4.
    pub quick_delay: f64,
    /// Receivers grant credits besides, and limit the sender together with the window; off if left out.
    pub credits: Option<Credits>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            rtt: Span::from_us(12),
            base_rtt: None,
            trimming: true,
            target: None,
            reference_bdp: Bytes::new(150_000),
            reference_rtt: Span::from_us(12),
            proportional: 4.0,
            fair: 5.0,
            floor: 0.15,
            fast: 0.25,
            fast_below: Span::from_us(1),
            gamma: 0.8,
            max_decrease: 0.5,
            delay_gain: 0.0125,
            unmarked_delay: 0.25,
            batch: 8,
            max_window: 1.5,
            quick_adapt: true,
            quick_below: 0.125,
            quick_delay: 4.0,
            credits: None,
        }
    }
}

/// Part of the round-trip time of the network that is the target without trimming, and with it.
const TARGETS: [f64; 2] = [1.0, 0.75];

impl Params {
    /// T.
    pub(super) fn target(&self) -> Span {
        let part = TARGETS[usize::from(self.trimming)];
        self.target.unwrap_or_else(|| Span::from_secs_f64(part * self.rtt.as_secs_f64()))
    }

    pub(super) fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let longest = Span::from_secs(10);
        let spans = [
            ("rtt", self.rtt),
            ("base_rtt", self.base_rtt.unwrap_or(longest)),
            ("target", self.target.unwrap_or(longest)),
            ("reference_rtt", self.reference_rtt),
        ];
        for (setting, span) in spans {
            let in_range = (Span::from_ns(1)..=longest).contains(&span);
            ranges.unless(in_range, setting, span, "1 ns to 10 s")?;
        }
        ranges.unless(self.fast_below <= longest, "fast_below", self.fast_below, "at most 10 s")?;
        let bdp = self.reference_bdp;
        let in_range = (1_000..=1_000_000_000_000).contains(&bdp.get());
        ranges.unless(in_range, "reference_bdp", bdp, "1 kB to 1 TB")?;
        let Self { proportional, fair, floor, fast, unmarked_delay, .. } = *self;
        let factors = [("proportional", proportional), ("fair", fair), ("floor", floor), ("fast", fast)];
        for (setting, factor) in factors {
            ranges.unless((0.0..=1e3).contains(&factor), setting, factor, "0 to 1000")?;
        }
        let Self { gamma, max_decrease, delay_gain, max_window, quick_below, quick_delay, .. } = *self;
        ranges.unless((0.0..=1e3).contains(&gamma), "gamma", gamma, "0 to 1000")?;
        let expected = "above 0, below 1";
        let in_range = max_decrease > 0.0 && max_decrease < 1.0;
        ranges.unless(in_range, "max_decrease", max_decrease, expected)?;
        for (setting, part) in [("delay_gain", delay_gain), ("quick_below", quick_below)] {
            ranges.unless(part > 0.0 && part <= 1.0, setting, part, "above 0, at most 1")?;
        }
        for (setting, part) in [("unmarked_delay", unmarked_delay), ("quick_delay", quick_delay)] {
            ranges.unless((0.0..=1e3).contains(&part), setting, part, "0 to 1000")?;
        }
        ranges.unless(self.batch <= 1_000_000, "batch", self.batch, "at most 1 000 000 packets")?;
        let in_range = max_window > 0.0 && max_window <= 100.0;
        ranges.unless(in_range, "max_window", max_window, "above 0, at most 100")?;
        self.credits.map_or(Ok(()), |credits| credits.check(ranges))
    }
}
