//! Whether a machine can do a scenario in real time, before it tries.

use std::path::Path;
use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::document::Document;
use narrows::plan::Plan;
use narrows_proto::units::Span;

/// One flow between two hosts, as fast as the machine is.
const TRIAL: &str = r#"
version = 2
name = "trial"
stop = { after = "150 ms" }
topology.star = { hosts = 2, rate = "40 Gb/s", delay = "10 us" }
switches.default = { buffer = { size = "4 MB", sharing = "complete" } }

[[traffic]]
name = "trial"
pattern = { long_lived = { flows = 1 } }
cc = { kernel = "reno" }
"#;

/// The plan of a run that shows what a packet costs.
pub(crate) fn trial() -> Checked<Arc<Plan>> {
    trial_of(TRIAL)
}

/// The plan of a short run that measures the machine.
pub(crate) fn trial_of(scenario: &str) -> Checked<Arc<Plan>> {
    let mut document = Document::parse("trial.toml", scenario, Path::new("."))?;
    document.attach_kernel();
    Plan::new(document).map(Arc::new)
}

/// Part of a processor that the fabric may take without being late. What comes in bursts waits for what came before.
const EASY: f64 = 0.5;

/// Work that is to be expected, and what this machine takes for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Packets that the fabric delivers per second of the clock.
    pub packets: f64,
    /// Time of a processor for each, as measured.
    pub cost: Span,
    /// Seconds of the clock for a second of the scenario.
    pub scale: f64,
}

impl Estimate {
    /// Part of a processor that the fabric needs.
    pub fn load(&self) -> f64 {
        self.packets * self.cost.as_secs_f64()
    }

    /// The scale with which it is likely to be on time; none if it is so anyway.
    pub fn advice(&self) -> Option<f64> {
        let needed = self.scale * self.load() / EASY;
        (self.load() > EASY).then(|| needed.ceil())
    }

    /// # Errors
    /// If there is more to do than there is time.
    pub fn check(&self) -> Checked<()> {
        let Some(scale) = self.advice().filter(|_| self.load() > 1.0) else { return Ok(()) };
        let Self { packets, cost, .. } = self;
        let message = format!(
            "this machine is too slow for that in real time: {packets:.0} packets per second, of which each takes it {cost}, need {:.1} \
             processors, and there is one for them",
            self.load()
        );
        let help =
            format!("--scale {scale:.0} slows everything down to what it can do; or lower rates; or --force");
        Err(Diagnostic::error(Code::NoLiveMachine, message).help(help).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_advised_that_leaves_half_of_a_processor_and_more_than_one_is_refused() {
        let of = |packets, scale| Estimate { packets, cost: Span::from_us(3), scale };
        assert_eq!((of(100_000.0, 1.0).advice(), of(100_000.0, 1.0).check().is_ok()), (None, true));
        assert_eq!((of(200_000.0, 1.0).advice(), of(200_000.0, 1.0).check().is_ok()), (Some(2.0), true));
        assert_eq!((of(400_000.0, 2.0).advice(), of(400_000.0, 2.0).check().is_ok()), (Some(5.0), false));
    }
}
