//! The arithmetic of the controls for the kernel, compiled for this machine (`bpf/core.c`).
#![allow(unsafe_code)]

use crate::{DctcpParams, GeminiParams};

/// `struct narrows_ack`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ack {
    pub(super) now_us: u64,
    pub(super) rtt_us: u32,
    pub(super) srtt_us: u32,
    pub(super) acked: u32,
    pub(super) marked: u32,
    pub(super) round_start: u8,
    pub(super) cwnd_limited: u8,
    pub(super) in_recovery: u8,
    pub(super) unused: [u8; 5],
}

/// `struct narrows_window`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    pub(super) credit: u64,
    pub(super) cwnd_before: u64,
    pub(super) ssthresh_before: u64,
    pub(super) limit: u32,
    pub(super) limit_after_timeout: u32,
}

/// `struct narrows_fraction`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fraction {
    pub(super) alpha: u32,
    pub(super) acked: u32,
    pub(super) marked: u32,
    pub(super) unused: u32,
}

/// `struct narrows_recent`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    pub(super) at_us: [u64; 10],
    pub(super) value: [u32; 10],
    pub(super) len: u32,
    pub(super) unused: u32,
}

/// `struct narrows_gemini`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gemini {
    pub(super) window: Window,
    pub(super) fraction: Fraction,
    pub(super) reduced_us: u64,
    pub(super) base_rtt_us: u32,
    pub(super) round_min_us: u32,
    pub(super) scale: u32,
    pub(super) increase: u32,
    pub(super) recent: Recent,
    pub(super) delayed: u8,
    pub(super) unused: [u8; 7],
}

/// `struct narrows_dctcp`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dctcp {
    pub(super) window: Window,
    pub(super) fraction: Fraction,
    pub(super) reduced_us: u64,
}

/// A control with the functions of its header.
pub(super) trait Core: Copy + Default {
    type Params: Clone + Send;
    /// Bytes of state and of parameters in C.
    fn sizes() -> [usize; 2];
    fn init(params: &Self::Params, cwnd: u32) -> Self;
    fn remember(&mut self, params: &Self::Params, now_us: u64, rtt_us: u32);
    fn on_ack(&mut self, params: &Self::Params, ack: &Ack);
    fn on_loss(&mut self, now_us: u64, flight: u32);
    fn on_timeout(&mut self, now_us: u64, flight: u32, repeated: bool);
    fn on_idle(&mut self, cwnd: u32);
    fn undo(&mut self);
    fn window(&self) -> &Window;
    fn fraction(&self) -> &Fraction;
}

macro_rules! core {
    ($state:ty, $params:ty: $sizes:ident, $init:ident, $remember:ident, $on_ack:ident, $on_loss:ident, $on_timeout:ident, $on_idle:ident) => {
        unsafe extern "C" {
            fn $sizes() -> u64;
            fn $init(state: *mut $state, params: *const $params, cwnd: u32);
            fn $remember(state: *mut $state, params: *const $params, now_us: u64, rtt_us: u32);
            fn $on_ack(state: *mut $state, params: *const $params, ack: *const Ack);
            fn $on_loss(state: *mut $state, now_us: u64, flight: u32);
            fn $on_timeout(state: *mut $state, now_us: u64, flight: u32, repeated: u8);
            fn $on_idle(state: *mut $state, cwnd: u32);
        }

        // SAFETY of all calls: pointers come from references to structures laid out as in C, and are not kept.
        impl Core for $state {
            type Params = $params;

            fn sizes() -> [usize; 2] {
                let sizes = unsafe { $sizes() };
                [(sizes >> 32) as usize, sizes as u32 as usize]
            }

            fn init(params: &$params, cwnd: u32) -> Self {
                let mut state = Self::default();
                unsafe { $init(&raw mut state, params, cwnd) };
                state
            }

            fn remember(&mut self, params: &$params, now_us: u64, rtt_us: u32) {
                unsafe { $remember(self, params, now_us, rtt_us) }
            }

            fn on_ack(&mut self, params: &$params, ack: &Ack) {
                unsafe { $on_ack(self, params, ack) }
            }

            fn on_loss(&mut self, now_us: u64, flight: u32) {
                unsafe { $on_loss(self, now_us, flight) }
            }

            fn on_timeout(&mut self, now_us: u64, flight: u32, repeated: bool) {
                unsafe { $on_timeout(self, now_us, flight, repeated.into()) }
            }

            fn on_idle(&mut self, cwnd: u32) {
                unsafe { $on_idle(self, cwnd) }
            }

            fn undo(&mut self) {
                unsafe { core_undo(&raw mut self.window) }
            }

            fn window(&self) -> &Window {
                &self.window
            }

            fn fraction(&self) -> &Fraction {
                &self.fraction
            }
        }
    };
}

core!(Gemini, GeminiParams: core_gemini_sizes, core_gemini_init, core_gemini_remember, core_gemini_on_ack, core_gemini_on_loss,
    core_gemini_on_timeout, core_gemini_on_idle);
core!(Dctcp, DctcpParams: core_dctcp_sizes, core_dctcp_init, core_dctcp_remember, core_dctcp_on_ack, core_dctcp_on_loss,
    core_dctcp_on_timeout, core_dctcp_on_idle);

unsafe extern "C" {
    fn core_undo(window: *mut Window);
    fn core_pacing(window: u64, mss: u32, srtt_8us: u32, factor: u32) -> u64;
}

/// Bytes per second for a window in Q32.
pub(super) fn pacing(window: u64, mss: u32, srtt_8us: u32, factor: u32) -> u64 {
    // SAFETY: it takes numbers.
    unsafe { core_pacing(window, mss, srtt_8us, factor) }
}
