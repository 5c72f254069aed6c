//! Sender and receiver together, over a path that loses, delays and duplicates what it is set to.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;

use super::credits::{Granter, Pull};
use super::{
    AckFrame, Endpoint, Gap, Params, Poll, Receiver, Recovery, Reply, Segment, Selective, Sender, Stats,
    Trimmed,
};
use crate::cc::{self, Config};
use crate::units::{BitRate, Bytes, Span, Time};

/// Fate of the n-th packet that the path carries in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Arrive,
    Lose,
    Delay(Span),
    Duplicate,
    Mark,
    /// A switch cuts off its payload; acknowledgments arrive.
    Trim,
}

#[derive(Debug)]
enum Event {
    /// With its request for credit.
    Segment(Segment, Option<u64>),
    Trimmed(Segment, Option<u64>),
    Grant(u64),
    /// The receiver may have a grant to send.
    Turn,
    Reply(Reply),
    Timer,
    LinkFree,
}

struct Pipe {
    params: Params,
    sender: Sender,
    receiver: Receiver,
    granter: Granter,
    now: Time,
    link_free: Time,
    agenda: BinaryHeap<Reverse<(Time, usize)>>,
    events: Vec<Option<Event>>,
    fate: Box<dyn FnMut(bool, u64) -> Fate>,
    carried: [u64; 2],
    delivered_at: Time,
    sent: Vec<(Time, Segment)>,
    armed: Time,
}

const RECOVERIES: [Recovery; 3] = [Recovery::GoBackN, Recovery::SelectiveRepeat, Recovery::AnyOrder];

/// 1106 B in 1 us.
const HOST: Endpoint = Endpoint { link: BitRate::from_mbps(8848), seed: 1 };
const ONE_WAY: Span = Span::from_us(50);
const SEND_TIME: Span = Span::from_us(1);
const RTO: Span = Span::from_ms(1);

impl Pipe {
    fn new(
        params: Params,
        config: &Config,
        packets: u64,
        fate: impl FnMut(bool, u64) -> Fate + 'static,
    ) -> Self {
        Self {
            receiver: Receiver::new(config.ecn()),
            granter: Granter::new(&config.credits().unwrap_or_default(), HOST.link),
            sender: Sender::new(&params, config, HOST, params.mtu * packets),
            params,
            now: Time::ZERO,
            link_free: Time::ZERO,
            agenda: BinaryHeap::new(),
            events: Vec::new(),
            fate: Box::new(fate),
            carried: [0; 2],
            delivered_at: Time::NEVER,
            sent: Vec::new(),
            armed: Time::NEVER,
        }
    }

    fn at(&mut self, at: Time, event: Event) {
        self.agenda.push(Reverse((at, self.events.len())));
        self.events.push(Some(event));
    }

    fn carry(&mut self, forward: bool, packet: impl Fn(bool) -> Event) {
        let fate = (self.fate)(forward, self.carried[usize::from(forward)]);
        self.carried[usize::from(forward)] += 1;
        let arrival = self.now + ONE_WAY;
        match fate {
            Fate::Lose => {}
            Fate::Delay(by) => self.at(arrival + by, packet(false)),
            Fate::Duplicate => {
                self.at(arrival, packet(false));
                self.at(arrival, packet(false));
            }
            Fate::Trim if forward => {
                let event = match packet(false) {
                    Event::Segment(segment, request) => Event::Trimmed(segment, request),
                    event => event,
                };
                self.at(arrival, event);
            }
            Fate::Arrive | Fate::Mark | Fate::Trim => self.at(arrival, packet(fate == Fate::Mark)),
        }
    }

    /// A request arrived. One that came alone is answered in any case.
    fn grant(&mut self, request: Option<u64>, alone: bool) {
        let Some(target) = request else { return };
        self.granter.request(0, target);
        if alone {
            let granted = self.granter.granted(0);
            self.carry(false, |_| Event::Grant(granted));
        }
        self.plan_turn();
    }

    fn turn(&mut self) {
        if let Some(Pull { granted, .. }) = self.granter.turn(self.now) {
            self.carry(false, |_| Event::Grant(granted));
            self.plan_turn();
        }
    }

    fn plan_turn(&mut self) {
        let next = self.granter.next_turn();
        if next < Time::NEVER {
            self.at(next.max(self.now), Event::Turn);
        }
    }

    fn pump(&mut self) {
        if self.link_free > self.now {
            return;
        }
        match self.sender.poll_transmit(&self.params, self.now) {
            Poll::Send(segment) => {
                self.sent.push((self.now, segment));
                let request = self.sender.request(&self.params, 1);
                self.carry(true, |ce| Event::Segment(Segment { ce, ..segment }, request));
                self.link_free = self.now + SEND_TIME;
                self.at(self.link_free, Event::LinkFree);
            }
            Poll::At(at) => self.at(at, Event::LinkFree),
            Poll::Blocked => {}
        }
    }

    /// Runs until the sender knows that everything arrived. Panics if nothing more happens before that.
    fn run(mut self) -> Self {
        self.pump();
        while !self.sender.is_complete() {
            let due = self.sender.next_timer();
            if due < self.armed {
                self.armed = due;
                self.at(due, Event::Timer);
            }
            let Some(Reverse((at, event))) = self.agenda.pop() else {
                panic!("stuck at {} with {:?}", self.now, self.sender);
            };
            assert!(self.events.len() < 1_000_000, "stuck at {} with {:?}", self.now, self.sender);
            self.now = at;
            if self.armed <= at {
                self.armed = Time::NEVER;
            }
            let mut replies = Vec::new();
            match self.events[event].take().expect("every event happens once") {
                Event::Segment(segment, request) => {
                    self.grant(request, segment.len == 0);
                    self.receiver.on_segment(&self.params, self.now, &segment, |reply| replies.push(reply));
                    if self.receiver.is_complete() && self.delivered_at == Time::NEVER {
                        self.delivered_at = self.now;
                    }
                }
                Event::Trimmed(segment, request) => {
                    self.grant(request, false);
                    let trimmed = Trimmed { segment: Segment { len: 0, ..segment }, at_last_hop: false };
                    self.receiver.on_trimmed(&self.params, self.now, &trimmed, |reply| replies.push(reply));
                }
                Event::Reply(Reply::Ack(frame)) => self.sender.on_ack(&self.params, self.now, &frame),
                Event::Reply(Reply::Cnp) => self.sender.on_cnp(self.now),
                Event::Grant(granted) => self.sender.on_grant(granted),
                Event::Turn => self.turn(),
                Event::Timer => self.sender.on_timer(&self.params, self.now),
                Event::LinkFree => {}
            }
            for reply in replies {
                self.carry(false, |_| Event::Reply(reply));
            }
            self.pump();
            assert!(self.sender.next_timer() >= self.now, "a timer in the past");
        }
        assert!(self.receiver.is_complete());
        assert_eq!(Bytes::new(self.receiver.delivered()), self.sender.delivered());
        assert_eq!(self.sender.inflight(), Bytes::ZERO);
        self
    }

    fn stats(&self) -> Stats {
        self.sender.stats()
    }

    /// Numbers of the packets retransmitted, in order.
    fn again(&self) -> Vec<u64> {
        let mtu = self.params.mtu.get();
        self.sent.iter().filter(|(_, segment)| segment.retransmission).map(|(_, s)| s.seq / mtu).collect()
    }
}

fn unlimited() -> Config {
    Config::Fixed(cc::fixed::Params::default())
}

fn dcqcn() -> Config {
    Config::Dcqcn(cc::dcqcn::Params::default())
}

fn params(recovery: Recovery) -> Params {
    Params { recovery, rto: RTO, ..Params::default() }
}

/// Loses the data packets with these numbers, counted from 0.
fn losing<const N: usize>(lost: [u64; N]) -> impl FnMut(bool, u64) -> Fate {
    move |forward, number| if forward && lost.contains(&number) { Fate::Lose } else { Fate::Arrive }
}

#[test]
fn a_message_leaves_at_line_rate_without_waiting_for_anything() {
    for config in [unlimited(), dcqcn()] {
        let pipe = Pipe::new(params(Recovery::GoBackN), &config, 200, losing([])).run();
        assert!(pipe.sent.windows(2).all(|pair| pair[1].0 - pair[0].0 == SEND_TIME), "{}", config.name());
        assert_eq!(pipe.delivered_at, Time::ZERO + SEND_TIME * 199 + ONE_WAY);
    }
}

#[test]
fn the_gap_after_a_late_packet_begins_where_it_is_set_to() {
    for (gap, release) in [(Gap::Schedule, SEND_TIME * 2), (Gap::Departure, SEND_TIME * 5 / 2)] {
        let params = Params { gap, ..Params::default() };
        let mut sender = Sender::new(&params, &dcqcn(), HOST, params.mtu * 3);
        for sent in [Span::ZERO, SEND_TIME * 3 / 2] {
            assert!(matches!(sender.poll_transmit(&params, Time::ZERO + sent), Poll::Send(_)));
        }
        let next = sender.poll_transmit(&params, Time::ZERO + SEND_TIME * 3 / 2);
        assert_eq!(next, Poll::At(Time::ZERO + release), "{gap:?}");
    }
}

#[test]
fn going_back_repeats_everything_from_the_gap_on() {
    // Packet 5 leaves at 5 us; the answer to packet 6 comes back at 106 us. Packets 5 to 105 have left by then, and packet
    // 106 would be next.
    let pipe = Pipe::new(params(Recovery::GoBackN), &unlimited(), 200, losing([5])).run();
    assert_eq!(pipe.again(), (5..=105).collect::<Vec<_>>());
    let Stats { retransmissions, timeouts, recoveries, .. } = pipe.stats();
    assert_eq!((retransmissions, timeouts, recoveries), (101, 0, 1));
}

#[test]
fn the_last_byte_of_a_message_is_injected_when_it_leaves_for_the_first_time() {
    for recovery in RECOVERIES {
        for (lost, times) in [(250, 1), (199, 2)] {
            let pipe = Pipe::new(params(recovery), &unlimited(), 200, losing([lost])).run();
            assert_eq!(pipe.sent.iter().filter(|(_, segment)| segment.fin).count(), times);
            assert_eq!(pipe.stats().injected, Some(Time::ZERO + SEND_TIME * 199), "{recovery:?}");
        }
    }
    let params = Params { window: Some(Params::default().mtu * 2), ..Params::default() };
    let mut sender = Sender::new(&params, &unlimited(), HOST, params.mtu * 3);
    for _ in 0..2 {
        assert!(matches!(sender.poll_transmit(&params, Time::ZERO), Poll::Send(_)));
    }
    assert_eq!(sender.poll_transmit(&params, Time::ZERO), Poll::Blocked);
    assert_eq!(sender.stats().injected, None);
}

#[test]
fn selective_repeat_repeats_what_is_missing_and_nothing_else() {
    let pipe = Pipe::new(params(Recovery::SelectiveRepeat), &unlimited(), 200, losing([5, 6, 9])).run();
    assert_eq!(pipe.again(), [5, 6, 9]);
    let Stats { timeouts, recoveries, .. } = pipe.stats();
    assert_eq!((timeouts, recoveries), (0, 1));
}

#[test]
fn in_any_order_reordering_repeats_nothing() {
    // Every second packet is late by up to 36 packets, and 200 are on their way: 18 arrive beyond one.
    let fate = |forward: bool, number: u64| match number % 2 {
        0 if forward => Fate::Delay(Span::from_us(number % 37)),
        _ => Fate::Arrive,
    };
    for (recovery, repeats) in [(Recovery::SelectiveRepeat, true), (Recovery::AnyOrder, false)] {
        let window = Some(Params::default().mtu * 150);
        let pipe = Pipe::new(Params { window, ..params(recovery) }, &unlimited(), 2_000, fate).run();
        assert_eq!((pipe.stats().retransmissions > 0, pipe.stats().timeouts), (repeats, 0), "{recovery:?}");
    }
}

#[test]
fn a_trimmed_packet_is_repeated_a_round_trip_after_it_was_sent() {
    let fate =
        |forward, number| if forward && [5, 6, 9].contains(&number) { Fate::Trim } else { Fate::Arrive };
    let pipe = Pipe::new(params(Recovery::AnyOrder), &unlimited(), 200, fate).run();
    assert_eq!((pipe.again(), pipe.stats().timeouts, pipe.stats().recoveries), (vec![5, 6, 9], 0, 1));
    let again = pipe.sent.iter().find(|(_, segment)| segment.retransmission).expect("one is repeated");
    // It leaves at 5 us, and goes there and back.
    assert_eq!(again.0, Time::ZERO + Span::from_us(5) + ONE_WAY * 2);
}

#[test]
fn a_packet_trimmed_twice_is_repeated_twice() {
    // 105 packets leave before the answer comes, at 105 us; packet 5 is then number 105, counted from 0.
    let fate =
        |forward, number| if forward && [5, 105].contains(&number) { Fate::Trim } else { Fate::Arrive };
    let pipe = Pipe::new(params(Recovery::AnyOrder), &unlimited(), 200, fate).run();
    assert_eq!((pipe.again(), pipe.stats().timeouts), (vec![5, 5], 0));
}

#[test]
fn what_is_missing_while_windows_arrive_beyond_it_is_lost() {
    // Packet 5 is lost, and those beyond it go on within a window of 20: 30 of them are one window and a half.
    let window = Some(Params::default().mtu * 20);
    for (packets, timeouts) in [(35, 1), (36, 0)] {
        let params = Params { window, ..params(Recovery::AnyOrder) };
        let pipe = Pipe::new(params, &unlimited(), packets, losing([5])).run();
        assert_eq!((pipe.again(), pipe.stats().timeouts), (vec![5], timeouts), "{packets}");
    }
}

#[test]
fn a_repeated_packet_that_is_lost_waits_for_the_timeout() {
    // 101 packets leave before the answer names packet 6; packet 5 is then the 102nd of all, number 106 counted from 0.
    let pipe = Pipe::new(params(Recovery::SelectiveRepeat), &unlimited(), 200, losing([5, 106])).run();
    assert_eq!((pipe.again()[0], pipe.stats().timeouts), (5, 1));
    // Until the timeout nothing else was repeated; then all that is missing is, which is packet 5.
    assert_eq!(pipe.again(), [5, 5]);
}

#[test]
fn a_lost_tail_costs_one_timeout_however_long_it_is() {
    for recovery in RECOVERIES {
        let pipe = Pipe::new(params(recovery), &unlimited(), 10, losing([7, 8, 9])).run();
        assert_eq!((pipe.again(), pipe.stats().timeouts), (vec![7, 8, 9], 1));
        // Packet 6 is acknowledged at 106 us; the timeout follows 1 ms later, and packet 9 is sent two packets after it.
        assert_eq!(pipe.delivered_at, Time::ZERO + Span::from_us(106 + 1000 + 2 + 50));
    }
}

#[test]
fn a_lost_acknowledgment_is_made_up_for_by_the_next() {
    let fate = |forward: bool, number: u64| if !forward && number < 9 { Fate::Lose } else { Fate::Arrive };
    let pipe = Pipe::new(params(Recovery::GoBackN), &unlimited(), 10, fate).run();
    assert_eq!(pipe.stats().retransmissions, 0);
}

#[test]
fn a_lost_last_acknowledgment_costs_the_last_packet_again() {
    let fate = |forward: bool, number: u64| if !forward && number == 9 { Fate::Lose } else { Fate::Arrive };
    for recovery in RECOVERIES {
        let pipe = Pipe::new(params(recovery), &unlimited(), 10, fate).run();
        assert_eq!((pipe.again(), pipe.stats().timeouts), (vec![9], 1));
    }
}

#[test]
fn the_sender_requests_an_acknowledgment_with_every_nth_packet_and_with_the_last() {
    let params = Params { ack_every: 4, ..params(Recovery::GoBackN) };
    let pipe = Pipe::new(params, &unlimited(), 10, losing([])).run();
    let requests: Vec<_> = pipe.sent.iter().map(|(_, segment)| u8::from(segment.requests_ack)).collect();
    assert_eq!(requests, [0, 0, 0, 1, 0, 0, 0, 1, 0, 1]);
}

#[test]
fn a_window_bounds_what_is_on_its_way_and_its_last_packet_requests_an_acknowledgment() {
    let window = Some(Params::default().mtu * 3);
    let params = Params { ack_every: 100, window, ..params(Recovery::SelectiveRepeat) };
    let pipe = Pipe::new(params, &unlimited(), 9, losing([])).run();
    let times: Vec<_> = pipe.sent.iter().map(|(at, _)| (*at - Time::ZERO).as_ps() / 1_000_000).collect();
    // Three packets, then one round trip after the third.
    assert_eq!(times, [0, 1, 2, 102, 103, 104, 204, 205, 206]);
}

#[test]
fn marks_reach_the_control_as_notification_packets() {
    // All packets sent from 10 us to 99 us are marked: CNPs leave at 60 and 110 us.
    let fate =
        |forward, number| if forward && (10..100).contains(&number) { Fate::Mark } else { Fate::Arrive };
    let pipe = Pipe::new(params(Recovery::GoBackN), &dcqcn(), 400, fate).run();
    assert_eq!(pipe.stats().cnps, 2);
    // The first arrives at 110 us and halves the rate.
    let gap = |from: u64| {
        let place = pipe.sent.iter().position(|(at, _)| *at >= Time::ZERO + Span::from_us(from));
        let place = place.expect("something is sent after it");
        pipe.sent[place + 1].0 - pipe.sent[place].0
    };
    assert_eq!((gap(100), gap(112)), (SEND_TIME, SEND_TIME * 2));
}

#[test]
fn a_control_with_a_window_receives_marks_and_losses() {
    let fate = |forward, number| match (forward, number) {
        (true, 20..25) => Fate::Mark,
        (true, 200) => Fate::Lose,
        _ => Fate::Arrive,
    };
    let config = Config::Dctcp(cc::dctcp::Params::default());
    let pipe = Pipe::new(params(Recovery::SelectiveRepeat), &config, 500, fate).run();
    let Stats { marked, recoveries, retransmissions, .. } = pipe.stats();
    assert_eq!((marked, recoveries, retransmissions), (Params::default().mtu * 5, 1, 1));
}

#[test]
fn what_waits_for_a_slow_rate_does_not_time_out() {
    // 1106 B at 1 Mb/s take 8.8 ms, the timeout 1 ms; one packet is on its way at a time, and one is lost.
    let rate = Some(BitRate::from_mbps(1));
    let config = Config::Fixed(cc::fixed::Params { rate, ..Default::default() });
    let pipe = Pipe::new(params(Recovery::GoBackN), &config, 10, losing([4])).run();
    assert_eq!((pipe.again(), pipe.stats().timeouts), (vec![4], 1));
}

#[test]
fn an_old_acknowledgment_says_nothing() {
    let params = params(Recovery::GoBackN);
    let mut sender = Sender::new(&params, &unlimited(), HOST, params.mtu * 10);
    while let Poll::Send(_) = sender.poll_transmit(&params, Time::ZERO) {}
    let mtu = params.mtu.get();
    sender.on_ack(&params, Time::ZERO + ONE_WAY, &AckFrame { ack: 5 * mtu, ..AckFrame::default() });
    let old = AckFrame { ack: 2 * mtu, nak: Some(3 * mtu), ..AckFrame::default() };
    sender.on_ack(&params, Time::ZERO + ONE_WAY, &old);
    assert_eq!((sender.stats().recoveries, sender.inflight()), (0, params.mtu * 5));
}

/// Any fate on a path, mostly arrival.
fn any_fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        12 => Just(Fate::Arrive),
        2 => Just(Fate::Lose),
        2 => (1..400_u64).prop_map(|us| Fate::Delay(Span::from_us(us))),
        1 => Just(Fate::Duplicate),
        1 => Just(Fate::Mark),
        1 => Just(Fate::Trim),
    ]
}

proptest! {
    #[test]
    fn every_flow_ends_whatever_the_path_does(
        fates in prop::collection::vec((any_fate(), any_fate()), 0..120),
        packets in 1..200_u64,
        recovery in prop::sample::select(RECOVERIES.to_vec()),
        ack_every in 1..4_u64,
        window in prop::option::of(1..50_u64),
        // Shorter than the round trip of 101 us as well.
        rto in prop::sample::select(vec![60_u64, 150, 1000]),
    ) {
        let window = window.map(|packets| Params::default().mtu * packets);
        let params = Params { recovery, ack_every, window, rto: Span::from_us(rto), ..Params::default() };
        for config in Config::all() {
            let fates = fates.clone();
            let fate = move |forward: bool, number: u64| {
                let pair = fates.get(number as usize).copied().unwrap_or((Fate::Arrive, Fate::Arrive));
                match if forward { pair.0 } else { pair.1 } {
                    Fate::Trim if recovery != Recovery::AnyOrder => Fate::Lose,
                    fate => fate,
                }
            };
            // `run` checks that the flow ends, complete and with nothing in flight.
            Pipe::new(params.clone(), &config, packets, fate).run();
        }
    }
}

#[test]
fn where_acknowledgments_name_a_retransmission_it_measures_the_round_trip_time() {
    for (again, base) in [(true, Span::from_us(10)), (false, Span::from_us(12))] {
        let params = params(Recovery::AnyOrder);
        let cc = Config::Nscc(cc::nscc::Params::default());
        let at = Endpoint { link: BitRate::from_gbps(100), seed: 1 };
        let mut sender = Sender::new(&params, &cc, at, params.mtu);
        let us = |us| Time::ZERO + Span::from_us(us);
        let sends = |poll| assert!(matches!(poll, Poll::Send(_)));
        sends(sender.poll_transmit(&params, us(0)));
        sender.on_ack(&params, us(20), &AckFrame { nak: Some(0), ..AckFrame::default() });
        sends(sender.poll_transmit(&params, us(20)));
        let selective = Selective { again, ..Selective::default() };
        sender.on_ack(&params, us(30), &AckFrame { ack: params.mtu.get(), selective, ..AckFrame::default() });
        let mut found = Vec::new();
        sender.inside(&mut |name, value| found.push((name, value)));
        assert!(found.contains(&("base_rtt_ps", (base.as_ps() as f64).into())), "{found:?}");
    }
}
