//! Trajectories of every congestion control, run over a simple path, beside what its published description says of them.
//!
//! Each snapshot is a document: why the numbers should be what they are, with the source, then what was measured and what
//! was expected. Each test asserts the relation besides, so that a wrong table cannot be stored by accident.
//! `INSTA_UPDATE=always cargo test -p narrows --test narrows trajectories` stores new tables.
//!
//! Windows and queues are in full packets, which have 1448 B of payload and 1538 B on the wire. A packet on the wire does
//! not wait. Round trips are those of the empty path, sending a packet and its acknowledgment included.

mod delays;
mod losses;
mod marks;
mod phases;
mod rates;
mod timeouts;
mod trials;

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows::diagnostic::Code;
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::run::{Options, run};
use narrows_proto::cc::Inside;
use narrows_proto::units::{Bytes, Time};
use narrows_sim::observe::{PortRow, WindowRow};

/// Payload of a full packet.
const SEGMENT: f64 = 1448.0;
/// A full packet on the wire.
const PACKET: f64 = 1538.0;
/// An acknowledgment on the wire.
const ACKNOWLEDGMENT: f64 = 84.0;

/// Two pairs of hosts around a bottleneck.
struct Path {
    /// Full packets the bottleneck carries per second. Host links carry a hundred times as many.
    rate: f64,
    /// In seconds.
    round_trip: f64,
    /// Packets that can wait.
    buffer: u64,
    /// Packets above which arrivals are marked.
    mark_above: Option<u64>,
}

impl Path {
    /// One endless flow under `cc` and what `more` adds, for `seconds`. Everything is recorded packet by packet.
    fn play(&self, seconds: f64, cc: &str, more: &str) -> Trajectory {
        let bits = self.rate * PACKET * 8.0;
        // The bottleneck once, and two host links; 1 us is the delay of each of these.
        let sending = 1.02 * (PACKET + ACKNOWLEDGMENT) * 8.0 / bits;
        let delay_ns = ((self.round_trip - sending) / 2.0 - 2e-6) * 1e9;
        let buffer = PACKET as u64 * self.buffer;
        let marking = self.mark_above.map_or_else(String::new, |k| {
            format!("marking = {{ step = {{ k = \"{} B\" }} }}", PACKET as u64 * k)
        });
        let packet_ns = 1e9 / self.rate;
        let sample_ns = packet_ns / 10.0;
        let (flow, port, state) = play(&format!(
            r#"
version = 1
name = "trajectory"
stop = {{ after = "{:.0} us" }}

[topology.dumbbell]
hosts = 2
host_rate = "{:.0} b/s"
bottleneck_rate = "{bits:.0} b/s"
host_delay = "1 us"
bottleneck_delay = "{delay_ns:.0} ns"

[switches.default]
buffer = {{ size = "{buffer} B", sharing = "per_port" }}
{marking}

[[traffic]]
name = "flow"
pattern = {{ long_lived = {{ flows = 1, from = "left/host0", to = "right/host0" }} }}
cc = {{ {cc} }}
transport = {{ ack_every = 1 }}
{more}

[record]
windows = {{ interval = "{sample_ns:.0} ns" }}
state = {{ interval = "{sample_ns:.0} ns" }}
queues = {{ interval = "{packet_ns:.0} ns", of = "left/switch" }}
"#,
            seconds * 1e6,
            bits * 100.0,
        ));
        Trajectory { flow, port, state, packet_time: packet_ns * 1e-9 }
    }
}

/// Traffic that takes half of the bottleneck of [`Path`] from `from` to `until`, whatever happens.
fn half_taken(path: &Path, from: f64, until: f64) -> String {
    datagrams(path.rate * PACKET * 4.0, from, until)
}

/// Datagrams at `rate` bit/s from `from` to `until`.
fn datagrams(rate: f64, from: f64, until: f64) -> String {
    let length = until - from;
    format!(
        r#"
[[traffic]]
name = "datagrams"
start = "{from} s"
until = "{until} s"

[traffic.pattern.on_off]
sources = 1
rate = "{rate:.0} b/s"
on = {{ constant = "{length:.3} s" }}
off = {{ constant = "1000 s" }}
from = "left/host1"
to = "right/host1"
"#
    )
}

/// A run.
struct Trajectory {
    /// The sender, at each acknowledgment.
    flow: Vec<Sample>,
    /// The bottleneck, in intervals in which it could send a packet.
    port: Vec<Interval>,
    /// Values that the control keeps, at each acknowledgment.
    state: Vec<Kept>,
    /// Length of these, in seconds.
    packet_time: f64,
}

/// In seconds, a name, and what the control keeps under it.
type Kept = (f64, &'static str, Inside);

/// A sender after an acknowledgment.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// In seconds.
    at: f64,
    cwnd: f64,
    /// In packets per second; zero if not paced.
    pacing: f64,
    inflight: f64,
    /// In seconds.
    srtt: f64,
    delivered: f64,
}

/// The port of the bottleneck in an interval in which something happened there.
#[derive(Clone, Copy, Debug)]
struct Interval {
    /// When it began, in seconds.
    at: f64,
    /// Packets that waited.
    mean: f64,
    max: f64,
    marks: u64,
}

/// Runs a scenario, which must be free of warnings, but for those of what a trajectory wants: delayed acknowledgments, ideal hosts, and
/// marks at enqueue. What its one flow and the bottleneck did.
fn play(scenario: &str) -> (Vec<Sample>, Vec<Interval>, Vec<Kept>) {
    let document = Document::parse("trajectory.toml", scenario.to_owned(), "").expect("parses");
    let plan = Arc::new(Plan::new(document).unwrap_or_else(|error| panic!("{error}\n{scenario}")));
    let wanted = [Code::DelayedAcks, Code::Phase, Code::LateMarks];
    let warning = plan.warnings.iter().find(|warning| !wanted.contains(&warning.code));
    assert!(warning.is_none(), "{warning:?}");
    let results = run(&plan, Options::default(), |_| ControlFlow::Continue(())).expect("little is recorded");
    let topology = &plan.network.topology;
    let bottleneck = |row: &&PortRow| topology.link_name(row.link) == "left/switch -> right/switch";
    // The handshake is an acknowledgment of nothing.
    let data = |row: &&WindowRow| row.delivered > Bytes::ZERO;
    let flow = results.windows.iter().flatten().filter(data).map(Sample::new).collect();
    let port = results.queues.iter().flatten().filter(bottleneck).map(Interval::new).collect();
    let state = results.state.iter().flatten().map(|row| (seconds(row.at), row.name, row.value)).collect();
    (flow, port, state)
}

fn seconds(at: Time) -> f64 {
    (at - Time::ZERO).as_secs_f64()
}

impl Sample {
    fn new(row: &WindowRow) -> Self {
        Self {
            at: seconds(row.at),
            cwnd: row.cwnd.as_f64() / SEGMENT,
            pacing: row.pacing.map_or(0.0, |rate| rate.as_f64() / (8.0 * PACKET)),
            inflight: row.inflight.as_f64() / SEGMENT,
            srtt: row.srtt.as_secs_f64(),
            delivered: row.delivered.as_f64() / SEGMENT,
        }
    }
}

impl Interval {
    fn new(row: &PortRow) -> Self {
        Self {
            at: seconds(row.start),
            mean: row.mean_backlog / PACKET,
            max: row.max_backlog as f64 / PACKET,
            marks: row.marks,
        }
    }
}

impl Trajectory {
    /// Value that the control kept under this name after the acknowledgment at a time, or the last one before it.
    fn kept(&self, name: &str, at: f64) -> Inside {
        let last = self.state.iter().rev().find(|(when, of, _)| *of == name && *when <= at);
        last.unwrap_or_else(|| panic!("no {name} at {at} s")).2
    }

    /// Backlog at a time, in packets.
    fn queue(&self, at: f64) -> f64 {
        let next = self.port.partition_point(|interval| interval.at <= at);
        let last = next.checked_sub(1).map(|last| self.port[last]);
        // Intervals in which nothing happened are left out. Half a packet time is for rounding.
        last.filter(|last| at < last.at + 1.5 * self.packet_time).map_or(0.0, |last| last.mean)
    }

    fn port_between(&self, from: f64, until: f64) -> &[Interval] {
        let [from, until] = [from, until].map(|at| self.port.partition_point(|interval| interval.at < at));
        &self.port[from..until]
    }

    /// The sender after the last acknowledgment until `at`.
    fn at(&self, at: f64) -> Sample {
        self.flow[self.flow.partition_point(|sample| sample.at <= at) - 1]
    }

    /// The place of the first sample of each round: something sent after the one before is acknowledged.
    fn rounds(&self) -> Vec<usize> {
        let mut starts = Vec::new();
        let mut end = 0.0;
        for (place, sample) in self.flow.iter().enumerate() {
            if sample.delivered > end {
                starts.push(place);
                end = sample.delivered + sample.inflight;
            }
        }
        starts
    }

    /// The places of samples after which the window is smaller by more than `least`.
    fn cuts(&self, least: f64) -> Vec<usize> {
        let falls = |place: &usize| self.flow[place - 1].cwnd - self.flow[*place].cwnd > least;
        (1..self.flow.len()).filter(falls).collect()
    }

    /// The round-trip time of the packet that each sample acknowledges, for a sender that neither paces nor loses: the n-th
    /// packet left when delivered packets and window first came to n. Infinite for the first window.
    fn round_trips(&self) -> Vec<f64> {
        let (mut sent, mut limit) = (0, 0.0_f64);
        let round_trip = |sample: &Sample| {
            while limit < sample.delivered {
                let sender = self.flow[sent];
                limit = limit.max(sender.delivered + sender.cwnd.floor());
                sent += 1;
            }
            sample.at - self.flow[sent - 1].at
        };
        let first = self.flow[0].delivered + self.flow[0].inflight;
        let later = self.flow.partition_point(|sample| sample.delivered <= first);
        std::iter::repeat_n(f64::INFINITY, later).chain(self.flow[later..].iter().map(round_trip)).collect()
    }

    /// When the pacing rate changed, and to what.
    fn pacing_steps(&self) -> Vec<(f64, f64)> {
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for sample in self.flow.iter().filter(|sample| sample.pacing > 0.0) {
            if steps.last().is_none_or(|(_, rate)| (sample.pacing / rate - 1.0).abs() > 1e-6) {
                steps.push((sample.at, sample.pacing));
            }
        }
        steps
    }
}

#[track_caller]
fn assert_near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, expected {expected} ± {tolerance}");
}

/// A table under a text.
struct Page {
    text: &'static str,
    rows: Vec<Vec<String>>,
}

impl Page {
    fn new(text: &'static str, columns: &[&str]) -> Self {
        Self { text, rows: vec![columns.iter().map(|&name| name.to_owned()).collect()] }
    }

    fn row<const N: usize>(&mut self, cells: [String; N]) {
        assert_eq!(N, self.rows[0].len(), "as many cells as columns");
        self.rows.push(cells.into());
    }

    fn text(&self) -> String {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<_> =
            (0..self.rows[0].len()).map(|column| width(column).unwrap_or_default()).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        format!("{}\n{}", self.text, self.rows.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}
