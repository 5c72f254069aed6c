//! Live runs: real hosts through the fabric of a scenario (Linux).
//!
//! Each host of a traffic group becomes a network namespace with the TCP of the running kernel, connected by a TAP device to the
//! network of the scenario, which is the same that virtual runs have, driven by the clock. Namespaces have no names and no route out:
//! they end with the process, whatever ends it, and nothing leaves the machine.
#![cfg(target_os = "linux")]

mod assignment;
mod clock;
mod fabric;
mod flow;
mod frames;
mod host;
mod machine;
mod own;
mod sockets;
mod sys;
mod ways;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::plan::Plan;
use narrows::results::{Measured, RealHosts, Results};
use narrows::run::Steps;
use narrows_proto::units::{Span, Time};

use self::assignment::Assignment;
pub use self::assignment::available as available_controls;
use self::fabric::Fabric;
use self::host::RealHost;
pub use self::machine::{Part, parts};
pub use self::own::BUILD as BUILD_WITH_CONTROLS;
use self::sockets::Sockets;
use self::ways::Ways;

/// Options of a live run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seconds of the clock for a second of the scenario: rates are divided by it, delays multiplied.
    pub scale: f64,
    /// Bound of the lateness, on the clock: a run of which one packet in a hundred is later is void.
    pub bound: Span,
    /// Traffic groups whose hosts stay simulated.
    pub simulated: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { scale: 1.0, bound: Span::from_us(200), simulated: Vec::new() }
    }
}

/// A live run that is ready to begin.
#[derive(Debug)]
pub struct Live {
    plan: Arc<Plan>,
    options: Options,
    assignment: Assignment,
}

impl Live {
    /// Checks that a plan can be run live here. Nothing is created.
    ///
    /// # Errors
    /// With everything that real hosts cannot do, or that the machine lacks.
    pub fn new(plan: &Arc<Plan>, options: Options) -> Checked<Self> {
        machine::check()?;
        let assignment = Assignment::new(plan, &options.simulated, options.scale, &available_controls())?;
        Ok(Self { plan: Arc::clone(plan), options, assignment })
    }

    /// Number of real hosts.
    pub fn hosts(&self) -> usize {
        self.assignment.hosts.len()
    }

    /// Runs. `progress` is called with the time of the scenario every now and then, and may end the run early.
    ///
    /// # Errors
    /// If the machine refuses something.
    pub fn run(self, progress: &mut (dyn FnMut(Time) -> ControlFlow<()> + Send)) -> Checked<Results> {
        let Self { plan, options: Options { scale, bound, .. }, assignment } = self;
        // First, so that they go when no host has a connection any more.
        let _kept = assignment.own.load()?;
        let hosts = assignment.hosts.iter().map(|(id, settings)| RealHost::create(*id, settings));
        let hosts = hosts.collect::<Checked<Vec<_>>>()?;
        let mut steps = Steps::with_external(&plan, &assignment.inside(&plan), &assignment.external());
        let (ways, over, stop) = (Ways::default(), AtomicBool::new(false), AtomicBool::new(false));
        let mut complete = true;
        let mut goes_on = |now| match over.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => {
                let goes_on = progress(now);
                complete &= goes_on.is_continue();
                goes_on
            }
        };
        let (measured, noticed) = thread::scope(|scope| -> Result<_, Diagnostic> {
            let (ready, is_ready) = std::sync::mpsc::channel();
            let traffic = scope.spawn(|| {
                let _over = OnDrop(&over);
                let ready = ready;
                let mut sockets = Sockets::open(&plan, &hosts, &ways, &assignment.controls, scale)?;
                let _ = ready.send(sockets.start());
                sockets.run(&|| !stop.load(Ordering::Relaxed))?;
                Ok(sockets.finish())
            });
            // A thread of its own: it goes before all others, which what follows need not.
            let fabric = scope.spawn(|| {
                let _stop = OnDrop(&stop);
                let is_ready = is_ready;
                let Ok(clock) = is_ready.recv() else { return Ok(None) };
                // Without the right to go first, lateness says what that costs.
                let _ = sys::go_first();
                let mut fabric = Fabric::new(steps.session(), &hosts, &ways, clock, assignment.sizes)?;
                fabric.run(&mut goes_on)?;
                Ok(Some(fabric.finish(bound)))
            });
            let fabric = fabric.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let traffic = traffic.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let measured = traffic.map_err(|error| sockets_failed(&error))?;
            let noticed = fabric.map_err(|error| fabric::failed(&error))?;
            Ok((measured, noticed.expect("the traffic began")))
        })?;
        let (flows, sampled, windows) = measured;
        let mut differences = assignment.differences.clone();
        if noticed.refused > 0 {
            differences
                .push(format!("{} frames were for no real host, or larger than any packet", noticed.refused));
        }
        let hosts = RealHosts {
            kernel: machine::kernel(),
            controls: assignment.named(&plan),
            scale,
            lateness: noticed.lateness,
            differences,
        };
        steps.finish_measured(Measured { flows, sampled, windows, hosts, complete })
    }
}

/// Tells the other thread that this one is over, however it ends.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn sockets_failed(error: &std::io::Error) -> Diagnostic {
    Diagnostic::error(Code::NoLiveMachine, format!("the sockets of real hosts do not work: {error}"))
}
