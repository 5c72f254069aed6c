//! Effects of a timeout.

use narrows::diagnostic::Code;
use narrows::document::Document;
use narrows::plan::Plan;

use super::{Page, Sample, datagrams, play};

/// When the overload begins and ends, in seconds.
const OVERLOAD: (f64, f64) = (0.3, 0.39);

/// One GEMINI flow over a link of 1 Gb/s with room for `buffer_kb`, and datagrams at `gbps` for 90 ms.
fn overloaded(buffer_kb: u32, gbps: f64) -> Vec<Sample> {
    let overload = datagrams(gbps * 1e9, OVERLOAD.0, OVERLOAD.1);
    let (flow, ..) = play(&format!(
        r#"
version = 1
name = "trajectory"
stop = {{ after = "1 s" }}
transport = {{ min_rto = "10 ms" }}

[topology.dumbbell]
hosts = 2
host_rate = "10 Gb/s"
bottleneck_rate = "1 Gb/s"
host_delay = "1 us"
bottleneck_delay = "50 us"

[switches.default]
buffer = {{ size = "{buffer_kb} kB", sharing = "per_port" }}
marking = {{ step = {{ k = "75 kB" }} }}

[[traffic]]
name = "flow"
pattern = {{ long_lived = {{ flows = 1, from = "left/host0", to = "right/host0" }} }}
cc = {{ gemini = {{ capacity = "1 Gb/s", marking_threshold = "75 kB" }} }}
{overload}
[record]
windows = {{ interval = "1 us" }}
"#
    ));
    flow
}

#[test]
fn after_an_overload_of_90_ms_gemini_is_back_at_half_of_the_link_within_300_ms() {
    // The last timeout that an overload of 90 ms can double to is one of 160 ms. One segment then waits 40 ms for its acknowledgment,
    // two for none; half of the link is three segments in flight. Measured in steps of 20 ms.
    let half = 0.5e9 / (8.0 * super::PACKET);
    let mut page = Page::new(
        "\
GEMINI over 1 Gb/s and 100 us, with datagrams from 300 to 390 ms that fill the buffer. The flow loses what it sends, and its window
falls to one segment, which is marked: the queue is above K. RFC 5681 §3.1 Eq. 4: the slow start threshold is two segments at least.
With a threshold of one, congestion avoidance would begin at one segment, add h = 0.1 per round trip, and each round trip would take
the 40 ms of a delayed acknowledgment: 1.6 to 1.7 s in five of these nine cases, before the threshold had its least.
expected: at most 300 ms from the end of the overload until 20 ms at half of the link.
",
        &["buffer kB", "datagrams Gb/s", "smallest window", "half of the link after ms"],
    );
    for buffer in [80, 150, 300] {
        for gbps in [1.1, 2.0, 8.0] {
            let flow = overloaded(buffer, gbps);
            let until = |at: f64| &flow[flow.partition_point(|sample| sample.at <= at) - 1];
            let steps = (0..30).map(|step| OVERLOAD.1 + 0.02 * f64::from(step));
            let back =
                steps.into_iter().find(|at| until(at + 0.02).delivered - until(*at).delivered >= 0.02 * half);
            let after = 1e3 * (back.expect("it comes back") - OVERLOAD.1);
            let smallest = flow.iter().map(|sample| sample.cwnd).fold(f64::INFINITY, f64::min);
            assert!(smallest == 1.0, "no timeout with {buffer} kB and {gbps} Gb/s");
            assert!(after <= 300.0, "{after} ms with {buffer} kB and {gbps} Gb/s");
            page.row([
                format!("{buffer}"),
                format!("{gbps}"),
                format!("{smallest:.0}"),
                format!("{after:.0}"),
            ]);
        }
    }
    insta::assert_snapshot!(page.text());
}

/// The warnings of a scenario with one flow under `cc` and a least timeout of 10 ms.
fn warnings(cc: &str, transport: &str) -> Vec<Code> {
    let scenario = format!(
        r#"
version = 1
name = "waits"
stop = {{ after = "1 ms" }}
transport = {{ min_rto = "10 ms", {transport} }}

[topology.star]
hosts = 2
rate = "1 Gb/s"
delay = "1 us"

[switches.default]
buffer = {{ size = "1 MB", sharing = "per_port" }}

[[traffic]]
name = "flow"
pattern = {{ long_lived = {{ flows = 1, from = "host0", to = "host1" }} }}
cc = {{ {cc} = {{}} }}
"#
    );
    let document = Document::parse("waits.toml", scenario, "").expect("parses");
    let plan = Plan::new(document).unwrap_or_else(|error| panic!("{error}"));
    plan.warnings.iter().map(|warning| warning.code).filter(|code| *code == Code::DelayedAcks).collect()
}

#[test]
fn controls_that_read_delay_are_warned_of_waits_longer_than_the_timeout() {
    for cc in ["gemini", "vegas", "copa", "pcc_vivace", "swift"] {
        assert_eq!(warnings(cc, ""), [Code::DelayedAcks], "{cc}");
        assert_eq!(warnings(cc, "ack_every = 1"), [], "{cc}");
    }
    for cc in ["swift", "theta_powertcp", "uno"] {
        assert_eq!(
            warnings(cc, "ack_delay = \"10 ms\""),
            [Code::DelayedAcks],
            "{cc} wants every acknowledgment"
        );
        assert_eq!(warnings(cc, "ack_every = 1"), [], "{cc}");
    }
    for cc in ["gemini", "vegas", "copa", "pcc_vivace"] {
        assert_eq!(warnings(cc, "ack_delay_of_rto = 0.5"), [], "{cc}");
        assert_eq!(warnings(cc, "ack_delay = \"10 ms\""), [], "{cc}");
    }
    // Rates and losses, or nothing of the kind.
    for cc in ["bbr", "pcc_allegro", "dctcp", "cubic"] {
        assert_eq!(warnings(cc, ""), [], "{cc}");
    }
}
