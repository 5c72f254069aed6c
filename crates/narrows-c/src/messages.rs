#![allow(non_camel_case_types, reason = "names as C has them")]

use narrows::attach::{MessageId, NewMessage, TimerId};
use narrows_proto::units::{Span, Time};

use crate::NRW_NEVER;
use crate::error::nrw_status;
use crate::handles::with;
use crate::pointers::put;

/// A message, as far as it has come. Times are in picoseconds, `NRW_NEVER` if it has not happened.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nrw_message_info {
    /// The host that sends.
    pub from: u32,
    /// The host that receives.
    pub to: u32,
    /// The traffic group.
    pub class_number: u32,
    /// 1 if the sender has given up.
    pub failed: u32,
    /// Payload.
    pub bytes: u64,
    /// The tag it was sent with.
    pub tag: u64,
    /// When it starts.
    pub start_ps: u64,
    /// When the last byte had arrived.
    pub delivered_ps: u64,
    /// When the source knew.
    pub sent_ps: u64,
    /// Time from the start to the delivery; `NRW_NEVER` if it is not delivered.
    pub fct_ps: u64,
    /// The same alone on the empty network, or a bound that nothing beats where switches choose paths by packet.
    pub ideal_ps: u64,
    /// Payload that the source knows to have arrived.
    pub acknowledged_bytes: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Payload acknowledged as marked.
    pub marked_bytes: u64,
    /// Congestion notification packets received.
    pub cnps: u64,
}

/// Sums over the run so far.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nrw_totals_info {
    /// Messages handed over.
    pub messages: u64,
    /// Messages of which the last byte has arrived.
    pub delivered: u64,
    /// Messages whose source knows that.
    pub sent: u64,
    /// Messages whose sender has given up.
    pub failed: u64,
    /// Payload of the delivered ones.
    pub delivered_bytes: u64,
    /// Packets that arrived at some node, those of the scenario's own traffic included.
    pub packet_hops: u64,
}

/// Sends a message of `bytes` from a host to another in the traffic group `class_number`, `delay_ps` from now. Its events carry `tag`. A
/// message of 0 bytes is a packet with one byte. `message`, if it is not null, gets its number.
///
/// # Safety
/// `message` is null or points to room for the number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_send(
    network: u64,
    from: u32,
    to: u32,
    bytes: u64,
    class_number: u32,
    tag: u64,
    delay_ps: u64,
    message: *mut u64,
) -> nrw_status {
    with(network, |open| {
        let run = open.run.goes()?;
        let (from, to) = (run.host_number(from.into())?, run.host_number(to.into())?);
        let class = run.class_number(class_number.into())?;
        let delay = Span::from_ps(delay_ps);
        let id = run.send(NewMessage { from, to, size: bytes, class, tag, delay })?;
        // SAFETY: as the caller promises.
        if message.is_null() { Ok(()) } else { unsafe { put(message, open.message(id.0), "message") } }
    })
}

/// Sets a timer that is due `delay_ps` from now. Its event carries `tag`. `timer`, if it is not null, gets its number.
///
/// # Safety
/// `timer` is null or points to room for the number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_schedule(network: u64, delay_ps: u64, tag: u64, timer: *mut u64) -> nrw_status {
    with(network, |open| {
        let id = open.run.goes()?.schedule(Span::from_ps(delay_ps), tag)?;
        // SAFETY: as the caller promises.
        if timer.is_null() { Ok(()) } else { unsafe { put(timer, open.timer(id.0), "timer") } }
    })
}

/// Takes a timer back. `canceled`, if it is not null, gets 1, or 0 if it was due already or has been taken back.
///
/// # Safety
/// `canceled` is null or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_cancel(network: u64, timer: u64, canceled: *mut u32) -> nrw_status {
    with(network, |open| {
        let number = open.timer_number(timer)?;
        let done = open.run.goes()?.cancel(TimerId(number))?;
        // SAFETY: as the caller promises.
        if canceled.is_null() { Ok(()) } else { unsafe { put(canceled, done.into(), "canceled") } }
    })
}

/// A message, as far as it has come.
///
/// # Safety
/// `info` points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_message(network: u64, message: u64, info: *mut nrw_message_info) -> nrw_status {
    with(network, |open| {
        let id = MessageId(open.message_number(message)?);
        let run = open.run.goes()?;
        let of = run.message(id)?;
        let time = |time: Option<Time>| time.map_or(NRW_NEVER, Time::as_ps);
        let found = nrw_message_info {
            from: of.from.0,
            to: of.to.0,
            class_number: of.class.index() as u32,
            failed: of.failed.into(),
            bytes: of.size.get(),
            tag: of.tag,
            start_ps: of.start.as_ps(),
            delivered_ps: time(of.delivered),
            sent_ps: time(of.sent),
            fct_ps: of.delivered.map_or(NRW_NEVER, |at| (at - of.start).as_ps()),
            ideal_ps: run.ideal(id)?.as_ps(),
            acknowledged_bytes: of.acknowledged.get(),
            retransmissions: of.stats.retransmissions,
            timeouts: of.stats.timeouts,
            marked_bytes: of.stats.marked.get(),
            cnps: of.stats.cnps,
        };
        // SAFETY: as the caller promises.
        unsafe { put(info, found, "info") }
    })
}

/// Sums over the run so far.
///
/// # Safety
/// `info` points to room for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_totals(network: u64, info: *mut nrw_totals_info) -> nrw_status {
    with(network, |open| {
        let of = open.run.goes()?.totals();
        let found = nrw_totals_info {
            messages: of.messages,
            delivered: of.delivered,
            sent: of.sent,
            failed: of.failed,
            delivered_bytes: of.delivered_bytes,
            packet_hops: of.packet_hops,
        };
        // SAFETY: as the caller promises.
        unsafe { put(info, found, "info") }
    })
}
