//! One run on several threads.
//!
//! Each thread owns its nodes and the receiving ends of their links. What crosses threads is collected in outboxes and
//! handed over when the window is over; one barrier per window suffices, because mailboxes and announcements alternate
//! between two sets.
//!
//! Who waits there spins as long as the others are likely to be almost done, and then sleeps: a core that spins is one that the
//! others may need. Where spinning was in vain, as on a machine with other work, it is shorter the next time.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use narrows_proto::units::Time;

use super::shard::Shard;
use super::{Progress, Stop};
use crate::followers::News;
use crate::observe::Observer;
use crate::packet::Packet;

/// Windows between two reports of progress.
const REPORT_EVERY: u64 = 256;
/// How often a thread looks whether the others have come before it sleeps: some hundred microseconds, more than a window
/// takes, and several times what falling asleep and waking up does.
const SPINS: u32 = 20_000;
/// However often it was in vain, it looks for some microseconds: otherwise it would not notice that cores are free again.
const FEWEST_SPINS: u32 = 200;

/// Runs the shards until `stop`. Returns them, the time reached, and whether the run was not interrupted.
pub(super) fn run<O: Observer>(
    mut shards: Vec<Shard<O>>,
    stop: Stop,
    mut progress: impl FnMut(Progress) -> ControlFlow<()> + Send,
) -> (Vec<Shard<O>>, Time, bool) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Without a core for each thread, spinning keeps those from running that are waited for.
    let meeting = Meeting::new(shards.len(), if shards.len() <= cores { SPINS } else { 0 });
    let mut ends = Vec::new();
    if let [only] = &mut shards[..] {
        ends.push(work(only, 0, &meeting, stop, &mut progress));
    } else {
        std::thread::scope(|scope| {
            let mut progress = Some(&mut progress);
            let handles: Vec<_> = shards
                .iter_mut()
                .enumerate()
                .map(|(me, shard)| {
                    let (meeting, progress) = (&meeting, progress.take());
                    scope.spawn(move || match progress {
                        Some(progress) => work(shard, me, meeting, stop, progress),
                        None => work(shard, me, meeting, stop, &mut |_| ControlFlow::Continue(())),
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
    }
    let (ended, complete) = ends[0];
    debug_assert!(ends.iter().all(|end| *end == ends[0]));
    (shards, ended, complete)
}

/// What one thread does. Every decision depends on what all threads announced, so all take the same.
fn work<O: Observer>(
    shard: &mut Shard<O>,
    me: usize,
    meeting: &Meeting,
    stop: Stop,
    progress: &mut (impl FnMut(Progress) -> ControlFlow<()> + ?Sized),
) -> (Time, bool) {
    let _poison = PoisonOnPanic(meeting);
    let last = shard.world.calendar.windows().of(stop.at);
    let mut turn = 0;
    let mut now = Time::ZERO;
    let mut over = false;
    loop {
        meeting.post(shard, me, turn);
        if !meeting.wait() {
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
        // The last window is cut short; what is left of it never happens.
        over = agreed.window == last;
        let end = shard.world.calendar.windows().end(agreed.window).min(Time::from_ps(stop.at.as_ps() + 1));
        shard.run_window(agreed.window, end);
        now = Time::from_ps(end.as_ps() - 1);
        if me == 0 && turn % REPORT_EVERY == 0 {
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
struct Meeting {
    threads: usize,
    /// For each of two turns, from each thread, to each thread.
    mail: [Vec<Mailbox>; 2],
    /// For each of two turns, to each thread: news for its hosts.
    news: [Vec<Mutex<Vec<News>>>; 2],
    /// For each of two turns and each thread: its next window, and how much it has outstanding.
    announced: [Vec<(AtomicU64, AtomicU64)>; 2],
    hops: Vec<AtomicU64>,
    /// Set by the first thread while it works, read by all after the next barrier.
    interrupted: AtomicBool,
    agreed_interrupted: [AtomicBool; 2],
    arrived: AtomicUsize,
    generation: AtomicUsize,
    poisoned: AtomicBool,
    /// Looks before a thread sleeps, and the most of them.
    spins: AtomicU32,
    most_spins: u32,
    /// Threads that sleep, or are about to.
    sleepers: AtomicUsize,
    /// Who holds it knows that nobody is between looking and sleeping.
    falling_asleep: Mutex<()>,
    wake: Condvar,
}

/// What all threads know after the barrier.
struct Agreed {
    /// The next window in which any node is due; `u64::MAX` if none is.
    window: u64,
    outstanding: u64,
    interrupted: bool,
}

impl Meeting {
    fn new(threads: usize, spins: u32) -> Self {
        let mail = || (0..threads * threads).map(|_| Mutex::default()).collect();
        let news = || (0..threads).map(|_| Mutex::default()).collect();
        let announced = || (0..threads).map(|_| (AtomicU64::new(0), AtomicU64::new(0))).collect();
        Self {
            threads,
            mail: [mail(), mail()],
            news: [news(), news()],
            announced: [announced(), announced()],
            hops: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            interrupted: AtomicBool::new(false),
            agreed_interrupted: [AtomicBool::new(false), AtomicBool::new(false)],
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            poisoned: AtomicBool::new(false),
            spins: AtomicU32::new(spins),
            most_spins: spins,
            sleepers: AtomicUsize::new(0),
            falling_asleep: Mutex::new(()),
            wake: Condvar::new(),
        }
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
        for (to, news) in world.news.iter_mut().enumerate().filter(|(_, news)| !news.is_empty()) {
            self.news[side][to].lock().unwrap_or_else(PoisonError::into_inner).append(news);
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
        if !shard.world.news.is_empty() {
            // In which order threads left it does not matter: agendas sort.
            shard.hear(&mut self.news[side][me].lock().unwrap_or_else(PoisonError::into_inner));
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

    /// Waits for all threads. False if one of them panicked.
    fn wait(&self) -> bool {
        if self.threads == 1 {
            return true;
        }
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            // In one order with the counting of sleepers: either they are seen here, or they see this.
            self.generation.store(generation.wrapping_add(1), Ordering::SeqCst);
            self.wake_sleepers();
        } else if !self.spin(generation) {
            self.sleep(generation);
        }
        !self.poisoned.load(Ordering::Relaxed)
    }

    /// There is nothing to wait for any more.
    fn is_over(&self, generation: usize) -> bool {
        self.generation.load(Ordering::SeqCst) != generation || self.poisoned.load(Ordering::SeqCst)
    }

    /// Looks for the others a bounded number of times: half as often after looks in vain, twice as often after others. False if
    /// they have not come.
    fn spin(&self, generation: usize) -> bool {
        let spins = self.spins.load(Ordering::Relaxed);
        let have_come = (0..spins).any(|_| {
            std::hint::spin_loop();
            self.generation.load(Ordering::Acquire) != generation || self.poisoned.load(Ordering::Relaxed)
        });
        let next = if have_come {
            (spins * 2).min(self.most_spins)
        } else {
            (spins / 2).max(FEWEST_SPINS).min(self.most_spins)
        };
        if next != spins {
            self.spins.store(next, Ordering::Relaxed);
        }
        have_come
    }

    fn sleep(&self, generation: usize) {
        let mut guard = self.falling_asleep.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !self.is_over(generation) {
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake_sleepers(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            drop(self.falling_asleep.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }
}

/// Lets the other threads end when one panics.
struct PoisonOnPanic<'a>(&'a Meeting);

impl Drop for PoisonOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.poisoned.store(true, Ordering::SeqCst);
            self.0.wake_sleepers();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits until so many threads sleep. Without sleeping they never would, and this fails after some seconds.
    fn until_asleep(meeting: &Meeting, threads: usize) {
        let asleep = (0..20_000_000).any(|_| {
            std::thread::yield_now();
            meeting.sleepers.load(Ordering::SeqCst) == threads
        });
        // Whoever is counted holds the lock until it sleeps.
        drop(meeting.falling_asleep.lock());
        assert!(asleep, "nobody sleeps");
    }

    #[test]
    fn who_waits_long_sleeps_and_the_last_one_wakes_all() {
        for spins in [0, SPINS] {
            let meeting = Meeting::new(4, spins);
            std::thread::scope(|scope| {
                let waiting: Vec<_> = (0..3).map(|_| scope.spawn(|| meeting.wait())).collect();
                until_asleep(&meeting, 3);
                assert!(meeting.wait());
                assert!(waiting.into_iter().all(|thread| thread.join().unwrap()));
            });
            assert_eq!(meeting.sleepers.load(Ordering::SeqCst), 0);
        }
    }

    #[test]
    fn spinning_ends_after_a_bounded_number_of_looks() {
        let meeting = Meeting::new(2, SPINS);
        // Nobody else ever comes.
        assert!(!meeting.spin(0));
        assert!(!Meeting::new(2, 0).spin(0));
    }

    #[test]
    fn who_spun_in_vain_spins_less_until_spinning_helps_again() {
        let meeting = Meeting::new(2, SPINS);
        let spins = || meeting.spins.load(Ordering::Relaxed);
        assert!(!meeting.spin(0));
        assert_eq!(spins(), SPINS / 2);
        assert!((0..10).all(|_| !meeting.spin(0)));
        assert_eq!(spins(), FEWEST_SPINS);
        // Another generation: the others have come.
        assert!((0..10).all(|_| meeting.spin(1)));
        assert_eq!(spins(), SPINS);
    }

    #[test]
    fn sleepers_are_woken_when_a_thread_panics() {
        let meeting = Meeting::new(2, 0);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| meeting.wait());
            until_asleep(&meeting, 1);
            let panics = scope.spawn(|| {
                let _poison = PoisonOnPanic(&meeting);
                panic!("on purpose");
            });
            assert!(panics.join().is_err());
            assert!(!waiting.join().unwrap());
        });
    }

    #[test]
    fn nobody_leaves_a_meeting_before_all_have_come() {
        for spins in [0, 10] {
            let (threads, rounds) = (6, 2_000);
            let meeting = Meeting::new(threads, spins);
            let come = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        for round in 1..=rounds {
                            come.fetch_add(1, Ordering::SeqCst);
                            assert!(meeting.wait());
                            assert!(come.load(Ordering::SeqCst) >= round * threads);
                        }
                    });
                }
            });
            assert_eq!(come.load(Ordering::SeqCst), threads * rounds);
        }
    }
}
