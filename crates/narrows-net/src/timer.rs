//! Timers in virtual time.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use narrows_proto::units::{Span, Time};

use crate::net::Net;

impl Net {
    /// A timer, at which [`advance`](Self::advance) stops once. It can be awaited.
    pub fn timer(&self, at: Time) -> Timer {
        let mut timer = Timer { net: self.clone(), key: (at, 0) };
        timer.set(at);
        timer
    }

    /// A timer that goes off after `span`.
    pub fn sleep(&self, span: Span) -> Timer {
        self.timer(self.now() + span)
    }
}

/// A timer: time stops there once, and whoever awaits it goes on.
#[derive(Debug)]
pub struct Timer {
    net: Net,
    /// When, and which of those that go off then.
    key: (Time, u64),
}

impl Timer {
    /// Its network.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// When it goes off.
    pub fn at(&self) -> Time {
        self.key.0
    }

    /// Its moment has come.
    pub fn is_over(&self) -> bool {
        self.at() <= self.net.now()
    }

    /// It goes off at another time, and does so again if it has.
    pub fn reset(&mut self, at: Time) {
        self.cancel();
        self.set(at);
    }

    fn set(&mut self, at: Time) {
        let made = self.net.with(|state| {
            state.timers_made += 1;
            if at > state.now {
                state.timers.insert((at, state.timers_made), None);
            }
            Ok(state.timers_made)
        });
        self.key = (at, made.unwrap_or_default());
    }

    fn cancel(&mut self) {
        // See `Socket::drop`.
        let _waker = self.net.with(|state| Ok(state.timers.remove(&self.key)));
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.is_over() {
            return Poll::Ready(());
        }
        let waker = Some(context.waker().clone());
        let _before = self.net.with(|state| Ok(state.timers.insert(self.key, waker)));
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.cancel();
    }
}
