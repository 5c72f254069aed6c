//! The arithmetic of the controls for the kernel, step by step beside that of `narrows-proto`.
//!
//! Both receive the same events. Segments have 2^32 bytes here, so that a window in bytes is one in units of 2^-32 segments, as
//! the kernel has it. After each step window, threshold and alpha may differ by no more than what rounding explains:
//!
//! ```text
//! u = 2^-32 segments, unit of windows; v = 2^-31, unit of alpha; e the error of a quantity so far
//!
//! alpha     e' = (1 − g)·e + 4v           three products rounded down, and g itself
//! F         e  = F·1 bit/(C·RTT + K) + 4·2^-30
//! h         e  = max_increase·(2^-30 + 2/(max_increase/H)) + 2^-21
//! cut       e  = max(alpha·e(F) + F·e(alpha) + 4u, e(beta) = 4u)
//! reduced   e' = (1 − cut)·e + cwnd·e(cut) + 2u
//! h·a/cwnd  e' = e·max(1, |1 − h·a/cwnd²|) + a/cwnd·e(h) + h·a/cwnd·2^-20/cwnd + 2u
//! ```
//! Halving halves the error, and a minimum or maximum has the larger error of the two. Where a decision hangs on less than the
//! error (window and threshold nearly equal), either way is right, and a new connection begins.

mod core;
mod near;
mod pair;
mod random;
mod recorded;

#[test]
fn structures_have_no_gaps() {
    use std::mem::size_of;

    use self::core::{Core, Dctcp, Gemini};
    use crate::{DctcpParams, GeminiParams};

    assert_eq!(Gemini::sizes(), [size_of::<Gemini>(), size_of::<GeminiParams>()]);
    assert_eq!(Dctcp::sizes(), [size_of::<Dctcp>(), size_of::<DctcpParams>()]);
}
