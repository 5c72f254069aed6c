//! Functions that a page calls. A message is written into memory that the engine provides; its answer is read where the engine says.
//!
//! No pointer comes in, so nothing here can be pointed at a wrong place.
#![allow(
    unsafe_code,
    reason = "the names of exported functions must be unique in the whole program; these are"
)]

use std::panic;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use crate::Engine;

/// The message, then its answer.
static MESSAGE: Mutex<Vec<u8>> = Mutex::new(Vec::new());
/// The message of a panic, after which only this may be read.
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());
static ENGINE: Mutex<Option<Engine>> = Mutex::new(None);

fn hold<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Provides memory for a message of so many bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn narrows_message(length: usize) -> *mut u8 {
    static LISTEN: Once = Once::new();
    LISTEN.call_once(|| panic::set_hook(Box::new(|info| *hold(&LAST_WORDS) = info.to_string())));
    let mut message = hold(&MESSAGE);
    message.clear();
    message.resize(length, 0);
    message.as_mut_ptr()
}

/// Answers the message. Returns the length of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn narrows_answer() -> usize {
    let message = std::mem::take(&mut *hold(&MESSAGE));
    let answer = hold(&ENGINE).get_or_insert_default().answer(message.into());
    let mut place = hold(&MESSAGE);
    *place = answer;
    place.len()
}

/// Place of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn narrows_answer_at() -> *const u8 {
    hold(&MESSAGE).as_ptr()
}

/// The answer was read.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn narrows_read() {
    *hold(&MESSAGE) = Vec::new();
}

/// Length of the message of the panic that has ended the engine.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn narrows_last_words() -> usize {
    hold(&LAST_WORDS).len()
}

/// Its place.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn narrows_last_words_at() -> *const u8 {
    hold(&LAST_WORDS).as_ptr()
}
