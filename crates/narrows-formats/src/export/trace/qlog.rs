//! Events of senders as qlog (draft-ietf-quic-qlog-main-schema, draft-ietf-quic-qlog-quic-events): one file for each flow.
//!
//! Files are JSON text sequences (RFC 7464). Times are milliseconds since the run began, metrics have the units of the drafts.
//! The namespace `narrows` has what QUIC has no word for: where a packet was marked or dropped, and what a congestion control
//! keeps besides window and rate (`narrows:control_updated`).

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows::plan::Plan;
use narrows::results::Results;
use narrows_proto::cc::Inside;
use narrows_proto::stream::Repairing;
use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::traffic::Transport;
use serde_json::{Map, Value, json};

use super::VERSION;
use super::happening::{Happening, Packet, Window};
use super::sink::{Sink, Wants};

/// A record begins with this and ends with a line feed (RFC 7464 §2.2).
const RECORD_SEPARATOR: u8 = 0x1e;
/// So much is kept before it is written: files of thousands of flows cannot all be open.
const KEPT: usize = 8 << 20;

/// Files in the making, one for each flow.
pub(super) struct Qlog {
    plan: Arc<Plan>,
    folder: PathBuf,
    flows: BTreeMap<(u32, u16), Flow>,
    kept: usize,
    events: u64,
}

/// The file of a flow.
#[derive(Default)]
struct Flow {
    /// Bytes to be written.
    pending: Vec<u8>,
    /// Values written last, by name.
    written: BTreeMap<&'static str, Value>,
    state: Option<&'static str>,
    timeouts: u64,
}

impl Qlog {
    pub(super) fn new(plan: Arc<Plan>, folder: &Path) -> Self {
        Self { plan, folder: folder.to_owned(), flows: BTreeMap::new(), kept: 0, events: 0 }
    }

    /// The file of a flow begins, if it has not.
    fn begin(&mut self, at: Time, key: (u32, u16)) {
        if !self.flows.contains_key(&key) {
            let header = self.header(at, key);
            let mut flow = Flow::default();
            header.iter().for_each(|record| flow.add(record));
            self.flows.insert(key, flow);
        }
    }

    /// Adds an event to the file of a flow that has begun.
    fn event(&mut self, at: Time, key: (u32, u16), name: &str, data: &Value) -> std::io::Result<()> {
        let Some(flow) = self.flows.get_mut(&key) else { return Ok(()) };
        let before = flow.pending.len();
        flow.add(&json!({ "time": milliseconds(at), "name": name, "data": data }));
        self.kept += flow.pending.len() - before;
        self.events += 1;
        if self.kept > KEPT { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        for ((flow, incarnation), file) in &mut self.flows {
            if file.pending.is_empty() {
                continue;
            }
            let spec = &self.plan.traffic.flows[*flow as usize];
            let group = &self.plan.traffic.groups[spec.group.index()].name;
            let turn = if *incarnation > 0 { format!("-turn{incarnation}") } else { String::new() };
            let path = self.folder.join(format!("{group}-{flow}{turn}.sqlog"));
            let mut handle = OpenOptions::new().create(true).append(true).open(path)?;
            handle.write_all(&file.pending)?;
            file.pending = Vec::new();
        }
        self.kept = 0;
        Ok(())
    }

    /// The first records of a file: what it is, and the settings of the sender.
    fn header(&self, at: Time, (number, incarnation): (u32, u16)) -> [Value; 2] {
        let flow = &self.plan.traffic.flows[number as usize];
        let topology = &self.plan.network.topology;
        let (from, to) = (topology.host_name(flow.from), topology.host_name(flow.to));
        let group = &self.plan.traffic.groups[flow.group.index()];
        let control = group.transport.control().map_or_else(|| "datagrams".into(), ToString::to_string);
        let scenario = &self.plan.scenario;
        let file = json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": format!("{}: flow {number} of {}, {from} to {to}", scenario.name, group.name),
            "description": format!("simulated by narrows {VERSION}, seed {}", scenario.seed),
            "trace": {
                "vantage_point": { "name": from, "type": "client" },
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
                    "group_id": format!("{number}-{incarnation}"),
                },
                "event_schemas": ["urn:ietf:params:qlog:events:quic", "urn:narrows:qlog:events"],
            },
        });
        let full = group.transport.full_payload();
        let initial = match &group.transport {
            Transport::Stream { params, .. } => Some(params.initial_window),
            Transport::Rdma { params, .. } => Some(params.initial_window),
            Transport::Datagram { .. } => None,
        };
        let mut data = json!({
            "timer_granularity": 0,
            "max_datagram_size": full.get(),
            "narrows_congestion_control": control,
            "narrows_transport": match &group.transport {
                Transport::Stream { .. } => "stream",
                Transport::Rdma { .. } => "rdma",
                Transport::Datagram { .. } => "datagram",
            },
        });
        if let (Some(segments), Some(data)) = (initial, data.as_object_mut()) {
            data.insert("initial_congestion_window".into(), json!((full * segments).get()));
        }
        let settings =
            json!({ "time": milliseconds(at), "name": "quic:recovery_parameters_set", "data": data });
        [file, settings]
    }

    fn window(&mut self, at: Time, window: &Window) -> std::io::Result<()> {
        let key = (window.flow.0, window.incarnation);
        self.begin(at, key);
        let Some(flow) = self.flows.get_mut(&key) else { return Ok(()) };
        let state = state(window);
        let before = flow.state.replace(state);
        let timed_out = before.is_some() && window.timeouts > flow.timeouts;
        flow.timeouts = window.timeouts;
        let metrics = flow.changed(metrics(window));
        let control = flow.changed(control(window));
        if timed_out {
            let data = json!({ "timer_type": "pto", "event_type": "expired" });
            self.event(at, key, "quic:timer_updated", &data)?;
        }
        match before {
            None => self.event(at, key, "quic:congestion_state_updated", &json!({ "new": state }))?,
            Some(before) if before != state => {
                let data = json!({ "old": before, "new": state });
                self.event(at, key, "quic:congestion_state_updated", &data)?;
            }
            Some(_) => {}
        }
        if !metrics.is_empty() {
            self.event(at, key, "quic:recovery_metrics_updated", &Value::Object(metrics))?;
        }
        if !control.is_empty() {
            self.event(at, key, "narrows:control_updated", &Value::Object(control))?;
        }
        Ok(())
    }

    /// A packet was retransmitted.
    fn repeated(&mut self, at: Time, packet: &Packet) -> std::io::Result<()> {
        let Some(flow) = packet.flow else { return Ok(()) };
        self.begin(at, (flow.0, packet.incarnation));
        // The draft has the number of the packet; here segments are known by their first byte.
        let header = json!({ "packet_type": "1RTT", "packet_number": packet.seq });
        self.event(at, (flow.0, packet.incarnation), "quic:packet_lost", &json!({ "header": header }))
    }

    /// Something happened to a packet at a port.
    fn at_port(&mut self, at: Time, packet: &Packet, name: &str, cause: Option<&str>) -> std::io::Result<()> {
        let Some(flow) = packet.flow else { return Ok(()) };
        self.begin(at, (flow.0, packet.incarnation));
        let port = self.plan.network.topology.link_name(packet.link);
        let mut data = json!({ "port": port, "byte": packet.seq, "bytes_on_wire": packet.size });
        if let (Some(cause), Some(data)) = (cause, data.as_object_mut()) {
            data.insert("cause".into(), json!(cause));
        }
        self.event(at, (flow.0, packet.incarnation), name, &data)
    }
}

impl Flow {
    fn add(&mut self, record: &Value) {
        self.pending.push(RECORD_SEPARATOR);
        self.pending.extend_from_slice(record.to_string().as_bytes());
        self.pending.push(b'\n');
    }

    /// Those values that are others than were written before; from now on they count as written.
    fn changed(&mut self, values: Vec<(&'static str, Value)>) -> Map<String, Value> {
        let mut new = Map::new();
        for (name, value) in values {
            if self.written.get(name) != Some(&value) {
                self.written.insert(name, value.clone());
                new.insert(name.to_owned(), value);
            }
        }
        new
    }
}

impl Sink for Qlog {
    fn wants(&self) -> Wants {
        Wants { repeats: true, marks: true, drops: true, windows: true, ..Wants::default() }
    }

    fn take(&mut self, at: Time, what: &Happening) -> std::io::Result<()> {
        match what {
            Happening::Window(window) => self.window(at, window),
            Happening::Departs(packet) => self.repeated(at, packet),
            Happening::Marked(packet) => self.at_port(at, packet, "narrows:packet_marked", None),
            Happening::Dropped(packet, cause) => {
                self.at_port(at, packet, "narrows:packet_dropped", Some(cause.name()))
            }
            Happening::Backlog(..) | Happening::Paused(..) => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>, _results: &Results) -> std::io::Result<String> {
        self.flush()?;
        Ok(format!("{} events of {} flows", self.events, self.flows.len()))
    }
}

/// Metrics of the draft.
fn metrics(window: &Window) -> Vec<(&'static str, Value)> {
    let mut values = Vec::new();
    let mut add = |name, value: Option<Value>| values.extend(value.map(|value| (name, value)));
    add("min_rtt", window.rtt_range.map(|(min, _)| json!(span(min))));
    add("smoothed_rtt", (window.srtt > Span::ZERO).then(|| json!(span(window.srtt))));
    add("rtt_variance", window.rtt_range.map(|(_, variation)| json!(span(variation))));
    add("congestion_window", (window.cwnd < Bytes::MAX).then(|| json!(window.cwnd.get())));
    add("bytes_in_flight", Some(json!(window.inflight.get())));
    add("ssthresh", ssthresh(window).map(|ssthresh| json!(ssthresh)));
    add("pacing_rate", window.pacing.map(|rate| json!(rate.as_bps())));
    values
}

/// The slow start threshold, once there is one.
fn ssthresh(window: &Window) -> Option<u64> {
    let ssthresh = window.inside("ssthresh_bytes")?;
    ssthresh.is_finite().then_some(ssthresh as u64)
}

/// Values of the congestion control that the draft has no name for.
fn control(window: &Window) -> Vec<(&'static str, Value)> {
    let others = window.inside.iter().filter(|(name, _)| *name != "ssthresh_bytes");
    let value = |value: Inside| value.word().map_or_else(|| json!(value.number()), |word| json!(word));
    others.map(|(name, inside)| (*name, value(*inside))).collect()
}

/// Congestion state of the sender.
fn state(window: &Window) -> &'static str {
    match (window.repairing, window.inside("ssthresh_bytes")) {
        (Repairing::Timeout, _) => "timeout_recovery",
        (Repairing::Loss, _) => "recovery",
        (Repairing::Nothing, Some(ssthresh)) if window.cwnd.as_f64() < ssthresh => "slow_start",
        (Repairing::Nothing, Some(_)) => "congestion_avoidance",
        (Repairing::Nothing, None) => "open",
    }
}

/// A time in milliseconds since the run began, to the nanosecond.
fn milliseconds(at: Time) -> f64 {
    (at.as_ps() / 1000) as f64 / 1e6
}

fn span(span: Span) -> f64 {
    (span.as_ps() / 1000) as f64 / 1e6
}
