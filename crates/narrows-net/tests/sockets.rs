//! Sockets, timers and futures in a simulated network.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use narrows_net::Datagram;
use narrows_net::{Codepoint, Counters, Error, Executor, Machine, Net, Socket, Span, Time, Transmit};
use proptest::prelude::*;

/// A star of four hosts. Two are free, two have a flow that fills the port of the second.
fn scenario(switch: &str, rest: &str) -> String {
    format!(
        r#"
        version = 2
        name = "star"
        hosts = "ideal"
        stop = {{ after = "100 ms" }}
        topology.star = {{ hosts = 5, rate = "100 Mb/s", delay = "1 ms" }}
        switches.default = {{ {switch} }}
        [[traffic]]
        name = "beside"
        pattern.long_lived = {{ from = ["host3"], to = ["host4"] }}
        cc.cubic = {{}}
        {rest}"#
    )
}

const PLAIN: &str = r#"buffer.size = "1 MB""#;

const HOSTS: [&str; 3] = ["host0", "host1", "host2"];

fn net(switch: &str) -> Net {
    Net::from_text(&scenario(switch, ""), &HOSTS).expect("the scenario is right")
}

fn at(span: Span) -> Time {
    Time::ZERO + span
}

fn drain(socket: &Socket) -> Vec<Datagram> {
    std::iter::from_fn(|| socket.receive()).collect()
}

/// Goes on for so long.
fn pass(net: &Net, span: Span) {
    let until = net.now() + span;
    while net.advance(until).expect("time goes on") {}
}

#[test]
fn a_datagram_takes_the_time_of_its_way_and_time_goes_no_further() {
    let net = net(PLAIN);
    let [a, b] = ["host0", "host1"].map(|host| net.bind(host, 7000).unwrap());
    a.send_to(&[7; 1000], b.address(), Codepoint::Ect1).unwrap();
    assert_eq!(net.advance(net.end()), Ok(true));
    // Twice 1 ms, and twice the time of 1000 B with 8 of UDP, 20 of IPv4 and 38 of Ethernet.
    let arrival = at(Span::from_ms(2) + Span::from_ns(2 * 1066 * 80));
    assert_eq!(net.now(), arrival);
    let expected = Datagram { at: arrival, from: a.address(), ecn: Codepoint::Ect1, payload: vec![7; 1000] };
    assert_eq!(drain(&b), [expected]);
    // Nothing else comes.
    assert_eq!(net.advance(net.end()), Ok(false));
    assert_eq!((net.now(), net.end()), (at(Span::from_ms(100)), at(Span::from_ms(100))));
}

#[test]
fn names_are_those_of_the_scenario_and_mistakes_are_said() {
    let message = |made: Result<Net, Error>| made.unwrap_err().to_string();
    let text = scenario(PLAIN, "");
    assert_eq!(
        message(Net::from_text(&text, &["hots1"])),
        "the network has no host \"hots1\"; did you mean \"host1\"? known: host0, host1, host2, host3, host4"
    );
    assert_eq!(
        message(Net::from_text(&text, &["host4"])),
        "traffic.beside of the scenario begins or ends at host \"host4\": give it other hosts (from, to)"
    );
    assert!(
        message(Net::from_text(&text.replace("cubic", "cubik"), &HOSTS)).contains("did you mean \"cubic\"?")
    );
    let net = net(PLAIN);
    assert_eq!(
        net.bind("host3", 1).unwrap_err().to_string(),
        "host \"host3\" was not given to the network for sockets; given: host0, host1, host2"
    );
    assert!(matches!(net.address("host9", 1), Err(Error::UnknownHost { .. })));
    assert_eq!(net.address("host1", 80).unwrap(), SocketAddr::from(([10, 77, 0, 2], 80)));
}

#[test]
fn a_port_is_in_use_until_its_socket_is_dropped() {
    let net = net(PLAIN);
    let first = net.bind("host0", 5).unwrap();
    let again = || net.bind("host0", 5).map(|socket| socket.address());
    assert_eq!(again(), Err(Error::PortInUse { host: "host0".into(), port: 5 }));
    let address = first.address();
    drop(first);
    assert_eq!(again(), Ok(address));
    let any = [0, 0].map(|port| net.bind("host0", port).unwrap());
    assert_eq!(any.each_ref().map(|socket| socket.address().port()), [49_152, 49_153]);
    assert!(net.bind("host1", 5).is_ok());
}

#[test]
fn what_cannot_be_sent_is_refused_and_counts_nothing() {
    let net = net(PLAIN);
    let [a, b] = ["host0", "host1"].map(|host| net.bind(host, 1).unwrap());
    let send = |size, to| a.send_to(&vec![0; size], to, Codepoint::NotEct);
    assert_eq!(net.largest_payload(), 1472);
    assert_eq!(send(1473, b.address()), Err(Error::TooLarge { size: 1473, most: 1472 }));
    assert_eq!(send(1, a.address()), Err(Error::ToItself { to: a.address() }));
    for to in ["10.77.0.5:1", "10.77.0.9:1", "192.168.0.1:1", "[::1]:1"] {
        let to = to.parse().unwrap();
        assert_eq!(send(1, to), Err(Error::Unreachable { to }));
    }
    assert_eq!(net.counters(), Counters::default());
    assert_eq!((send(1472, b.address()), send(0, b.address())), (Ok(()), Ok(())));
    assert_eq!(net.counters(), Counters { sent: 2, in_flight: 2, ..Counters::default() });
}

#[test]
fn time_never_goes_back() {
    let net = net(PLAIN);
    let (now, until) = (at(Span::from_ms(2)), at(Span::from_ms(1)));
    assert_eq!(net.advance(now), Ok(false));
    assert_eq!(net.advance(until), Err(Error::Backward { until, now }));
    assert_eq!((net.advance(now), net.now()), (Ok(false), now));
}

#[test]
fn the_card_takes_as_much_as_a_kernel_would() {
    let net = net(PLAIN);
    let [a, b] = ["host0", "host1"].map(|host| net.bind(host, 1).unwrap());
    let fill = || (0..).find(|_| a.send_to(&[0; 1434], b.address(), Codepoint::NotEct).is_err()).unwrap();
    // 1500 B each on the wire: 141 reach 211 500 B, the next exceeds 212 992 B.
    assert_eq!(fill(), 142);
    let full = a.send_to(&[0; 1434], b.address(), Codepoint::NotEct);
    let until = a.has_room_at();
    assert_eq!(full, Err(Error::Full { until }));
    // What is over is 8 B at 100 Mb/s.
    assert_eq!(until, at(Span::from_ns(640)));
    assert_eq!(net.advance(until), Ok(false));
    assert_eq!((a.has_room_at(), fill()), (net.now(), 1));
}

#[test]
fn what_arrives_where_nothing_is_bound_is_unclaimed() {
    let net = net(PLAIN);
    let [a, b] = ["host0", "host1"].map(|host| net.bind(host, 1).unwrap());
    a.send_to(b"gone", b.address(), Codepoint::NotEct).unwrap();
    drop(b);
    assert_eq!(net.advance(net.end()), Ok(true));
    assert_eq!(net.counters(), Counters { sent: 1, unclaimed: 1, ..Counters::default() });
}

#[test]
fn timers_stop_time_once_each_in_their_order() {
    let net = net(PLAIN);
    let ms = |ms| at(Span::from_ms(ms));
    let mut timers = [5, 3, 3, 9].map(|after| net.timer(ms(after)));
    timers[3].reset(ms(4));
    drop(net.timer(ms(1)));
    let stops = std::iter::from_fn(|| net.advance(ms(8)).unwrap().then(|| net.now()));
    assert_eq!(stops.collect::<Vec<_>>(), [ms(3), ms(4), ms(5)]);
    assert!(timers.iter().all(narrows_net::Timer::is_over));
    assert_eq!(net.now(), ms(8));
    // One that is over already stops nothing.
    let late = net.timer(ms(2));
    assert!(late.is_over() && !net.advance(ms(9)).unwrap());
}

#[test]
fn instants_and_times_are_the_same_moments() {
    let net = net(PLAIN);
    let moment = at(Span::from_us(12) + Span::from_ps(345_678));
    assert_eq!(net.time(net.instant(moment)), at(Span::from_ns(12_345)));
    assert_eq!(net.time(net.instant(Time::ZERO) - std::time::Duration::from_secs(1)), Time::ZERO);
}

#[test]
fn tasks_wait_for_timers_and_datagrams_and_go_on_in_the_order_in_which_they_were_woken() {
    let net = net(PLAIN);
    let executor = Executor::new(&net);
    let [a, b] = ["host0", "host1"].map(|host| net.bind(host, 1).unwrap());
    let said = Arc::new(Mutex::new(Vec::new()));
    let say = |what: &'static str| {
        let (said, net) = (Arc::clone(&said), net.clone());
        move || said.lock().unwrap().push((net.now(), what))
    };
    for name in ["first", "second"] {
        let (say, timer) = (say(name), net.timer(at(Span::from_ms(5))));
        executor.spawn(async move { (timer.await, say()).1 }).detach();
    }
    let to = b.address();
    let echo = executor.spawn(async move {
        let ping = b.received().await;
        b.sent_to(&ping.payload, ping.from, ping.ecn).await
    });
    let say_pong = say("pong");
    let answer = executor.run(async {
        a.sent_to(b"ping", to, Codepoint::Ect0).await?;
        let answer = a.received().await;
        say_pong();
        echo.await.map(|()| answer)
    });
    assert_eq!(answer.unwrap().unwrap().payload, b"ping");
    executor.run(net.timer(at(Span::from_ms(6)))).unwrap();
    let way = Span::from_ms(4) + Span::from_ns(4 * 84 * 80);
    // The answer was sent in the moment after the arrival.
    let pong = at(way) + Span::from_ps(1);
    let ms = |ms| at(Span::from_ms(ms));
    assert_eq!(*said.lock().unwrap(), [(pong, "pong"), (ms(5), "first"), (ms(5), "second")]);
}

#[test]
fn a_future_that_waits_for_nothing_ends_with_the_run() {
    let net = net(PLAIN);
    let socket = net.bind("host0", 1).unwrap();
    let waited = Executor::new(&net).run(socket.received());
    assert_eq!(waited, Err(Error::Ended { end: net.end() }));
    let other = net.clone();
    assert_eq!(net.finish().unwrap().ended, other.end());
    assert_eq!(other.advance(other.end()), Err(Error::Ended { end: other.end() }));
    assert_eq!((socket.receive(), other.finish().is_err()), (None, true));
}

#[test]
fn what_fails_links_and_missing_routes_drop_is_forgotten() {
    let failure = r#"
        [[failures]]
        link = ["dc0/border0", "dc1/border0"]
        from = "50 ms"
        reroute_after = "50 ms"
    "#;
    let ends = ["dc0/rack0/host0", "dc1/rack0/host0"];
    let scenario = include_str!("../examples/two-dc.toml").to_owned() + failure;
    let net = Net::from_text(&scenario, &ends).unwrap();
    let [a, b] = ends.map(|host| net.bind(host, 1).unwrap());
    let dropped = [20, 60, 150].map(|ms| {
        pass(&net, at(Span::from_ms(ms)).saturating_since(net.now()));
        a.send_to(b"?", b.address(), Codepoint::NotEct).unwrap();
        pass(&net, Span::from_ms(25));
        let Counters { dropped, in_flight, .. } = net.counters();
        (dropped, in_flight)
    });
    assert_eq!(dropped, [(0, 0), (1, 0), (2, 0)]);
    drop([a, b]);
    assert!(net.finish().unwrap().no_route.dropped() > 0);
}

/// Sends one datagram at each of some times, and echoes nothing.
struct Clockwork {
    socket: Socket,
    to: SocketAddr,
    times: Vec<Time>,
    ready: u32,
    heard: Vec<Time>,
}

impl Machine for Clockwork {
    fn socket(&self) -> &Socket {
        &self.socket
    }

    fn receive(&mut self, now: Time, datagram: Datagram) {
        assert_eq!(now, datagram.at);
        self.heard.push(now);
    }

    fn due(&mut self) -> Time {
        self.times.first().copied().unwrap_or(Time::NEVER)
    }

    fn wake(&mut self, now: Time) {
        assert_eq!(self.times.remove(0), now);
        self.ready += 1;
    }

    fn transmit(&mut self, _: Time) -> Option<Transmit> {
        self.ready = self.ready.checked_sub(1)?;
        Some(Transmit { to: self.to, ecn: Codepoint::Ect0, payload: vec![1; 18] })
    }
}

#[test]
fn machines_are_woken_when_they_are_due_and_hear_when_it_arrives() {
    let net = net(PLAIN);
    let [a, b] = ["host0", "host1"].map(|host| net.bind(host, 1).unwrap());
    let (of_a, of_b) = (a.address(), b.address());
    let ms = |ms| at(Span::from_ms(ms));
    let machine = |socket, to, times| Clockwork { socket, to, times, ready: 0, heard: Vec::new() };
    let mut a = machine(a, of_b, vec![ms(0), ms(1), ms(7)]);
    let mut b = machine(b, of_a, vec![ms(1)]);
    while net.step(&mut [&mut a, &mut b], ms(20)).unwrap() {}
    // What is sent at the beginning leaves in the very first moment, all else in the one after.
    let way = Span::from_ms(2) + Span::from_ns(2 * 84 * 80);
    let next = Span::from_ps(1);
    assert_eq!(a.heard, [ms(1) + next + way]);
    assert_eq!(b.heard, [ms(0) + way, ms(1) + next + way, ms(7) + next + way]);
    assert_eq!(net.now(), ms(20));
}

/// Datagrams of a property: from which of three hosts to which, size, ECN, and how long it waits then.
fn sends() -> impl Strategy<Value = Vec<(usize, usize, usize, u8, u64)>> {
    let to = (0..3_usize, 1..3_usize).prop_map(|(from, step)| (from, (from + step) % 3));
    let one = (to, 0..1472_usize, 0..4_u8, 0..400_u64);
    prop::collection::vec(one.prop_map(|((from, to), size, ecn, wait)| (from, to, size, ecn, wait)), 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn datagrams_are_conserved_and_marks_arrive(sends in sends(), shallow: bool, fails: bool) {
        let marking = if shallow { r#"buffer.size = "40 kB", marking.step.k = "10 kB""# } else { PLAIN };
        // A link fails, and the switch notices later: then it has no route.
        let failure = r#"[[failures]]
            link = ["host1", "switch"]
            from = "3 ms"
            until = "15 ms"
            reroute_after = "4 ms"
            "#;
        let net = Net::from_text(&scenario(marking, if fails { failure } else { "" }), &HOSTS).unwrap();
        let sockets = HOSTS.map(|host| net.bind(host, 1).unwrap());
        let mut sent = Vec::new();
        for (from, to, size, ecn, wait) in sends {
            let ecn = Codepoint::of_bits(ecn);
            let payload = vec![sent.len() as u8; size];
            if sockets[from].send_to(&payload, sockets[to].address(), ecn).is_ok() {
                sent.push((from, to, ecn, payload));
            }
            pass(&net, Span::from_us(wait));
            let Counters { sent, received, unclaimed, dropped, in_flight } = net.counters();
            prop_assert_eq!(sent, received + unclaimed + dropped + in_flight);
        }
        pass(&net, Span::from_ms(60));
        let counters = net.counters();
        prop_assert_eq!((counters.in_flight, counters.sent), (0, sent.len() as u64));
        let (mut received, mut marked) = (0, 0);
        for (to, socket) in sockets.iter().enumerate() {
            for datagram in drain(socket) {
                // Between two hosts they stay in order, so the first that fits is it.
                let is_it = |(from, other, ecn, payload): &(usize, usize, Codepoint, Vec<u8>)| {
                    let may_be = *ecn == datagram.ecn || datagram.ecn == Codepoint::Ce && *ecn != Codepoint::NotEct;
                    *other == to && sockets[*from].address() == datagram.from && *payload == datagram.payload && may_be
                };
                let place = sent.iter().position(is_it);
                prop_assert!(place.is_some(), "nobody sent {datagram:?}");
                let (_, _, ecn, _) = sent.remove(place.unwrap());
                received += 1;
                marked += u64::from(datagram.ecn == Codepoint::Ce && ecn != Codepoint::Ce);
            }
        }
        prop_assert_eq!((received, sent.len() as u64), (counters.received, counters.dropped));
        drop(sockets);
        let results = net.finish().unwrap();
        // The flow beside does not use ECN.
        prop_assert_eq!(results.ports.iter().map(|port| port.marks).sum::<u64>(), marked);
        prop_assert!(fails || shallow || counters.dropped == 0);
    }
}
