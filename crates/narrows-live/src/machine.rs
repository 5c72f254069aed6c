//! The needs of real hosts, and whether this machine meets them.

use std::fs;
use std::process::{Command, Stdio};

use narrows::diagnostic::{Checked, Code, Diagnostic, Rejection};

use crate::host::feed;
use crate::own;
use crate::rights;
use crate::sys;

/// Something that real hosts need, or profit from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// Its state; the reason, and how to get it, if it is missing.
    pub found: Result<String, String>,
    /// Without it there are no real hosts.
    pub required: bool,
}

/// Looks for everything that real hosts need, or profit from.
pub fn parts() -> Vec<Part> {
    let part = |name, found| Part { name, found, required: false };
    let mut parts = needed();
    parts.extend([
        part("rights", rights::tier()),
        part("packets of segments", segments()),
        part("real-time priority", first()),
        part("kernel types", types()),
        part("CAP_BPF", capabilities()),
        part("struct_ops", own::struct_ops()),
    ]);
    parts
}

fn needed() -> Vec<Part> {
    let part = |name, found| Part { name, found, required: true };
    vec![
        part("kernel", Ok(kernel())),
        part("network namespaces", namespaces()),
        part("TAP devices", tun()),
        part("ip", command("ip")),
        part("tc", command("tc").and_then(|version| queues().map(|()| version))),
        part("controls", Ok(available().join(", "))),
    ]
}

/// # Errors
/// With everything that is missing.
pub(crate) fn check() -> Checked<()> {
    let missing: Vec<_> = needed()
        .into_iter()
        .filter_map(|part| {
            let why = part.found.err()?;
            let message = format!("this machine cannot have real hosts: {}: {why}", part.name);
            Some(Diagnostic::error(Code::NoLiveMachine, message))
        })
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(Rejection(missing)) }
}

/// Controls that the running kernel has.
pub fn available() -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Name and version of the kernel.
pub(crate) fn kernel() -> String {
    let version = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", version.trim())
}

fn namespaces() -> Result<String, String> {
    let made = sys::apart(sys::leave_network);
    made.map(|()| "may be made".to_owned()).map_err(|error| {
        format!("{error}; run as root (CAP_SYS_ADMIN, CAP_NET_ADMIN), or allow user namespaces")
    })
}

fn tun() -> Result<String, String> {
    let made = sys::apart(|| {
        sys::leave_network()?;
        sys::make_tap("probe", false)
    });
    made.map(|_| "may be made".to_owned()).map_err(|error| {
        format!(
            "{error}; run as root (CAP_NET_ADMIN), with /dev/net/tun (the module tun), or let users open that"
        )
    })
}

/// Devices that take packets of several segments at once.
pub(crate) fn segments() -> Result<String, String> {
    let made = sys::apart(|| {
        sys::leave_network()?;
        let _tap = sys::make_tap("probe", true)?;
        feed("ip", "link set dev probe gso_max_segs 16\n")
    });
    made.map(|()| "may be had (--segments)".to_owned())
        .map_err(|error| format!("no segmentation offload on TAP devices: {error}; leave --segments out"))
}

fn command(name: &str) -> Result<String, String> {
    let output = Command::new(name).arg("-V").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{error}; install iproute2"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The kernel has the queue that hosts send through.
fn queues() -> Result<(), String> {
    let made = sys::apart(|| {
        sys::leave_network()?;
        let _tap = sys::make_tap("probe", false)?;
        feed("tc", "qdisc replace dev probe root tbf rate 1mbit burst 3000 limit 30000 overhead 24\n")
    });
    made.map_err(|error| format!("no token bucket (tbf): {error}; run as root, with the module sch_tbf"))
}

fn first() -> Result<String, String> {
    let raised = sys::apart(sys::go_first);
    raised
        .map(|()| "may be had".to_owned())
        .map_err(|error| format!("{error}; packets may be late beside other programs"))
}

/// Descriptions of the kernel's types, by which programs find their fields.
fn types() -> Result<String, String> {
    const BTF: &str = "/sys/kernel/btf/vmlinux";
    let there = fs::File::open(BTF);
    there
        .map(|_| BTF.to_owned())
        .map_err(|error| format!("{BTF}: {error}; a kernel with CONFIG_DEBUG_INFO_BTF has it"))
}

/// The rights to load a control.
pub(crate) fn capabilities() -> Result<String, String> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or_default();
    // CAP_SYS_ADMIN is CAP_BPF as well.
    let has = |number: u32| effective >> number & 1 == 1;
    if rights::are_of_machine() && (has(39) || has(21)) && has(12) {
        Ok("and CAP_NET_ADMIN are there".to_owned())
    } else {
        Err("no right to load controls; run as root (CAP_BPF, CAP_NET_ADMIN)".to_owned())
    }
}
