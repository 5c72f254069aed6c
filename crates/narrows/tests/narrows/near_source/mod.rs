//! Annulus: how its two loops meet, case by case, as time series of runs.
//!
//! One WAN flow of 1 Gb/s starts in a rack whose uplink carries 1 Gb/s; a round trip takes 8 ms. From 200 ms to 320 ms, for
//! 15 round trips, datagrams of 800 Mb/s of another host of the rack need the uplink as well, so that 200 Mb/s are left.

mod equality;
mod interplay;

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows::document::Document;
use narrows::plan::Plan;
use narrows::results::Results;
use narrows::run::{Options, run};
use narrows_proto::units::{BitRate, Time};

/// Settings of the network and the flow.
#[derive(Clone)]
struct Case {
    cc: String,
    /// More settings of the flow.
    transport: &'static str,
    /// Rate and length of the burst of datagrams.
    burst: &'static str,
    until_ms: u64,
    wan_rate: &'static str,
    /// Lines of the table of switches inside data centers.
    points: &'static str,
    /// More tables.
    more: String,
    spines: u32,
    /// WAN flows of the same host.
    flows: u32,
    /// Instead of the usual network.
    topology: Option<&'static str>,
    end_ms: u64,
}

const QCN: &str = r#"congestion_point = { qcn = { set_point = "33 kB", message = { reach = "tor_agg" } } }"#;

impl Default for Case {
    fn default() -> Self {
        Self {
            cc: annulus("bbr = {}", ""),
            transport: "",
            burst: "800 Mb/s",
            until_ms: 320,
            wan_rate: "10 Gb/s",
            points: QCN,
            more: String::new(),
            spines: 1,
            flows: 1,
            topology: None,
            end_ms: 400,
        }
    }
}

fn annulus(end_to_end: &str, near_source: &str) -> String {
    format!("annulus = {{ end_to_end = {{ {end_to_end} }}, near_source = {{ {near_source} }} }}")
}

impl Case {
    fn scenario(&self) -> String {
        let Self { cc, transport, burst, until_ms, wan_rate, points, more, spines, flows, topology, end_ms } =
            self;
        let length = until_ms - 200;
        let usual = format!(
            r#"
[topology.cross_dc]
datacenters = 2
wan = {{ rate = "{wan_rate}", delay = "4 ms", border_rate = "10 Gb/s" }}
fabric.leaf_spine = {{ racks = 2, hosts_per_rack = 4, spines = {spines}, host_rate = "1 Gb/s", uplink_rate = "1 Gb/s", delay = "1 us" }}
"#
        );
        let topology = topology.unwrap_or(&usual);
        format!(
            r#"
version = 1
name = "near-source"
stop = {{ after = "{end_ms} ms" }}

{topology}

[switches.default]
buffer = {{ size = "1 MB", sharing = "complete" }}
{points}

[switches.border]
buffer = {{ size = "100 MB", sharing = "complete" }}

[transport]
min_rto = "10 ms"
initial_rto = "50 ms"
ack_every = 1

[[traffic]]
name = "wan"
pattern.long_lived = {{ flows = {flows}, from = "dc0/rack0/host0", to = "dc1/rack0/host0" }}
cc = {{ {cc} }}
{transport}

[[traffic]]
name = "burst"
start = "200 ms"
until = "{until_ms} ms"
pattern.on_off = {{ sources = 1, rate = "{burst}", on = {{ constant = "{length} ms" }}, off = {{ constant = "100 s" }}, from = "dc0/rack0/host3", to = "dc0/rack1/host0" }}

[record]
queues = {{ interval = "100 us", of = "dc0/rack0/tor" }}
windows = {{ interval = "100 us" }}
limiters = {{ interval = "10 us" }}
{more}
"#
        )
    }

    fn play(&self) -> Played {
        let scenario = self.scenario();
        let document = Document::parse("near-source.toml", scenario.clone(), "").expect("parses");
        let plan = Arc::new(Plan::new(document).unwrap_or_else(|error| panic!("{error}\n{scenario}")));
        let results =
            run(&plan, Options::default(), |_| ControlFlow::Continue(())).expect("little is recorded");
        Played { plan, results }
    }
}

/// A run.
struct Played {
    plan: Arc<Plan>,
    results: Results,
}

fn at(ms: f64) -> Time {
    Time::from_ps((ms * 1e9) as u64)
}

fn gbps(rate: BitRate) -> f64 {
    rate.as_f64() / 1e9
}

impl Played {
    /// Pacing rate of the end-to-end control at a time, in Gb/s.
    fn pacing(&self, ms: f64) -> f64 {
        let rows = self.results.windows.iter().flatten();
        let last = rows.take_while(|row| row.at <= at(ms)).last().expect("the flow has begun");
        gbps(last.pacing.expect("it is paced"))
    }

    /// Window of the end-to-end control at a time, in kB.
    fn window(&self, ms: f64) -> f64 {
        let rows = self.results.windows.iter().flatten();
        rows.take_while(|row| row.at <= at(ms)).last().expect("the flow has begun").cwnd.as_f64() / 1e3
    }

    /// The same for each WAN flow.
    fn goodputs(&self, from_ms: f64, until_ms: f64) -> Vec<f64> {
        let flows = self.results.flows.iter().filter(|flow| flow.group == 0);
        let delivered = |flow, ms| {
            let rows = self.results.windows.iter().flatten().filter(|row| row.flow == flow);
            rows.take_while(|row| row.at <= at(ms)).last().map_or(0.0, |row| row.delivered.as_f64())
        };
        let rate = |flow| {
            (delivered(flow, until_ms) - delivered(flow, from_ms)) * 8.0 / ((until_ms - from_ms) * 1e6)
        };
        flows.map(|flow| rate(flow.flow)).collect()
    }

    /// Payload per second delivered between two times, in Gb/s.
    fn goodput(&self, from_ms: f64, until_ms: f64) -> f64 {
        let delivered = |ms| {
            let rows = self.results.windows.iter().flatten();
            rows.take_while(|row| row.at <= at(ms)).last().map_or(0.0, |row| row.delivered.as_f64())
        };
        (delivered(until_ms) - delivered(from_ms)) * 8.0 / ((until_ms - from_ms) * 1e6)
    }

    /// Times in ms and near-source rates in Gb/s between two times; line rate means that the loop has ended.
    fn near_source(&self, from_ms: f64, until_ms: f64) -> Vec<(f64, f64)> {
        let rows = self.results.recorded.limiters.iter().flatten();
        let within = rows.filter(|row| (at(from_ms)..at(until_ms)).contains(&row.at));
        within.map(|row| (row.at.as_ps() as f64 / 1e9, gbps(row.rate))).collect()
    }

    /// The peak queue of the uplink of the rack between two times, in kB.
    fn deepest(&self, from_ms: f64, until_ms: f64) -> f64 {
        let topology = &self.plan.network.topology;
        let rows = self.results.queues.iter().flatten();
        let uplink = rows.filter(|row| !topology.link_name(row.link).contains("host"));
        let within = uplink.filter(|row| (at(from_ms)..at(until_ms)).contains(&row.start));
        within.map(|row| row.max_backlog as f64 / 1e3).fold(0.0, f64::max)
    }

    fn messages(&self) -> u64 {
        self.results.ports.iter().map(narrows_sim::PortCounters::messages).sum()
    }
}
