//! Counters, slices and instants along a time line, for the Perfetto UI and its SQL (TrackEvent protobuf).
//!
//! Ports: `queue`, slices while paused, instants for marks, drops and losses. Flows: a slice for their life; `cwnd`, `in flight`,
//! `srtt`, `pacing rate` and what the congestion control keeps besides; instants for timeouts and packets retransmitted.

mod proto;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use narrows::plan::Plan;
use narrows::results::{FlowRow, Results};
use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::LinkId;
use prost::Message;

use self::proto::{
    CounterDescriptor, DebugAnnotation, EventType, Trace, TracePacket, TrackDescriptor, TrackEvent, Unit,
};
use super::happening::{Happening, Packet, Window};
use super::selection::Selection;
use super::sink::{Sink, Wants};

/// Tracks that hold others.
const PORTS: u64 = 1;
const FLOWS: u64 = 2;

/// A trace in the making.
pub(super) struct Perfetto {
    plan: Arc<Plan>,
    selection: Selection,
    file: BufWriter<File>,
    buffer: Vec<u8>,
    tracks: u64,
    ports: HashMap<LinkId, Port>,
    flows: HashMap<(u32, u16), Flow>,
    events: u64,
}

/// Tracks of a port.
struct Port {
    track: u64,
    queue: u64,
    written: Option<u64>,
    /// A slice is open: until when the port is paused.
    paused_until: Option<Time>,
}

/// Tracks of a flow.
struct Flow {
    track: u64,
    /// By name: track, and the value written last.
    counters: HashMap<&'static str, (u64, f64)>,
    timeouts: Option<u64>,
}

/// Kind of an event, with its value.
enum Event {
    Begin(String),
    End,
    Instant(String, Vec<DebugAnnotation>),
    Whole(u64),
    Real(f64),
}

impl Perfetto {
    pub(super) fn new(plan: Arc<Plan>, selection: &Selection, file: File) -> std::io::Result<Self> {
        let mut trace = Self {
            plan,
            selection: selection.clone(),
            file: BufWriter::new(file),
            buffer: Vec::new(),
            tracks: FLOWS,
            ports: HashMap::new(),
            flows: HashMap::new(),
            events: 0,
        };
        for (uuid, name) in [(PORTS, "ports"), (FLOWS, "flows")] {
            let descriptor =
                TrackDescriptor { uuid: Some(uuid), name: Some(name.into()), ..TrackDescriptor::default() };
            trace.put(TracePacket {
                sequence_flags: (uuid == PORTS).then_some(proto::SEQUENCE_BEGINS),
                track_descriptor: Some(descriptor),
                ..TracePacket::default()
            })?;
        }
        Ok(trace)
    }

    fn put(&mut self, packet: TracePacket) -> std::io::Result<()> {
        let packet = TracePacket { trusted_packet_sequence_id: Some(1), ..packet };
        self.buffer.clear();
        Trace { packet: vec![packet] }.encode(&mut self.buffer)?;
        self.file.write_all(&self.buffer)
    }

    /// A new track. A counter has a unit.
    fn track(&mut self, parent: u64, name: String, unit: Option<CounterDescriptor>) -> std::io::Result<u64> {
        self.tracks += 1;
        let uuid = self.tracks;
        let descriptor =
            TrackDescriptor { uuid: Some(uuid), name: Some(name), parent_uuid: Some(parent), counter: unit };
        self.put(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() })?;
        Ok(uuid)
    }

    fn event(&mut self, at: Time, track: u64, what: Event) -> std::io::Result<()> {
        let mut event = TrackEvent { track_uuid: Some(track), ..TrackEvent::default() };
        let kind = match what {
            Event::Begin(name) => {
                event.name = Some(name);
                EventType::SliceBegin
            }
            Event::End => EventType::SliceEnd,
            Event::Instant(name, annotations) => {
                (event.name, event.debug_annotations) = (Some(name), annotations);
                EventType::Instant
            }
            Event::Whole(value) => {
                event.counter_value = Some(i64::try_from(value).unwrap_or(i64::MAX));
                EventType::Counter
            }
            Event::Real(value) => {
                event.double_counter_value = Some(value);
                EventType::Counter
            }
        };
        event.r#type = Some(kind.into());
        self.events += 1;
        let timestamp = Some(at.as_ps() / 1000);
        self.put(TracePacket { timestamp, track_event: Some(event), ..TracePacket::default() })
    }

    fn port(&mut self, link: LinkId) -> std::io::Result<&mut Port> {
        if !self.ports.contains_key(&link) {
            let track = self.track(PORTS, self.plan.network.topology.link_name(link), None)?;
            let queue = self.track(track, "queue".into(), Some(unit(Unit::SizeBytes, "")))?;
            self.ports.insert(link, Port { track, queue, written: None, paused_until: None });
        }
        self.ports.get_mut(&link).ok_or_else(|| std::io::Error::other("it has just been entered"))
    }

    fn flow(&mut self, key: (u32, u16)) -> std::io::Result<&mut Flow> {
        if !self.flows.contains_key(&key) {
            let spec = &self.plan.traffic.flows[key.0 as usize];
            let topology = &self.plan.network.topology;
            let group = &self.plan.traffic.groups[spec.group.index()].name;
            let (from, to) = (topology.host_name(spec.from), topology.host_name(spec.to));
            let turn = if key.1 > 0 { format!(" turn {}", key.1) } else { String::new() };
            let name = format!("{group} {}{turn}: {from} -> {to}", key.0);
            let track = self.track(FLOWS, name, None)?;
            self.flows.insert(key, Flow { track, counters: HashMap::new(), timeouts: None });
        }
        self.flows.get_mut(&key).ok_or_else(|| std::io::Error::other("it has just been entered"))
    }

    fn backlog(&mut self, at: Time, link: LinkId, backlog: u64) -> std::io::Result<()> {
        let port = self.port(link)?;
        if port.written.replace(backlog) == Some(backlog) {
            return Ok(());
        }
        let queue = port.queue;
        self.event(at, queue, Event::Whole(backlog))
    }

    /// Pauses that follow each other without a gap are one slice.
    fn paused(&mut self, at: Time, link: LinkId, until: Time) -> std::io::Result<()> {
        let port = self.port(link)?;
        let (track, open) = (port.track, port.paused_until);
        port.paused_until = (until > at).then_some(until);
        let runs = match open {
            Some(over) if over < at => {
                self.event(over, track, Event::End)?;
                false
            }
            Some(_) if until <= at => return self.event(at, track, Event::End),
            open => open.is_some(),
        };
        if until > at && !runs { self.event(at, track, Event::Begin("paused".into())) } else { Ok(()) }
    }

    /// Something happened to a packet at a port.
    fn at_port(&mut self, at: Time, packet: &Packet, name: String) -> std::io::Result<()> {
        let track = self.port(packet.link)?.track;
        let group = packet.flow.map(|flow| {
            let group = self.plan.traffic.flows[flow.index()].group;
            annotation("group", None, Some(self.plan.traffic.groups[group.index()].name.clone()))
        });
        let flow = packet.flow.map(|flow| annotation("flow", Some(flow.0.into()), None));
        let byte = annotation("byte", Some(packet.seq), None);
        let size = annotation("bytes_on_wire", Some(packet.size.into()), None);
        let annotations = flow.into_iter().chain(group).chain([byte, size]).collect();
        self.event(at, track, Event::Instant(name, annotations))
    }

    fn again(&mut self, at: Time, packet: &Packet) -> std::io::Result<()> {
        let Some(flow) = packet.flow else { return Ok(()) };
        let track = self.flow((flow.0, packet.incarnation))?.track;
        let byte = annotation("byte", Some(packet.seq), None);
        self.event(at, track, Event::Instant("retransmitted".into(), vec![byte]))
    }

    fn window(&mut self, at: Time, window: &Window) -> std::io::Result<()> {
        let key = (window.flow.0, window.incarnation);
        let flow = self.flow(key)?;
        let track = flow.track;
        let before = flow.timeouts.replace(window.timeouts);
        if before.is_some_and(|before| before < window.timeouts) {
            self.event(at, track, Event::Instant("timeout".into(), Vec::new()))?;
        }
        let bytes = |amount: Bytes| (amount < Bytes::MAX).then(|| amount.as_f64());
        let srtt = (window.srtt > Span::ZERO).then(|| (window.srtt.as_ps() / 1000) as f64);
        let rate = window.pacing.map(|rate| rate.as_f64());
        let known = [
            ("cwnd", unit(Unit::SizeBytes, ""), bytes(window.cwnd)),
            ("in flight", unit(Unit::SizeBytes, ""), bytes(window.inflight)),
            ("srtt", unit(Unit::TimeNs, ""), srtt),
            ("pacing rate", unit(Unit::Unspecified, "bit/s"), rate),
        ];
        for (name, unit, value) in known {
            self.counter(at, key, name, unit, value)?;
        }
        for (name, value) in &window.inside {
            let unit = match name.rsplit_once('_') {
                Some((_, "bytes")) => unit(Unit::SizeBytes, ""),
                Some((_, "bps")) => unit(Unit::Unspecified, "bit/s"),
                _ => unit(Unit::Unspecified, ""),
            };
            // A track has numbers only.
            if let Some(number) = value.number() {
                self.counter(at, key, name, unit, number.is_finite().then_some(number))?;
            }
        }
        Ok(())
    }

    /// Writes a counter of a flow if it has changed.
    fn counter(
        &mut self,
        at: Time,
        key: (u32, u16),
        name: &'static str,
        unit: CounterDescriptor,
        value: Option<f64>,
    ) -> std::io::Result<()> {
        let Some(value) = value else { return Ok(()) };
        let flow = self.flow(key)?;
        let (parent, known) = (flow.track, flow.counters.get(name).copied());
        let track = match known {
            Some((_, written)) if written == value => return Ok(()),
            Some((track, _)) => track,
            None => self.track(parent, name.into(), Some(unit))?,
        };
        self.flow(key)?.counters.insert(name, (track, value));
        self.event(at, track, Event::Real(value))
    }

    /// The life of a flow as a slice; nothing is written of what lies outside the time that was requested.
    fn life(&mut self, row: &FlowRow, ended: Time) -> std::io::Result<()> {
        let (start, end) = (row.start.max(self.selection.from), row.end.unwrap_or(ended));
        let end = end.min(self.selection.until);
        if !self.selection.has_flow(Some(row.flow)) || start > end {
            return Ok(());
        }
        let track = self.flow((row.flow.0, row.incarnation as u16))?.track;
        let name = match (row.is_endless(), row.end) {
            (true, _) => "without an end".into(),
            (false, Some(_)) => row.size.to_string(),
            (false, None) => format!("{}, unfinished", row.size),
        };
        self.event(start, track, Event::Begin(name))?;
        self.event(end, track, Event::End)
    }
}

impl Sink for Perfetto {
    fn wants(&self) -> Wants {
        Wants {
            packets: false,
            repeats: true,
            marks: true,
            drops: true,
            windows: true,
            backlogs: true,
            pauses: true,
        }
    }

    fn take(&mut self, at: Time, what: &Happening) -> std::io::Result<()> {
        match what {
            Happening::Departs(packet) => self.again(at, packet),
            Happening::Marked(packet) => self.at_port(at, packet, "marked".into()),
            Happening::Dropped(packet, cause) => {
                self.at_port(at, packet, format!("dropped: {}", cause.name()))
            }
            Happening::Window(window) => self.window(at, window),
            Happening::Backlog(link, backlog) => self.backlog(at, *link, *backlog),
            Happening::Paused(link, until) => self.paused(at, *link, *until),
        }
    }

    fn finish(mut self: Box<Self>, results: &Results) -> std::io::Result<String> {
        let mut open: Vec<_> =
            self.ports.values().filter_map(|port| Some((port.track, port.paused_until?))).collect();
        open.sort_unstable();
        for (track, until) in open {
            self.event(until.min(results.ended), track, Event::End)?;
        }
        for row in &results.flows {
            self.life(row, results.ended)?;
        }
        self.file.flush()?;
        Ok(format!("{} events of {} ports and {} flows", self.events, self.ports.len(), self.flows.len()))
    }
}

fn unit(unit: Unit, name: &str) -> CounterDescriptor {
    let unit_name = (!name.is_empty()).then(|| name.to_owned());
    CounterDescriptor { unit: Some(unit.into()), unit_name }
}

fn annotation(name: &str, uint_value: Option<u64>, string_value: Option<String>) -> DebugAnnotation {
    DebugAnnotation { name: Some(name.into()), uint_value, string_value }
}
