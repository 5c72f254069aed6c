//! Settings of DCQCN, and those in force.

use crate::units::{BitRate, Bytes, Span};

/// Settings of DCQCN. What is left out is taken from the variant.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Dcqcn")]
pub struct Params {
    /// Which rules, and the settings that go with them.
    pub variant: Variant,
    /// g, the weight of a CNP in alpha; 1/256.
    pub gain: Option<f64>,
    /// After so long without a CNP alpha falls. Paper: 55 us; vendor: 1 us.
    pub alpha_interval: Option<Span>,
    /// Interval between looks at a flag that CNPs set. Vendor: 4 us; the paper cuts at once and has none.
    pub cut_interval: Option<Span>,
    /// Length of a time stage. Paper: 55 us; vendor: 300 us.
    pub timer: Option<Span>,
    /// Bytes on the wire of a byte stage. Paper: 10 MB; vendor: it has no byte stages.
    pub byte_counter: Option<Bytes>,
    /// F, stages of fast recovery. Paper: 5; vendor: 1.
    pub threshold: Option<u32>,
    /// R_AI, what additive increase adds to the target. Paper: 40 Mb/s; vendor: 5 Mb/s for each 25 Gb/s of the host's link.
    pub ai_rate: Option<BitRate>,
    /// R_HAI, what hyper increase adds. Vendor: 50 Mb/s for each 25 Gb/s of the host's link. The paper gives no value: 200 Mb/s
    /// as in ns3-rdma.
    pub hai_rate: Option<BitRate>,
    /// No cut goes below this. Paper: 40 Mb/s; vendor: 100 Mb/s.
    pub min_rate: Option<BitRate>,
    /// Every cut sets the target to the rate before it. Paper: true; vendor: false, only if a time stage has completed.
    pub clamp_target: Option<bool>,
    /// Reaction to a loss. The papers say nothing of losses.
    pub on_loss: OnLoss,
    /// Packets that report marks.
    pub feedback: Feedback,
    /// Payload that may be on its way at line rate, and in proportion to the rate below it: HPCC's simulations with `VAR_WIN 1`. A packet
    /// may be sent as long as less is on its way. Unlimited if left out.
    pub window: Option<Bytes>,
}

/// Packets that report marks to the sender.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DcqcnFeedback")]
pub enum Feedback {
    /// Congestion notification packets, as many as `rdma` allows (Zhu et al. §3.1).
    #[default]
    Cnp,
    /// Acknowledgments: one of a marked packet is worth a CNP, as in HPCC's simulations.
    Acks,
}

/// Reaction of the rate to a loss.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DcqcnOnLoss")]
pub enum OnLoss {
    /// Nothing.
    #[default]
    Nothing,
    /// A loss or a timeout that the sender notices is worth a CNP. NVIDIA's cards have such a setting for networks that lose packets
    /// (`roce_slow_restart_en` of the register ROCE_ACCL); what it does is not published, this is an assumption.
    Cut,
}

/// Rules and settings of DCQCN.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DcqcnVariant")]
pub enum Variant {
    /// Zhu et al., SIGCOMM 2015, with its settings for 40 Gb/s.
    #[default]
    Paper,
    /// As network cards do it, with the settings of HPCC's public simulations. Its short intervals want CNPs more often than the
    /// paper's: `rdma = { cnp_interval = "4 us" }`.
    Vendor,
}

/// All settings of one variant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rules {
    pub(super) variant: Variant,
    pub(super) gain: f64,
    pub(super) alpha_interval: Span,
    pub(super) cut_interval: Span,
    pub(super) timer: Span,
    pub(super) byte_counter: u64,
    pub(super) threshold: u32,
    pub(super) ai_rate: f64,
    pub(super) hai_rate: f64,
    pub(super) min_rate: f64,
    pub(super) line_rate: f64,
    pub(super) clamp_target: bool,
    pub(super) on_loss: OnLoss,
}

impl Params {
    /// The settings in force on a link of this rate.
    pub(super) fn rules(&self, link: BitRate) -> Rules {
        let line_rate = link.as_f64();
        let mbps = |rate: f64| rate * 1e6;
        let of_25g = line_rate / 25e9;
        let (variant, gain, on_loss) = (self.variant, 1.0 / 256.0, self.on_loss);
        let paper = Rules {
            variant,
            gain,
            alpha_interval: Span::from_us(55),
            cut_interval: Span::ZERO,
            timer: Span::from_us(55),
            byte_counter: 10_000_000,
            threshold: 5,
            ai_rate: mbps(40.0),
            hai_rate: mbps(200.0),
            min_rate: mbps(40.0),
            line_rate,
            clamp_target: true,
            on_loss,
        };
        let set = match variant {
            Variant::Paper => paper,
            Variant::Vendor => Rules {
                alpha_interval: Span::from_us(1),
                cut_interval: Span::from_us(4),
                timer: Span::from_us(300),
                byte_counter: u64::MAX,
                threshold: 1,
                ai_rate: mbps(5.0 * of_25g),
                hai_rate: mbps(50.0 * of_25g),
                min_rate: mbps(100.0),
                clamp_target: false,
                ..paper
            },
        };
        let rate = |setting: Option<BitRate>, of_set: f64| setting.map_or(of_set, BitRate::as_f64);
        Rules {
            gain: self.gain.unwrap_or(set.gain),
            alpha_interval: self.alpha_interval.unwrap_or(set.alpha_interval),
            cut_interval: self.cut_interval.unwrap_or(set.cut_interval),
            timer: self.timer.unwrap_or(set.timer),
            byte_counter: self.byte_counter.map_or(set.byte_counter, Bytes::get),
            threshold: self.threshold.unwrap_or(set.threshold),
            ai_rate: rate(self.ai_rate, set.ai_rate),
            hai_rate: rate(self.hai_rate, set.hai_rate),
            min_rate: rate(self.min_rate, set.min_rate),
            clamp_target: self.clamp_target.unwrap_or(set.clamp_target),
            ..set
        }
    }
}
