//! Remote procedure calls: times by hand, loads by the bytes on links, the same at any number of threads.

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows::document::Document;
use narrows::plan::Plan;
use narrows::results::{Results, RpcRow};
use narrows::run::{Options, run};
use narrows::templates;
use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::LinkId;
use narrows_sim::traffic::Rpc;

/// A client and two servers, 10 Gb/s and 1 us from their switch.
const NETWORK: &str = r#"
version = 1
name = "calls"
stop = { after = "20 ms", drain = "1 s" }
topology.star = { hosts = 3, rate = "10 Gb/s", delay = "1 us" }
switches.default.buffer = { size = "10 MB", sharing = "complete" }
transport.handshake = false

[[traffic]]
name = "calls"
cc = { reno = {} }
"#;

fn planned(mut document: Document, overrides: &[&str]) -> Arc<Plan> {
    for assignment in overrides {
        document.set(assignment).expect("fits");
    }
    Arc::new(Plan::new(document).unwrap_or_else(|error| panic!("{error}")))
}

fn document(pattern: &str) -> Document {
    let text = format!("{NETWORK}pattern.rpc = {{ of = \"host_links\", from = \"host0\", {pattern} }}\n");
    Document::parse("calls.toml", text, "").expect("parses")
}

fn results(plan: &Arc<Plan>) -> Results {
    run(plan, Options::default(), |_| ControlFlow::Continue(())).expect("little is recorded")
}

/// The mix of DC and WAN with responses of one size, so that there are enough for a narrow tolerance.
fn mix(overrides: &[&str]) -> Arc<Plan> {
    let document = templates::find("rpc").expect("built in").document().expect("parses");
    let sizes =
        ["dc", "wan"].map(|group| format!("traffic.{group}.pattern.rpc.sizes={{ constant = \"20 kB\" }}"));
    planned(document, &[&[sizes[0].as_str(), sizes[1].as_str()], overrides].concat())
}

#[test]
fn a_call_on_an_idle_network_takes_the_time_worked_out_by_hand() {
    // 90 us apart on average or more, so that most find the network idle.
    let alone = |fan_out: u32| {
        let pattern = format!("load = 0.01, fan_out = {fan_out}, sizes = {{ constant = \"2000 B\" }}");
        let results = results(&planned(document(&pattern), &[]));
        let mut times: Vec<_> = lone_calls(&results).filter_map(RpcRow::time).collect();
        assert!(times.len() > 50);
        times.dedup();
        assert_eq!(times.len(), 1, "{times:?}");
        times[0]
    };
    // The request: 1000 B and 90 B of headers, 872 ns on each of two links, and twice 1 us: 3744 ns.
    // Its acknowledgment goes first: 90 B, 72 ns. The response: 1448 B and 552 B, 1230.4 and 513.6 ns on each link. The
    // second packet waits for the first at the switch: 2·1230.4 + 513.6 + 2000 = 4974.4 ns.
    assert_eq!(alone(1), Span::from_ps(3_744_000 + 72_000 + 4_974_400));
    // The second request is 872 ns later, which is less than the 1744 ns of a response on the last link: the second
    // response follows the first without a gap.
    assert_eq!(alone(2), Span::from_ps(3_744_000 + 72_000 + 4_974_400 + 1_744_000));
}

#[test]
fn a_server_that_has_answered_acknowledges_later_requests_by_pairs() {
    let transport =
        "transport={ keep_connections = true, quick_acks = 16, initial_rto = \"10 ms\", min_rto = \"5 ms\" }";
    // Requests of ten segments.
    let pattern = "load = 0.004, to = \"host1\", sizes = { constant = \"1000 B\" }, request = \"14480 B\"";
    let run = |pingpong: bool| {
        let pingpong = format!("traffic.calls.transport.pingpong={pingpong}");
        let plan = planned(document(pattern), &[transport, &pingpong]);
        let results = results(&plan);
        let topology = &plan.network.topology;
        let mut links = (0..topology.links().len()).map(LinkId::from);
        let link = links.find(|link| topology.link_name(*link) == "host1 -> switch").expect("there is one");
        let requests: Vec<_> = results.flows.iter().filter(|flow| flow.size == Bytes::new(14_480)).collect();
        let later = requests.iter().filter(|flow| flow.again).count() as u64;
        assert!(later > 30 && later < requests.len() as u64, "{later} of {}", requests.len());
        (results.ports[link.index()].packets, later)
    };
    // Ten acknowledgments for each request, and five in place of them.
    let ((quick, later), (by_pairs, as_many)) = (run(false), run(true));
    assert_eq!((by_pairs, as_many), (quick - 5 * later, later));
}

/// Acknowledgments by a client with the defaults of Linux of responses of ten segments, from when each was asked for, and when the last
/// segment before had come.
#[derive(Default)]
struct Client {
    arrived: Option<Time>,
    quick: u64,
    interactive: bool,
}

impl Client {
    fn acknowledgments(&mut self, asked: Time, first: Time, last: Time) -> u64 {
        let since = |now: Time| self.arrived.map(|arrived| now.saturating_since(arrived));
        // TCP_ATO_MIN; the receiver's own timeout is 200 ms and three round trips.
        self.interactive |= since(asked).is_some_and(|gap| gap < Span::from_ms(40));
        if since(first).is_none_or(|gap| gap > Span::from_us(200_100)) {
            self.quick = 16;
        }
        self.arrived = Some(last);
        let (mut left, mut acks) = (10, 0);
        while left > 0 {
            left -= if self.quick > 0 && !self.interactive { 1 } else { 2.min(left) };
            self.quick = self.quick.saturating_sub(1);
            acks += 1;
        }
        acks
    }
}

#[test]
fn clients_acknowledge_responses_as_linux_does() {
    // Calls 60 ms and 500 ms apart on average.
    for (load, after, seldom) in [("0.0002", "5 s", false), ("0.000024", "30 s", true)] {
        let pattern = format!(
            "load = {load}, to = \"host1\", sizes = {{ constant = \"14480 B\" }}, request = \"1000 B\""
        );
        let transport =
            "transport={ keep_connections = true, pingpong = true, quick_acks = 16, ack_timeout = {} }";
        let plan = planned(document(&pattern), &[transport, &format!("stop.after=\"{after}\""), "seed=3"]);
        let results = results(&plan);
        let (mut client, mut expected, mut by_pairs) = (Client::default(), 0, 0);
        let flow = |id| results.flows.iter().find(|flow| flow.flow == id).expect("it started");
        for rpc in &results.plan.traffic.rpcs {
            for (request, response) in Rpc::calls(*rpc) {
                let (request, response) = (flow(request), flow(response));
                let gap = client.arrived.map_or(Span::MAX, |at| request.start.saturating_since(at));
                let apart = |ms| gap < Span::from_ms(ms) || gap > Span::from_us(ms * 1000 + 200);
                assert!(apart(40) && apart(200), "{gap} is close to a bound");
                let last = response.end.expect("waited for");
                // The first segment arrives a transmission of nine before the last.
                let acks = client.acknowledgments(request.start, response.start, last);
                by_pairs += u64::from(acks == 5);
                assert_eq!([request.again, response.again], [gap < Span::MAX; 2], "one connection");
                // The request itself; SYN and SYN-ACK where a connection begins.
                expected += acks + 1 + u64::from(!request.again) + u64::from(!response.again);
            }
        }
        let calls = results.rpcs.len() as u64;
        assert!(by_pairs > calls / 10 && (!seldom || by_pairs < calls - 1), "{by_pairs} of {calls}");
        let topology = &plan.network.topology;
        let mut links = (0..topology.links().len()).map(LinkId::from);
        let link = links.find(|link| topology.link_name(*link) == "host0 -> switch").expect("there is one");
        assert_eq!(results.ports[link.index()].packets, expected, "{calls} calls");
    }
}

/// Calls that began when the last acknowledgment of the one before had arrived, and ended before the next.
fn lone_calls(results: &Results) -> impl Iterator<Item = &RpcRow> {
    let end = |rpc: &RpcRow| rpc.end.expect("complete");
    let apart = move |a: &RpcRow, b: &RpcRow| end(a) + Span::from_us(5) < b.start;
    let alone = move |calls: &&[RpcRow]| apart(&calls[0], &calls[1]) && apart(&calls[1], &calls[2]);
    results.rpcs.windows(3).filter(alone).map(|calls| &calls[1])
}

#[test]
fn the_slowdown_of_a_lone_call_is_that_of_an_acknowledgment_before_the_response() {
    let results = results(&planned(document("load = 0.01, sizes = { constant = \"2000 B\" }"), &[]));
    let fastest = results.rpcs.iter().filter_map(RpcRow::slowdown).fold(f64::INFINITY, f64::min);
    let ideal = 3_744.0 + 4_974.4;
    assert!((fastest - (ideal + 72.0) / ideal).abs() < 1e-9, "{fastest}");
}

#[test]
fn the_links_of_servers_carry_the_load_asked_for() {
    let pattern =
        "load = 0.6, share = \"1/2\", fan_out = 2, sizes = { constant = \"5 kB\" }, request = \"100 B\"";
    let plan = planned(document(pattern), &[]);
    let results = results(&plan);
    let servers = ["host1 -> switch", "host2 -> switch"];
    let topology = &plan.network.topology;
    let links = (0..topology.links().len()).map(LinkId::from);
    let links = links.filter(|link| servers.contains(&topology.link_name(*link).as_str()));
    let carried: u64 = links.map(|link| results.ports[link.index()].bytes).sum();
    // Servers also acknowledge each request, which is one packet.
    let requests = 2 * results.rpcs.len() as u64;
    let offered = (carried - 90 * requests) as f64;
    let expected = 0.3 * 2.0 * 10e9 / 8.0 * 20e-3;
    // 2 800 calls: a standard deviation of 1.9 %, three of which are allowed.
    assert!((offered / expected - 1.0).abs() < 0.057, "{offered}, expected {expected}");
    assert_eq!(plan.groups[0].load.map(|load| (load.load, load.links)), Some((0.3, 2)));
}

#[test]
fn classes_with_shares_of_five_and_one_sixth_carry_five_to_one() {
    let plan = mix(&[]);
    let results = results(&plan);
    let bytes = |group: u32| {
        let rpcs = results.rpcs.iter().filter(|rpc| rpc.group == group);
        rpcs.map(|rpc| rpc.responses.as_f64()).sum::<f64>()
    };
    // 15 000 responses in 3 750 calls and 3 000 in as many: standard deviations of 1.6 % and 1.8 %, together 2.4 %.
    let ratio = bytes(0) / bytes(1);
    assert!((ratio / 5.0 - 1.0).abs() < 0.072, "{ratio}");
    let received: u64 = results.flows.iter().map(|flow| flow.delivered.get()).sum();
    let requests: Bytes = results.rpcs.iter().map(|rpc| rpc.requests).sum();
    assert_eq!(received as f64, bytes(0) + bytes(1) + requests.as_f64());
}

#[test]
fn calls_are_the_same_at_any_number_of_threads() {
    let plan = mix(&["stop.after='6 ms'"]);
    let on = |threads| {
        run(&plan, Options { threads, ..Options::default() }, |_| ControlFlow::Continue(())).unwrap()
    };
    let one = on(1);
    for threads in [2, 3] {
        let other = on(threads);
        assert!(
            (&one.flows, &one.rpcs, &one.ports) == (&other.flows, &other.rpcs, &other.ports),
            "{threads}"
        );
        assert_eq!((&one.metrics, one.ended), (&other.metrics, other.ended));
    }
}

#[test]
fn one_pair_of_hosts_may_have_any_number_of_calls_at_once() {
    // Twice what the link carries: after 2 ms, 2 ms of responses wait.
    let pattern = "load = 2, to = \"host1\", sizes = { constant = \"50 kB\" }";
    let results = results(&planned(document(pattern), &["stop.after='2 ms'"]));
    let last = results.rpcs.last().expect("there are calls");
    let open = results.rpcs.iter().filter(|rpc| rpc.end > Some(last.start)).count();
    assert!(open > 20, "{open}");
    assert!(results.rpcs.iter().all(|rpc| rpc.end.is_some()));
}

#[test]
fn a_drained_run_has_waited_for_every_response() {
    // The last request arrives 3.7 us after the last call, responses of 1 MB take 800 us more.
    let pattern = "load = 0.5, sizes = { constant = \"1 MB\" }";
    let drained = results(&planned(document(pattern), &[]));
    let last = drained.rpcs.iter().map(|rpc| rpc.end.expect("waited for")).max().expect("there are calls");
    assert!(last > drained.rpcs.last().expect("there are calls").start + Span::from_us(800));
    assert!(drained.ended >= last && drained.ended < last + Span::from_ms(1));
    assert_eq!(drained.metric("calls.unfinished_rpcs"), Some(0.0));
    assert_eq!(drained.metric("calls.flows"), Some(2.0 * drained.rpcs.len() as f64));
}

#[test]
fn calls_that_do_not_finish_are_rows_without_an_end_and_are_counted() {
    let pattern = "load = 2, to = \"host1\", sizes = { constant = \"50 kB\" }";
    let cut = results(&planned(document(pattern), &["stop={ after = '2 ms' }"]));
    let open = cut.rpcs.iter().filter(|rpc| rpc.end.is_none()).count();
    assert!(open > 20, "{open}");
    assert_eq!(cut.metric("calls.unfinished_rpcs"), Some(open as f64));
    assert_eq!(cut.metric("total.rpcs"), Some(cut.rpcs.len() as f64));
    assert_eq!(cut.rpcs.len(), cut.plan.traffic.rpcs.len());
    let table = cut.tables().into_iter().find(|table| table.name == "rpcs").expect("there is one");
    assert_eq!(table.rows(), cut.rpcs.len());
}

#[test]
fn a_call_ends_with_the_last_byte_of_its_last_response() {
    let results = results(&planned(document("load = 0.5, fan_out = 2, sizes = \"google_rpc\""), &[]));
    let flow = |id| results.flows.iter().find(|flow| flow.flow == id).expect("it started");
    for (rpc, row) in results.plan.traffic.rpcs.iter().zip(&results.rpcs).take(50) {
        let responses: Vec<_> = Rpc::calls(*rpc).map(|(_, response)| flow(response)).collect();
        assert_eq!(row.end, responses.iter().filter_map(|flow| flow.end).max());
        assert_eq!(row.responses, responses.iter().map(|flow| flow.size).sum());
        for (request, response) in Rpc::calls(*rpc) {
            assert_eq!(flow(request).end, Some(flow(response).start));
        }
    }
}

#[test]
fn only_calls_have_metrics_of_calls() {
    let plan = planned(templates::find("incast").expect("built in").document().expect("parses"), &[]);
    let results = results(&plan);
    assert!(results.metrics.iter().all(|metric| !metric.name.contains("rpc")));
    assert!(results.tables().iter().all(|table| table.name != "rpcs"));
}
