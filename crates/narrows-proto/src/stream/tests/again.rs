//! Several flows on one connection, one after another.

use super::*;

/// Reno, after 150 segments: slow start has sent 10, 20, 40 and 80 of them, and the window is 80. The answers to the last 80
/// do not open it further, because the flow did not use it up any more.
fn after_slow_start(params: &Params) -> Pipe {
    let pipe = Pipe::with(params.clone(), &reno(), 150, losing([])).run();
    assert_eq!(pipe.sender.limit().cwnd, params.mss() * 80);
    pipe
}

fn params() -> Params {
    Params { min_rto: Span::from_ms(5), ack_delay: Span::from_ms(1), ..Params::default() }
}

/// Number of segments that the flow sent in its first round trip.
fn first_flight(pipe: &Pipe) -> usize {
    let start = pipe.sent[0].0;
    pipe.sent.iter().filter(|(at, _)| *at < start + ONE_WAY * 2).count()
}

/// A pause that is shorter than the timeout of 5 ms and a round trip, and one that is longer.
const SHORT: Span = Span::from_us(4_500);
const LONG: Span = Span::from_us(5_500);

#[test]
fn the_next_flow_sends_the_window_of_the_last_at_once_without_a_handshake() {
    for pause in [Span::ZERO, SHORT] {
        let first = after_slow_start(&params());
        let begins = first.now + pause;
        let next = first.then(pause, 90);
        assert_eq!(next.sent[0].0, begins);
        assert!(next.sent.iter().all(|(_, segment)| !segment.syn));
        assert_eq!((next.sent[0].1.seq, next.sent[89].1.fin), (0, true));
        // 80 of 1 us each, then the answers to come.
        assert_eq!(first_flight(&next), 80);
        let whole = params().mss() * 90;
        assert_eq!((next.sender.delivered(), next.sender.delivered_before()), (whole, params().mss() * 150));
    }
}

#[test]
fn after_more_than_a_timeout_the_window_restarts() {
    let next = after_slow_start(&params()).then(LONG, 200);
    assert_eq!(first_flight(&next), 10);
    // The connection has never lost anything, so slow start goes on: 10, 20, 40, 80 again.
    let begins = next.sent[0].0;
    let in_round = |n| {
        let round = begins + ONE_WAY * 2 * n..begins + ONE_WAY * 2 * (n + 1);
        next.sent.iter().filter(|(at, _)| round.contains(at)).count()
    };
    assert_eq!([in_round(0), in_round(1), in_round(2)], [10, 20, 40]);
}

#[test]
fn without_the_restart_the_window_stands() {
    let params = Params { restart_after_idle: false, ..params() };
    assert_eq!(first_flight(&after_slow_start(&params).then(Span::from_secs(9), 90)), 80);
}

#[test]
fn each_control_says_what_an_idle_time_does_to_its_window() {
    let restarted = |config: &Config| {
        let pipe = Pipe::with(params(), config, 400, losing([])).run();
        let window = pipe.sender.limit().cwnd;
        let next = Sender::again(pipe.sender.into_connection(), &pipe.params, pipe.now + LONG, window);
        let after = next.limit().cwnd;
        let allowed = [window, params().mss() * if config.needs_rack() { 1 } else { 10 }];
        assert!(allowed.contains(&after), "{}: {window} to {after}", config.name());
        after < window
    };
    let restarting: Vec<_> =
        Config::all().into_iter().filter(restarted).map(|config| config.name()).collect();
    assert_eq!(restarting, ["reno", "cubic", "dctcp", "gemini", "vegas", "prague", "rackcc"]);
}

#[test]
fn a_flow_counts_only_what_it_went_through_itself() {
    let first = Pipe::with(params(), &window(20), 200, losing([50, 60, 201])).run();
    assert!(first.stats().retransmissions >= 3 && first.stats().recoveries > 0);
    let before = first.now;
    let next = first.then(SHORT, 100);
    let injected = next.stats().injected;
    assert_eq!(next.stats(), Stats { injected, ..Stats::default() });
    assert!(injected.is_some_and(|injected| injected > before));
    assert_eq!(next.sent.len(), 100);
}

#[test]
fn the_first_window_of_a_later_flow_is_paced() {
    let params = Params { pace_windows: true, ..params() };
    let next = Pipe::with(params, &window(10), 50, losing([])).run().then(SHORT, 10);
    // 10 segments in about 100 us at 1.25 times the rate, as in `a_paced_window_is_spread_over_the_round_trip`.
    assert!(next.sent.windows(2).all(|pair| pair[1].0 - pair[0].0 >= Span::from_us(6)));
}

#[test]
fn a_loss_in_the_first_flight_of_a_later_flow_is_repaired_like_any() {
    // Packets 0 to 70 are the SYN and the first flow; the second loses its first segment and its third.
    let first = Pipe::with(params(), &window(20), 70, losing([71, 73])).run();
    let next = first.then(SHORT, 40);
    let Stats { retransmissions, timeouts, recoveries, .. } = next.stats();
    assert_eq!((retransmissions, timeouts, recoveries), (2, 0, 1));
}

#[test]
fn what_the_last_flow_had_reduced_for_does_not_excuse_the_next() {
    // A mark near the end of the first flow, and one in the first flight of the second: two reductions.
    let config = Config::Reno(cc::reno::Params { ecn: true, ..Default::default() });
    let fate =
        |forward, number| if forward && [30, 31].contains(&number) { Fate::Mark } else { Fate::Arrive };
    let first = Pipe::with(params(), &config, 30, fate).run();
    assert_eq!(first.stats().marked, params().mss());
    let next = first.then(SHORT, 30);
    assert_eq!(next.stats().marked, params().mss());
    assert!(!next.sent[0].1.cwr, "its receiver has seen no mark");
}

proptest! {
    #[test]
    fn what_a_control_receives_goes_on_from_flow_to_flow(
        fates in prop::collection::vec((any_fate(), any_fate()), 0..120),
        flows in prop::collection::vec((0..12_000_u64, 1..60_u64), 1..5),
        number in 0..Config::all().len(),
    ) {
        let config = &Config::all()[number];
        let fate = move |forward: bool, number: u64| {
            let pair = fates.get(number as usize).copied().unwrap_or((Fate::Arrive, Fate::Arrive));
            if forward { pair.0 } else { pair.1 }
        };
        let mut pipe = Pipe::with(params(), config, 20, fate).run();
        let (mut size, mut again) = (pipe.params.mss() * 20, pipe.stats().retransmitted);
        for (pause, segments) in flows {
            let last = *pipe.acks.last().expect("something was acknowledged");
            let whole = size + again;
            pipe = pipe.then(Span::from_us(pause), segments);
            let begins = pipe.sent[0].0;
            size += pipe.params.mss() * segments;
            again += pipe.stats().retransmitted;
            let first = &pipe.acks[0];
            prop_assert!(first.round_start && first.delivery.app_limited);
            // All the last flow sent counts, also what was sent after its last acknowledgment had left.
            prop_assert!(first.sent > whole);
            let mut before = last;
            for ack in &pipe.acks {
                prop_assert!(ack.now >= before.now && ack.sent >= before.sent && ack.lost >= before.lost);
                prop_assert_eq!(ack.delivered, before.delivered + ack.acked);
                prop_assert!(ack.delivered + ack.inflight <= ack.sent);
                // No sample looks back to before the flow.
                prop_assert!(ack.delivery.interval <= ack.now - begins);
                prop_assert!(ack.delivery.delivered <= ack.delivered - last.delivered);
                before = *ack;
            }
            prop_assert_eq!(before.delivered, size);
            prop_assert_eq!(before.sent, size + again);
        }
    }
}
