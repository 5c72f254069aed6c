//! Settings that depend on which of the programs of htsim reads the files.

use narrows::diagnostic::{Checked, Code, Diagnostic, Rejection};
use narrows_proto::units::{Bytes, Span};

use super::super::Note;
use super::matrix::{Matrix, Start};
use super::settings::{Program, Queue, Settings};
use super::tree::{Level, Tree};

/// The parts of a scenario that depend on the program.
pub(super) struct Parts {
    /// Queue of each port.
    pub(super) queue: Bytes,
    ports: Ports,
    /// Settings of the traffic.
    pub(super) traffic: String,
}

/// Ports of switches.
enum Ports {
    /// They mark from a third of their queue on.
    Marking,
    /// They trim packets, up to `mtu`, and mark some at the first of these lengths of their queue, all at the second.
    Trimming { mtu: Bytes, marks: [Bytes; 2] },
}

impl Parts {
    pub(super) fn new(settings: &Settings, tree: &Tree, notes: &mut Vec<Note>) -> Checked<Self> {
        match settings.program {
            Program::Dctcp => Ok(Self::dctcp(settings, notes)),
            Program::Uec => Self::uec(settings, tree, notes),
        }
    }

    fn dctcp(settings: &Settings, notes: &mut Vec<Note>) -> Self {
        notes.push(Note::new(
            "transport",
            "a .cm does not name one: DCTCP, acknowledging each packet, marking from a third of a queue on",
        ));
        let mtu = settings.mtu.unwrap_or(Bytes::new(9000));
        Self {
            queue: settings.queue.unwrap_or(Queue::Packets(15)).bytes(mtu),
            ports: Ports::Marking,
            traffic: format!(
                "cc = {{ dctcp = {{}} }}\ntransport = {{ mtu = \"{mtu}\", framing = \"0 B\", min_packet = \"64 B\", handshake = false, \
                 ack_every = 1, min_rto = \"1 ms\", initial_rto = \"1 ms\" }}\n"
            ),
        }
    }

    /// As `main_uec.cpp` chooses them.
    fn uec(settings: &Settings, tree: &Tree, notes: &mut Vec<Note>) -> Checked<Self> {
        let mtu = settings.mtu.unwrap_or(Bytes::new(4150));
        let packets = Bytes::new(UEC_HEADERS.get() + 1)..=Bytes::new(u16::MAX.into());
        if !packets.contains(&mtu) {
            return Err(out_of_range("mtu", mtu, "65 B to 65 535 B with htsim_uec"));
        }
        let (rate, diameter) = (tree.levels[0].rate, 2 * tree.levels.len() as u64);
        let time = |amount: Bytes| bounded(rate.time_to_send(amount));
        let rtt = diameter_latency(tree) * 2 + time(mtu + UEC_HEADERS) * diameter;
        let bdp = (rate.as_f64() / 8.0 * rtt.as_secs_f64() / mtu.as_f64()).ceil();
        let mark = |part: f64| mtu.saturating_mul((part * bdp).ceil() as u64);
        let queue = settings.queue.unwrap_or(Queue::Packets(bdp as u64)).bytes(mtu);
        if !(mark(0.2) + Bytes::new(1)..=UEC_LONGEST_QUEUE).contains(&queue) {
            let expected = format!("more than 0.2 BDP, {}, and at most {UEC_LONGEST_QUEUE}", mark(0.2));
            return Err(out_of_range("queue", queue, &expected));
        }
        if queue < mark(0.8) {
            notes.push(Note::new(
                "ECN",
                "marking ends at the length of the queue, which is shorter than 0.8 BDP",
            ));
        }
        if tree.levels.iter().any(|level| level.queue_down.or(level.queue_up).is_some()) {
            notes.push(Note::new(
                "queues of the .topo",
                "ignored, as by htsim_uec: each port has a BDP, or -q",
            ));
        }
        let rto = Span::from_us(15) + time(queue) * 6;
        let every = UEC_UNACKNOWLEDGED.div_ceil(mtu.get());
        Ok(Self {
            queue,
            ports: Ports::Trimming { mtu, marks: [mark(0.2), mark(0.8).min(queue)] },
            traffic: format!(
                "rdma = {{ mtu = \"{}\", headers = \"{UEC_HEADERS}\", framing = \"0 B\", ack_size = \"52 B\", ack_every = {every}, \
                 recovery = \"any_order\", reordering = {{ packets = 1000000 }}, rto = \"{rto}\", paths = {{ mixed = {{}} }}, \
                 ack_priority = 7 }}\ncc = {{ nscc = {{ rtt = \"{rtt}\" }} }}\n",
                mtu - UEC_HEADERS
            ),
        })
    }

    /// Whether a `.topo` says how long queues are.
    pub(super) fn reads_queues(&self) -> bool {
        matches!(self.ports, Ports::Marking)
    }

    /// Settings of switches whose ports have this queue.
    pub(super) fn switches(&self, queue: Bytes) -> String {
        match self.ports {
            Ports::Marking => format!(
                "buffer = {{ size = \"{queue}\", sharing = \"per_port\" }}\nmarking = {{ step = {{ k = \"{}\" }} }}\n",
                queue / 3
            ),
            // The packet on the wire counts there. Acknowledgments and what was trimmed have a queue of their own, twice as long.
            Ports::Trimming { mtu, marks: [min, max] } => format!(
                "buffer = {{ size = \"{}\", sharing = \"per_port\" }}\ntrimming = {{ above = \"{}\", size = \"{UEC_HEADERS}\", coin = true }}\n\
                 marking = {{ red = {{ min = \"{min}\", max = \"{max}\", max_p = 1.0, weight = 1.0, spread = false, mark_at = \
                 \"dequeue\" }} }}\n",
                queue.saturating_mul(3),
                queue.saturating_sub(mtu).max(Bytes::new(1))
            ),
        }
    }
}

/// Of each packet. Acknowledgments and what was trimmed are nothing else.
const UEC_HEADERS: Bytes = Bytes::new(64);
/// The receiver acknowledges once so much has arrived.
const UEC_UNACKNOWLEDGED: u64 = 16_384;
const UEC_LONGEST_QUEUE: Bytes = Bytes::new(1_000_000_000_000);

fn out_of_range(what: &str, found: Bytes, expected: &str) -> Rejection {
    Diagnostic::error(Code::OutOfRange, format!("{what} = {found}, expected {expected}")).into()
}

/// Longer times are refused where the scenario is checked.
fn bounded(span: Span) -> Span {
    span.min(Span::from_secs(1_000))
}

/// One way between hosts that are farthest from each other.
fn diameter_latency(tree: &Tree) -> Span {
    let top = tree.levels.len() - 1;
    let passed = |(number, level): (usize, &Level)| {
        bounded(level.delay) * 2 + bounded(level.latency) * if number == top { 1 } else { 2 }
    };
    tree.levels.iter().enumerate().map(passed).fold(Span::ZERO, |sum, passed| sum + passed)
}

/// The matrix with starts in picoseconds: those of `htsim_uec` are microseconds.
pub(super) fn in_picoseconds(program: Program, matrix: Matrix) -> Checked<Matrix> {
    if program == Program::Dctcp {
        return Ok(matrix);
    }
    let mut matrix = matrix;
    for connection in &mut matrix.connections {
        if let Start::At(start) = &mut connection.start {
            let us = u32::try_from(start.as_ps()).map_err(|_| {
                let message = format!(
                    "a start is {}, and htsim_uec reads microseconds, up to {}",
                    start.as_ps(),
                    u32::MAX
                );
                Diagnostic::error(Code::ForeignFile, message)
            })?;
            *start = Span::from_us(us.into());
        }
    }
    Ok(matrix)
}
