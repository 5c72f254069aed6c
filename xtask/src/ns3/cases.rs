//! All scenarios.

use super::case::{Case, Control, Place, Queue, Traffic};

const RENO: Control = Control { name: "Reno", key: "reno", type_id: "TcpLinuxReno" };
const CUBIC: Control = Control { name: "CUBIC", key: "cubic", type_id: "TcpCubic" };
const BBR: Control = Control { name: "BBR", key: "bbr", type_id: "TcpBbr" };
const VEGAS: Control = Control { name: "Vegas", key: "vegas", type_id: "TcpVegas" };
const DCTCP: Control = Control { name: "DCTCP", key: "dctcp", type_id: "TcpDctcp" };

/// 20 ms away: 166 packets are on the way.
const WAN: Place = Place {
    rate: 100,
    host_rate: 1_000,
    delay: 9_000,
    host_delay: 500,
    min_rto: 200_000,
    apart: 100_000.0,
    from: 10_000_000,
    until: 30_000_000,
};
/// 200 us away: 17 packets are on the way.
const DC: Place = Place {
    rate: 1_000,
    host_rate: 10_000,
    delay: 80,
    host_delay: 10,
    min_rto: 10_000,
    apart: 10_000.0,
    from: 1_000_000,
    until: 3_000_000,
};
/// For flows that end: all of the time counts.
const METRO: Place =
    Place { rate: 1_000, host_rate: 1_000, delay: 500, host_delay: 20, from: 0, until: 10_000_000, ..WAN };
const RACK: Place = Place { from: 0, until: 10_000_000, ..DC };

const fn case(name: &'static str, control: Control, place: Place, queue: Queue, traffic: Traffic) -> Case {
    Case { name, control, place, queue, traffic, ack_every: 2, tried: "" }
}

/// With causes of what differs.
const fn tried(case: Case, tried: &'static str) -> Case {
    Case { tried, ..case }
}

/// With an acknowledgment for each segment.
const fn acked(case: Case) -> Case {
    Case { ack_every: 1, ..case }
}

pub(super) const CASES: &[Case] = &[
    tried(
        case("reno-one", RENO, WAN, Queue::DropTail(100), Traffic::Long(1)),
        "Each time the queue overflows two packets are lost in Narrows and one in ns-3. The second is lost a round trip after the first: \
            the window has grown once more by then. Against Linux Narrows has the drops: [reno-bdp](twins.md#reno-bdp).",
    ),
    case("reno-four", RENO, WAN, Queue::DropTail(100), Traffic::Long(4)),
    case("cubic-one", CUBIC, WAN, Queue::DropTail(100), Traffic::Long(1)),
    tried(
        case("cubic-four", CUBIC, WAN, Queue::DropTail(100), Traffic::Long(4)),
        "CUBIC of ns-3 3.37 has no Reno-friendly region (RFC 9438 §4.3), which decides here: a window of 66 packets, cut to 0.7, \
            is back after 38 round trips or 1.1 s of Reno-friendly growth, and after 3.7 s of cubic growth. Against Linux: \
            [cubic-four](twins.md#cubic-four).",
    ),
    tried(
        case("vegas-one", VEGAS, WAN, Queue::DropTail(100), Traffic::Long(1)),
        "With an acknowledgment for each segment ns-3 fills the link, too: the next scenario.",
    ),
    tried(
        acked(case("vegas-one-acked", VEGAS, WAN, Queue::DropTail(100), Traffic::Long(1))),
        "Both keep between alpha, 2, and beta, 4, packets in the queue: 246 to 492 us.",
    ),
    tried(
        case("vegas-four", VEGAS, WAN, Queue::DropTail(100), Traffic::Long(4)),
        "With an acknowledgment for each segment the queue of ns-3 is three to five times as long: the next scenario.",
    ),
    acked(case("vegas-four-acked", VEGAS, WAN, Queue::DropTail(100), Traffic::Long(4))),
    tried(
        case("bbr-one", BBR, WAN, Queue::DropTail(100), Traffic::Long(1)),
        "With an acknowledgment for each segment ns-3 fills the link, too: the next scenario.",
    ),
    tried(
        acked(case("bbr-one-acked", BBR, WAN, Queue::DropTail(100), Traffic::Long(1))),
        "Unexplained. Against Linux: [bbr-shallow](twins.md#bbr-shallow).",
    ),
    tried(
        acked(case("bbr-four-acked", BBR, WAN, Queue::DropTail(100), Traffic::Long(4))),
        "Unexplained. Against Linux: [bbr-shallow](twins.md#bbr-shallow).",
    ),
    case("codel-one", RENO, WAN, Queue::Codel, Traffic::Long(1)),
    case("codel-four", RENO, WAN, Queue::Codel, Traffic::Long(4)),
    case("pie-one", RENO, WAN, Queue::Pie, Traffic::Long(1)),
    case("pie-four", RENO, WAN, Queue::Pie, Traffic::Long(4)),
    case("fq-codel-four", RENO, WAN, Queue::FqCodel, Traffic::Long(4)),
    tried(
        case("dctcp-two-20", DCTCP, DC, Queue::Step(500, 20), Traffic::Long(2)),
        "With an acknowledgment for each segment they agree: the next scenario.",
    ),
    acked(case("dctcp-two-20-acked", DCTCP, DC, Queue::Step(500, 20), Traffic::Long(2))),
    case("dctcp-ten-20", DCTCP, DC, Queue::Step(500, 20), Traffic::Long(10)),
    case("dctcp-two-60", DCTCP, DC, Queue::Step(500, 60), Traffic::Long(2)),
    case("dctcp-ten-60", DCTCP, DC, Queue::Step(500, 60), Traffic::Long(10)),
    case("reno-short", RENO, METRO, Queue::DropTail(400), Traffic::Short(50)),
    case("cubic-short", CUBIC, METRO, Queue::DropTail(400), Traffic::Short(50)),
    tried(
        case("vegas-short", VEGAS, METRO, Queue::DropTail(400), Traffic::Short(50)),
        "In slow start Vegas of ns-3 grows by a segment for each acknowledgment, that of Narrows by what is acknowledged. \
            With an acknowledgment for each segment they agree: the next scenario.",
    ),
    acked(case("vegas-short-acked", VEGAS, METRO, Queue::DropTail(400), Traffic::Short(50))),
    tried(
        case("dctcp-short", DCTCP, RACK, Queue::Step(400, 20), Traffic::Short(50)),
        "Some flows of 300 kB stand still for up to seconds in ns-3, though nothing is lost. With an acknowledgment for each segment none does: the \
            next scenario.",
    ),
    acked(case("dctcp-short-acked", DCTCP, RACK, Queue::Step(400, 20), Traffic::Short(50))),
    case("reno-incast", RENO, RACK, Queue::DropTail(128), Traffic::Incast(16)),
    tried(
        case("dctcp-incast", DCTCP, RACK, Queue::Step(128, 20), Traffic::Incast(16)),
        "Flows stand still in ns-3 as in dctcp-short. With an acknowledgment for each segment none does: the next scenario.",
    ),
    tried(
        acked(case("dctcp-incast-acked", DCTCP, RACK, Queue::Step(128, 20), Traffic::Incast(16))),
        "Unexplained.",
    ),
];
