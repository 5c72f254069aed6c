//! A control that is not built in: the program that runs the scenario brings it along, in Python or in Rust.
//!
//! ```text
//! Python    narrows.run(scenario, controllers={"mine": Mine})       class Mine(narrows.Controller)
//! Rust      document.attach("mine", maker)                          impl Maker, or Outside::<Mine>::new(version)
//! ```
//! A scenario names it, and hands it whatever is in `settings`: only the control knows what they mean, and it may refuse them.
//! It receives what built-in controls receive and stands wherever they may. The command `narrows` has none to offer, so scenarios
//! with such a control run only in the program that brings it.
//!
//! Answers of such a control are not trusted:
//!
//! - A window always lets one segment out, and a rate is one that a link may have, 1 kb/s to 100 Tb/s.
//! - A timer is never in the past, and expires at most once per microsecond.
//! - A control that fails keeps its last limit, and the run ends soon after.

use std::fmt;
use std::sync::Arc;

use super::{Ack, Congestion, Controller, Ecn, Limit, Path, Reporter, Signal};
use crate::units::{Bytes, Span, Time, WireTime};

mod outside;
mod settings;
#[cfg(test)]
mod tests;

pub use outside::Outside;
pub use settings::{Setting, Settings};

/// One line for lists.
pub const SUMMARY: &str = "a control that is not built in, attached from Python or Rust";
/// Where it is defined.
pub const SOURCE: &str = "the program that runs the scenario";

/// Its timer expires at most once in this time, so that virtual time goes on whatever it requests.
const SHORTEST_TIMER: Span = Span::from_us(1);

/// Makes controllers of one kind that is not built in.
pub trait Maker: fmt::Debug + Send + Sync {
    /// Looks at the settings of a scenario. Nothing else is called with settings it refuses.
    ///
    /// # Errors
    /// With what is wrong, as one line without a full stop: `gain = 2, expected at most 1`.
    fn check(&self, settings: &Settings) -> Result<(), String>;

    /// Another text for other code, such as a number or a hash. It becomes part of the scenario as it is run, by which stored
    /// runs are distinguished.
    fn version(&self) -> String;

    /// Signals that its controllers use.
    fn uses(&self, settings: &Settings) -> Uses;

    /// A controller for a new connection.
    fn make(&self, settings: &Settings, path: &Path) -> Box<dyn Controller + Send>;

    /// Does `work`: a simulation on this thread, which will call its controllers millions of times. For makers that have to prepare
    /// something for a thread. Threads that the simulation begins besides are not prepared.
    fn around(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }

    /// One of its controllers has failed. The run ends soon after; the maker knows why.
    fn has_failed(&self) -> bool {
        false
    }
}

/// Signals that a control uses besides acknowledgments, losses and timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uses {
    /// Use of congestion marks by its connections.
    pub ecn: Ecn,
    /// It reads delays or rates: its window may fall without a loss or a mark.
    pub reads_delay: bool,
    /// It needs [signals](super::Signal) that only the [RDMA](crate::rdma) transport sends.
    pub needs_rdma: bool,
    /// Its packets collect [telemetry](crate::telemetry) of switches. Only over [RDMA](crate::rdma).
    pub reads_telemetry: bool,
    /// It shares its state with all connections between two racks, through the switch of its rack.
    pub needs_rack: bool,
}

impl Default for Uses {
    fn default() -> Self {
        Self {
            ecn: Ecn::Off,
            reads_delay: false,
            needs_rdma: false,
            reads_telemetry: false,
            needs_rack: false,
        }
    }
}

/// Settings of a control that is not built in.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Custom")]
pub struct Params {
    /// The name under which the program that runs the scenario attaches it.
    pub name: String,
    /// Any table, which it receives when a connection begins. It knows what stands there, and may refuse it.
    #[serde(default)]
    pub settings: Settings,
    /// Version of its code. The scenario as it is run has it, so that runs with other code are not taken for the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Maker of its controllers.
    #[serde(skip)]
    pub maker: Attached,
}

/// Maker of the controllers, once it is attached. It is no part of the scenario: two are always equal.
#[derive(Clone, Debug, Default)]
pub struct Attached(pub Option<Arc<dyn Maker>>);

impl PartialEq for Attached {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Params {
    /// Made by `maker`, which scenarios call `name`.
    pub fn new(name: impl Into<String>, settings: Settings, maker: Arc<dyn Maker>) -> Self {
        let code = Some(maker.version());
        Self { name: name.into(), settings, code, maker: Attached(Some(maker)) }
    }

    /// Signals that it uses; none as long as no maker is attached.
    pub fn uses(&self) -> Uses {
        self.maker.0.as_ref().map(|maker| maker.uses(&self.settings)).unwrap_or_default()
    }

    /// A controller for a new connection.
    ///
    /// # Panics
    /// If no maker is attached.
    pub(super) fn build(&self, path: &Path) -> Custom {
        let maker = self.maker.0.as_ref().expect("a plan has a maker for each control of its scenario");
        let controller = maker.make(&self.settings, path);
        Custom { controller, mss: path.mss, not_before: Time::ZERO }
    }
}

/// A controller from outside, kept within what the transport can bear.
pub struct Custom {
    controller: Box<dyn Controller + Send>,
    /// The smallest window.
    mss: Bytes,
    /// Its timer expires no earlier.
    not_before: Time,
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom").field("limit", &self.limit()).finish_non_exhaustive()
    }
}

impl Custom {
    /// Something happens at `now`: no timer is earlier.
    fn at(&mut self, now: Time) -> &mut dyn Controller {
        self.not_before = self.not_before.max(now);
        &mut *self.controller
    }
}

impl Controller for Custom {
    fn on_ack(&mut self, ack: &Ack) {
        self.at(ack.now).on_ack(ack);
    }

    fn on_congestion(&mut self, now: Time, event: Congestion) {
        self.at(now).on_congestion(now, event);
    }

    fn limit(&self) -> Limit {
        let Limit { cwnd, pacing } = self.controller.limit();
        let pacing = pacing.map(|rate| rate.clamp(WireTime::MIN_RATE, WireTime::MAX_RATE));
        Limit { cwnd: cwnd.max(self.mss), pacing }
    }

    fn on_idle(&mut self, now: Time, idle: Span, restart: Option<Bytes>) {
        self.at(now).on_idle(now, idle, restart);
    }

    fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        self.at(now).on_signal(now, signal);
        if let Signal::Timer = signal {
            self.not_before = now + SHORTEST_TIMER;
        }
    }

    fn next_timer(&self) -> Time {
        self.controller.next_timer().max(self.not_before)
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        self.controller.inside(report);
    }
}
