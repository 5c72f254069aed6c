//! Pointers that come from outside.

use std::ffi::{CStr, c_char};

use crate::error::{Failure, nrw_status};

/// Writes where the caller wants it.
///
/// # Safety
/// `to` is null or points to room for a `T`.
pub(crate) unsafe fn put<T>(to: *mut T, value: T, argument: &str) -> Result<(), Failure> {
    if to.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: it is not null, and the rest the caller promises.
    unsafe { to.write(value) };
    Ok(())
}

/// A text that ends with a zero byte.
///
/// # Safety
/// `text` is null or points to such a text, which lives as long as the call.
pub(crate) unsafe fn text<'a>(text: *const c_char, argument: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: it is not null, and the rest the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|error| Failure::new(nrw_status::NRW_BAD_TEXT, format!("{argument} is not UTF-8: {error}")))
}

/// The same for a text with a length, `most` bytes at most.
///
/// # Safety
/// `text` is null or points to so many bytes, which live as long as the call.
pub(crate) unsafe fn sized<'a>(
    text: *const c_char,
    length: usize,
    most: u64,
    argument: &str,
) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::null(argument));
    }
    if length as u64 > most {
        let found = format!("{argument} has {length} B, expected {most} B at most");
        return Err(Failure::new(nrw_status::NRW_BAD_ARGUMENT, found));
    }
    // SAFETY: it is not null, the length is that of something in memory, and the rest the caller promises.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    std::str::from_utf8(bytes)
        .map_err(|error| Failure::new(nrw_status::NRW_BAD_TEXT, format!("{argument} is not UTF-8: {error}")))
}

/// Copies a text and a zero byte into a buffer of `size` bytes, as much as fits. Returns the length of the whole text.
///
/// # Safety
/// `buffer` is null or has so many bytes.
pub(crate) unsafe fn copy(text: &str, buffer: *mut c_char, size: usize) -> usize {
    if !buffer.is_null() && size > 0 {
        let mut length = text.len().min(size - 1);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        // SAFETY: it is not null and has room for that and the zero byte behind.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast::<u8>(), length);
            buffer.add(length).write(0);
        }
    }
    text.len()
}
