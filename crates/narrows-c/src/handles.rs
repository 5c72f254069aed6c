//! Networks by handle. Each thread has a table of its own, so that calls from another thread are noticed without a lock.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use narrows::attach::Attached;
use narrows::results::Results;

use crate::error::nrw_status::{self, *};
use crate::error::{Failure, keep};

/// A handle: thread, place, serial number of the network in its thread.
const THREAD_BITS: u32 = 20;
const PLACE_BITS: u32 = 16;
const SERIAL_BITS: u32 = 28;

const CLOSED: &str = "the network has been closed";

/// A network that was opened.
pub(crate) struct Open {
    /// Serial number.
    pub(crate) serial: u64,
    pub(crate) run: Run,
}

/// The run, or what it has left.
pub(crate) enum Run {
    Goes(Box<Attached>),
    Finished(Box<Results>),
    /// It could not be finished.
    Lost,
}

impl Run {
    pub(crate) fn goes(&mut self) -> Result<&mut Attached, Failure> {
        match self {
            Self::Goes(run) => Ok(run),
            Self::Finished(_) | Self::Lost => Err(Failure::new(NRW_BAD_STATE, "the run has been finished")),
        }
    }

    pub(crate) fn finished(&self) -> Result<&Results, Failure> {
        match self {
            Self::Finished(results) => Ok(results),
            Self::Goes(_) => Err(Failure::new(NRW_BAD_STATE, "the run goes on: call nrw_finish before")),
            Self::Lost => Err(Failure::new(NRW_BAD_STATE, "the run could not be finished")),
        }
    }

    /// Ends the run.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        self.goes()?;
        if let Self::Goes(run) = std::mem::replace(self, Self::Lost) {
            *self = Self::Finished(Box::new(run.finish()?));
        }
        Ok(())
    }
}

#[derive(Default)]
struct Table {
    /// Number of the thread, from 1 on; none before the first network.
    thread: Option<u64>,
    places: Vec<Option<Open>>,
    opened: u64,
}

static THREADS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static TABLE: RefCell<Table> = RefCell::default();
    /// A call of this library is under way in this thread.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work`. No panic comes out, and none is printed.
pub(crate) fn guarded(work: impl FnOnce() -> Result<(), Failure>) -> nrw_status {
    silence();
    let before = INSIDE.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    INSIDE.set(before);
    match done {
        Ok(Ok(())) => NRW_OK,
        Ok(Err(failure)) => keep(failure),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            keep(Failure::new(NRW_INTERNAL, format!("a bug of Narrows: {text}")))
        }
    }
}

/// Panics inside of this library print nothing; those of others do what they did.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !INSIDE.try_with(Cell::get).unwrap_or(false) {
                before(info);
            }
        }));
    });
}

/// Keeps a network. Returns its handle.
pub(crate) fn add(run: Attached) -> Result<u64, Failure> {
    let limit = |what: &str| Failure::new(NRW_LIMIT, format!("too many {what}"));
    TABLE.with_borrow_mut(|table| {
        let thread = match table.thread {
            Some(thread) => thread,
            None => *table.thread.insert(THREADS.fetch_add(1, Ordering::Relaxed) + 1),
        };
        if thread >= 1 << THREAD_BITS {
            return Err(limit("threads have opened networks"));
        }
        let serial = table.opened + 1;
        if serial >= 1 << SERIAL_BITS {
            return Err(limit("networks have been opened in this thread"));
        }
        let place = match table.places.iter().position(Option::is_none) {
            Some(free) => free,
            None if table.places.len() < 1 << PLACE_BITS => {
                table.places.push(None);
                table.places.len() - 1
            }
            None => return Err(limit("networks are open")),
        };
        table.opened = serial;
        table.places[place] = Some(Open { serial, run: Run::Goes(Box::new(run)) });
        Ok(thread << (PLACE_BITS + SERIAL_BITS) | (place as u64) << SERIAL_BITS | serial)
    })
}

/// The place of a handle in the table of this thread.
fn place_of(table: &Table, handle: u64) -> Result<usize, Failure> {
    let thread = handle >> (PLACE_BITS + SERIAL_BITS);
    let place = (handle >> SERIAL_BITS & ((1 << PLACE_BITS) - 1)) as usize;
    let serial = handle & ((1 << SERIAL_BITS) - 1);
    let bad = |text: &str| Err(Failure::new(NRW_BAD_HANDLE, text));
    if thread == 0 || thread > THREADS.load(Ordering::Relaxed) {
        return bad("this is no handle of a network");
    }
    if table.thread != Some(thread) {
        let text = "another thread opened this network: only that may call functions for it";
        return Err(Failure::new(NRW_WRONG_THREAD, text));
    }
    match table.places.get(place).and_then(Option::as_ref) {
        Some(open) if open.serial == serial => Ok(place),
        _ if serial == 0 || serial > table.opened => bad("this is no handle of a network"),
        _ => bad(CLOSED),
    }
}

/// Takes a network out of the table.
pub(crate) fn take(handle: u64) -> Result<Open, Failure> {
    TABLE.with_borrow_mut(|table| {
        let place = place_of(table, handle)?;
        table.places[place].take().ok_or_else(|| Failure::new(NRW_BAD_HANDLE, CLOSED))
    })
}

/// Works on a network. One that panics is closed.
pub(crate) fn with(handle: u64, work: impl FnOnce(&mut Open) -> Result<(), Failure>) -> nrw_status {
    guarded(|| {
        TABLE.with_borrow_mut(|table| {
            let place = place_of(table, handle)?;
            let place = ClosedByPanic(&mut table.places[place]);
            let open = place.0.as_mut().ok_or_else(|| Failure::new(NRW_BAD_HANDLE, CLOSED))?;
            work(open)
        })
    })
}

/// The place of a network, which is empty after a panic.
struct ClosedByPanic<'a>(&'a mut Option<Open>);

impl Drop for ClosedByPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            *self.0 = None;
        }
    }
}
