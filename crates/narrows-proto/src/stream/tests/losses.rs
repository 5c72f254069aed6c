//! Losses, and segments taken for lost: noticed and repaired.

use std::ops::Range;

use super::*;

#[test]
fn a_lost_segment_is_sent_again_once_after_a_round_trip_without_timeout() {
    let pipe = Pipe::new(&window(20), 200, losing([50])).run();
    let Stats { retransmissions, timeouts, recoveries, spurious, .. } = pipe.stats();
    assert_eq!((retransmissions, timeouts, recoveries, spurious), (1, 0, 1, 0));
    let lost = pipe.sent[50];
    let again = pipe.sent.iter().find(|(_, segment)| segment.retransmission).expect("it was retransmitted");
    assert_eq!(again.1.seq, lost.1.seq);
    // Three later segments, then the answer (RFC 5681 §3.2).
    assert!(again.0 - lost.0 < ONE_WAY * 2 + SEND_TIME * 5, "{}", again.0 - lost.0);
}

#[test]
fn many_holes_of_one_window_are_repaired_in_one_recovery() {
    let pipe = Pipe::new(&window(40), 400, losing([50, 52, 54, 56, 58, 60, 62])).run();
    let Stats { retransmissions, timeouts, recoveries, .. } = pipe.stats();
    assert_eq!((retransmissions, timeouts, recoveries), (7, 0, 1));
}

#[test]
fn a_lost_retransmission_is_noticed_without_timeout() {
    // Packet 50 is lost; its retransmission is the packet sent when the third later one is acknowledged.
    let mut again = None;
    let first = Pipe::new(&window(20), 200, losing([50])).run();
    for (number, (_, segment)) in first.sent.iter().enumerate() {
        if segment.retransmission {
            again = Some(number as u64);
        }
    }
    let pipe = Pipe::new(&window(20), 200, losing([50, again.expect("retransmitted")])).run();
    assert_eq!((pipe.stats().retransmissions, pipe.stats().timeouts), (2, 0));
}

#[test]
fn a_lost_retransmission_goes_before_losses_beyond_it() {
    // 60 of the 80 segments of a window, and the first retransmission: it is lost when the window still holds others back.
    let lost = |number| (71..=130).contains(&number) || number == 151;
    let pipe = Pipe::new(&reno(), 150, losing_where(lost)).run();
    let again: Vec<_> = pipe.sent.iter().filter(|(_, segment)| segment.retransmission).collect();
    let numbers: Vec<_> = again.iter().map(|(_, segment)| segment.seq / pipe.params.mss().get()).collect();
    let twice = numbers.iter().skip(1).position(|number| *number == 70).expect("sent a third time");
    assert!(twice + 2 < numbers.len(), "{numbers:?}");
    assert_eq!((numbers[0], numbers.len(), pipe.stats().timeouts), (70, 61, 0), "{numbers:?}");
}

#[test]
fn a_lost_tail_is_repaired_by_a_probe() {
    let pipe = Pipe::new(&window(20), 10, losing([10])).run();
    assert_eq!((pipe.stats().probes, pipe.stats().timeouts), (1, 0));
    // Two smoothed round trips after the last acknowledgment (RFC 8985 §7.2), far below the 5 ms minimum timeout.
    assert!(pipe.delivered_at < Time::ZERO + Span::from_us(700), "{}", pipe.delivered_at);
}

#[test]
fn without_probe_a_lost_tail_waits_for_the_timeout() {
    let (min_rto, ack_delay) = (Span::from_ms(5), Span::from_ms(1));
    let params = Params { min_rto, ack_delay, tail_loss_probe: false, ..Params::default() };
    let pipe = Pipe::with(params, &window(20), 10, losing([10])).run();
    assert_eq!((pipe.stats().timeouts, pipe.stats().retransmissions), (1, 1));
    assert!(pipe.delivered_at > Time::ZERO + Span::from_ms(5), "{}", pipe.delivered_at);
}

#[test]
fn a_blackout_is_survived_with_doubling_timeouts() {
    // The window of 20, the probe and three retransmissions of the first segment are lost.
    let pipe = Pipe::new(&reno(), 40, losing_where(|number| (11..35).contains(&number))).run();
    assert_eq!(pipe.stats().timeouts, 4, "{:?}", pipe.stats());
    let gaps = pipe.sent.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let gaps: Vec<_> = gaps.filter(|gap| *gap > Span::from_ms(4)).collect();
    // The first timeout comes 5 ms and a smoothed round trip after the last acknowledgment.
    assert!((gaps[0] - Span::from_ms(5)).as_secs_f64() < 0.0002, "{gaps:?}");
    assert_eq!(gaps, [1, 2, 4, 8].map(|times| gaps[0] * times));
}

#[test]
fn an_answer_to_a_retransmission_ends_the_back_off() {
    // The first window is lost and two retransmissions of its first segment. The third one is answered, the two that follow are lost.
    let lost = |number| (1..=12).contains(&number) || (14..=15).contains(&number);
    let (min_rto, ack_every, tail_loss_probe) = (Span::from_ms(5), 1, false);
    let params = Params { min_rto, ack_every, tail_loss_probe, ..Params::default() };
    let pipe = Pipe::with(params, &reno(), 10, losing_where(lost)).run();
    let gaps = pipe.sent.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|gap| *gap > Span::from_ms(4));
    let gaps: Vec<_> = gaps.map(|gap| (gap.as_secs_f64() * 1000.0).round()).collect();
    assert_eq!(gaps, [5.0, 10.0, 20.0, 5.0]);
}

#[test]
fn the_timer_of_a_loss_that_time_proves_expires_by_its_slack_later_and_before_the_timeout() {
    // The third of four segments is lost; one beyond it proves nothing by itself (RFC 5681 wants three).
    let took = |slack: Option<u64>| {
        let min_rto = Span::from_ms(5);
        let params = Params { min_rto, reordering_slack: slack.map(Span::from_ms), ..Params::default() };
        let pipe = Pipe::with(params, &window(4), 4, losing([3])).run();
        let Stats { retransmissions, timeouts, probes, .. } = pipe.stats();
        assert_eq!((retransmissions, timeouts, probes), (1, 0, 0), "{slack:?}");
        pipe.delivered_at
    };
    assert_eq!(took(Some(2)), took(None) + Span::from_ms(2));
    let late = took(Some(50));
    assert!(late > took(None) + Span::from_ms(4) && late < took(None) + Span::from_ms(6), "{late}");
}

#[test]
fn reordering_within_a_quarter_round_trip_is_no_loss_once_it_was_seen() {
    // Every 40th packet is 20 us late: more than three later ones overtake it.
    let late = Span::from_us(20);
    let fate = move |forward, number: u64| {
        if forward && number % 40 == 39 { Fate::Delay(late) } else { Fate::Arrive }
    };
    let pipe = Pipe::new(&window(60), 2000, fate).run();
    let Stats { recoveries, spurious, .. } = pipe.stats();
    assert_eq!((recoveries, spurious), (1, 1), "{:?}", pipe.stats());
}

#[test]
fn a_needless_halving_is_taken_back() {
    let late = Span::from_us(60);
    let fate = move |forward, number| if forward && number == 100 { Fate::Delay(late) } else { Fate::Arrive };
    let undisturbed = Pipe::new(&reno(), 1000, losing([])).run();
    let pipe = Pipe::new(&reno(), 1000, fate).run();
    assert_eq!(pipe.stats().spurious, 1, "{:?}", pipe.stats());
    assert!(pipe.delivered_at - undisturbed.delivered_at < ONE_WAY * 4);
}

/// The acknowledgments with these numbers are 10 ms late.
fn late_acknowledgments(late: Range<u64>) -> impl FnMut(bool, u64) -> Fate {
    move |forward, number| {
        if !forward && late.contains(&number) { Fate::Delay(Span::from_ms(10)) } else { Fate::Arrive }
    }
}

#[test]
fn a_needless_timeout_retransmits_one_segment_and_leaves_the_window_as_it_was() {
    // A window of acknowledgments is late, and the one of the retransmission.
    for (ack_every, late) in [(1, 40..61), (2, 20..31)] {
        let (min_rto, ack_delay) = (Span::from_ms(5), Span::from_ms(1));
        let room = Params::default().mss() * 20;
        let (receive_window, tail_loss_probe) = (Some(room), false);
        let params =
            Params { min_rto, ack_delay, ack_every, receive_window, tail_loss_probe, ..Params::default() };
        let pipe = Pipe::with(params, &reno(), 80, late_acknowledgments(late)).run();
        let Stats { retransmissions, timeouts, spurious, .. } = pipe.stats();
        assert_eq!((retransmissions, timeouts, spurious), (1, 1, 1), "one for {ack_every}");
        assert!(pipe.sender.limit().cwnd >= room, "{:?}", pipe.sender.limit());
    }
}

#[test]
fn a_timeout_for_what_was_lost_is_not_taken_back() {
    // The window of 20 is lost, and the probe.
    let pipe = Pipe::new(&window(20), 40, losing_where(|number| (11..32).contains(&number))).run();
    let Stats { retransmissions, timeouts, spurious, .. } = pipe.stats();
    assert_eq!((retransmissions, timeouts, spurious), (21, 1, 0));
}

#[test]
fn timeouts_of_which_one_was_needless_are_not_taken_back() {
    // The first window is lost, and the first retransmission. The second one arrives, and its acknowledgment waits for longer than the
    // timeout after it, so that the third is a duplicate.
    let (min_rto, ack_delay) = (Span::from_ms(5), Span::from_ms(40));
    let params = Params { min_rto, ack_delay, tail_loss_probe: false, ..Params::default() };
    let pipe = Pipe::with(params, &reno(), 40, losing_where(|number| (1..=11).contains(&number))).run();
    let Stats { retransmissions, timeouts, spurious, .. } = pipe.stats();
    assert_eq!((retransmissions, timeouts, spurious), (12, 3, 0), "{:?}", pipe.stats());
    // What is left is repaired within some round trips of the third timeout.
    let third = Span::from_ms(5 + 10 + 20);
    assert!(pipe.delivered_at < Time::ZERO + third + Span::from_ms(3), "{}", pipe.delivered_at);
}

#[test]
fn a_needless_probe_does_not_take_back_a_recovery() {
    // Segment 5 of 10 is lost, those after it are late, and a probe sends the last of them again in the meantime.
    let late = Span::from_us(280);
    let fate = move |forward, number| match number {
        5 if forward => Fate::Lose,
        6..=10 if forward => Fate::Delay(late),
        _ => Fate::Arrive,
    };
    let pipe = Pipe::new(&window(10), 10, fate).run();
    let Stats { retransmissions, probes, recoveries, timeouts, spurious, .. } = pipe.stats();
    assert_eq!(
        (retransmissions, probes, recoveries, timeouts, spurious),
        (2, 1, 1, 0, 0),
        "{:?}",
        pipe.stats()
    );
}

#[test]
fn losses_from_before_a_needless_timeout_are_noticed_at_once() {
    // The first window is lost, and one of the two retransmissions that follow the second timeout. The other one is alone: its
    // acknowledgment waits for longer than the third timeout, which is needless.
    let (min_rto, ack_delay) = (Span::from_ms(5), Span::from_ms(40));
    let params = Params { min_rto, ack_delay, tail_loss_probe: false, ..Params::default() };
    let lost = |number| (1..=10).contains(&number) || number == 14;
    let pipe = Pipe::with(params, &reno(), 40, losing_where(lost)).run();
    let Stats { timeouts, spurious, .. } = pipe.stats();
    assert_eq!((timeouts, spurious), (3, 1), "{:?}", pipe.stats());
    let third = Span::from_ms(5 + 10 + 20);
    assert!(pipe.delivered_at < Time::ZERO + third + Span::from_ms(3), "{}", pipe.delivered_at);
}
