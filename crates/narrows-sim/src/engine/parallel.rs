//! One run on several threads.
//!
//! Each thread owns its nodes and the receiving ends of their links. What crosses threads is collected in outboxes and
//! handed over when the window is over; one barrier per window suffices, because mailboxes and announcements alternate
//! between two sets.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use narrows_proto::units::{Span, Time};

use super::barrier::{Barrier, PoisonOnPanic, SPINS};
use super::execution::{OnProgress, Progress, Stop};
use super::shard::Shard;
use crate::followers::Report;
use crate::observe::Observer;
use crate::packet::Packet;

/// Windows between two reports of progress, at most.
const REPORT_EVERY: u64 = 256;
/// After so many packet-hops of the first thread progress is reported as well: a window of a thousand busy hosts has thousands, and whoever
/// wants to end the run, or looks at it, does not wait for hundreds of those.
const REPORT_HOPS: u64 = 1 << 15;

/// Runs the shards until `stop`, from `now` on, the last moment that is over. Returns the time reached, and whether the run was not
/// interrupted.
pub(super) fn run<O: Observer>(
    shards: &mut [Shard<O>],
    meeting: &mut Meeting,
    now: Time,
    stop: Stop,
    progress: &mut dyn OnProgress,
) -> (Time, bool) {
    meeting.open();
    if let [only] = shards {
        return work(only, 0, meeting, now, stop, progress);
    }
    let mut ends = Vec::new();
    std::thread::scope(|scope| {
        let mut progress = Some(progress);
        let handles: Vec<_> = shards
            .iter_mut()
            .enumerate()
            .map(|(me, shard)| {
                let (meeting, progress) = (&*meeting, progress.take());
                scope.spawn(move || match progress {
                    Some(progress) => work(shard, me, meeting, now, stop, progress),
                    None => work(shard, me, meeting, now, stop, &mut |_| ControlFlow::Continue(())),
                })
            })
            .collect();
        // A thread that panicked has poisoned the meeting, so the others end too; then the panic goes on here.
        for handle in handles {
            match handle.join() {
                Ok(end) => ends.push(end),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    debug_assert!(ends.iter().all(|end| *end == ends[0]));
    ends[0]
}

/// The loop of one thread. Every decision depends on what all threads announced, so all take the same.
fn work<O: Observer>(
    shard: &mut Shard<O>,
    me: usize,
    meeting: &Meeting,
    mut now: Time,
    stop: Stop,
    progress: &mut dyn OnProgress,
) -> (Time, bool) {
    let _poison = PoisonOnPanic(&meeting.barrier);
    let last = shard.world.calendar.windows().of(stop.at);
    let first_left_out = stop.at + Span::from_ps(1);
    let mut turn = 0;
    let mut reported = shard.world.hops;
    let mut over = false;
    loop {
        meeting.post(shard, me, turn);
        if !meeting.barrier.wait() {
            return (now, false);
        }
        meeting.collect(shard, me, turn);
        let agreed = meeting.read(turn);
        if agreed.interrupted {
            return (now, false);
        }
        if stop.when_drained && agreed.outstanding == 0 {
            return (now, true);
        }
        if over || agreed.window > last {
            return (stop.at, true);
        }
        // The last window is cut short; what is left of it happens if the run goes on.
        over = agreed.window == last;
        let end = shard.world.calendar.windows().end(agreed.window).min(first_left_out);
        shard.run_window(agreed.window, end);
        now = Time::from_ps(end.as_ps() - 1);
        if me == 0 && (turn % REPORT_EVERY == 0 || shard.world.hops - reported >= REPORT_HOPS) {
            reported = shard.world.hops;
            let packet_hops = meeting.hops.iter().map(|hops| hops.load(Ordering::Relaxed)).sum();
            if progress(Progress { now, packet_hops }).is_break() {
                meeting.interrupted.store(true, Ordering::Relaxed);
            }
        }
        turn += 1;
    }
}

/// Packets with the wire they arrive on. Trailers follow their packet.
type Mailbox = Mutex<Vec<(u32, Packet)>>;

/// Where threads meet at the end of each window.
#[derive(Debug)]
pub(super) struct Meeting {
    threads: usize,
    /// For each of two turns, from each thread, to each thread.
    mail: [Vec<Mailbox>; 2],
    /// For each of two turns, to each thread: news for its hosts.
    reports: [Vec<Mutex<Vec<Report>>>; 2],
    /// For each of two turns and each thread: its next window, and how much it has outstanding.
    announced: [Vec<(AtomicU64, AtomicU64)>; 2],
    hops: Vec<AtomicU64>,
    /// Set by the first thread while it works, read by all after the next barrier.
    interrupted: AtomicBool,
    agreed_interrupted: [AtomicBool; 2],
    barrier: Barrier,
}

/// State that all threads know after the barrier.
struct Agreed {
    /// The next window in which any node is due; `u64::MAX` if none is.
    window: u64,
    outstanding: u64,
    interrupted: bool,
}

impl Meeting {
    pub(super) fn new(threads: usize) -> Self {
        // Without a core for each thread, spinning keeps those from running that are waited for.
        let enough = || std::thread::available_parallelism().map_or(1, usize::from) >= threads;
        let spins = if threads > 1 && enough() { SPINS } else { 0 };
        let mail = || (0..threads * threads).map(|_| Mutex::default()).collect();
        let reports = || (0..threads).map(|_| Mutex::default()).collect();
        let announced = || (0..threads).map(|_| (AtomicU64::new(0), AtomicU64::new(0))).collect();
        Self {
            threads,
            mail: [mail(), mail()],
            reports: [reports(), reports()],
            announced: [announced(), announced()],
            hops: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            interrupted: AtomicBool::new(false),
            agreed_interrupted: [AtomicBool::new(false), AtomicBool::new(false)],
            barrier: Barrier::new(threads, spins),
        }
    }

    /// A run begins, or goes on.
    fn open(&mut self) {
        *self.interrupted.get_mut() = false;
    }

    /// Hands over what `me` sent and announces when it is due next.
    fn post<O>(&self, shard: &mut Shard<O>, me: usize, turn: u64) {
        let side = (turn % 2) as usize;
        let world = &mut shard.world;
        for (to, outbox) in world.outboxes.iter_mut().enumerate().filter(|(_, outbox)| !outbox.is_empty()) {
            let mut mailbox =
                self.mail[side][me * self.threads + to].lock().unwrap_or_else(PoisonError::into_inner);
            debug_assert!(mailbox.is_empty());
            std::mem::swap(&mut *mailbox, outbox);
        }
        for (to, reports) in world.reports.iter_mut().enumerate().filter(|(_, reports)| !reports.is_empty()) {
            self.reports[side][to].lock().unwrap_or_else(PoisonError::into_inner).append(reports);
        }
        let own = world.calendar.next_window().unwrap_or(u64::MAX);
        let sent = if world.outbox_head < Time::NEVER {
            world.calendar.windows().of(world.outbox_head)
        } else {
            u64::MAX
        };
        world.outbox_head = Time::NEVER;
        let (window, outstanding) = &self.announced[side][me];
        window.store(own.min(sent), Ordering::Relaxed);
        outstanding.store(world.log.outstanding, Ordering::Relaxed);
        self.hops[me].store(world.hops, Ordering::Relaxed);
        if me == 0 {
            self.agreed_interrupted[side].store(self.interrupted.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Takes over what others sent to `me`.
    fn collect<O: Observer>(&self, shard: &mut Shard<O>, me: usize, turn: u64) {
        let side = (turn % 2) as usize;
        for from in 0..self.threads {
            let mut mailbox =
                self.mail[side][from * self.threads + me].lock().unwrap_or_else(PoisonError::into_inner);
            if !mailbox.is_empty() {
                shard.world.take_in(&mut mailbox);
            }
        }
        if !shard.world.reports.is_empty() {
            // In which order threads left it does not matter: agendas sort.
            shard.receive_reports(&mut self.reports[side][me].lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn read(&self, turn: u64) -> Agreed {
        let side = (turn % 2) as usize;
        let announced = &self.announced[side];
        Agreed {
            window: announced.iter().map(|each| each.0.load(Ordering::Relaxed)).min().unwrap_or(u64::MAX),
            outstanding: announced.iter().map(|each| each.1.load(Ordering::Relaxed)).sum(),
            interrupted: self.agreed_interrupted[side].load(Ordering::Relaxed),
        }
    }
}
