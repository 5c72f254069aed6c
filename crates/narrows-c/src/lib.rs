//! The C ABI of Narrows: `narrows.h` and `libnarrows`.
//!
//! Thin: what it does is [`narrows::attach`]. Here are handles, error codes, and conversions. `include/narrows.h` is generated from this
//! crate by cbindgen; a test compares. `include/narrows/astra.hpp` is a layer above it in C++, without a library of its own.
//!
//! - **Handles** are integers that name a thread, a place in its table, and a serial number. What is stale, made up, or another
//!   thread's is an error code.
//! - **Nothing escapes**: no panic crosses the border, nothing is printed, nothing ends the process.
//! - **Memory** belongs to whoever made it. Texts are copied into buffers of the caller, but for the version, and that of the last error,
//!   which stays until the thread's next call that fails.
#![allow(unsafe_code, reason = "a C ABI has pointers, which come from outside")]

mod error;
mod handles;
mod messages;
mod network;
mod numbers;
mod pointers;
mod results;
mod time;

pub use error::{nrw_error, nrw_last_error, nrw_status};
pub use messages::{
    nrw_cancel, nrw_message, nrw_message_info, nrw_schedule, nrw_send, nrw_totals, nrw_totals_info,
};
pub use network::{
    nrw_abi, nrw_class, nrw_close, nrw_host, nrw_host_count, nrw_host_name, nrw_host_rate, nrw_open,
    nrw_version,
};
pub use results::{nrw_finish, nrw_link, nrw_port, nrw_port_info, nrw_write};
pub use time::{nrw_advance, nrw_end, nrw_event, nrw_event_kind, nrw_next, nrw_now};

/// Number of this interface. A program compares it with [`nrw_abi`]: what a number has meant, it will mean.
pub const NRW_ABI: u32 = 1;

/// A moment that never comes: in place of the end of the run, and where something has not happened.
pub const NRW_NEVER: u64 = u64::MAX;
