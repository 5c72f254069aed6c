use super::*;

const SCENARIO: &str = r#"
    version = 2
    name = "attached"
    hosts = "ideal"
    stop = { after = "1 s" }
    topology.star = { hosts = 4, rate = "100 Gb/s", delay = "500 ns" }
    switches.default.buffer.size = "1 MB"
    [[traffic]]
    name = "ranks"
    pattern.attached = {}
    rdma = {}
    cc.dcqcn = {}
"#;

/// Beside it a stream of others.
const BESIDE: &str = r#"
    [[traffic]]
    name = "beside"
    pattern.long_lived = { from = ["host0"], to = ["host3"] }
    cc.cubic = {}
    [[traffic]]
    name = "bursts"
    pattern.on_off = { rate = "1 Gb/s", on = { constant = "20 us" }, off = { constant = "20 us" }, from = ["host1"], to = ["host2"] }
"#;

fn open(more: &str) -> Attached {
    let document = Document::parse("attached.toml", format!("{SCENARIO}{more}"), "").unwrap();
    Attached::new(&document, Some(3)).unwrap_or_else(|error| panic!("{error}"))
}

fn message(from: u32, to: u32, size: u64) -> NewMessage {
    let (from, to, class) = (HostId(from), HostId(to), GroupId(0));
    NewMessage { from, to, size, class, tag: u64::from(from.0), delay: Span::ZERO }
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

#[test]
fn a_message_alone_is_delivered_at_its_ideal_time_and_known_later() {
    let mut run = open("");
    let sent = run.send(NewMessage { delay: Span::from_us(3), ..message(0, 1, 1_000_000) }).unwrap();
    let delivered = run.next(Time::NEVER).unwrap().unwrap();
    assert_eq!(delivered.kind, EventKind::Delivered(sent));
    assert_eq!(delivered.at, at(3) + run.ideal(sent).unwrap());
    assert_eq!(run.message(sent).unwrap().delivered, Some(delivered.at));
    let known = run.next(Time::NEVER).unwrap().unwrap();
    assert_eq!(known.kind, EventKind::Sent(sent));
    // The acknowledgment crosses two links of 500 ns.
    assert!(known.at > delivered.at + Span::from_us(1) && known.at < delivered.at + Span::from_us(2));
    let Message { delivered: end, sent, acknowledged, stats, .. } = run.message(sent).unwrap();
    assert_eq!((end, sent, acknowledged.get()), (Some(delivered.at), Some(known.at), 1_000_000));
    assert_eq!(stats.retransmissions, 0);
    assert_eq!(run.next(Time::NEVER).unwrap(), None);
    assert_eq!(run.now(), run.end());
}

#[test]
fn a_message_of_no_bytes_takes_the_time_of_the_smallest_packet() {
    let [none, one] = [0, 1].map(|size| {
        let mut run = open("");
        let id = run.send(message(0, 1, size)).unwrap();
        let at = run.next(Time::NEVER).unwrap().unwrap().at;
        assert_eq!((at, run.message(id).unwrap().size.get()), (Time::ZERO + run.ideal(id).unwrap(), size));
        at
    });
    assert_eq!(none, one);
}

#[test]
fn events_of_one_moment_come_by_host_and_timers_after_them_in_the_order_in_which_they_were_set() {
    let mut run = open("");
    // Two that do not meet, the later host first.
    run.send(message(2, 3, 10_000)).unwrap();
    run.send(message(0, 1, 10_000)).unwrap();
    let arrival = Time::ZERO + run.ideal(MessageId(0)).unwrap();
    let delay = arrival - Time::ZERO;
    for tag in [7, 8, 9] {
        run.schedule(delay, tag).unwrap();
    }
    let next = |run: &mut Attached| run.next(arrival).unwrap().map(|event| (event.at, event.tag));
    assert_eq!([next(&mut run), next(&mut run)], [Some((arrival, 0)), Some((arrival, 2))]);
    assert_eq!(next(&mut run), Some((arrival, 7)));
    // What one timer leads to may take the next one back, and a new one at the same moment comes last.
    assert!(run.cancel(TimerId(1)).unwrap() && !run.cancel(TimerId(1)).unwrap());
    run.schedule(Span::ZERO, 10).unwrap();
    assert_eq!(
        [next(&mut run), next(&mut run), next(&mut run)],
        [Some((arrival, 9)), Some((arrival, 10)), None]
    );
    assert!(!run.cancel(TimerId(0)).unwrap());
    assert_eq!(run.cancel(TimerId(4)).unwrap_err().to_string(), "no timer has the number 4, there are 4");
}

/// A ring of messages, each sent when the one before has arrived. Looks at time in steps of `step`.
fn ring(more: &str, step: Option<Span>) -> (Vec<Event>, Results) {
    let mut run = open(more);
    let mut events = Vec::new();
    run.send(message(0, 1, 50_000)).unwrap();
    run.schedule(Span::from_us(5), 100).unwrap();
    let mut until = step.map_or(at(300), |step| Time::ZERO + step);
    while events.len() < 60 {
        let Some(event) = run.next(until.min(at(300))).unwrap() else {
            match step {
                Some(step) if until < at(300) => until += step,
                _ => break,
            }
            continue;
        };
        events.push(event);
        if let EventKind::Delivered(id) = event.kind {
            let from = run.message(id).unwrap().to;
            run.send(message(from.0, (from.0 + 1) % 4, 50_000)).unwrap();
        }
    }
    (events, run.finish().unwrap())
}

#[test]
fn looking_more_often_changes_nothing_and_what_is_recorded_neither() {
    let (events, results) = ring(BESIDE, None);
    assert!(events.len() > 20 && results.flows.len() > 10);
    let recorded = format!(
        "{BESIDE}\n[record]\nqueues = {{ interval = \"10 us\" }}\nwindows = {{ interval = \"10 us\" }}\n"
    );
    for (more, step) in [(BESIDE, Some(Span::from_ns(777))), (&recorded, None)] {
        let (again, of_again) = ring(more, step);
        assert_eq!(again, events);
        let ends = |results: &Results| -> Vec<_> {
            results.flows.iter().map(|flow| (flow.flow, flow.start, flow.end)).collect()
        };
        assert_eq!(ends(&of_again), ends(&results));
        assert_eq!(of_again.ports, results.ports);
    }
}

#[test]
fn results_have_a_flow_for_each_message_and_can_be_written() {
    let (_, results) = ring(BESIDE, None);
    let of_ranks: Vec<_> = results.flows_of(0).collect();
    assert!(of_ranks.len() > 10 && of_ranks.iter().all(|flow| flow.size.get() == 50_000));
    assert!(
        of_ranks
            .iter()
            .filter_map(|flow| Some((flow.end? - flow.start, flow.ideal)))
            .all(|(fct, ideal)| fct >= ideal)
    );
    let place = tempfile::tempdir().unwrap();
    let output = crate::results::Output::begin(&place.path().join("out"), false).unwrap();
    output.write(&results, "").unwrap();
    output.finish().unwrap();
    assert!(place.path().join("out/flows.parquet").exists());
}

#[test]
fn time_goes_neither_back_nor_beyond_the_end() {
    let mut run = open("");
    run.schedule(Span::from_us(10), 0).unwrap();
    run.advance(at(20)).unwrap();
    assert_eq!(run.now(), at(20));
    assert_eq!(run.next(at(20)).unwrap().map(|event| event.at), Some(at(10)));
    assert_eq!(run.next(at(19)).unwrap_err().to_string(), "time was to go back to 19 us, now is 20 us");
    let error = run.schedule(Span::from_secs(2), 0).unwrap_err();
    assert!(matches!(error, Error::Over { .. }), "{error}");
    assert!(matches!(
        run.send(NewMessage { delay: Span::from_secs(2), ..message(0, 1, 1) }),
        Err(Error::Over { .. })
    ));
}

#[test]
fn what_cannot_be_sent_is_refused_with_what_can() {
    let mut run = open(BESIDE);
    let mut error = |new| run.send(new).unwrap_err().to_string();
    assert_eq!(
        error(message(1, 1, 5)),
        "a message from host \"host1\" to itself: the network has no loopback"
    );
    assert_eq!(error(message(0, 4, 5)), "host 4, the network has 4, numbered from 0");
    assert_eq!(
        error(NewMessage { class: GroupId(3), ..message(0, 1, 5) }),
        "traffic group 3, the scenario has 3, numbered from 0"
    );
    let datagrams = error(NewMessage { class: GroupId(2), ..message(0, 1, 5) });
    assert_eq!(datagrams, "traffic \"bursts\" sends datagrams, which carry no messages");
    assert!(error(message(0, 1, u64::MAX)).starts_with("a message of 18446744073709551615 B, expected "));
    let unknown = run.host("hots1").unwrap_err().to_string();
    assert_eq!(
        unknown,
        "the network has no host \"hots1\"; did you mean \"host1\"? known: host0, host1, host2, host3"
    );
    assert!(run.class("rank").unwrap_err().to_string().contains("did you mean \"ranks\"?"));
}

#[test]
fn a_scenario_with_mistakes_is_refused_with_their_places() {
    let document = Document::parse("a.toml", SCENARIO.replace("dcqcn", "dcqnc"), "").unwrap();
    let error = Attached::new(&document, None).unwrap_err().to_string();
    assert!(error.contains("a.toml:12:") && error.contains("dcqcn"), "{error}");
}
