use crate::cc::{OutOfRange, Ranges};
use crate::units::{BitRate, Bytes, Span};

/// Credits that receivers grant. Defaults without another source are those of uet-htsim.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Credits")]
pub struct Credits {
    /// Most bytes granted in a turn, a multiple of `quantum`; 16 384 B, four packets of 4096 B.
    pub grant: Bytes,
    /// Modifier of the rate at which a network card grants, as a part of the rate of its links; 0.99, so that queues in front of it drain.
    pub rate: f64,
    /// The base round-trip time of the network; 12 us.
    pub rtt: Span,
    /// W: what a sender begins with, requests at most and has at most of slow pulls, as a part of the product of its link rate and `rtt`;
    /// 1.5.
    pub window: f64,
    /// Requests and grants are multiples of this; 256 B.
    pub quantum: Bytes,
    /// Grant to connections in turn while none has requested anything, so that their next message begins at once; true.
    pub slow_pulls: bool,
    /// Grant at a lower rate while marks and trimmed packets show that the fabric before the last link is congested; off if left out.
    pub oversubscribed: Option<Oversubscribed>,
}

/// The rule for fabrics that are oversubscribed.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "CreditsOversubscribed")]
pub struct Oversubscribed {
    /// The rate changes so often; 12 us.
    pub interval: Span,
    /// Weight of the newest interval in g; 0.5.
    pub gain: f64,
    /// g above this lowers the rate; 0.3.
    pub mark_threshold: f64,
    /// The part of the rate taken for each part by which g is above the threshold; 0.5.
    pub decrease: f64,
    /// The part of the full rate added after an interval without congestion, twice as much after each further one; 0.01.
    pub increase: f64,
    /// The smallest part of the full rate; 0.01.
    pub least: f64,
}

impl Default for Credits {
    fn default() -> Self {
        Self {
            grant: Bytes::new(16_384),
            rate: 0.99,
            rtt: Span::from_us(12),
            window: 1.5,
            quantum: Bytes::new(256),
            slow_pulls: true,
            oversubscribed: None,
        }
    }
}

impl Default for Oversubscribed {
    fn default() -> Self {
        Self {
            interval: Span::from_us(12),
            gain: 0.5,
            mark_threshold: 0.3,
            decrease: 0.5,
            increase: 0.01,
            least: 0.01,
        }
    }
}

impl Credits {
    /// W on a path with this rate, for packets of this size.
    pub fn window_of(&self, link: BitRate, packet: Bytes) -> Bytes {
        let product = link.as_f64() / 8.0 * self.rtt.as_secs_f64();
        Bytes::from_f64(self.window * product).max(packet)
    }

    /// Checks ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { grant, rate, rtt, window, quantum, .. } = *self;
        let in_range = (1..=65_536).contains(&quantum.get());
        ranges.unless(in_range, "quantum", quantum, "1 B to 65 536 B")?;
        let in_range = (1..=1_000_000_000).contains(&grant.get());
        ranges.unless(in_range, "grant", grant, "1 B to 1 GB")?;
        let is_multiple = grant.get().is_multiple_of(quantum.get());
        ranges.unless(is_multiple, "grant", grant, "a multiple of quantum")?;
        ranges.unless((0.01..=10.0).contains(&rate), "rate", rate, "0.01 to 10")?;
        let in_range = rtt > Span::ZERO && rtt <= Span::from_secs(10);
        ranges.unless(in_range, "rtt", rtt, "more than 0 s, at most 10 s")?;
        ranges.unless(window > 0.0 && window <= 100.0, "window", window, "above 0, at most 100")?;
        self.oversubscribed.map_or(Ok(()), |rule| rule.check(ranges))
    }
}

impl Oversubscribed {
    fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { interval, gain, mark_threshold, decrease, increase, least } = *self;
        ranges.timer("interval", interval)?;
        ranges.unless(interval <= Span::from_secs(10), "interval", interval, "at most 10 s")?;
        let in_range = (0.0..=1.0).contains(&mark_threshold);
        ranges.unless(in_range, "mark_threshold", mark_threshold, "0 to 1")?;
        for (setting, part) in
            [("gain", gain), ("decrease", decrease), ("increase", increase), ("least", least)]
        {
            ranges.unless(part > 0.0 && part <= 1.0, setting, part, "above 0, at most 1")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_one_and_a_half_products_and_a_packet_at_least() {
        // 100 Gb/s · 12 us = 150 kB.
        let packet = Bytes::new(4_150);
        let of = |rate| Credits::default().window_of(rate, packet);
        assert_eq!(of(BitRate::from_gbps(100)), Bytes::new(225_000));
        assert_eq!(of(BitRate::from_gbps(1)), packet);
    }

    #[test]
    fn settings_out_of_their_range_are_named() {
        let of = |change: fn(&mut Credits, &mut Oversubscribed)| {
            let (mut credits, mut rule) = (Credits::default(), Oversubscribed::default());
            change(&mut credits, &mut rule);
            credits.oversubscribed = Some(rule);
            credits.check(&mut Ranges::default()).map_or_else(|error| error.setting, |()| "none")
        };
        assert_eq!(of(|_, _| {}), "none");
        assert_eq!(of(|credits, _| credits.quantum = Bytes::ZERO), "quantum");
        assert_eq!(of(|credits, _| credits.grant = Bytes::new(1_000)), "grant");
        assert_eq!(of(|credits, _| credits.rate = f64::NAN), "rate");
        assert_eq!(of(|credits, _| credits.rtt = Span::ZERO), "rtt");
        assert_eq!(of(|credits, _| credits.window = 0.0), "window");
        assert_eq!(of(|_, rule| rule.interval = Span::ZERO), "interval");
        assert_eq!(of(|_, rule| rule.mark_threshold = 1.1), "mark_threshold");
        assert_eq!(of(|_, rule| rule.least = 0.0), "least");
    }
}
