//! A library that panics where it should refuse its input.
//!
//! Decoders of Parquet check most of what a file says, and panic at some of the rest. Who reads a damaged file gets an error.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// A panic on this thread is expected and becomes an error, so nothing is printed.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Calls `read`; none if it panics. Values it was working on must not be used any more then.
pub(super) fn guarded<T>(read: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // Where a panic ends everything it has to be known.
            if !EXPECTED.get() || cfg!(panic = "abort") {
                before(info);
            }
        }));
    });
    let before = EXPECTED.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(read));
    EXPECTED.set(before);
    done.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_none_and_others_go_on() {
        assert_eq!(guarded(|| 7), Some(7));
        assert_eq!(guarded(|| -> u8 { panic!("not printed") }), None);
        assert_eq!(guarded(|| guarded(|| -> u8 { panic!("not printed") })), Some(None));
        assert!(!EXPECTED.get());
    }
}
