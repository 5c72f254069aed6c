//! Live runs: real hosts through the fabric of a scenario (Linux).
//!
//! Each host of a traffic group becomes a network namespace with the TCP of the running kernel, connected by a TAP device to the
//! network of the scenario, which is the same that virtual runs have, driven by the clock. Namespaces have no names and no route out:
//! they end with the process, whatever ends it, and nothing leaves the machine.
#![cfg(target_os = "linux")]

mod assignment;
mod clock;
mod estimate;
mod fabric;
mod flow;
mod followers;
mod frames;
mod host;
mod machine;
mod own;
mod program;
mod sockets;
mod sys;
mod ways;

use std::fs::File;
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
pub use self::estimate::Estimate;
use self::fabric::Fabric;
use self::host::RealHost;
pub use self::machine::{Part, parts};
pub use self::own::BUILD as BUILD_WITH_CONTROLS;
pub use self::program::Program;
use self::program::Programs;
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
    /// Programs of the user on real hosts.
    pub programs: Vec<Program>,
}

impl Default for Options {
    fn default() -> Self {
        Self { scale: 1.0, bound: Span::from_us(200), simulated: Vec::new(), programs: Vec::new() }
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
        Self::of(plan, options)
    }

    /// The same on a machine that can have real hosts.
    fn of(plan: &Arc<Plan>, options: Options) -> Checked<Self> {
        let assignment = Assignment::new(plan, &options, &available_controls())?;
        Ok(Self { plan: Arc::clone(plan), options, assignment })
    }

    /// Measures whether this machine can do it in real time.
    ///
    /// # Errors
    /// If the machine refuses something.
    pub fn estimate(&self) -> Checked<Estimate> {
        Estimate::of(self)
    }

    /// Number of real hosts.
    pub fn hosts(&self) -> usize {
        self.assignment.hosts.len()
    }

    /// Programs of the user, in the order of their outputs.
    pub fn programs(&self) -> &[Program] {
        &self.options.programs
    }

    /// Runs. What programs print goes to `outputs`. `progress` is called with the time of the scenario every now and then, and may end
    /// the run early.
    ///
    /// # Errors
    /// If the machine refuses something.
    pub fn run(
        self,
        outputs: Vec<File>,
        progress: &mut (dyn FnMut(Time) -> ControlFlow<()> + Send),
    ) -> Checked<Results> {
        let Self { plan, options: Options { scale, bound, programs: listed, .. }, assignment } = self;
        // First, so that they go when no host has a connection any more.
        let kept = assignment.own.load()?;
        let hosts = assignment.hosts.iter().map(|(id, settings)| RealHost::create(*id, settings));
        let hosts = hosts.collect::<Checked<Vec<_>>>()?;
        for (id, control) in assignment.near_sources(&plan) {
            let host = hosts.iter().find(|host| host.id == id).expect("it was made");
            kept.take_messages_at(host, control)?;
        }
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
        let (programs, names) = (Programs::default(), program::names(&plan, &hosts));
        let mut outputs = outputs.into_iter();
        let (mut waiting, mut begin) = (Vec::new(), Vec::new());
        for (program, id) in listed.iter().zip(&assignment.programs) {
            let host = hosts.iter().find(|host| host.id == *id).expect("it was made");
            let (one, begins) = programs.add(program, host, &names, outputs.next());
            waiting.push(one);
            begin.push(begins);
        }
        let (measured, noticed, ended) = thread::scope(|scope| -> Result<_, Diagnostic> {
            let (ready, is_ready) = std::sync::mpsc::channel();
            let (programs, over, stop) = (&programs, &over, &stop);
            let run =
                |waiting: program::Waiting<'_>| waiting.run(programs, &|| !over.load(Ordering::Relaxed));
            let running: Vec<_> =
                waiting.into_iter().map(|waiting| scope.spawn(move || run(waiting))).collect();
            let traffic = scope.spawn(|| {
                let _over = OnDrop(over);
                let (ready, begin) = (ready, begin);
                let mut sockets = Sockets::open(&plan, &hosts, &ways, &assignment.controls, scale)?;
                let _ = ready.send(sockets.start());
                begin.iter().for_each(|begin| begin.send(()).unwrap_or_default());
                let goes_on = || !stop.load(Ordering::Relaxed) && !programs.are_left();
                sockets.run(&goes_on, &|| !programs.are_over())?;
                Ok(sockets.finish())
            });
            // A thread of its own: it goes before all others, which what follows need not.
            let fabric = scope.spawn(|| {
                let _stop = OnDrop(stop);
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
            let ended = running
                .into_iter()
                .map(|running| running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            let ended = ended.collect::<Result<_, _>>().map_err(|error| program::failed(&error))?;
            Ok((measured, noticed.expect("the traffic began"), ended))
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
            cost: noticed.cost,
            differences,
            programs: ended,
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
