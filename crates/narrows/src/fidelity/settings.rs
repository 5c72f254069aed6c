//! Settings of a scenario that formulas read.

use std::str::FromStr;

use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::traffic::{FlowSpec, Group, Transport};
use narrows_sim::{FlowId, LinkId, Paths};

use crate::plan::Plan;

/// A value with its dimension, in bytes, seconds, bits per second, or a plain number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Number(f64),
    Bytes(f64),
    Seconds(f64),
    BitsPerSecond(f64),
}

/// The settings of a scenario, and what follows from them.
pub(super) struct Settings<'a> {
    pub(super) plan: &'a Plan,
    table: toml::Value,
    port: Option<LinkId>,
}

impl<'a> Settings<'a> {
    /// Of a plan and the link a comparison is about.
    ///
    /// # Panics
    /// As everything here if the scenario lacks something. Comparisons are part of the program.
    pub(super) fn new(plan: &'a Plan, port: Option<&str>) -> Self {
        let port = port.map(|port| {
            let (from, to) = port.split_once(" -> ").expect("a port is written `from -> to`");
            plan.link(from, to).unwrap_or_else(|| panic!("no link {port}"))
        });
        let table = toml::from_str(&plan.text).expect("the text of a plan is TOML");
        Self { plan, table, port }
    }

    /// The value at a path; elements of arrays are named by their number.
    fn at(&self, path: &str) -> &toml::Value {
        let mut value = &self.table;
        for key in path.split('.') {
            let next = match value {
                toml::Value::Table(table) => table.get(key),
                toml::Value::Array(array) => key.parse().ok().and_then(|number: usize| array.get(number)),
                _ => None,
            };
            value = next.unwrap_or_else(|| panic!("the scenario has no {path}"));
        }
        value
    }

    pub(super) fn number(&self, path: &str) -> f64 {
        match self.at(path) {
            toml::Value::Integer(number) => *number as f64,
            toml::Value::Float(number) => *number,
            other => panic!("{path} = {other} is no number"),
        }
    }

    pub(super) fn flag(&self, path: &str) -> bool {
        self.at(path).as_bool().unwrap_or_else(|| panic!("{path} is neither true nor false"))
    }

    fn read<T: FromStr>(&self, path: &str) -> T {
        let text = self.at(path).as_str().unwrap_or_else(|| panic!("{path} is no text"));
        text.parse().unwrap_or_else(|_| panic!("{path} = {text}"))
    }

    /// In seconds.
    pub(super) fn span(&self, path: &str) -> f64 {
        self.read::<Span>(path).as_secs_f64()
    }

    /// In bytes.
    pub(super) fn bytes(&self, path: &str) -> f64 {
        self.read::<Bytes>(path).as_f64()
    }

    /// In bits per second.
    pub(super) fn rate(&self, path: &str) -> f64 {
        self.read::<BitRate>(path).as_f64()
    }

    /// The link the comparison is about.
    pub(super) fn port(&self) -> LinkId {
        self.port.expect("the comparison names a port")
    }

    /// Its rate in bits per second.
    pub(super) fn capacity(&self) -> f64 {
        self.plan.network.topology.link(self.port()).wire.rate.as_f64()
    }

    pub(super) fn group(&self, number: usize) -> &Group {
        &self.plan.traffic.groups[number]
    }

    /// A full packet of the first group on the wire, in bytes.
    pub(super) fn packet(&self) -> f64 {
        self.group(0).transport.packet_size(self.group(0).transport.full_payload()).as_f64()
    }

    /// The payload of one.
    pub(super) fn payload(&self) -> f64 {
        self.group(0).transport.full_payload().as_f64()
    }

    /// All flows.
    pub(super) fn flows(&self) -> &[FlowSpec] {
        &self.plan.traffic.flows
    }

    /// Time in seconds that a packet of so many bytes takes from one end of a flow to the other, or back.
    pub(super) fn one_way(&self, flow: usize, bytes: f64, back: bool) -> f64 {
        let links = self.links(flow, back);
        links.iter().map(|(rate, delay)| bytes * 8.0 / rate + delay).sum()
    }

    /// Rates in bits per second and delays in seconds of the links that a flow crosses, or its acknowledgments.
    pub(super) fn links(&self, flow: usize, back: bool) -> Vec<(f64, f64)> {
        let Plan { network, scenario, .. } = self.plan;
        let topology = &network.topology;
        let FlowSpec { from, to, .. } = self.flows()[flow];
        let (from, to) = if back { (to, from) } else { (from, to) };
        let paths = Paths::of(network, scenario.seed);
        let path = paths.path(FlowId::from(flow), from, to).expect("the plan found a path");
        let parts = |link: &LinkId| {
            let link = topology.link(*link);
            let switch = network.switches[link.to.index()].as_ref();
            let latency = switch.map_or(0.0, |switch| switch.latency.as_secs_f64());
            (link.wire.rate.as_f64(), link.wire.delay.as_secs_f64() + latency)
        };
        path.iter().map(parts).collect()
    }

    /// An acknowledgment on the wire, in bytes.
    pub(super) fn ack(&self, flow: usize) -> f64 {
        let group = &self.plan.traffic.groups[self.flows()[flow].group.index()];
        match &group.transport {
            Transport::Rdma { params, cc } => params.under(cc).ack_size.as_f64(),
            other => other.packet_size(Bytes::ZERO).as_f64(),
        }
    }

    /// The round-trip time of a flow on the empty network, of a full packet and its acknowledgment, in seconds.
    pub(super) fn round_trip(&self, flow: usize) -> f64 {
        let group = &self.plan.traffic.groups[self.flows()[flow].group.index()];
        let packet = group.transport.packet_size(group.transport.full_payload()).as_f64();
        self.one_way(flow, packet, false) + self.one_way(flow, self.ack(flow), true)
    }

    /// Bytes that the path of the first flow holds at the rate of the port.
    pub(super) fn bdp(&self) -> f64 {
        self.capacity() / 8.0 * self.round_trip(0)
    }

    /// The value in a unit.
    ///
    /// # Panics
    /// If it cannot be written in it.
    pub(super) fn in_unit(&self, value: Value, unit: &str) -> f64 {
        match (value, unit) {
            (Value::Bytes(bytes), "packets") => bytes / self.packet(),
            (Value::Bytes(bytes), "kB") => bytes / 1e3,
            (Value::Bytes(bytes), "us") => bytes * 8e6 / self.capacity(),
            (Value::Seconds(seconds), "us") => seconds * 1e6,
            (Value::Seconds(seconds), "ms") => seconds * 1e3,
            (Value::Seconds(seconds), "s") => seconds,
            (Value::BitsPerSecond(rate), "Mb/s") => rate / 1e6,
            (Value::BitsPerSecond(rate), "Gb/s") => rate / 1e9,
            (Value::Number(number), "" | "segments" | "marks" | "packets") => number,
            other => panic!("{other:?}: not a unit of that"),
        }
    }
}
