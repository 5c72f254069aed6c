//! Parts of a path besides the connections under test, which share or change it: rivals, bursts of datagrams, steps of its rate, its
//! delay and its losses.

use std::fmt;

use narrows_proto::cc::parts::SplitMix;
use serde::{Deserialize, Serialize};

use super::gene::{Gene, LOSS, RTT, rounded};

/// Connections of one rival.
const FLOWS: u32 = 4;
/// Latest start of an element, tenths of a second.
const LATEST: u32 = 60;
/// Rates of bursts, percent of the link.
const PERCENT: Gene = Gene::new(10, 90);
/// Lengths of bursts and of the silence between them, milliseconds.
const PHASE: Gene = Gene::new(50, 2_000);
/// Bits of a datagram on the wire, and a little more.
const DATAGRAM: u32 = 13_000;
/// Rates after a step, percent of that of the path.
const RATE: Gene = Gene::new(10, 200);
/// Delays that a step adds, milliseconds.
const DELAY: Gene = Gene::new(1, 100);
/// Latest step, tenths of a second.
const LATEST_STEP: u32 = 90;

/// Something that shares or changes the bottleneck.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Element {
    Rivals(Rivals),
    Bursts(Bursts),
    /// From then on the rate is so many percent of that of the path.
    Rate(Step),
    /// From then on the delay of the bottleneck is longer by so many milliseconds.
    Delay(Step),
    /// From then on so many of 100 000 packets are lost, each by itself.
    Loss(Step),
}

/// A value from some moment on, until the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// Tenths of a second.
    pub(super) at: u32,
    pub(super) to: u32,
}

/// Long-lived connections from one host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rivals {
    pub(super) control: String,
    pub(super) flows: u32,
    /// Milliseconds.
    pub(super) rtt: u32,
    /// Tenths of a second.
    pub(super) start: u32,
}

/// Datagrams that come and go and do not react.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bursts {
    /// Their rate, percent of that of the bottleneck.
    pub(super) percent: u32,
    /// Milliseconds.
    pub(super) on: u32,
    /// Milliseconds.
    pub(super) off: u32,
    /// Tenths of a second.
    pub(super) start: u32,
}

impl Element {
    /// A new one; rivals have one of these controls.
    pub(super) fn draw(controls: &[String], random: &mut SplitMix) -> Self {
        match random.below(7) {
            0..3 => {
                let control = controls[random.below(controls.len() as u64) as usize].clone();
                let flows = 1 + random.below(u64::from(FLOWS)) as u32;
                Self::Rivals(Rivals { control, flows, rtt: RTT.draw(random), start: start(random) })
            }
            3 => {
                let [percent, on, off] = [PERCENT, PHASE, PHASE].map(|gene| gene.draw(random));
                Self::Bursts(Bursts { percent, on, off, start: start(random) })
            }
            4 => Self::Rate(Step::draw(RATE, random)),
            5 => Self::Delay(Step::draw(DELAY, random)),
            _ => Self::Loss(Step::draw(LOSS, random)),
        }
    }

    /// The same with another number, or another control.
    pub(super) fn vary(&mut self, controls: &[String], random: &mut SplitMix) {
        match self {
            Self::Rivals(rivals) => match random.below(4) {
                0 => rivals.control.clone_from(&controls[random.below(controls.len() as u64) as usize]),
                1 => rivals.flows = 1 + random.below(u64::from(FLOWS)) as u32,
                2 => rivals.rtt = RTT.vary(rivals.rtt, random),
                _ => rivals.start = start(random),
            },
            Self::Bursts(bursts) => match random.below(4) {
                0 => bursts.percent = PERCENT.vary(bursts.percent, random),
                1 => bursts.on = PHASE.vary(bursts.on, random),
                2 => bursts.off = PHASE.vary(bursts.off, random),
                _ => bursts.start = start(random),
            },
            Self::Rate(step) => step.vary(RATE, random),
            Self::Delay(step) => step.vary(DELAY, random),
            Self::Loss(step) => step.vary(LOSS, random),
        }
    }

    /// Simpler forms of it beside a connection under test with this round-trip time, the simplest first. It may be one of them.
    pub(super) fn simpler(&self, rtt: u32) -> Vec<Self> {
        match self {
            Self::Rivals(rivals) => {
                let change = |change: fn(&mut Rivals, u32)| {
                    let mut rivals = rivals.clone();
                    change(&mut rivals, rtt);
                    Self::Rivals(rivals)
                };
                vec![
                    change(|rivals, _| rivals.flows = 1),
                    change(|rivals, _| rivals.start = 0),
                    change(|rivals, rtt| rivals.rtt = rtt),
                    change(|rivals, rtt| {
                        if rivals.rtt != rtt {
                            rivals.rtt = RTT.clamp(rounded(rivals.rtt, 1));
                        }
                    }),
                    change(|rivals, _| rivals.start = rivals.start / 10 * 10),
                ]
            }
            Self::Bursts(bursts) => {
                let change = |change: fn(&mut Bursts)| {
                    let mut bursts = bursts.clone();
                    change(&mut bursts);
                    Self::Bursts(bursts)
                };
                vec![
                    change(|bursts| bursts.start = 0),
                    change(|bursts| bursts.off = bursts.on),
                    change(|bursts| bursts.percent = rounded(bursts.percent, 1)),
                    change(|bursts| {
                        [bursts.on, bursts.off] = [bursts.on, bursts.off].map(|ms| rounded(ms, 1));
                    }),
                    change(|bursts| bursts.start = bursts.start / 10 * 10),
                ]
            }
            Self::Rate(step) => step.simpler(RATE).into_iter().map(Self::Rate).collect(),
            Self::Delay(step) => step.simpler(DELAY).into_iter().map(Self::Delay).collect(),
            Self::Loss(step) => step.simpler(LOSS).into_iter().map(Self::Loss).collect(),
        }
    }

    /// The step, if it is one of the rate.
    pub(super) fn as_rate(&self) -> Option<Step> {
        if let Self::Rate(step) = self { Some(*step) } else { None }
    }

    /// The step, if it is one of the delay.
    pub(super) fn as_delay(&self) -> Option<Step> {
        if let Self::Delay(step) = self { Some(*step) } else { None }
    }

    /// The step, if it is one of losses.
    pub(super) fn as_loss(&self) -> Option<Step> {
        if let Self::Loss(step) = self { Some(*step) } else { None }
    }

    /// Leaves each burst time for a datagram at the rate that it has on a path of this rate, kb/s.
    pub(super) fn keep(&mut self, rate: u32) {
        if let Self::Bursts(bursts) = self {
            bursts.on = bursts.on.max((DATAGRAM * 100).div_ceil(rate * bursts.percent));
        }
    }

    /// Its kind, whatever its numbers.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Rivals(rivals) => rivals.control.clone(),
            Self::Bursts(_) => "bursts".to_owned(),
            Self::Rate(_) => "rate".to_owned(),
            Self::Delay(_) => "delay".to_owned(),
            Self::Loss(_) => "loss over time".to_owned(),
        }
    }

    /// Connections that have started.
    pub(super) fn connections(&self, ms: u32) -> u32 {
        match self {
            Self::Rivals(rivals) if ms >= rivals.start * 100 => rivals.flows,
            _ => 0,
        }
    }

    /// Rate that it takes of a link of this rate without reacting, kb/s.
    pub(super) fn taken(&self, rate: u32, ms: u32) -> f64 {
        match self {
            Self::Bursts(bursts) if bursts.is_on(ms) => bursts.rate(rate),
            _ => 0.0,
        }
    }
}

/// When an element begins.
fn start(random: &mut SplitMix) -> u32 {
    random.below(u64::from(LATEST) + 1) as u32
}

impl Step {
    fn draw(gene: Gene, random: &mut SplitMix) -> Self {
        Self { at: Self::moment(random), to: gene.draw(random) }
    }

    fn vary(&mut self, gene: Gene, random: &mut SplitMix) {
        match random.coin() {
            true => self.at = Self::moment(random),
            false => self.to = gene.vary(self.to, random),
        }
    }

    /// Not at the beginning, where it would be no step.
    fn moment(random: &mut SplitMix) -> u32 {
        1 + random.below(u64::from(LATEST_STEP)) as u32
    }

    fn simpler(self, gene: Gene) -> Vec<Self> {
        let whole = (self.at / 10 * 10).max(10);
        vec![Self { to: gene.clamp(rounded(self.to, 1)), ..self }, Self { at: whole, ..self }]
    }

    /// The moment as reports show it.
    fn seconds(self) -> f64 {
        f64::from(self.at) / 10.0
    }
}

impl Bursts {
    /// Their rate on a link of this rate, kb/s, headers included.
    pub(super) fn rate(&self, rate: u32) -> f64 {
        f64::from(rate) * f64::from(self.percent) / 100.0
    }

    fn is_on(&self, ms: u32) -> bool {
        ms.checked_sub(self.start * 100).is_some_and(|since| since % (self.on + self.off) < self.on)
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = |start: u32| {
            if start == 0 { String::new() } else { format!(", from {} s on", f64::from(start) / 10.0) }
        };
        match self {
            Self::Rivals(rivals) => {
                write!(f, "{} × {} ({} ms{})", rivals.flows, rivals.control, rivals.rtt, start(rivals.start))
            }
            Self::Bursts(Bursts { percent, on, off, start: from }) => {
                write!(f, "bursts of {percent} % of the rate ({on} ms on, {off} ms off{})", start(*from))
            }
            Self::Rate(step) => write!(f, "{} % of the rate from {} s on", step.to, step.seconds()),
            Self::Delay(step) => write!(f, "{} ms more delay from {} s on", step.to, step.seconds()),
            Self::Loss(step) => {
                write!(f, "{} % random loss from {} s on", f64::from(step.to) / 1e3, step.seconds())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_come_and_go_from_their_start_on() {
        let bursts = Bursts { percent: 50, on: 100, off: 200, start: 10 };
        let on = |ms| Element::Bursts(bursts.clone()).taken(10_000, ms) > 0.0;
        assert_eq!([999, 1_000, 1_099, 1_100, 1_299, 1_300].map(on), [false, true, true, false, false, true]);
    }

    #[test]
    fn what_is_simpler_stays_so() {
        let (controls, mut random) = (["cubic".to_owned()], SplitMix::new(1));
        for _ in 0..200 {
            let element = Element::draw(&controls, &mut random);
            for (number, simple) in element.simpler(40).into_iter().enumerate() {
                assert_eq!(simple.simpler(40)[number], simple, "of {element}");
            }
        }
    }
}
