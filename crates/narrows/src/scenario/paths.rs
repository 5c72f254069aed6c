//! Links that have more than a rate and a delay.

use std::path::PathBuf;

use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::path::{GilbertElliott, Jitter, Mangling, Policer, Shaper, Slots};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Behavior of a link beyond its rate and delay.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkPath {
    /// The two nodes it joins.
    pub link: (String, String),
    /// The directions that have these properties. Another entry may say something else of the other.
    #[serde(default)]
    pub direction: Direction,
    /// Its rate over time; that of the topology if left out.
    pub rate: Option<RateOverTime>,
    /// Its propagation delay over time; that of the topology if left out. Where it falls, packets may overtake others, once.
    pub delay: Option<DelayOverTime>,
    /// Packets lost at random; those of the topology if left out.
    pub loss: Option<PathLoss>,
    /// Packets that do not conform to a token bucket are dropped or marked before it reaches the queue. Not where a host sends.
    pub policer: Option<Policer>,
    /// Codepoints (ECN) are changed behind the queue. Both ends notice `bleach` and `to_ect0` if they count marks, and go on without ECN.
    pub ecn: Option<Mangling>,
    /// Packets wait until a token bucket has enough for them.
    pub shaper: Option<Shaper>,
    /// Delays that differ from packet to packet.
    pub jitter: Option<Jitter>,
    /// Packets arrive in bunches, of which maybe not all acknowledgments are kept.
    pub slots: Option<Slots>,
    /// Where the link is of a usual kind: sets what is left out here.
    pub profile: Option<PathProfile>,
}

/// Random loss. Losses in bursts may come on top of others.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathLoss {
    /// Probability that a packet is lost, whatever became of others.
    pub random: Option<f64>,
    /// The same, in place of `random`, where it changes at given times.
    pub steps: Option<LossSteps>,
    /// Losses in bursts.
    pub gilbert_elliott: Option<GilbertElliott>,
}

/// A probability of loss that changes at given times.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossSteps {
    /// Times with the probability that holds from then on. Before the first it is that of the topology.
    pub at: Vec<(Span, f64)>,
    /// Time after which everything begins again; the last probability holds for ever if left out.
    pub repeat_after: Option<Span>,
}

/// Usual kinds of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathProfile {
    /// Frames leave in aggregates when the channel is won.
    Wifi,
    /// The direction from a cable modem: packets wait for grants, and acknowledgments are thinned.
    Cable,
    /// A path over satellites in low orbits: it is switched every 15 s.
    Satellite,
}

/// Directions of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Both.
    #[default]
    Both,
    /// From the first of its nodes to the second.
    Forth,
    /// From the second of its nodes to the first.
    Back,
}

/// A rate over time. When it changes, the packet on the wire keeps the bits that have been sent and goes on at the new rate; at rate
/// zero it waits.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateOverTime {
    /// It changes at given times.
    Steps(RateSteps),
    /// It rises or falls evenly between two times.
    Ramp(RateRamp),
    /// Steps from a CSV file, which may have delays and losses as well.
    Csv(CsvTrace),
    /// Times at which packets may leave, from a trace of mahimahi.
    Mahimahi(MahimahiTrace),
}

/// A rate that changes at given times.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateSteps {
    /// Times with the rate that holds from then on. Before the first it is the rate of the topology. It may be zero, but not for ever.
    pub at: Vec<(Span, BitRate)>,
    /// Time after which everything begins again; the last rate holds for ever if left out.
    pub repeat_after: Option<Span>,
}

/// A rate that rises or falls evenly.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateRamp {
    /// The rate before.
    pub from: BitRate,
    /// The rate after.
    pub to: BitRate,
    /// When it begins to change.
    pub begin: Span,
    /// When it has changed.
    pub end: Span,
    /// Number of equal steps that stand for it. Together they carry the same bits.
    #[serde(default = "ramp_steps")]
    pub steps: u32,
}

/// A propagation delay over time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayOverTime {
    /// It changes at given times.
    Steps(DelaySteps),
    /// It rises or falls evenly between two times.
    Ramp(DelayRamp),
}

/// A delay that changes at given times.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelaySteps {
    /// Times with the delay that holds from then on. Before the first it is the delay of the topology.
    pub at: Vec<(Span, Span)>,
    /// Time after which everything begins again; the last delay holds for ever if left out.
    pub repeat_after: Option<Span>,
}

/// A delay that rises or falls evenly.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayRamp {
    /// The delay before.
    pub from: Span,
    /// The delay after.
    pub to: Span,
    /// When it begins to change.
    pub begin: Span,
    /// When it has changed.
    pub end: Span,
    /// Number of equal steps that stand for it.
    #[serde(default = "ramp_steps")]
    pub steps: u32,
}

/// Steps from a CSV file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CsvTrace {
    /// The file, with the columns `time,rate`, `time,rate,delay` or `time,rate,delay,loss`: when they begin to hold, the rate, the
    /// propagation delay, and the probability that a packet is lost. Times are in seconds and rates in b/s unless they have a unit.
    pub file: PathBuf,
    /// At the time of the last row everything begins again; the last row holds for ever if not.
    #[serde(default)]
    pub repeat: bool,
}

/// A trace of mahimahi.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MahimahiTrace {
    /// The file: in each line a number of milliseconds, never less than the one before, at which bytes may leave. At the last of them
    /// everything begins again.
    pub file: PathBuf,
    /// Bytes that leave at each. Small packets share an opportunity, a large one spans several, and what is not used is lost.
    #[serde(default = "opportunity")]
    pub opportunity: Bytes,
}

fn ramp_steps() -> u32 {
    100
}

fn opportunity() -> Bytes {
    Bytes::new(1_500)
}

impl LinkPath {
    /// The file that it names, if it names one.
    pub(super) fn file_mut(&mut self) -> Option<&mut PathBuf> {
        match self.rate.as_mut()? {
            RateOverTime::Csv(trace) => Some(&mut trace.file),
            RateOverTime::Mahimahi(trace) => Some(&mut trace.file),
            RateOverTime::Steps(_) | RateOverTime::Ramp(_) => None,
        }
    }
}
