//! Schedules of ranks as CSV, and the scenario that runs one on a star of hosts.

use std::fmt::Write;

use narrows_proto::units::{BitRate, Span};

use super::scenario::{self, plain_name};
use super::{Imported, Note};

/// The network that schedules run on, as files of schedules name none: a host for each rank at one switch.
#[derive(Clone, Copy, Debug)]
pub struct Star {
    /// Rate of the links of hosts.
    pub rate: BitRate,
    /// Their delay.
    pub delay: Span,
    /// When the run ends.
    pub end: Span,
}

impl Default for Star {
    /// 100 Gb/s, 1 us; 10 s.
    fn default() -> Self {
        Self { rate: BitRate::from_gbps(100), delay: Span::from_us(1), end: Span::from_secs(10) }
    }
}

/// More ranks are no star: the ports that a switch may have.
pub(super) const MOST_RANKS: u32 = 30_000;

/// Rows of a schedule.
#[derive(Debug)]
pub(super) struct Rows(String);

impl Rows {
    pub(super) fn new() -> Self {
        Self("rank,id,does,peer,amount,after\n".to_owned())
    }

    pub(super) fn send(&mut self, rank: u32, id: &str, to: u32, bytes: u64, after: &str) {
        let _ = writeln!(self.0, "{rank},{id},send,{to},{bytes},{after}");
    }

    pub(super) fn receive(&mut self, rank: u32, id: &str, from: u32, after: &str) {
        let _ = writeln!(self.0, "{rank},{id},receive,{from},,{after}");
    }

    pub(super) fn compute(&mut self, rank: u32, id: &str, ns: u64, after: &str) {
        let _ = writeln!(self.0, "{rank},{id},compute,,{ns} ns,{after}");
    }
}

/// The scenario that runs these rows.
pub(super) fn scenario(
    title: &str,
    name: &str,
    ranks: u32,
    star: &Star,
    rows: Rows,
    (read, mut notes): (Vec<String>, Vec<Note>),
) -> Imported {
    let name = plain_name(name);
    notes.push(Note::new("network", "the files have none: a host for each rank at one switch"));
    notes.push(Note::new(
        "transport",
        "the files have none: RDMA at the rate of the host's link, with buffers that lose nothing",
    ));
    let mut text = String::new();
    scenario::head(&mut text, title, &read, &notes);
    let Star { rate, delay, end } = star;
    let file = format!("{name}.schedule.csv");
    let _ = write!(
        text,
        "version = 2\nname = \"{name}\"\nstop = {{ after = \"{end}\" }}\n\n\
         [topology.star]\nhosts = {ranks}\nrate = \"{rate}\"\ndelay = \"{delay}\"\n\n\
         [switches.default]\nbuffer = {{ size = \"1 GB\", sharing = \"per_port\" }}\n\n\
         [[traffic]]\nname = \"schedule\"\npattern = {{ schedule = {{ file = \"{file}\" }} }}\n\
         rdma = {{ mtu = \"4096 B\", queue_pair = {{ outstanding = 64 }} }}\ncc = {{ fixed = {{}} }}\n"
    );
    Imported { scenario: text, files: vec![(file, rows.0)], read, notes }
}
