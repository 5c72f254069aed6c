#![allow(non_camel_case_types, reason = "names as C has them")]

use narrows::attach::EventKind;
use narrows_proto::units::Time;

use crate::error::nrw_status;
use crate::handles::with;
use crate::pointers::put;

/// Kind of an event.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum nrw_event_kind {
    /// Nothing has happened until the moment that was named, or the end of the run.
    NRW_NOTHING = 0,
    /// The last byte of a message has arrived at its destination.
    NRW_DELIVERED = 1,
    /// The source of a message knows that: the last acknowledgment is back.
    NRW_SENT = 2,
    /// A timer is due.
    NRW_TIMER = 3,
    /// The sender of a message has given up: its retries are exhausted.
    NRW_FAILED = 4,
}

use nrw_event_kind::*;

/// Something that has happened.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nrw_event {
    /// Its kind.
    pub kind: nrw_event_kind,
    /// When it happened, in picoseconds.
    pub time_ps: u64,
    /// Number of the message or timer.
    pub id: u64,
    /// Tag of the message or timer.
    pub tag: u64,
}

/// Goes on to the next event, `until_ps` at the latest, and returns it; `NRW_NOTHING` if there is none until then, or until the end of the
/// run. `NRW_NEVER` stands for the end. What happens at `until_ps` still counts. Events that time was advanced over come first, without
/// going on. Events of one moment come one by one: deliveries, sends and failures by host and number, then timers as they were set.
///
/// # Safety
/// `event` points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_next(network: u64, until_ps: u64, event: *mut nrw_event) -> nrw_status {
    with(network, |open| {
        // SAFETY: as the caller promises.
        let put = |found| unsafe { put(event, found, "event") };
        put(nrw_event { kind: NRW_NOTHING, time_ps: 0, id: 0, tag: 0 })?;
        let run = open.run.goes()?;
        let found = run.next(Time::from_ps(until_ps))?;
        let now = run.now();
        let Some(found) = found else {
            return put(nrw_event { kind: NRW_NOTHING, time_ps: now.as_ps(), id: 0, tag: 0 });
        };
        let (kind, id) = match found.kind {
            EventKind::Delivered(id) => (NRW_DELIVERED, open.message(id.0)),
            EventKind::Sent(id) => (NRW_SENT, open.message(id.0)),
            EventKind::Failed(id) => (NRW_FAILED, open.message(id.0)),
            EventKind::Timer(id) => (NRW_TIMER, open.timer(id.0)),
        };
        put(nrw_event { kind, time_ps: found.at.as_ps(), id, tag: found.tag })
    })
}

/// Goes on to `until_ps`, or the end of the run. Events on the way wait for [`nrw_next`].
#[unsafe(no_mangle)]
pub extern "C" fn nrw_advance(network: u64, until_ps: u64) -> nrw_status {
    with(network, |open| Ok(open.run.goes()?.advance(Time::from_ps(until_ps))?))
}

/// Now, in picoseconds.
///
/// # Safety
/// `time_ps` points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_now(network: u64, time_ps: *mut u64) -> nrw_status {
    // SAFETY: as the caller promises.
    with(network, |open| unsafe { put(time_ps, open.run.goes()?.now().as_ps(), "time_ps") })
}

/// When the run ends, in picoseconds: `stop.after` and `stop.drain` of the scenario.
///
/// # Safety
/// `time_ps` points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_end(network: u64, time_ps: *mut u64) -> nrw_status {
    // SAFETY: as the caller promises.
    with(network, |open| unsafe { put(time_ps, open.run.goes()?.end().as_ps(), "time_ps") })
}
