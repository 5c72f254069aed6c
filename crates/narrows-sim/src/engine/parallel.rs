//! One run on several threads.
//!
//! Each thread owns its nodes and the receiving ends of their links. It goes through its windows alone as long as nothing can arrive
//! from elsewhere that it does not know of; then all threads meet. What crosses threads is collected in outboxes and handed over
//! there. One barrier suffices, because mailboxes and announcements alternate between two sets.
//!
//! The last window that a thread may go to follows from what all have announced: their next windows, and how many windows it takes at least until they
//! affect each other (`Distances`). Between neighbors that is one window. Two data centers with 5 ms between them meet every 5 ms.
//!
//! A run that ends when nothing is outstanding must end in the very window in which the last flow does, on any number of threads. So no
//! thread goes beyond a window that may be that one: it goes on while something of its own is outstanding, or while it is known that
//! something of another's is.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use narrows_proto::units::{Span, Time};

use super::barrier::{Barrier, PoisonOnPanic, SPINS};
use super::execution::{OnProgress, Progress, Stop};
use super::look_ahead::Distances;
use super::shard::Shard;
use crate::observe::Observer;
use crate::world::{Outbox, Windows};

/// Windows between two reports of progress, at most.
const REPORT_EVERY: u64 = 256;
/// After so many packet-hops of a thread it reports as well: a window of a thousand busy hosts has thousands, and whoever wants to end
/// the run, or looks at it, does not wait for hundreds of those.
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
        return Worker::new(only, 0, meeting, stop, progress).run(now);
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
                    Some(progress) => Worker::new(shard, me, meeting, stop, progress).run(now),
                    None => {
                        let silent = &mut |_| ControlFlow::Continue(());
                        Worker::new(shard, me, meeting, stop, silent).run(now)
                    }
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

/// A thread and its shard.
struct Worker<'a, O> {
    shard: &'a mut Shard<O>,
    me: usize,
    meeting: &'a Meeting,
    progress: &'a mut dyn OnProgress,
    stop: Stop,
    windows: Windows,
    /// The last window of the run.
    last: u64,
    /// The first window after those that it has run.
    done: u64,
    /// Windows that it has run.
    count: u64,
    /// Packet-hops that it had done when it reported last.
    reported: u64,
    /// The window in which the last of its flows ended, if none is outstanding any more and some were.
    emptied: Option<u64>,
    /// All know that the run was interrupted, and go on to the end of the last window that one of them has begun.
    interrupted: bool,
}

impl<'a, O: Observer> Worker<'a, O> {
    fn new(
        shard: &'a mut Shard<O>,
        me: usize,
        meeting: &'a Meeting,
        stop: Stop,
        progress: &'a mut dyn OnProgress,
    ) -> Self {
        let windows = shard.world.calendar.windows();
        Self {
            reported: shard.world.hops,
            shard,
            me,
            meeting,
            progress,
            stop,
            windows,
            last: windows.of(stop.at),
            done: 0,
            count: 0,
            emptied: None,
            interrupted: false,
        }
    }

    /// The loop of a thread. Every decision on the run depends on what all threads announced, so all take the same.
    fn run(mut self, now: Time) -> (Time, bool) {
        let meeting = self.meeting;
        let _poison = PoisonOnPanic(&meeting.barrier);
        let mut next = vec![0; meeting.threads];
        for round in 0.. {
            self.post(round);
            if !meeting.barrier.wait() {
                break;
            }
            self.collect(round);
            let agreed = meeting.read(round, &mut next);
            if agreed.interrupted && !self.interrupted {
                let Some(last) = agreed.done.checked_sub(1) else { return (now, false) };
                (self.interrupted, self.last) = (true, last);
            }
            if self.stop.when_drained && agreed.is_drained() {
                return (agreed.emptied.map_or(now, |window| self.last_moment(window)), !self.interrupted);
            }
            if agreed.window > self.last {
                return (self.last_moment(self.last), !self.interrupted);
            }
            let undrained = if self.stop.when_drained { agreed.undrained } else { u64::MAX };
            // While a thread waits for others to end, all go on together: nobody runs away from it.
            let together = if agreed.is_idle { undrained } else { u64::MAX };
            let moment = meeting.moments.iter().copied().find(|moment| *moment >= agreed.window);
            let safe = meeting.distances.safe(self.me, &next).min(together).min(moment.unwrap_or(u64::MAX));
            self.advance(safe.min(self.last), undrained);
        }
        (now, false)
    }

    /// The last moment of a window, or of the run.
    fn last_moment(&self, window: u64) -> Time {
        Time::from_ps(self.windows.end(window).as_ps() - 1).min(self.stop.at)
    }

    /// Runs what is due until window `safe`, and not beyond a window that may end with nothing outstanding. Until `undrained` none does.
    fn advance(&mut self, safe: u64, undrained: u64) {
        let first_left_out = self.stop.at + Span::from_ps(1);
        while let Some(window) = self.next_window().filter(|window| *window <= safe) {
            let before = self.outstanding();
            if window > undrained && before == 0 {
                return;
            }
            // The last window is cut short; what is left of it happens if the run goes on.
            self.shard.run_window(window, self.windows.end(window).min(first_left_out));
            (self.done, self.count) = (window + 1, self.count + 1);
            match self.outstanding() {
                0 if before > 0 => self.emptied = Some(window),
                0 => {}
                _ => self.emptied = None,
            }
            let hops = self.shard.world.hops;
            if self.count % REPORT_EVERY == 1 || hops - self.reported >= REPORT_HOPS {
                self.reported = hops;
                self.report(window);
            }
            if !self.interrupted && self.meeting.interrupted.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    fn outstanding(&self) -> u64 {
        self.shard.world.log.outstanding
    }

    /// The next window with a node. One that has been cut short is over.
    fn next_window(&mut self) -> Option<u64> {
        self.shard.world.calendar.next_window().filter(|window| *window >= self.done)
    }

    /// Announces progress, and passes it on if this is the first thread.
    #[cold]
    fn report(&mut self, window: u64) {
        let meeting = self.meeting;
        meeting.hops[self.me].store(self.shard.world.hops, Ordering::Relaxed);
        if self.me > 0 {
            return;
        }
        let packet_hops = meeting.hops.iter().map(|hops| hops.load(Ordering::Relaxed)).sum();
        let now = self.last_moment(window);
        if (self.progress)(Progress { now, packet_hops }).is_break() {
            meeting.interrupted.store(true, Ordering::Relaxed);
        }
    }

    /// Hands over what was sent and announces when something is due next.
    fn post(&mut self, round: u64) {
        let (meeting, side) = (self.meeting, (round % 2) as usize);
        let announced = &meeting.announced[side][self.me];
        let next = self.next_window().unwrap_or(u64::MAX);
        for (to, first) in announced.first_sent.iter().enumerate() {
            let outbox = &mut self.shard.world.outboxes[to];
            let head = outbox.head;
            if head < Time::NEVER {
                std::mem::swap(outbox, &mut *meeting.mail(side, self.me, to));
                debug_assert!(outbox.head == Time::NEVER, "mail is collected before there is more");
            }
            let window = if head < Time::NEVER { self.windows.of(head) } else { u64::MAX };
            first.store(window, Ordering::Relaxed);
        }
        announced.next.store(next, Ordering::Relaxed);
        announced.done.store(self.done, Ordering::Relaxed);
        announced.outstanding.store(self.outstanding(), Ordering::Relaxed);
        announced.emptied.store(self.emptied.map_or(0, |window| window + 1), Ordering::Relaxed);
        meeting.hops[self.me].store(self.shard.world.hops, Ordering::Relaxed);
        if self.me == 0 {
            let interrupted = meeting.interrupted.load(Ordering::Relaxed);
            meeting.agreed_interrupted[side].store(interrupted, Ordering::Relaxed);
        }
    }

    /// Takes over what others sent.
    fn collect(&mut self, round: u64) {
        let (meeting, side) = (self.meeting, (round % 2) as usize);
        for (from, announced) in meeting.announced[side].iter().enumerate() {
            if announced.first_sent[self.me].load(Ordering::Relaxed) < u64::MAX {
                let mut mail = meeting.mail(side, from, self.me);
                self.shard.world.take_in(&mut mail.packets);
                // In which order threads left them does not matter: agendas sort.
                self.shard.receive_reports(&mut mail.reports);
                mail.head = Time::NEVER;
            }
        }
    }
}

/// Where threads meet when none may go on alone.
#[derive(Debug)]
pub(super) struct Meeting {
    threads: usize,
    distances: Distances,
    /// The first window that may end with nothing of the traffic outstanding.
    first_drained: u64,
    /// Windows after which all meet, in order: in the next ones they count what has been sent on links until then.
    moments: [u64; 2],
    /// For each of two rounds, from each thread, to each thread.
    mail: [Vec<Mutex<Outbox>>; 2],
    /// For each of two rounds, of each thread.
    announced: [Vec<Announced>; 2],
    hops: Vec<AtomicU64>,
    /// Set by the first thread while it works.
    interrupted: AtomicBool,
    /// The same for each of two rounds, read by all after the barrier.
    agreed_interrupted: [AtomicBool; 2],
    pub(super) barrier: Barrier,
}

/// State that a thread announces.
#[derive(Debug)]
#[repr(align(64))]
struct Announced {
    /// Its next window; `u64::MAX` if it has none.
    next: AtomicU64,
    /// The first window after those that it has run.
    done: AtomicU64,
    outstanding: AtomicU64,
    /// The window after the one in which the last of its flows ended; zero if some are outstanding, or none was.
    emptied: AtomicU64,
    /// For each thread: the window in which the first of what it sent there arrives; `u64::MAX` if it sent nothing.
    first_sent: Vec<AtomicU64>,
}

/// State that all threads know after the barrier.
struct Agreed {
    /// The next window in which any node is due; `u64::MAX` if none is.
    window: u64,
    /// The first window that no thread has run.
    done: u64,
    outstanding: u64,
    /// Of some thread nothing is outstanding.
    is_idle: bool,
    /// The last window in which all that was outstanding of a thread has ended.
    emptied: Option<u64>,
    /// All windows before this one end with something outstanding.
    undrained: u64,
    interrupted: bool,
}

impl Agreed {
    /// Nothing is outstanding, and all threads have come to the window in which the last flow ended.
    fn is_drained(&self) -> bool {
        self.outstanding == 0 && self.emptied.is_none_or(|window| window < self.window)
    }
}

impl Meeting {
    pub(super) fn new(threads: usize, distances: Distances, first_drained: u64, moments: [u64; 2]) -> Self {
        // Without a core for each thread, spinning keeps those from running that are waited for.
        let enough = || std::thread::available_parallelism().map_or(1, usize::from) >= threads;
        let spins = if threads > 1 && enough() { SPINS } else { 0 };
        let mail = || (0..threads * threads).map(|_| Mutex::default()).collect();
        let announced = || (0..threads).map(|_| Announced::new(threads)).collect();
        Self {
            threads,
            distances,
            first_drained,
            moments,
            mail: [mail(), mail()],
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

    fn mail(&self, side: usize, from: usize, to: usize) -> MutexGuard<'_, Outbox> {
        self.mail[side][from * self.threads + to].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what all have announced, and by thread in `next` its next window.
    fn read(&self, round: u64, next: &mut [u64]) -> Agreed {
        let side = (round % 2) as usize;
        let announced = &self.announced[side];
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        for (thread, next) in next.iter_mut().enumerate() {
            let sent = announced.iter().map(|from| load(&from.first_sent[thread])).min();
            *next = load(&announced[thread].next).min(sent.unwrap_or(u64::MAX));
        }
        let mut agreed = Agreed {
            window: next.iter().copied().min().unwrap_or(u64::MAX),
            done: 0,
            outstanding: 0,
            is_idle: false,
            emptied: None,
            undrained: self.first_drained,
            interrupted: self.agreed_interrupted[side].load(Ordering::Relaxed),
        };
        for (thread, each) in announced.iter().enumerate() {
            let (outstanding, emptied) = (load(&each.outstanding), load(&each.emptied).checked_sub(1));
            agreed.done = agreed.done.max(load(&each.done));
            agreed.outstanding += outstanding;
            agreed.is_idle |= outstanding == 0;
            agreed.emptied = agreed.emptied.max(emptied);
            // Another thread may send it something before it has anything to do of its own.
            let first = || next[thread].min(self.distances.safe(thread, next).saturating_add(1));
            let undrained = if outstanding > 0 { first() } else { emptied.unwrap_or(0) };
            agreed.undrained = agreed.undrained.max(undrained);
        }
        agreed
    }
}

impl Announced {
    fn new(threads: usize) -> Self {
        let first_sent = (0..threads).map(|_| AtomicU64::new(u64::MAX)).collect();
        let [next, done, outstanding, emptied] = std::array::from_fn(|_| AtomicU64::new(0));
        Self { next, done, outstanding, emptied, first_sent }
    }
}
