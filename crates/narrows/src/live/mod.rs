//! Watching runs while they go on: what there is to see, and the wishes of those who watch. Results do not depend on it.

mod model;
mod pace;

use std::sync::Arc;

use narrows_sim::observe::{BetweenWindows, Live, LiveObserver};

pub use self::model::{ActivityRow, GroupRow, LinkRow, Monitor, Order, QueueRow, SAMPLES, Speed, WindowRow};
pub use self::pace::Control;
use self::pace::Pacer;
use crate::plan::Plan;

/// A run that is watched.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Where looks are requested.
    pub live: Arc<Live>,
    control: Arc<Control>,
}

impl Watched {
    /// For one run of `plan` on so many threads. Several runs may share `control`.
    pub fn new(plan: &Plan, threads: usize, control: &Arc<Control>) -> Self {
        let live = Live::new(&plan.traffic, plan.network.topology.links().len(), threads);
        Self { live, control: Arc::clone(control) }
    }

    /// The observers of the run, one for each thread.
    pub(crate) fn observers(&self) -> impl Iterator<Item = (Box<dyn BetweenWindows>, LiveObserver)> {
        let pacer = || Box::new(Pacer::new(&self.control)) as Box<dyn BetweenWindows>;
        self.live.observers().map(move |observer| (pacer(), observer))
    }
}
