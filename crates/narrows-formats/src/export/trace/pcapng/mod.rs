//! Captures as Wireshark reads them (pcapng: draft-ietf-opsawg-pcapng).
//!
//! One interface for each port, named after its link; nanoseconds; headers made up from what the simulation knows
//! ([`frames`], [`messages`]), payload left out. What no header says stands in comments: `flow`, `group`, `queue_bytes` and `wait_ns` (what the
//! packet met at the port), `marked_here`, `dropped`, `lost`, `again`.

mod frames;
mod isolation;
mod messages;
mod real;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;
use std::time::Duration;

use narrows::plan::Plan;
use narrows::results::Results;
use narrows_proto::units::{BitRate, Time};
use narrows_sim::{DropCause, HostId, LinkId};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};

use self::frames::Frames;
pub use self::real::RealFrames;
use super::VERSION;
use super::happening::{Happening, Packet};
use super::sink::{Sink, Wants};

/// Timestamps are 10^-9 s.
const NANOSECONDS: u8 = 9;

type Writer = PcapNgWriter<BufWriter<File>>;

/// A capture in the making.
pub(super) struct Pcapng {
    plan: Arc<Plan>,
    frames: Frames,
    writer: Writer,
    /// Number of the interface of a port.
    interfaces: HashMap<LinkId, u32>,
    /// By host: it has been named.
    named: Vec<bool>,
    packets: u64,
}

impl Pcapng {
    pub(super) fn new(plan: Arc<Plan>, file: File) -> std::io::Result<Self> {
        let writer = begin(&plan, "simulated", file)?;
        let named = vec![false; plan.network.topology.hosts().len()];
        let frames = Frames::new(Arc::clone(&plan));
        Ok(Self { plan, frames, writer, interfaces: HashMap::new(), named, packets: 0 })
    }

    /// The interface of a port.
    fn interface(&mut self, link: LinkId) -> std::io::Result<u32> {
        if let Some(known) = self.interfaces.get(&link) {
            return Ok(*known);
        }
        let topology = &self.plan.network.topology;
        let wire = topology.link(link).wire;
        let name = topology.link_name(link);
        let description = format!("{name}, {}, {}, link {}", wire.rate, wire.delay, link.0);
        describe(&mut self.writer, name, description, Some(wire.rate))?;
        let number = self.interfaces.len() as u32;
        self.interfaces.insert(link, number);
        Ok(number)
    }

    /// Writes the names of the addresses of these hosts, once.
    fn name(&mut self, hosts: impl IntoIterator<Item = HostId>) -> std::io::Result<()> {
        let mut records = Vec::new();
        for host in hosts {
            if std::mem::replace(&mut self.named[host.index()], true) {
                continue;
            }
            records.push((frames::ip_of(host), self.plan.network.topology.host_name(host).to_owned()));
        }
        name(&mut self.writer, records)
    }

    fn write(&mut self, at: Time, packet: &Packet, dropped: Option<DropCause>) -> std::io::Result<()> {
        let interface_id = self.interface(packet.link)?;
        self.name(self.frames.ends(packet).into_iter().flatten())?;
        let frame = self.frames.frame(packet);
        let comment = self.comment(at, packet, dropped);
        let options = match comment.is_empty() {
            true => Vec::new(),
            false => vec![EnhancedPacketOption::Comment(comment.into())],
        };
        let block = EnhancedPacketBlock {
            interface_id,
            timestamp: since_start(at),
            original_len: frame.original,
            data: Cow::Owned(frame.bytes),
            options,
        };
        self.packets += 1;
        self.writer.write_block(&block.into_block()).map_err(into_io).map(drop)
    }

    /// Comment with the facts that no header carries.
    fn comment(&self, at: Time, packet: &Packet, dropped: Option<DropCause>) -> String {
        let mut text = String::new();
        let mut say = |what: std::fmt::Arguments<'_>| {
            if !text.is_empty() {
                text.push(' ');
            }
            let _ = text.write_fmt(what); // to a string
        };
        if let Some(flow) = packet.flow {
            let group = self.plan.traffic.flows[flow.index()].group;
            say(format_args!("flow={}", flow.0));
            if packet.incarnation > 0 {
                say(format_args!("turn={}", packet.incarnation));
            }
            say(format_args!("group={}", self.plan.traffic.groups[group.index()].name));
        }
        if let Some(met) = packet.queued {
            say(format_args!("queue_bytes={}", met.backlog));
            say(format_args!("wait_ns={}", at.saturating_since(met.at).as_ps() / 1000));
            if met.marked {
                say(format_args!("marked_here"));
            }
        }
        if packet.again {
            say(format_args!("again"));
        }
        if let Some(cause) = dropped {
            say(format_args!("dropped={}", cause.name()));
        }
        if let Some(cause) = packet.lost {
            say(format_args!("lost={}", cause.name()));
        }
        if let Some(meaning) = self.frames.meaning(packet) {
            say(format_args!("{meaning}"));
        }
        text
    }
}

impl Sink for Pcapng {
    fn wants(&self) -> Wants {
        Wants { packets: true, ..Wants::default() }
    }

    fn take(&mut self, at: Time, what: &Happening) -> std::io::Result<()> {
        match what {
            Happening::Departs(packet) => self.write(at, packet, None),
            Happening::Dropped(packet, cause) => self.write(at, packet, Some(*cause)),
            _ => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>, _results: &Results) -> std::io::Result<String> {
        std::io::Write::flush(self.writer.get_mut())?;
        Ok(format!("{} packets at {} ports", self.packets, self.interfaces.len()))
    }
}

/// A capture of a plan.
fn begin(plan: &Plan, kind: &str, file: File) -> std::io::Result<Writer> {
    let scenario = format!("scenario {}, seed {}, {kind}", plan.scenario.name, plan.scenario.seed);
    let section = SectionHeaderBlock {
        endianness: Endianness::Little,
        options: vec![
            SectionHeaderOption::Comment(scenario.into()),
            SectionHeaderOption::UserApplication(format!("narrows {VERSION}").into()),
        ],
        ..SectionHeaderBlock::default()
    };
    PcapNgWriter::with_section_header(BufWriter::new(file), section).map_err(into_io)
}

/// Another interface.
fn describe(
    writer: &mut Writer,
    name: String,
    description: String,
    rate: Option<BitRate>,
) -> std::io::Result<()> {
    let mut options = vec![
        InterfaceDescriptionOption::IfName(name.into()),
        InterfaceDescriptionOption::IfDescription(description.into()),
    ];
    options.extend(rate.map(|rate| InterfaceDescriptionOption::IfSpeed(rate.as_bps())));
    options.push(InterfaceDescriptionOption::IfTsResol(NANOSECONDS));
    let block = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
    writer.write_block(&block.into_block()).map_err(into_io).map(drop)
}

/// Names of addresses.
fn name(writer: &mut Writer, names: Vec<([u8; 4], String)>) -> std::io::Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let record = |(address, name): ([u8; 4], String)| {
        Record::Ipv4(Ipv4Record { ip_addr: Cow::Owned(address.to_vec()), names: vec![name.into()] })
    };
    let records = names.into_iter().map(record).collect();
    let block = NameResolutionBlock { records, options: Vec::new() };
    writer.write_block(&block.into_block()).map_err(into_io).map(drop)
}

fn since_start(at: Time) -> Duration {
    Duration::from_nanos(at.as_ps() / 1000)
}

fn into_io(error: PcapError) -> std::io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => std::io::Error::other(other),
    }
}
