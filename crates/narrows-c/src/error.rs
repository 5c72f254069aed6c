#![allow(non_camel_case_types, reason = "names as C has them")]

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::ptr;

use narrows::attach::Error;
use narrows::diagnostic::{Code, Rejection};

/// Answer of every function that can fail.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum nrw_status {
    /// Done.
    NRW_OK = 0,
    /// A pointer is null that must not be, or a text is too long.
    NRW_BAD_ARGUMENT = 1,
    /// The handle, message or timer does not exist, or no longer, or belongs to another network.
    NRW_BAD_HANDLE = 2,
    /// The network was opened by another thread.
    NRW_WRONG_THREAD = 3,
    /// A text is not UTF-8.
    NRW_BAD_TEXT = 4,
    /// The scenario makes no sense; the error has the place of the first mistake.
    NRW_BAD_SCENARIO = 5,
    /// There is no host, traffic group or link of that name or number.
    NRW_UNKNOWN = 6,
    /// The message cannot be sent: too large, to its own host, without a path, or as a datagram.
    NRW_REFUSED = 7,
    /// A moment that is over, or after the end of the run.
    NRW_BAD_TIME = 8,
    /// The run has been finished, or has not.
    NRW_BAD_STATE = 9,
    /// Results cannot be written.
    NRW_OUTPUT = 10,
    /// More networks, messages or threads than there can be.
    NRW_LIMIT = 11,
    /// A bug of Narrows. The network is closed.
    NRW_INTERNAL = 12,
}

use nrw_status::*;

/// The last error of a thread.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nrw_error {
    /// Status that the function answered.
    pub status: nrw_status,
    /// The line of the scenario, from 1 on; 0 if the error has no place there.
    pub line: u32,
    /// The column there, from 1 on; 0 if the error has no place there.
    pub column: u32,
    /// Text: what was found and what would be accepted, in one or several lines. Valid until the thread's next call that fails.
    pub text: *const c_char,
}

/// An error before it becomes a status.
#[derive(Debug)]
pub(crate) struct Failure {
    status: nrw_status,
    place: (u32, u32),
    text: String,
}

impl Failure {
    pub(crate) fn new(status: nrw_status, text: impl Into<String>) -> Self {
        Self { status, place: (0, 0), text: text.into() }
    }

    pub(crate) fn null(argument: &str) -> Self {
        Self::new(NRW_BAD_ARGUMENT, format!("{argument} is null"))
    }
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        let written = [Code::OutputExists, Code::OutputBusy, Code::OutputFailed, Code::NotOurs];
        let is_output = rejection.0.iter().any(|found| written.contains(&found.code));
        let place = rejection.0.iter().find_map(|found| found.place.as_ref());
        let (line, column) = place.map_or((0, 0), |place| place.line_and_column());
        let status = if is_output { NRW_OUTPUT } else { NRW_BAD_SCENARIO };
        let number = |number| u32::try_from(number).unwrap_or(u32::MAX);
        Self { status, place: (number(line), number(column)), text: rejection.to_string() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match error {
            Error::Scenario(rejection) => return rejection.into(),
            Error::UnknownHost { .. }
            | Error::HostNumber { .. }
            | Error::UnknownClass { .. }
            | Error::ClassNumber { .. } => NRW_UNKNOWN,
            Error::Datagrams { .. }
            | Error::ToItself { .. }
            | Error::Unreachable { .. }
            | Error::TooLarge { .. } => NRW_REFUSED,
            Error::TooMany { .. } => NRW_LIMIT,
            Error::Backward { .. } | Error::Over { .. } => NRW_BAD_TIME,
            Error::UnknownNumber { .. } => NRW_BAD_HANDLE,
        };
        Self::new(status, error.to_string())
    }
}

/// The last error, as it is kept.
struct Kept {
    status: nrw_status,
    place: (u32, u32),
    text: CString,
}

thread_local! {
    static LAST: RefCell<Kept> = RefCell::new(Kept { status: NRW_OK, place: (0, 0), text: CString::default() });
}

/// Keeps a failure as the thread's last.
pub(crate) fn keep(failure: Failure) -> nrw_status {
    let Failure { status, place, text } = failure;
    // Texts show control characters as signs; a zero byte would end the text.
    let text = CString::new(text.replace('\0', "␀")).unwrap_or_default();
    // A thread that ends has nobody who would read it.
    let _ = LAST.try_with(|last| *last.borrow_mut() = Kept { status, place, text });
    status
}

/// The last call of this thread that failed: its status, the place in the scenario, and a text. `NRW_OK` and an empty text if none has.
///
/// # Safety
/// `error` points to a `struct nrw_error`, or is null, which is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_last_error(error: *mut nrw_error) -> nrw_status {
    let found = LAST.try_with(|last| {
        let Kept { status, place, text } = &*last.borrow();
        nrw_error { status: *status, line: place.0, column: place.1, text: text.as_ptr() }
    });
    let nothing = nrw_error { status: NRW_OK, line: 0, column: 0, text: ptr::null() };
    if error.is_null() {
        // The last one stays readable.
        return NRW_BAD_ARGUMENT;
    }
    // SAFETY: it is not null, and the rest the caller promises.
    unsafe { error.write(found.unwrap_or(nothing)) };
    NRW_OK
}
