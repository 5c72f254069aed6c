#![allow(non_camel_case_types, reason = "names as C has them")]

use std::ffi::c_char;
use std::path::Path;

use narrows::report::{self, Digest};
use narrows::results::Output;
use narrows_sim::LinkId;

use crate::error::Failure;
use crate::error::nrw_status::{self, *};
use crate::handles::with;
use crate::pointers::{put, text};

/// Counters of one direction of a link, and of the port it leaves from, over the whole run.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nrw_port_info {
    /// Packets that began to be sent.
    pub packets: u64,
    /// Bytes of those, framing included.
    pub bytes: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets dropped, for any cause.
    pub drops: u64,
    /// The most bytes that ever waited.
    pub max_backlog_bytes: u64,
    /// PAUSE frames sent over it that stop the neighbor.
    pub pauses: u64,
    /// Time for which the neighbor stopped it, or one of its classes.
    pub paused_ps: u64,
}

/// Ends the run now. Counters of ports and results are there afterwards; nothing goes on.
#[unsafe(no_mangle)]
pub extern "C" fn nrw_finish(network: u64) -> nrw_status {
    with(network, |open| open.run.finish())
}

/// Writes the results of a run that is finished into a folder, as `narrows run` does. One that is there already is replaced if `overwrite`
/// is not 0 and Narrows wrote it.
///
/// # Safety
/// `folder` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_write(network: u64, folder: *const c_char, overwrite: u32) -> nrw_status {
    with(network, |open| {
        // SAFETY: as the caller promises.
        let folder = unsafe { text(folder, "folder")? };
        let results = open.run.finished()?;
        let output = Output::begin(Path::new(folder), overwrite != 0)?;
        output.write(results, "")?;
        output.write_text("", "report.html", &report::page_of_run(&Digest::of(results)?))?;
        Ok(output.finish()?)
    })
}

/// The number of the link from a node to another, by their names, of a run that is finished. The first of parallel ones.
///
/// # Safety
/// `from` and `to` are texts, `link` points to room for the number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_link(
    network: u64,
    from: *const c_char,
    to: *const c_char,
    link: *mut u32,
) -> nrw_status {
    with(network, |open| {
        // SAFETY: as the caller promises.
        let (from, to) = unsafe { (text(from, "from")?, text(to, "to")?) };
        let found = open.run.finished()?.plan.link(from, to);
        let missing = || Failure::new(NRW_UNKNOWN, format!("no link leads from \"{from}\" to \"{to}\""));
        let number = found.ok_or_else(missing)?.index() as u32;
        // SAFETY: as the caller promises.
        unsafe { put(link, number, "link") }
    })
}

/// Counters of a link of a run that is finished. Links are numbered from 0 on.
///
/// # Safety
/// `info` points to room for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_port(network: u64, link: u32, info: *mut nrw_port_info) -> nrw_status {
    with(network, |open| {
        let ports = &open.run.finished()?.ports;
        let of = ports.get(LinkId(link).index()).ok_or_else(|| {
            Failure::new(
                NRW_UNKNOWN,
                format!("link {link}, the network has {}, numbered from 0", ports.len()),
            )
        })?;
        let found = nrw_port_info {
            packets: of.packets,
            bytes: of.bytes,
            marks: of.marks,
            drops: of.dropped(),
            max_backlog_bytes: of.max_backlog,
            pauses: of.pauses,
            paused_ps: of.paused.as_ps(),
        };
        // SAFETY: as the caller promises.
        unsafe { put(info, found, "info") }
    })
}
