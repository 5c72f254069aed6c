//! Real hosts on this machine, inside of namespaces that the tests make. Skipped where the machine has no right to make some, with the
//! reason; `NARROWS_REQUIRE_LIVE=1` makes that a failure. Other tests run beside these, so that nothing here depends on how fast the
//! machine is.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use narrows::document::Document;
use narrows::plan::Plan;
use narrows::results::Results;
use narrows_live::{Attached, Frame, Live, Options, parts};
use narrows_proto::units::{Span, Time};

const DUMBBELL: &str = r#"
version = 2
name = "live"
stop = { after = "1 s", drain = "20 s" }

[topology.dumbbell]
hosts = 2
host_rate = "100 Mb/s"
bottleneck_rate = "20 Mb/s"
host_delay = "50 us"
bottleneck_delay = "2 ms"

[switches.default]
buffer = { size = "60 kB", sharing = "complete" }
MARKING

[[traffic]]
name = "bulk"
pattern = { permutation = { size = "300 kB" } }
cc = { CONTROL }

[[traffic]]
name = "byte"
pattern = { permutation = { size = "1 B", among = ["left/*"] } }
cc = { reno = {} }
"#;

/// Why this machine has no real hosts, if it has none.
fn missing() -> Option<String> {
    let missing = parts().into_iter().find(|part| part.required && part.found.is_err())?;
    let why = format!("{}: {}", missing.name, missing.found.expect_err("it is missing"));
    assert!(std::env::var_os("NARROWS_REQUIRE_LIVE").is_none(), "{why}");
    eprintln!("skipped: {why}");
    Some(why)
}

fn plan(control: &str, marking: &str) -> Arc<Plan> {
    planned(DUMBBELL, control, marking)
}

fn planned(text: &str, control: &str, marking: &str) -> Arc<Plan> {
    let text = text.replace("CONTROL", control).replace("MARKING", marking);
    let document = Document::parse("live.toml", text, Path::new(".")).expect("it is TOML");
    Arc::new(Plan::new(document).expect("it makes sense"))
}

fn run(plan: &Arc<Plan>) -> Results {
    let live = Live::new(plan, Options::default()).expect("this machine has real hosts");
    live.run(Attached::default(), &mut |_| ControlFlow::Continue(())).expect("it runs")
}

#[test]
fn flows_of_real_hosts_arrive_whole_and_cross_the_simulated_switches() {
    if missing().is_some() {
        return;
    }
    let plan = plan("cubic = {}", "");
    let results = run(&plan);
    assert_eq!(results.flows.len(), 6);
    for flow in &results.flows {
        assert!(flow.end.is_some(), "{flow:?}");
        assert_eq!(flow.delivered, flow.size);
        assert!(flow.slowdown() >= Some(1.0), "no real host is faster than the ideal one: {flow:?}");
    }
    let bottleneck = results.ports.iter().map(|port| port.bytes).max();
    assert!(bottleneck > Some(300_000), "{bottleneck:?}");
    assert!(results.complete && results.real.is_some_and(|real| real.lateness.deliveries > 600));
}

#[test]
fn marks_of_simulated_switches_reach_the_kernel_of_the_sender() {
    if missing().is_some() {
        return;
    }
    let results = run(&plan("reno = { ecn = true }", r#"marking = { step = { k = "15 kB" } }"#));
    let marks: u64 = results.ports.iter().map(|port| port.marks).sum();
    let echoed = results.flows.iter().any(|flow| flow.stats.marked.get() > 0);
    assert!(marks > 0 && echoed, "{marks} marks, {:?}", results.flows);
}

#[test]
fn packets_of_several_segments_are_carried_one_by_one_and_received_together() {
    if missing().is_some() {
        return;
    }
    let fast = DUMBBELL.replace("\"100 Mb/s\"", "\"10 Gb/s\"").replace("\"20 Mb/s\"", "\"5 Gb/s\"");
    let plan = planned(&fast, "cubic = {}", "");
    let options = Options { segments: 16, ..Options::default() };
    let live = Live::new(&plan, options).expect("this machine has real hosts");
    let mut largest = [0, 0];
    let mut note = |frame: Frame| {
        let largest = &mut largest[usize::from(frame.received)];
        *largest = frame.bytes.len().max(*largest);
        Ok(())
    };
    let attached = Attached { frames: Some(&mut note), ..Attached::default() };
    let results = live.run(attached, &mut |_| ControlFlow::Continue(())).expect("it runs");
    assert!(results.flows.iter().all(|flow| flow.end.is_some() && flow.delivered == flow.size));
    // What the ports counted are packets of a segment each.
    let link = results.ports.iter().max_by_key(|port| port.bytes).expect("there are ports");
    assert!(link.bytes > 300_000 && link.bytes / link.packets <= 1_538, "{link:?}");
    let [sent, received] = largest;
    assert!((2 * 1_448..17 * 1_514).contains(&sent), "{sent}");
    assert!((2 * 1_448..=sent).contains(&received), "{received}");
    let real = results.real.expect("it has real hosts");
    assert!(real.differences.iter().any(|text| text.contains("up to 16 segments")), "{real:?}");
}

#[test]
fn marks_of_segments_reach_the_kernel_and_other_segments_have_none() {
    if missing().is_some() {
        return;
    }
    let plan = plan("reno = { ecn = true }", r#"marking = { step = { k = "15 kB" } }"#);
    let options = Options { segments: 8, ..Options::default() };
    let live = Live::new(&plan, options).expect("this machine has real hosts");
    let mut marked = 0;
    let mut note = |frame: Frame| {
        marked += u64::from(frame.received && frame.bytes.len() > 1_000 && frame.bytes[15] & 3 == 3);
        Ok(())
    };
    let attached = Attached { frames: Some(&mut note), ..Attached::default() };
    let results = live.run(attached, &mut |_| ControlFlow::Continue(())).expect("it runs");
    let marks: u64 = results.ports.iter().map(|port| port.marks).sum();
    let echoed = results.flows.iter().any(|flow| flow.stats.marked.get() > 0);
    // Segments leave the bottleneck 615 us apart, so that each is received by itself.
    assert!(marks > 0 && echoed && (1..=marks).contains(&marked), "{marked} of {marks}, {:?}", results.flows);
}

#[test]
fn packets_have_a_sensible_number_of_segments() {
    if missing().is_some() {
        return;
    }
    for segments in [0, 65, u32::MAX] {
        let options = Options { segments, ..Options::default() };
        let refused = Live::new(&plan("cubic = {}", ""), options).expect_err("it is refused").to_string();
        assert!(refused.contains("1 to 64 are possible"), "{refused}");
    }
}

/// Why nothing can be loaded into the kernel here, if so.
#[cfg(feature = "bpf")]
fn loads_nothing() -> bool {
    let needed = |name: &str| matches!(name, "kernel types" | "CAP_BPF");
    let missing = parts().into_iter().find(|part| needed(part.name) && part.found.is_err());
    let Some(part) = missing else { return false };
    let why = format!("{}: {}", part.name, part.found.expect_err("it is missing"));
    assert!(std::env::var_os("NARROWS_REQUIRE_LIVE").is_none(), "{why}");
    eprintln!("skipped: {why}");
    true
}

/// One test for both: a run has the kernel's controls for itself.
#[cfg(feature = "bpf")]
#[test]
fn what_the_kernel_lacks_is_loaded_for_the_run_and_sees_every_mark() {
    if missing().is_some() || loads_nothing() {
        return;
    }
    for control in ["gemini", "dctcp"] {
        // One way only: acknowledgments may be marked as well, and nobody tells.
        let one_way = r#"long_lived = { flows = 2, size = "300 kB", from = "left/*", to = "right/*" }"#;
        let text = DUMBBELL.replace(r#"permutation = { size = "300 kB" }"#, one_way);
        let results =
            run(&planned(&text, &format!("{control} = {{}}"), r#"marking = { step = { k = "6 kB" } }"#));
        let real = results.real.as_ref().expect("it has real hosts");
        assert!(
            real.controls.contains(&("bulk".to_owned(), format!("narrows_{control}"))),
            "{:?}",
            real.controls
        );
        assert!(!narrows_live::available_controls().contains(&format!("narrows_{control}")));
        assert!(results.flows.iter().all(|flow| flow.end.is_some()), "{:?}", results.flows);
        let marks: u64 = results.ports.iter().map(|port| port.marks).sum();
        let seen: u64 = results.flows.iter().map(|flow| flow.stats.marked.get() / 1_448).sum();
        let repeated: u64 = results.flows.iter().map(|flow| flow.stats.retransmissions).sum();
        assert!(marks > 0 && seen <= marks && seen + repeated >= marks, "{control}: {seen} of {marks} marks");
    }
}

#[test]
fn windows_of_senders_that_wait_are_not_recorded() {
    if missing().is_some() {
        return;
    }
    let far = r#"long_lived = { flows = 2, size = "1 B", from = ["left/*"], to = ["right/*"] }"#;
    let slow = DUMBBELL
        .replace("2 ms", "50 ms")
        .replace(r#"permutation = { size = "1 B", among = ["left/*"] }"#, far);
    let text = slow + "[record]\nwindows = { interval = \"1 ms\" }\n";
    let results = run(&planned(&text, "cubic = {}", ""));
    let windows = results.windows.expect("they are recorded");
    let bytes: Vec<_> = results.flows.iter().filter(|flow| flow.size.get() == 1).collect();
    assert_eq!(bytes.len(), 2);
    for flow in bytes {
        let rows: Vec<_> = windows.iter().filter(|row| row.flow == flow.flow).collect();
        // One byte takes two round trips of 100 ms, in which a SYN ACK and an acknowledgment come back.
        assert!((1..=4).contains(&rows.len()), "{rows:?}");
    }
}

#[test]
fn a_run_that_is_interrupted_is_not_complete() {
    if missing().is_some() {
        return;
    }
    let live = Live::new(&plan("cubic = {}", ""), Options::default()).expect("this machine has real hosts");
    let results = live.run(Attached::default(), &mut |_| ControlFlow::Break(())).expect("it runs");
    assert!(!results.complete);
}

#[test]
fn each_frame_sent_is_received_later_or_dropped() {
    if missing().is_some() {
        return;
    }
    let live = Live::new(&plan("cubic = {}", ""), Options::default()).expect("this machine has real hosts");
    let mut frames = Vec::new();
    let mut keep = |frame| {
        frames.push(frame);
        Ok(())
    };
    let attached = Attached { frames: Some(&mut keep), ..Attached::default() };
    let results = live.run(attached, &mut |_| ControlFlow::Continue(())).expect("it runs");
    // Frames differ in their addresses of hardware and their marks; IPv4 numbers packets, and its checksum covers the rest of the header.
    let packet = |frame: &Frame| {
        (frame.bytes[14..15].to_vec(), frame.bytes[16..24].to_vec(), frame.bytes[26..].to_vec())
    };
    let mut sent: BTreeMap<_, Vec<Time>> = BTreeMap::new();
    for frame in frames.iter().filter(|frame| !frame.received) {
        sent.entry(packet(frame)).or_default().push(frame.at);
    }
    let received: Vec<_> = frames.iter().filter(|frame| frame.received).collect();
    assert!(received.len() > 1_000, "{}", received.len());
    for frame in &received {
        let times = sent.get(&packet(frame)).expect("it was sent");
        assert!(times.iter().any(|at| *at < frame.at), "{frame:?}");
    }
    let drops: u64 = results.ports.iter().map(|port| port.dropped()).sum();
    let lost = (frames.len() - 2 * received.len()) as u64;
    // A way is shorter than this.
    let end = received.last().expect("there are some").at.as_ps().saturating_sub(Span::from_ms(50).as_ps());
    let under_way = frames.iter().filter(|frame| !frame.received && frame.at.as_ps() > end).count() as u64;
    assert!(
        (drops..=drops + under_way).contains(&lost),
        "{lost} were lost, {drops} dropped, {under_way} late"
    );
}

#[test]
fn nothing_is_left_of_hosts_on_the_machine() {
    if missing().is_some() {
        return;
    }
    let devices = || {
        let mut names: Vec<_> =
            fs::read_dir("/sys/class/net").expect("sysfs").flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let before = devices();
    run(&plan("cubic = {}", ""));
    assert_eq!(devices(), before);
}

#[test]
fn what_no_kernel_has_is_refused_before_anything_is_made() {
    if missing().is_some() {
        return;
    }
    let refused = |plan: &Arc<Plan>, simulated: &[&str]| {
        let simulated = simulated.iter().map(|name| (*name).to_owned()).collect();
        Live::new(plan, Options { simulated, ..Options::default() }).expect_err("it is refused").to_string()
    };
    let swift = plan("swift = {}", "");
    assert!(
        refused(&swift, &[]).contains("traffic.bulk is under swift, which the kernel here does not have")
    );
    assert!(refused(&swift, &["bulk", "byte"]).contains("no traffic group is left for real hosts"));
    assert!(refused(&swift, &["bulk"]).contains("is real for one traffic group and simulated for another"));
    assert!(refused(&swift, &["bulc"]).contains("did you mean \"bulk\"?"));
}
