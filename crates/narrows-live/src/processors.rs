//! Which processor does what. The fabric has one of its own, where there are several. Where it is busy, the kernel does on the others what a
//! packet that arrives at a host makes it do (receive packet steering); otherwise it does so where the fabric hands packets over, one by
//! one.

use std::fmt::Write as _;
use std::fs;
use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::sys;

/// Packets per second of the clock above which arrivals are steered. On two cores of a server a packet takes the fabric 4 to 5 us without and 2 to
/// 2.5 us with that, and timers of hosts come on top: 16 hosts with 39 000 packets a second fill its processor without (99 % within 1 ms), and
/// not with that (within 0.05 ms). But another processor must be interrupted, and a round trip takes 40 us more (70 and 107 us). One flow as
/// fast as it can be has 2.1 Gb/s without, 4.6 to 5.3 with (packets of 1500 B).
pub(crate) const BUSY: f64 = 20_000.0;

/// Number of a processor, and those beside it.
struct Division {
    fabric: usize,
    others: Vec<usize>,
}

/// The last of several processors is the fabric's: interrupts come to the first one.
fn divide(allowed: &CpuSet) -> Option<Division> {
    let mut others: Vec<_> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let fabric = others.pop()?;
    (!others.is_empty()).then_some(Division { fabric, others })
}

/// Processors as bits, as the kernel writes them: groups of 32, the highest first.
fn mask(processors: &[usize]) -> String {
    let groups = processors.iter().max().map_or(1, |most| most / 32 + 1);
    let mut text = String::new();
    for group in (0..groups).rev() {
        let of_group = processors.iter().filter(|cpu| *cpu / 32 == group);
        let bits = of_group.fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32));
        let comma = if text.is_empty() { "" } else { "," };
        write!(text, "{comma}{bits:08x}").expect("text takes all");
    }
    text
}

/// Of the processors that this thread may have; none if there is one alone.
fn division() -> io::Result<Option<Division>> {
    Ok(divide(&sched_getaffinity(None)?))
}

/// Keeps this thread, and what it starts, on these.
fn pin(processors: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    processors.iter().for_each(|cpu| set.set(*cpu));
    Ok(sched_setaffinity(None, &set)?)
}

/// Devices that are made in this network namespace from now on hand over what arrives to all processors but the fabric's. Kernels before 6.3
/// cannot.
pub(crate) fn steer_arrivals() -> io::Result<()> {
    let Some(Division { others, .. }) = division()? else { return Ok(()) };
    fs::write("/proc/sys/net/core/rps_default_mask", mask(&others))
}

/// Keeps this thread on the fabric's processor. Returns whether the fabric has one of its own.
pub(crate) fn stay() -> io::Result<bool> {
    let Some(Division { fabric, .. }) = division()? else { return Ok(false) };
    pin(&[fabric])?;
    Ok(true)
}

/// Keeps this thread, and programs that it starts, off the fabric's processor, where they would stand still as soon as the fabric has work.
pub(crate) fn keep_off() -> io::Result<()> {
    let Some(Division { others, .. }) = division()? else { return Ok(()) };
    pin(&others)
}

/// Keeps the fabric's processor awake until `is_over`, and does nothing that anything else there would have to wait for. A virtual machine takes
/// 20 to 50 us to wake a processor. The others may sleep: one with two that both stayed awake was stopped for 2 to 10 ms, four times
/// in ten seconds.
pub(crate) fn stay_awake(is_over: &dyn Fn() -> bool) {
    if stay().is_ok_and(|is_alone| is_alone) && sys::go_last().is_ok() {
        while !is_over() {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(processors: &[usize]) -> Option<(usize, String)> {
        let mut set = CpuSet::new();
        processors.iter().for_each(|cpu| set.set(*cpu));
        divide(&set).map(|Division { fabric, others }| (fabric, mask(&others)))
    }

    #[test]
    fn the_fabric_has_the_last_processor_and_arrivals_all_others() {
        assert_eq!(of(&[0, 1]), Some((1, "00000001".to_owned())));
        assert_eq!(of(&[2, 3, 7]), Some((7, "0000000c".to_owned())));
        assert_eq!(of(&[1, 33, 40]), Some((40, "00000002,00000002".to_owned())));
    }

    #[test]
    fn one_processor_has_to_do_both() {
        assert_eq!(of(&[5]), None);
        assert_eq!(of(&[]), None);
    }
}
