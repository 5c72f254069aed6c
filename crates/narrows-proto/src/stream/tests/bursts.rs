//! Senders with segmentation offload.

use super::*;
use crate::stream::Segmentation;

fn offload() -> Params {
    let segmentation = Some(Segmentation::default());
    Params { min_rto: Span::from_ms(5), ack_delay: Span::from_ms(1), segmentation, ..Params::default() }
}

fn paced(rate: BitRate, window: Option<Bytes>) -> Config {
    Config::Fixed(cc::fixed::Params { window, rate: Some(rate), ..Default::default() })
}

/// Sizes of bursts, in segments, and when each began.
fn bursts(pipe: &Pipe) -> Vec<(Time, usize)> {
    let mut bursts: Vec<(Time, usize)> = Vec::new();
    let mut goes_on = false;
    for (at, segment) in pipe.sent.iter().filter(|(_, segment)| !segment.syn) {
        match bursts.last_mut().filter(|_| goes_on) {
            Some((began, len)) => {
                // Nothing keeps the segments of a burst apart.
                assert_eq!(*at, *began + SEND_TIME * *len as u64);
                *len += 1;
            }
            None => bursts.push((*at, 1)),
        }
        goes_on = segment.goes_on;
    }
    assert!(!goes_on, "a burst ends before the flow does");
    bursts
}

#[test]
fn a_paced_sender_releases_what_its_rate_sends_in_a_millisecond_and_keeps_the_rate() {
    // A packet takes 1538 B: 100 Mb/s are 8.1 in a millisecond, 20 Mb/s 1.6, 10 Gb/s 813. 64 KiB hold 45 segments.
    for (mbps, len) in [(100, 8), (20, 2), (10_000, 45)] {
        let rate = BitRate::from_mbps(mbps);
        let pipe = Pipe::with(offload(), &paced(rate, None), 450, losing([])).run();
        let bursts = bursts(&pipe);
        // What the handshake took is made up for: the second follows too soon.
        let whole = &bursts[1..bursts.len() - 1];
        assert!(whole.iter().all(|(_, found)| *found == len), "{mbps} Mb/s: {bursts:?}");
        let gap = rate.time_to_send(Bytes::new(1538 * len as u64));
        for pair in whole.windows(2) {
            // A burst that the link has delayed does not delay the next one.
            let (found, late) = (pair[1].0 - pair[0].0, SEND_TIME * 45);
            assert!(found <= gap + late && gap <= found + late, "{mbps} Mb/s: {found} instead of {gap}");
        }
        let (last, sent) = (whole.last().expect("there are some").0 - whole[0].0, whole.len() as u64 - 1);
        let mean = last / sent.max(1);
        assert!(mean <= gap + SEND_TIME && gap <= mean + SEND_TIME, "{mbps} Mb/s: {mean} instead of {gap}");
    }
}

#[test]
fn a_window_leaves_in_two_bursts_at_least() {
    let pipe = Pipe::with(offload(), &window(20), 200, losing([])).run();
    let bursts = bursts(&pipe);
    assert_eq!((bursts[0].1, bursts[1].1), (10, 10));
    assert!(bursts.iter().all(|(_, len)| *len <= 10), "{bursts:?}");
}

#[test]
fn only_the_last_segment_of_a_burst_of_several_is_pushed_and_only_if_that_is_asked_for() {
    for push_bursts in [false, true] {
        let pipe = Pipe::with(Params { push_bursts, ..offload() }, &window(7), 100, losing([20])).run();
        let (mut before, mut several) = (false, 0);
        for (_, segment) in pipe.sent.iter().filter(|(_, segment)| !segment.syn) {
            assert_eq!(segment.pushed, push_bursts && before && !segment.goes_on, "{segment:?}");
            several += u64::from(before && !segment.goes_on);
            before = segment.goes_on;
        }
        assert!(several > 10, "{several} bursts of several segments");
    }
}

#[test]
fn small_room_in_the_window_waits_for_more() {
    // Acknowledgments free two segments at a time. A third of the window of 30 is 10.
    let pipe = Pipe::with(offload(), &window(30), 600, losing([])).run();
    let bursts = bursts(&pipe);
    let (inner, mean) = (&bursts[2..bursts.len() - 3], 600 / bursts.len());
    assert!(inner.iter().all(|(_, len)| (10..=15).contains(len)), "{bursts:?}");
    assert!(mean >= 10, "{bursts:?}");
}

#[test]
fn bursts_take_no_longer_than_single_segments() {
    // The window holds more than the path of 101 us, 1 us each.
    let took = |params: Params| Pipe::with(params, &window(300), 5000, losing([])).run().delivered_at;
    let alone = took(Params { segmentation: None, ..offload() });
    assert_eq!(took(offload()), alone);
}

#[test]
fn a_burst_of_which_parts_are_lost_is_repaired_without_a_timeout() {
    let pipe = Pipe::with(offload(), &window(40), 400, losing([50, 51, 52, 60, 75])).run();
    let Stats { retransmissions, timeouts, recoveries, .. } = pipe.stats();
    assert_eq!((retransmissions, timeouts, recoveries), (5, 0, 1));
}

#[test]
fn a_window_of_one_segment_does_not_wait() {
    let params = Params { ack_every: 1, ..offload() };
    let pipe = Pipe::with(params, &window(1), 20, losing([])).run();
    assert_eq!(pipe.stats(), Stats { injected: pipe.stats().injected, ..Stats::default() });
    assert!(pipe.delivered_at < Time::ZERO + (ONE_WAY * 2 + SEND_TIME) * 22, "{}", pipe.delivered_at);
}

#[test]
fn the_receiver_has_room_for_every_burst() {
    let room = Params::default().mss() * 7;
    let params = Params { receive_window: Some(room), ..offload() };
    let pipe = Pipe::with(params, &window(100), 400, losing([])).run();
    let bursts = bursts(&pipe);
    assert!(bursts.iter().all(|(_, len)| *len <= 7), "{bursts:?}");
    assert_eq!(pipe.stats().timeouts, 0);
}

/// A sender with a window of twenty segments, which has sent all but three of the second burst of ten.
fn within_a_burst() -> (Params, Sender) {
    let config = Config::Reno(cc::reno::Params { ecn: true, ..Default::default() });
    let params = Params { handshake: false, initial_window: 20, ..offload() };
    let mut sender = Sender::new(&params, &config, HOST, params.mss() * 200);
    sender.start(&params, Time::ZERO);
    for _ in 0..17 {
        assert!(matches!(sender.poll_transmit(&params, Time::ZERO), Poll::Send(_)));
    }
    (params, sender)
}

#[test]
fn the_first_segment_of_the_next_burst_reports_that_the_window_was_reduced() {
    let (params, mut sender) = within_a_burst();
    let now = Time::ZERO + ONE_WAY * 2;
    let mut sent = |acked: u64| {
        let frame = AckFrame { ack: params.mss().get() * acked, ece: acked == 1, ..AckFrame::default() };
        sender.on_ack(&params, now, &frame);
        let all = std::iter::from_fn(|| match sender.poll_transmit(&params, now) {
            Poll::Send(segment) => Some(segment.cwr),
            _ => None,
        });
        all.collect::<Vec<_>>()
    };
    assert_eq!(sent(1), [false; 3], "the network card has them");
    assert_eq!(sent(20)[..2], [true, false]);
}

#[test]
fn a_mark_is_echoed_until_the_network_card_has_sent_its_burst_and_halves_once() {
    let (params, mut sender) = within_a_burst();
    let now = Time::ZERO + ONE_WAY * 2;
    for acked in 1..=20 {
        let frame = AckFrame { ack: params.mss().get() * acked, ece: true, ..AckFrame::default() };
        sender.on_ack(&params, now, &frame);
        if acked < 4 {
            assert_eq!(sender.inflight(), params.mss() * (20 - acked));
            assert!(matches!(sender.poll_transmit(&params, now), Poll::Send(_)));
        }
    }
    assert_eq!(sender.stats().marked, params.mss());
}

#[test]
fn what_is_sent_before_pacing_begins_leaves_at_once() {
    // At 100 Mb/s a segment takes 123 us, on the link 1 us.
    let config = paced(BitRate::from_mbps(100), None);
    let at_once = |params: Params| {
        let pipe = Pipe::with(params, &config, 40, losing([])).run();
        let sent: Vec<_> = pipe.sent.iter().filter(|(_, segment)| !segment.syn).map(|(at, _)| *at).collect();
        sent.windows(2).take_while(|pair| pair[1] - pair[0] == SEND_TIME).count() + 1
    };
    let alone = Params { segmentation: None, ..offload() };
    assert_eq!(at_once(alone.clone()), 1);
    assert_eq!(at_once(Params { pace_from: Some(10), ..alone }), 10);
    // Bursts of eight: the second is the first that is paid for.
    assert_eq!(at_once(Params { pace_from: Some(10), ..offload() }), 16);
}
