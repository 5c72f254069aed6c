//! The rights to have real hosts: those of root, or, for an ordinary user, those of root in a user namespace.

use std::fs;
use std::io;

use rustix::process::{getegid, geteuid};

use crate::sys;

/// Users of all machines, as `/proc/self/uid_map` has them outside of user namespaces.
const ALL: [&str; 3] = ["0", "0", "4294967295"];

/// Gives an ordinary user the rights of root in a user namespace, in which this process stays, if the machine allows. Does nothing for who
/// has the rights to make hosts already. To be called while the process has one thread.
///
/// [`parts`](crate::parts) says what came of it.
pub fn take_rights() {
    if sys::apart(sys::leave_network).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
        // What is missing then is said where it is needed.
        let _ = become_root();
    }
}

/// This process has the rights of the machine, and not of a user namespace alone.
pub(crate) fn are_of_machine() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map");
    map.map_or(true, |map| map.split_whitespace().eq(ALL))
}

/// Where the rights of this process come from.
pub(crate) fn tier() -> Result<String, String> {
    if are_of_machine() {
        return match geteuid().is_root() {
            true => Ok("those of root".to_owned()),
            false => Ok("those of an ordinary user".to_owned()),
        };
    }
    Err("those of root in a user namespace: controls of the kernel alone; run as root for GEMINI, DCTCP, near-source loops, and to \
         be on time beside other programs"
        .to_owned())
}

fn become_root() -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    sys::leave_users()?;
    // Without this nobody but root may map groups.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}
