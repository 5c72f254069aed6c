use super::super::{OutOfRange, Ranges};
use crate::units::Span;

/// Settings of BBRv3. "Draft" is draft-ietf-ccwg-bbr of August 2026, "Linux" is `tcp_bbr.c` of BBRv3.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Bbr3")]
pub struct Params {
    /// Pacing gain of STARTUP; 2.77 = 4·ln 2 (draft).
    pub startup_gain: f64,
    /// Window gain of all states but UP and `PROBE_RTT`; 2 (draft).
    pub cwnd_gain: f64,
    /// Pacing gain of DRAIN; 0.5 (draft; Linux 0.344).
    pub drain_gain: f64,
    /// Pacing gain of DOWN; 0.9 (draft).
    pub down_gain: f64,
    /// Pacing gain of UP; 1.25 (draft).
    pub up_gain: f64,
    /// Window gain of UP; 2.25 (draft).
    pub up_cwnd_gain: f64,
    /// The window of `PROBE_RTT` is this part of a bandwidth-delay product; 0.5 (draft).
    pub probe_rtt_cwnd_gain: f64,
    /// STARTUP and UP go on while the bandwidth grows by this factor; 1.25 (draft).
    pub full_growth: f64,
    /// Rounds without such growth that end them; 3 (draft).
    pub full_rounds: u32,
    /// More than this part of a flight lost is too much; 0.02 (draft).
    pub loss_threshold: f64,
    /// Separate ranges lost in a round of STARTUP that end it, if they are too much; 6 (draft).
    pub startup_losses: u32,
    /// Bounds keep this part after a loss; 0.7 (draft).
    pub beta: f64,
    /// CRUISE leaves this part of the long-term bound to others; 0.15 (draft).
    pub headroom: f64,
    /// DOWN and CRUISE last this long together, and a random time up to `probe_wait_random` more; 2 s (draft).
    pub probe_wait: Span,
    /// The most that chance adds to `probe_wait`; 1 s (draft).
    pub probe_wait_random: Span,
    /// DOWN and CRUISE end sooner, after as many rounds as segments fit into a bandwidth-delay product, at most so many: as often as
    /// Reno would lose a packet; 63 (draft).
    pub reno_rounds: u64,
    /// Length of the filter of the round-trip time; 10 s (draft).
    pub min_rtt_window: Span,
    /// Without a smaller round-trip time for this long, `PROBE_RTT` follows; 5 s (draft).
    pub probe_rtt_interval: Span,
    /// `PROBE_RTT` lasts this long, at least a round; 200 ms (draft). With 0 s there is none.
    pub probe_rtt_duration: Span,
    /// The smallest window in segments; 4 (draft).
    pub min_window: u64,
    /// Segments that leave the host in one piece; the window has room for three such pieces. Left out, what segmentation offload sends
    /// at once at the pacing rate, or 1 without it.
    pub send_quantum: Option<u64>,
    /// Pacing stays below the estimate by this fraction; 0.01 (draft).
    pub pacing_margin: f64,
    /// The round-trip time assumed to pace the initial window; left out, it leaves at line rate. The draft takes the handshake's, or
    /// 1 ms without one.
    pub initial_rtt: Option<Span>,
    /// Rounds in each of the two halves of the filter of what is acknowledged beyond the bandwidth; 5 (draft: 10 rounds). In STARTUP
    /// a half is one round.
    pub extra_acked_rounds: u64,
    /// Reads marks as Linux does; left out, packets cannot be marked, as in the draft.
    pub ecn: Option<EcnParams>,
}

/// Effects of marks, as in Linux. The draft leaves it open.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Bbr3Ecn")]
pub struct EcnParams {
    /// Marks say nothing on paths whose smallest round-trip time is longer; 5 ms (Linux).
    pub max_rtt: Span,
    /// Weight of a round in the average of the marked part; 1/16 (Linux).
    pub gain: f64,
    /// The short-term bound of the volume falls by this part of the average after a round with marks; 1/3 (Linux).
    pub factor: f64,
    /// A marked part of a round from which a probe is too high, and STARTUP over if two rounds follow each other; 0.5 (Linux).
    pub threshold: f64,
}

impl Default for EcnParams {
    fn default() -> Self {
        Self { max_rtt: Span::from_ms(5), gain: 1.0 / 16.0, factor: 1.0 / 3.0, threshold: 0.5 }
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            startup_gain: 2.77,
            cwnd_gain: 2.0,
            drain_gain: 0.5,
            down_gain: 0.9,
            up_gain: 1.25,
            up_cwnd_gain: 2.25,
            probe_rtt_cwnd_gain: 0.5,
            full_growth: 1.25,
            full_rounds: 3,
            loss_threshold: 0.02,
            startup_losses: 6,
            beta: 0.7,
            headroom: 0.15,
            probe_wait: Span::from_secs(2),
            probe_wait_random: Span::from_secs(1),
            reno_rounds: 63,
            min_rtt_window: Span::from_secs(10),
            probe_rtt_interval: Span::from_secs(5),
            probe_rtt_duration: Span::from_ms(200),
            min_window: 4,
            send_quantum: None,
            pacing_margin: 0.01,
            initial_rtt: None,
            extra_acked_rounds: 5,
            ecn: None,
        }
    }
}

impl Params {
    pub(super) fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let above = "above 1, at most 100";
        let above_one = [
            ("startup_gain", self.startup_gain),
            ("up_gain", self.up_gain),
            ("full_growth", self.full_growth),
        ];
        for (setting, gain) in above_one {
            ranges.unless(gain > 1.0 && gain <= 100.0, setting, gain, above)?;
        }
        for (setting, gain) in [("cwnd_gain", self.cwnd_gain), ("up_cwnd_gain", self.up_cwnd_gain)] {
            ranges.unless((1.0..=100.0).contains(&gain), setting, gain, "1 to 100")?;
        }
        let within = "between 0 and 1, both excluded";
        let below_one = [
            ("drain_gain", self.drain_gain),
            ("down_gain", self.down_gain),
            ("probe_rtt_cwnd_gain", self.probe_rtt_cwnd_gain),
            ("loss_threshold", self.loss_threshold),
            ("beta", self.beta),
        ];
        for (setting, part) in below_one {
            ranges.unless(part > 0.0 && part < 1.0, setting, part, within)?;
        }
        let fraction = "at least 0, below 1";
        for (setting, part) in [("headroom", self.headroom), ("pacing_margin", self.pacing_margin)] {
            ranges.unless((0.0..1.0).contains(&part), setting, part, fraction)?;
        }
        self.check_counts(ranges)?;
        self.ecn.as_ref().map_or(Ok(()), |ecn| ecn.check(ranges))
    }

    fn check_counts(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let rounds = [
            ("full_rounds", u64::from(self.full_rounds)),
            ("startup_losses", u64::from(self.startup_losses)),
            ("reno_rounds", self.reno_rounds),
            ("extra_acked_rounds", self.extra_acked_rounds),
        ];
        for (setting, least) in rounds {
            ranges.unless(least >= 1, setting, least, "at least 1")?;
        }
        let spans = [
            ("min_rtt_window", self.min_rtt_window),
            ("probe_rtt_interval", self.probe_rtt_interval),
            ("probe_wait", self.probe_wait),
            ("initial_rtt", self.initial_rtt.unwrap_or(Span::MAX)),
        ];
        for (setting, span) in spans {
            ranges.unless(span > Span::ZERO, setting, span, "more than 0 s")?;
        }
        let segments = 1..=1_000_000;
        let expected = "1 to 1 000 000 segments";
        for (setting, count) in
            [("min_window", self.min_window), ("send_quantum", self.send_quantum.unwrap_or(1))]
        {
            ranges.unless(segments.contains(&count), setting, count, expected)?;
        }
        Ok(())
    }
}

impl EcnParams {
    fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        ranges.unless(self.max_rtt > Span::ZERO, "max_rtt", self.max_rtt, "more than 0 s")?;
        let parts = [("gain", self.gain), ("factor", self.factor), ("threshold", self.threshold)];
        for (setting, part) in parts {
            ranges.unless(part > 0.0 && part <= 1.0, setting, part, "above 0, at most 1")?;
        }
        Ok(())
    }
}
