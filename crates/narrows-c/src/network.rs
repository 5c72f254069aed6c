use std::ffi::c_char;

use narrows::attach::Attached;
use narrows::document::Document;
use narrows::input_file::LARGEST_SCENARIO;

use crate::NRW_ABI;
use crate::error::nrw_status;
use crate::handles::{add, guarded, take, with};
use crate::pointers::{copy, put, sized, text};

/// Number of the interface that the library has, [`NRW_ABI`] of its header.
#[unsafe(no_mangle)]
pub extern "C" fn nrw_abi() -> u32 {
    NRW_ABI
}

/// The version of Narrows.
#[unsafe(no_mangle)]
pub extern "C" fn nrw_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Builds the network of a scenario: `length` bytes of TOML, as in scenario files. Files that it names are looked for in `folder`; null
/// stands for the current one. A negative `seed` leaves the scenario its own. Calls for this network have to come from this thread.
///
/// # Safety
/// `scenario` has `length` bytes, `folder` is null or a text, `network` points to room for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_open(
    scenario: *const c_char,
    length: usize,
    folder: *const c_char,
    seed: i64,
    network: *mut u64,
) -> nrw_status {
    guarded(|| {
        // SAFETY: as the caller promises.
        unsafe {
            put(network, 0, "network")?;
            let scenario = sized(scenario, length, LARGEST_SCENARIO.get(), "scenario")?;
            let folder = if folder.is_null() { "" } else { text(folder, "folder")? };
            let document = Document::parse("scenario", scenario, folder)?;
            let handle = add(Attached::new(&document, u64::try_from(seed).ok())?)?;
            put(network, handle, "network")
        }
    })
}

/// Forgets a network and all that it has. Its results are not written; see [`nrw_write`](crate::nrw_write).
#[unsafe(no_mangle)]
pub extern "C" fn nrw_close(network: u64) -> nrw_status {
    guarded(|| {
        drop(take(network)?);
        Ok(())
    })
}

/// Number of hosts. They are numbered from 0 on.
///
/// # Safety
/// `count` points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_host_count(network: u64, count: *mut u32) -> nrw_status {
    // SAFETY: as the caller promises.
    with(network, |open| unsafe { put(count, open.run.goes()?.host_count() as u32, "count") })
}

/// The number of the host with a name.
///
/// # Safety
/// `name` is a text, `host` points to room for the number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_host(network: u64, name: *const c_char, host: *mut u32) -> nrw_status {
    // SAFETY: as the caller promises.
    with(network, |open| unsafe { put(host, open.run.goes()?.host(text(name, "name")?)?.0, "host") })
}

/// Copies the name of a host and a zero byte into a buffer of `size` bytes, as much as fits. `length`, if it is not null, gets the length of
/// the whole name.
///
/// # Safety
/// `buffer` is null or has `size` bytes, `length` is null or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_host_name(
    network: u64,
    host: u32,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
) -> nrw_status {
    with(network, |open| {
        let run = open.run.goes()?;
        let name = run.host_name(run.host_number(host.into())?);
        // SAFETY: as the caller promises.
        unsafe {
            let whole = copy(name, buffer, size);
            if length.is_null() { Ok(()) } else { put(length, whole, "length") }
        }
    })
}

/// Rate of the link of a host, in bit/s.
///
/// # Safety
/// `rate` points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_host_rate(network: u64, host: u32, rate: *mut u64) -> nrw_status {
    with(network, |open| {
        let run = open.run.goes()?;
        let host = run.host_number(host.into())?;
        // SAFETY: as the caller promises.
        unsafe { put(rate, run.host_rate(host).as_bps(), "rate") }
    })
}

/// The number of the traffic group with a name: the class of messages. Groups are numbered from 0 on, in the order of the scenario.
///
/// # Safety
/// `name` is a text, `class_number` points to room for the number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nrw_class(network: u64, name: *const c_char, class_number: *mut u32) -> nrw_status {
    with(network, |open| {
        // SAFETY: as the caller promises.
        unsafe {
            let class = open.run.goes()?.class(text(name, "name")?)?;
            put(class_number, class.index() as u32, "class_number")
        }
    })
}
