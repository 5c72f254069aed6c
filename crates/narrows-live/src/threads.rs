//! Threads of a live run: the fabric, the traffic, and one for each program of the user.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, ScopedJoinHandle};

use narrows::diagnostic::{Code, Diagnostic};
use narrows::plan::Plan;
use narrows::results::RealProgram;
use narrows_proto::units::{Bytes, Time};
use narrows_sim::RecordedSession;

use crate::assignment::Assignment;
use crate::attached::{Frame, OnFrame};
use crate::clock::Clock;
use crate::fabric::{self, Fabric, Noticed};
use crate::host::RealHost;
use crate::host_times::{HostTimes, Opened, Responses};
use crate::options::Options;
use crate::processors;
use crate::program::{self, Programs, Waiting};
use crate::sockets::{Measured, Sockets};
use crate::sys;
use crate::watchers::Watchers;
use crate::ways::Ways;

/// All that the threads share.
pub(crate) struct Threads<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) hosts: &'a [RealHost],
    pub(crate) ways: &'a Ways,
    pub(crate) assignment: &'a Assignment,
    pub(crate) options: &'a Options,
    /// Times of hosts are measured.
    pub(crate) measures: bool,
}

/// Results of all of them.
pub(crate) struct Ran {
    pub(crate) measured: Measured,
    pub(crate) noticed: Noticed,
    /// Of hosts, if they were measured.
    pub(crate) times: HostTimes,
    pub(crate) ended: Vec<RealProgram>,
    /// Nobody broke off.
    pub(crate) complete: bool,
}

/// Flags by which one ends the others.
#[derive(Default)]
struct Ends {
    /// There is no traffic any more.
    over: AtomicBool,
    /// There is no fabric any more.
    stop: AtomicBool,
    programs: Programs,
}

impl Threads<'_> {
    /// Runs until the traffic is over, `progress` breaks off, or a shell is left.
    pub(crate) fn run(
        &self,
        session: &mut RecordedSession,
        programs: Vec<Waiting<'_>>,
        frames: Option<OnFrame<'_>>,
        progress: &mut (dyn FnMut(Time) -> ControlFlow<()> + Send),
    ) -> Result<Ran, Diagnostic> {
        let (ends, mut complete) = (Ends::default(), true);
        ends.programs.begin(programs.len());
        let (ends, mut goes_on) = (&ends, |now| {
            if ends.over.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            let goes_on = progress(now);
            complete &= goes_on.is_continue();
            goes_on
        });
        let (measured, opened, mut noticed, ended) = thread::scope(|scope| -> Result<_, Diagnostic> {
            let (ready, is_ready) = channel();
            let (capture, captured) = frames.is_some().then(channel::<Frame>).unzip();
            let capturing = frames
                .zip(captured)
                .map(|(take, captured)| scope.spawn(move || captured.into_iter().try_for_each(take)));
            let (begins, begin): (Vec<_>, Vec<_>) = programs.iter().map(|_| channel()).unzip();
            let run = |(waiting, begin): (Waiting<'_>, _)| {
                let _ = processors::keep_off();
                waiting.run(&begin, &ends.programs, &|| !ends.over.load(Ordering::Relaxed))
            };
            let programs = programs.into_iter().zip(begin);
            let running: Vec<_> = programs.map(|one| scope.spawn(move || run(one))).collect();
            let traffic = scope.spawn(|| self.traffic(ends, ready, begins));
            // A thread of its own: it goes before all others, which what follows need not.
            scope.spawn(|| processors::stay_awake(&|| ends.stop.load(Ordering::Relaxed)));
            let fabric = scope.spawn(|| self.fabric(ends, is_ready, session, capture, &mut goes_on));
            let (fabric, traffic) = (join(fabric), join(traffic));
            let (measured, opened) = traffic.map_err(|error| sockets_failed(&error))?;
            let noticed = fabric.map_err(|error| fabric::failed(&error))?;
            capturing.map_or(Ok(()), join).map_err(|error| capture_failed(&error))?;
            let ended = running.into_iter().map(join).collect::<Result<_, _>>();
            let ended = ended.map_err(|error| program::failed(&error))?;
            Ok((measured, opened, noticed.expect("the traffic began"), ended))
        })?;
        let times = noticed.responses.take().map(|responses| responses.times(opened)).unwrap_or_default();
        Ok(Ran { measured, noticed, times, ended, complete })
    }

    fn traffic(
        &self,
        ends: &Ends,
        ready: Sender<Clock>,
        begin: Vec<Sender<()>>,
    ) -> io::Result<(Measured, Vec<Opened>)> {
        let _over = OnDrop(&ends.over);
        let (ready, begin) = (ready, begin);
        let _ = processors::keep_off();
        let Self { plan, hosts, ways, assignment, options, .. } = *self;
        let (controls, scale) = (&assignment.controls, options.scale);
        let mut sockets = Sockets::open(plan, hosts, ways, controls, scale, self.measures)?;
        let _ = ready.send(sockets.start());
        begin.iter().for_each(|begin| begin.send(()).unwrap_or_default());
        let goes_on = || !ends.stop.load(Ordering::Relaxed) && !ends.programs.are_left();
        sockets.run(&goes_on, &|| !ends.programs.are_over())?;
        Ok(sockets.finish())
    }

    /// None if the traffic did not begin.
    fn fabric(
        &self,
        ends: &Ends,
        is_ready: Receiver<Clock>,
        session: &mut RecordedSession,
        capture: Option<Sender<Frame>>,
        goes_on: &mut dyn FnMut(Time) -> ControlFlow<()>,
    ) -> io::Result<Option<Noticed>> {
        let _stop = OnDrop(&ends.stop);
        let is_ready = is_ready;
        let Ok(clock) = is_ready.recv() else { return Ok(None) };
        // Without the right to go first, lateness says what that costs; so it does without a processor of its own.
        let _ = sys::go_first();
        let _ = processors::stay();
        let mut fabric = Fabric::new(
            session,
            self.hosts,
            self.ways,
            clock,
            (self.assignment.sizes, self.options.segments),
        )?;
        let mtu = self.assignment.hosts.first().map_or(Bytes::MAX, |(_, settings)| settings.mtu);
        // Half of what an acknowledgment waits at least.
        let responses = self.measures.then(|| Responses::new(mtu, clock.us(20_000)));
        fabric.watchers = Watchers { capture, responses };
        fabric.run(goes_on)?;
        Ok(Some(fabric.finish(self.options.bound)))
    }
}

/// Tells other threads that this one is over, however it ends.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn capture_failed(error: &io::Error) -> Diagnostic {
    Diagnostic::error(Code::OutputFailed, format!("frames cannot be kept: {error}"))
}

fn sockets_failed(error: &io::Error) -> Diagnostic {
    Diagnostic::error(Code::NoLiveMachine, format!("the sockets of real hosts do not work: {error}"))
}
