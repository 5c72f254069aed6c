//! Where threads wait for each other at the end of a window.
//!
//! Who waits spins as long as the others are likely to be almost done, and then sleeps: a core that spins is one that the others may
//! need. Where spinning was in vain, as on a machine with other work, it is shorter the next time. A thread that panics poisons the
//! barrier, so that nobody waits for it.
//!
//! `cargo xtask loom` runs the tests at the end over all orders in which threads can meet here, up to a bound.

#[cfg(not(all(test, loom)))]
use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    sync::{Condvar, Mutex, PoisonError},
};

#[cfg(all(test, loom))]
use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    sync::{Condvar, Mutex},
};
#[cfg(all(test, loom))]
use std::sync::PoisonError;

/// Polls of the barrier before a thread sleeps: some hundred microseconds, more than a window
/// takes, and several times what falling asleep and waking up does.
pub(super) const SPINS: u32 = 20_000;
/// However often it was in vain, it looks for some microseconds: otherwise it would not notice that cores are free again.
const FEWEST_SPINS: u32 = 200;

/// A barrier that is used again and again.
#[derive(Debug)]
pub(super) struct Barrier {
    threads: usize,
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

impl Barrier {
    pub(super) fn new(threads: usize, spins: u32) -> Self {
        Self {
            threads,
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

    /// Waits for all threads. False if one of them panicked.
    pub(super) fn wait(&self) -> bool {
        if self.threads == 1 {
            return true;
        }
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.store(generation.wrapping_add(1), Ordering::Release);
            self.wake_sleepers();
        } else if !self.spin(generation) {
            self.sleep(generation);
        }
        !self.poisoned.load(Ordering::Relaxed)
    }

    /// Times that all have met.
    #[cfg(all(test, not(loom)))]
    pub(super) fn meetings(&self) -> usize {
        self.generation.load(Ordering::Acquire)
    }

    /// Nobody waits from now on.
    fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
        self.wake_sleepers();
    }

    /// There is nothing to wait for any more.
    fn is_over(&self, generation: usize) -> bool {
        self.generation.load(Ordering::Acquire) != generation || self.poisoned.load(Ordering::Acquire)
    }

    /// Looks for the others a bounded number of times: half as often after looks in vain, twice as often after others. False if
    /// they have not come.
    fn spin(&self, generation: usize) -> bool {
        let spins = self.spins.load(Ordering::Relaxed);
        let have_come = (0..spins).any(|_| {
            spin_loop();
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
        self.sleepers.fetch_add(1, Ordering::AcqRel);
        while !self.is_over(generation) {
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::AcqRel);
    }

    fn wake_sleepers(&self) {
        // A change, though it adds nothing: all changes of the count have one order. Either it finds those who sleep, or they find it, and
        // with it what was stored before. A load could miss them while they miss the store.
        if self.sleepers.fetch_add(0, Ordering::AcqRel) > 0 {
            drop(self.falling_asleep.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }
}

/// Lets the other threads end when one panics.
pub(super) struct PoisonOnPanic<'a>(pub(super) &'a Barrier);

impl Drop for PoisonOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.poison();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Waits until so many threads sleep. Without sleeping they never would, and this fails after some seconds.
    fn until_asleep(barrier: &Barrier, threads: usize) {
        let asleep = (0..20_000_000).any(|_| {
            std::thread::yield_now();
            barrier.sleepers.load(Ordering::SeqCst) == threads
        });
        // Whoever is counted holds the lock until it sleeps.
        drop(barrier.falling_asleep.lock());
        assert!(asleep, "nobody sleeps");
    }

    #[test]
    fn who_waits_long_sleeps_and_the_last_one_wakes_all() {
        for spins in [0, SPINS] {
            let barrier = Barrier::new(4, spins);
            std::thread::scope(|scope| {
                let waiting: Vec<_> = (0..3).map(|_| scope.spawn(|| barrier.wait())).collect();
                until_asleep(&barrier, 3);
                assert!(barrier.wait());
                assert!(waiting.into_iter().all(|thread| thread.join().unwrap()));
            });
            assert_eq!(barrier.sleepers.load(Ordering::SeqCst), 0);
        }
    }

    #[test]
    fn spinning_ends_after_a_bounded_number_of_looks() {
        let barrier = Barrier::new(2, SPINS);
        // Nobody else ever comes.
        assert!(!barrier.spin(0));
        assert!(!Barrier::new(2, 0).spin(0));
    }

    #[test]
    fn who_spun_in_vain_spins_less_until_spinning_helps_again() {
        let barrier = Barrier::new(2, SPINS);
        let spins = || barrier.spins.load(Ordering::Relaxed);
        assert!(!barrier.spin(0));
        assert_eq!(spins(), SPINS / 2);
        assert!((0..10).all(|_| !barrier.spin(0)));
        assert_eq!(spins(), FEWEST_SPINS);
        // Another generation: the others have come.
        assert!((0..10).all(|_| barrier.spin(1)));
        assert_eq!(spins(), SPINS);
    }

    #[test]
    fn sleepers_are_woken_when_a_thread_panics() {
        let barrier = Barrier::new(2, 0);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| barrier.wait());
            until_asleep(&barrier, 1);
            let panics = scope.spawn(|| {
                let _poison = PoisonOnPanic(&barrier);
                panic!("on purpose");
            });
            assert!(panics.join().is_err());
            assert!(!waiting.join().unwrap());
        });
    }

    #[test]
    fn nobody_leaves_the_barrier_before_all_have_come() {
        for spins in [0, 10] {
            let (threads, rounds) = (6, 2_000);
            let barrier = Barrier::new(threads, spins);
            let come = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        for round in 1..=rounds {
                            come.fetch_add(1, Ordering::SeqCst);
                            assert!(barrier.wait());
                            assert!(come.load(Ordering::SeqCst) >= round * threads);
                        }
                    });
                }
            });
            assert_eq!(come.load(Ordering::SeqCst), threads * rounds);
        }
    }
}

/// Over all orders in which threads can meet, with at most so many preemptions.
#[cfg(all(test, loom))]
mod orders {
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64;
    use loom::thread;

    use super::*;

    /// Tries all orders of what `run` does, with at most `preemptions` of them where a thread could have gone on.
    fn all_orders(preemptions: usize, run: impl Fn() + Send + Sync + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(run);
    }

    /// Work of one thread in each window: it announces a number, meets the others, and reads what they announced.
    fn windows(barrier: &Barrier, announced: &[Vec<AtomicU64>; 2], me: usize, rounds: u64) {
        for round in 0..rounds {
            let side = &announced[(round % 2) as usize];
            side[me].store(round + 1, Ordering::Relaxed);
            assert!(barrier.wait());
            for other in side {
                assert_eq!(other.load(Ordering::Relaxed), round + 1, "of round {round}");
            }
        }
    }

    fn meet(threads: usize, rounds: u64, spins: u32) {
        let barrier = Arc::new(Barrier::new(threads, spins));
        let side = || (0..threads).map(|_| AtomicU64::new(0)).collect();
        let announced: Arc<[Vec<AtomicU64>; 2]> = Arc::new([side(), side()]);
        let others: Vec<_> = (1..threads)
            .map(|me| {
                let (barrier, announced) = (Arc::clone(&barrier), Arc::clone(&announced));
                thread::spawn(move || windows(&barrier, &announced, me, rounds))
            })
            .collect();
        windows(&barrier, &announced, 0, rounds);
        others.into_iter().for_each(|other| other.join().expect("nobody panics"));
        assert_eq!(barrier.sleepers.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn two_threads_read_what_the_other_announced_for_this_window() {
        for spins in [0, 1] {
            // The third window uses the places of the first.
            all_orders(3, move || meet(2, 3, spins));
        }
    }

    #[test]
    fn three_threads_read_what_the_others_announced_for_this_window() {
        for spins in [0, 1] {
            all_orders(2, move || meet(3, 2, spins));
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        for spins in [0, 1] {
            all_orders(3, move || {
                let barrier = Arc::new(Barrier::new(3, spins));
                let waits = || {
                    let barrier = Arc::clone(&barrier);
                    thread::spawn(move || barrier.wait())
                };
                let waiting = [waits(), waits()];
                barrier.poison();
                assert_eq!(waiting.map(|thread| thread.join().expect("nobody panics")), [false, false]);
            });
        }
    }
}
