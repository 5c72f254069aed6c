//! Futures in virtual time, on one thread, in an order that depends on nothing but them.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use async_task::Runnable;
pub use async_task::Task;

use crate::error::Error;
use crate::net::Net;

/// Runs futures in a network: all that can go on, in the order in which they were woken, then time advances to the next arrival or timer.
/// Clones are the same executor.
#[derive(Clone, Debug)]
pub struct Executor {
    net: Net,
    ready: Arc<Ready>,
}

/// Tasks that can go on.
#[derive(Debug, Default)]
struct Ready(Mutex<VecDeque<Runnable>>);

impl Ready {
    fn push(&self, task: Runnable) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(task);
    }

    fn pop(&self) -> Option<Runnable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// Whether the main future was woken.
#[derive(Debug)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Executor {
    /// For futures that wait for sockets and timers of `net`.
    pub fn new(net: &Net) -> Self {
        Self { net: net.clone(), ready: Arc::default() }
    }

    /// The network.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// Starts a task beside the others. It is canceled when what is returned is dropped, unless that is detached.
    pub fn spawn<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Task<T> {
        let ready = Arc::clone(&self.ready);
        let (runnable, task) = async_task::spawn(future, move |runnable| ready.push(runnable));
        runnable.schedule();
        task
    }

    /// Runs a future and all tasks until it is complete. Tasks that are left stand still then, and go on in the next run.
    ///
    /// # Errors
    /// If the run ends before.
    pub fn run<T>(&self, main: impl Future<Output = T>) -> Result<T, Error> {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut main = pin!(main);
        loop {
            if woken.0.swap(false, Ordering::Relaxed)
                && let Poll::Ready(output) = main.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return Ok(output);
            }
            match self.ready.pop() {
                Some(task) => {
                    task.run();
                }
                None if woken.0.load(Ordering::Relaxed) => {}
                None if self.net.advance(self.net.end())? => {}
                None => return Err(Error::Ended { end: self.net.end() }),
            }
        }
    }
}
