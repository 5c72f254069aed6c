//! Live runs: real hosts through the fabric of a scenario (Linux).
//!
//! Each host of a traffic group becomes a network namespace with the TCP of the running kernel, connected by a TAP device to the
//! network of the scenario, which is the same that virtual runs have, driven by the clock. Namespaces have no names and no route out:
//! they end with the process, whatever ends it, and nothing leaves the machine.
#![cfg(target_os = "linux")]

mod assignment;
mod attached;
mod clock;
mod due;
mod ends;
mod estimate;
mod fabric;
mod flow;
mod followers;
mod frames;
mod held;
mod host;
mod host_times;
mod machine;
mod options;
mod own;
mod processors;
mod program;
mod rights;
mod segments;
mod sockets;
mod sys;
mod threads;
mod watchers;
mod ways;

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows::diagnostic::Checked;
use narrows::plan::Plan;
use narrows::results::{Measured, RealHosts, RealProgram, Results};
use narrows::run::Steps;
use narrows_proto::units::{Span, Time};
use narrows_sim::SmallQueues;

use self::assignment::Assignment;
pub use self::attached::{Attached, Frame, OnFrame};
pub use self::estimate::Estimate;
use self::fabric::Noticed;
use self::host::RealHost;
pub use self::host_times::HostTimes;
pub use self::machine::{Part, available as available_controls, parts};
pub use self::options::Options;
pub use self::own::BUILD as BUILD_WITH_CONTROLS;
pub use self::program::Program;
use self::program::Waiting;
pub use self::rights::take_rights;
pub use self::segments::MOST as MOST_SEGMENTS;
use self::threads::{Ran, Threads};
use self::ways::Ways;

/// A live run that is ready to begin.
#[derive(Debug)]
pub struct Live {
    plan: Arc<Plan>,
    options: Options,
    assignment: Assignment,
    /// Hosts leave what arrives to processors that are not the fabric's.
    steered: bool,
}

impl Live {
    /// Checks that a plan can be run live here. Nothing is created.
    ///
    /// # Errors
    /// With everything that real hosts cannot do, or that the machine lacks.
    pub fn new(plan: &Arc<Plan>, options: Options) -> Checked<Self> {
        machine::check()?;
        Self::of(plan, options)
    }

    /// The same on a machine that can have real hosts.
    fn of(plan: &Arc<Plan>, options: Options) -> Checked<Self> {
        let assignment = Assignment::new(plan, &options, &available_controls())?;
        let mut live = Self { plan: Arc::clone(plan), options, assignment, steered: false };
        live.steered = live.packets() > processors::BUSY;
        Ok(live)
    }

    /// Estimates whether this machine can do it in real time. For that two hosts are made that send for a fraction of a second.
    ///
    /// # Errors
    /// If the machine refuses something.
    pub fn estimate(&self) -> Checked<Estimate> {
        let options = Options { segments: self.options.segments, ..Options::default() };
        // With arrivals where they will be.
        let trial = Self { steered: self.steered, ..Self::of(&estimate::trial()?, options)? };
        let results = trial.run(Attached::default(), &mut |_| ControlFlow::Continue(()))?;
        let cost = results.real.map_or(Span::ZERO, |real| real.cost);
        Ok(Estimate { packets: self.packets(), cost, scale: self.options.scale })
    }

    /// Packets that the fabric is to deliver per second of the clock.
    fn packets(&self) -> f64 {
        self.plan.arrivals(&|group| self.assignment.controls[group].is_some()) / self.options.scale
    }

    /// The queue of its hosts, as simulated ones have it.
    pub fn small_queues(&self) -> SmallQueues {
        self.assignment.hosts.first().map(|(_, settings)| settings.queue()).unwrap_or_default()
    }

    /// Number of real hosts.
    pub fn hosts(&self) -> usize {
        self.assignment.hosts.len()
    }

    /// Programs of the user, in the order of their outputs.
    pub fn programs(&self) -> &[Program] {
        &self.options.programs
    }

    /// Runs, and measures on the way what its hosts take.
    ///
    /// # Errors
    /// If the machine refuses something.
    pub fn run_measured(
        self,
        progress: &mut (dyn FnMut(Time) -> ControlFlow<()> + Send),
    ) -> Checked<(Results, HostTimes)> {
        self.run_and(true, Attached::default(), progress)
    }

    /// Runs. `progress` is called with the time of the scenario every now and then, and may end the run early.
    ///
    /// # Errors
    /// If the machine refuses something.
    pub fn run(
        self,
        attached: Attached<'_>,
        progress: &mut (dyn FnMut(Time) -> ControlFlow<()> + Send),
    ) -> Checked<Results> {
        Ok(self.run_and(false, attached, progress)?.0)
    }

    /// Runs, and `measures` on the way what its hosts take.
    fn run_and(
        self,
        measures: bool,
        attached: Attached<'_>,
        progress: &mut (dyn FnMut(Time) -> ControlFlow<()> + Send),
    ) -> Checked<(Results, HostTimes)> {
        let Self { plan, options, assignment, steered } = self;
        // First, so that they go when no host has a connection any more.
        let kept = assignment.own.load()?;
        let hosts = assignment.hosts.iter().map(|(id, settings)| RealHost::create(*id, settings, steered));
        let hosts = hosts.collect::<Checked<Vec<_>>>()?;
        for (id, control) in assignment.near_sources(&plan) {
            let host = hosts.iter().find(|host| host.id == id).expect("it was made");
            kept.take_messages_at(host, control)?;
        }
        let mut steps =
            Steps::with_external(&plan, &assignment.inside(&plan), &assignment.external(), attached.watched);
        let (ways, names) = (Ways::default(), program::names(&plan, &hosts));
        let outputs = attached.outputs.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
        let programs = options.programs.iter().zip(&assignment.programs).zip(outputs);
        let programs = programs.map(|((program, id), output)| {
            let host = hosts.iter().find(|host| host.id == *id).expect("it was made");
            Waiting { program, host, names: &names, output }
        });
        let run = Threads {
            plan: &plan,
            hosts: &hosts,
            ways: &ways,
            assignment: &assignment,
            options: &options,
            measures,
        };
        let Ran { measured, noticed, times, ended, complete } =
            run.run(steps.session(), programs.collect(), attached.frames, progress)?;
        let (flows, sampled, windows) = measured;
        let hosts = real_hosts(&plan, &options, &assignment, &noticed, ended);
        let results = steps.finish_measured(Measured { flows, sampled, windows, hosts, complete })?;
        Ok((results, times))
    }
}

/// Hosts of a run, for its results.
fn real_hosts(
    plan: &Plan,
    options: &Options,
    assignment: &Assignment,
    noticed: &Noticed,
    programs: Vec<RealProgram>,
) -> RealHosts {
    let mut differences = assignment.differences.clone();
    if noticed.refused > 0 {
        differences
            .push(format!("{} frames were for no real host, or larger than any packet", noticed.refused));
    }
    RealHosts {
        kernel: machine::kernel(),
        controls: assignment.named(plan),
        scale: options.scale,
        lateness: noticed.lateness,
        cost: noticed.cost,
        differences,
        programs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_steered_where_the_fabric_is_busy_on_the_clock() {
        let steered = |rate: &str, scale| {
            let scenario = format!(
                r#"
version = 2
name = "steered"
stop = {{ after = "1 s" }}
topology.star = {{ hosts = 2, rate = "{rate}", delay = "10 us" }}
switches.default = {{ buffer = {{ size = "1 MB", sharing = "complete" }} }}

[[traffic]]
name = "bulk"
pattern = {{ long_lived = {{ flows = 1 }} }}
cc = {{ reno = {{}} }}
"#
            );
            let plan = estimate::trial_of(&scenario).expect("it is valid");
            Live::of(&plan, Options { scale, ..Options::default() }).expect("it may be live").steered
        };
        assert!(!steered("100 Mb/s", 1.0));
        assert!(steered("1 Gb/s", 1.0));
        assert!(!steered("1 Gb/s", 10.0));
    }
}
