//! Files of `narrows trace` in the programs they are written for. `cargo xtask viewers` runs these tests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use narrows::results::Stored;
use tempfile::TempDir;

use crate::support::{holding, text};

/// Streams that lose packets at a bottleneck.
const STREAMS: &str = r#"
version = 1
name = "streams"
stop = { after = "50 ms", drain = "5 s" }
topology.dumbbell = { hosts = 2, host_rate = "1 Gb/s", bottleneck_rate = "100 Mb/s", host_delay = "10 us", bottleneck_delay = "2 ms" }
switches.default = { buffer = { size = "30 kB", sharing = "complete" } }

[[traffic]]
name = "reno"
pattern = { long_lived = { flows = 2, size = "1 MB", from = "left/*", to = "right/*" } }
cc = { reno = {} }
"#;

/// RDMA, priority-based flow control, isolation.
const LOSSLESS: &str = include_str!("../../../../scenarios/isolation.toml");
const QCN: &str = include_str!("../../../../docs/guide/snippets/mechanism-qcn.toml");

/// The packet that opens the results of a scenario: a folder with a capture in it.
fn capture(scenario: &str, options: &[&str]) -> (TempDir, PathBuf) {
    let place = holding(&[("it.toml", scenario)]);
    let folder = place.path().join("out");
    let narrows = |arguments: &[&str]| {
        let output = crate::support::narrows(&place, arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    narrows(&["run", "it.toml", "--quiet", "--out", "out"]);
    narrows(&[&["trace", "out", "--pcapng", "--quiet"], options].concat());
    (place, folder)
}

/// The lines that tshark prints of a capture.
fn tshark(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let file = folder.join("trace.pcapng");
    let output = Command::new("tshark").arg("-n").arg("-r").arg(file).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Packets that a filter of Wireshark lets through.
fn count(folder: &Path, filter: &str) -> u64 {
    tshark(folder, &["-Y", filter, "-T", "fields", "-e", "frame.number"]).len() as u64
}

/// A column of a table of the results.
fn column(folder: &Path, table: &'static str, name: &str) -> Vec<u64> {
    Stored::open(folder).unwrap().table(table, None).unwrap().unwrap().integers(name).to_vec()
}

#[test]
#[ignore = "needs tshark: cargo xtask viewers"]
fn wireshark_sees_every_packet_once_and_finds_the_retransmissions_that_were_counted() {
    let (_place, folder) = capture(STREAMS, &[]);
    let table = Stored::open(&folder).unwrap().table("ports", None).unwrap().unwrap();
    let of_hosts = table.integers("packets").iter().zip(table.flags("from_host"));
    let sent: u64 = of_hosts.filter(|(_, from_host)| **from_host).map(|(packets, _)| packets).sum();
    assert_eq!(count(&folder, "tcp"), sent);
    assert_eq!(count(&folder, "_ws.malformed"), 0);
    let counted: u64 = column(&folder, "flows", "retransmissions").iter().sum();
    assert!(counted > 0);
    // Wireshark calls a repetition out of order when it follows soon after the segment it fills a gap before.
    let found = count(&folder, "tcp.analysis.retransmission or tcp.analysis.out_of_order");
    assert_eq!(found, counted);
    let interfaces: BTreeSet<_> =
        tshark(&folder, &["-T", "fields", "-e", "frame.interface_name"]).into_iter().collect();
    assert_eq!(interfaces.len(), 4);
    assert!(interfaces.contains("left/host0 -> left/switch"), "{interfaces:?}");
}

#[test]
#[ignore = "needs tshark: cargo xtask viewers"]
fn wireshark_finds_drops_and_queues_in_comments() {
    let (_place, folder) = capture(STREAMS, &["--port", "left/switch->right/switch"]);
    let drops: u64 = column(&folder, "ports", "drops").iter().sum();
    assert!(drops > 0);
    assert_eq!(count(&folder, "frame.comment contains \"dropped=buffer_full\""), drops);
    assert_eq!(
        count(&folder, "not frame.comment contains \"dropped=\""),
        count(&folder, "frame.comment contains \"queue_bytes=\"")
    );
}

#[test]
#[ignore = "needs tshark: cargo xtask viewers"]
fn wireshark_understands_rdma_and_frames_that_stop_a_class() {
    let (_place, folder) = capture(LOSSLESS, &["--port", "*", "--until", "500us"]);
    assert_eq!(count(&folder, "_ws.malformed"), 0);
    assert_eq!(count(&folder, "_ws.expert.severity == error"), 0);
    assert!(count(&folder, "infiniband.bth.opcode == 1") > 0, "SEND middle");
    assert!(count(&folder, "infiniband.bth.opcode == 17") > 0, "acknowledge");
    assert!(count(&folder, "macc.opcode == 0x0101") > 0, "class-based flow control");
    assert!(count(&folder, "eth.type == 0x89a2 and frame.comment contains \"message=isolate\"") > 0);
}

#[test]
#[ignore = "needs tshark: cargo xtask viewers"]
fn wireshark_reads_messages_of_switches_with_the_dissector_of_the_examples() {
    let dissector = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/wireshark/congestion.lua");
    let count = |folder: &Path, filter: &str| {
        let script = format!("lua_script:{dissector}");
        let arguments = ["-X", &script, "-Y", filter, "-T", "fields", "-e", "frame.number"];
        tshark(folder, &arguments).len() as u64
    };
    let (_place, folder) = capture(QCN, &["--until", "1ms", "--port", "*"]);
    assert_eq!(count(&folder, "_ws.malformed or _ws.lua.error"), 0);
    let messages = count(&folder, "frame.comment contains \"message=notice\"");
    assert!(messages > 0);
    assert_eq!(count(&folder, "qcn.feedback > 0 and qcn.length > 0 and qcn.delta"), messages);
    assert!(count(&folder, "cntag.flow == 1 and tcp") > 0, "what stands behind a tag is read too");
    let (_place, folder) = capture(LOSSLESS, &["--port", "*", "--until", "500us"]);
    assert_eq!(count(&folder, "_ws.malformed or _ws.lua.error"), 0);
    let messages = count(&folder, "frame.comment contains \"message=isolate\"");
    assert_eq!(count(&folder, "cim.delete == 0 and cim.source"), messages);
}
