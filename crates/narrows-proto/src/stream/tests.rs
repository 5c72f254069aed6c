//! Sender and receiver together, over a path that loses, delays and duplicates what it is set to.

mod again;
mod bursts;
mod losses;
mod remembered;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;

use super::{AckFrame, Endpoint, Merging, Params, Poll, Receiver, Segment, Sender, Stats};
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
}

#[derive(Debug)]
enum Event {
    Segment(Segment),
    Ack(AckFrame),
    SenderTimer,
    ReceiverTimer,
    LinkFree,
}

/// A receiver with or without receive offload.
enum End {
    Plain(Receiver),
    Merging(Merging),
}

impl End {
    fn new(params: &Params, ecn: cc::Ecn) -> Self {
        match params.receive_offload {
            None => Self::Plain(Receiver::new(ecn)),
            Some(_) => Self::Merging(Merging::new(ecn)),
        }
    }

    fn receiver(&self) -> &Receiver {
        match self {
            Self::Plain(receiver) => receiver,
            Self::Merging(merging) => merging.receiver(),
        }
    }

    fn next_timer(&self) -> Time {
        match self {
            Self::Plain(receiver) => receiver.next_timer(),
            Self::Merging(merging) => merging.next_timer(),
        }
    }

    /// A segment arrives, or time has passed. Returns the acknowledgments due.
    fn advance(&mut self, params: &Params, now: Time, segment: Option<&Segment>) -> Vec<AckFrame> {
        let mut frames = Vec::new();
        let send = |frame| frames.push(frame);
        match (self, segment) {
            (Self::Plain(receiver), Some(segment)) => receiver.on_segment(params, now, segment, send),
            (Self::Plain(receiver), None) => frames.extend(receiver.on_timer(params, now)),
            (Self::Merging(merging), Some(segment)) => merging.on_segment(params, now, segment, send),
            (Self::Merging(merging), None) => merging.on_timer(params, now, send),
        }
        frames
    }
}

struct Pipe {
    params: Params,
    sender: Sender,
    receiver: End,
    ecn: cc::Ecn,
    now: Time,
    link_free: Time,
    agenda: BinaryHeap<Reverse<(Time, usize)>>,
    events: Vec<Option<Event>>,
    fate: Box<dyn FnMut(bool, u64) -> Fate>,
    carried: [u64; 2],
    delivered_at: Time,
    sent: Vec<(Time, Segment)>,
    /// Acknowledgments that the control of this flow has received.
    acks: Vec<cc::Ack>,
    /// Times on the agenda for the timers of the sender and of the receiver. Planning a timer again after every event
    /// would multiply them without end while a sender is paced slowly.
    armed: [Time; 2],
}

const HOST: Endpoint = Endpoint { link: BitRate::from_gbps(12), seed: 1 };
const ONE_WAY: Span = Span::from_us(50);
const SEND_TIME: Span = Span::from_us(1);

impl Pipe {
    fn new(config: &Config, segments: u64, fate: impl FnMut(bool, u64) -> Fate + 'static) -> Self {
        let params = Params { min_rto: Span::from_ms(5), ack_delay: Span::from_ms(1), ..Params::default() };
        Self::with(params, config, segments, fate)
    }

    fn with(
        params: Params,
        config: &Config,
        segments: u64,
        fate: impl FnMut(bool, u64) -> Fate + 'static,
    ) -> Self {
        let mut sender = Sender::new(&params, config, HOST, params.mss() * segments);
        sender.start(&params, Time::ZERO);
        Self {
            receiver: End::new(&params, config.ecn()),
            ecn: config.ecn(),
            sender,
            params,
            now: Time::ZERO,
            link_free: Time::ZERO,
            agenda: BinaryHeap::new(),
            events: Vec::new(),
            fate: Box::new(fate),
            carried: [0; 2],
            delivered_at: Time::NEVER,
            sent: Vec::new(),
            acks: Vec::new(),
            armed: [Time::NEVER; 2],
        }
    }

    fn at(&mut self, at: Time, event: Event) {
        self.agenda.push(Reverse((at, self.events.len())));
        self.events.push(Some(event));
    }

    fn arm(&mut self) {
        let due = [self.sender.next_timer(), self.receiver.next_timer()];
        for (side, event) in [Event::SenderTimer, Event::ReceiverTimer].into_iter().enumerate() {
            if due[side] < self.armed[side] {
                self.armed[side] = due[side];
                self.at(due[side], event);
            }
        }
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
            Fate::Arrive | Fate::Mark => self.at(arrival, packet(fate == Fate::Mark)),
        }
    }

    fn pump(&mut self) {
        if self.link_free > self.now {
            return;
        }
        match self.sender.poll_transmit(&self.params, self.now) {
            Poll::Send(segment) => {
                self.sent.push((self.now, segment));
                self.carry(true, |ce| Event::Segment(Segment { ce, ..segment }));
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
            self.arm();
            let Some(Reverse((at, event))) = self.agenda.pop() else {
                panic!("stuck at {} with {:?}", self.now, self.sender);
            };
            self.now = at;
            self.armed = self.armed.map(|armed| if armed <= at { Time::NEVER } else { armed });
            let mut frames = Vec::new();
            match self.events[event].take().expect("every event happens once") {
                Event::Segment(segment) => {
                    frames = self.receiver.advance(&self.params, self.now, Some(&segment));
                }
                Event::ReceiverTimer => frames = self.receiver.advance(&self.params, self.now, None),
                Event::Ack(frame) => {
                    self.sender.on_ack(&self.params, self.now, &frame);
                    self.acks.extend(self.sender.last_ack.take());
                }
                Event::SenderTimer => self.sender.on_timer(&self.params, self.now),
                Event::LinkFree => {}
            }
            if self.receiver.receiver().is_complete() && self.delivered_at == Time::NEVER {
                self.delivered_at = self.now;
            }
            for frame in frames {
                self.carry(false, |_| Event::Ack(frame));
            }
            self.pump();
            assert!(self.sender.next_timer() >= self.now, "a timer in the past");
        }
        assert!(self.receiver.receiver().is_complete());
        assert_eq!(Bytes::new(self.receiver.receiver().delivered()), self.sender.delivered());
        assert_eq!(self.sender.inflight(), Bytes::ZERO);
        self
    }

    /// The next flow of the connection, `pause` later, until it ends too. Packets of the last flow belong to nobody.
    fn then(mut self, pause: Span, segments: u64) -> Self {
        self.now += pause;
        self.agenda.clear();
        self.armed = [Time::NEVER; 2];
        self.delivered_at = Time::NEVER;
        self.sent.clear();
        self.acks.clear();
        let size = self.params.mss() * segments;
        self.sender = Sender::again(self.sender.into_connection(), &self.params, self.now, size);
        self.receiver = End::new(&self.params, self.ecn);
        self.run()
    }

    fn stats(&self) -> Stats {
        self.sender.stats()
    }
}

fn reno() -> Config {
    Config::Reno(cc::reno::Params::default())
}

fn window(segments: u64) -> Config {
    let mss = Params::default().mss();
    Config::Fixed(cc::fixed::Params { window: Some(mss * segments), ..Default::default() })
}

/// Loses the data packets with these numbers; number 0 is the SYN.
fn losing<const N: usize>(lost: [u64; N]) -> impl FnMut(bool, u64) -> Fate {
    losing_where(move |number| lost.contains(&number))
}

/// Loses the data packets of whose number this holds.
fn losing_where(lost: impl Fn(u64) -> bool) -> impl FnMut(bool, u64) -> Fate {
    move |forward, number| if forward && lost(number) { Fate::Lose } else { Fate::Arrive }
}

#[test]
fn the_handshake_costs_one_round_trip() {
    let with = Pipe::new(&reno(), 1, losing([])).run();
    let params = Params { handshake: false, ..Params::default() };
    let without = Pipe::with(params, &reno(), 1, losing([])).run();
    assert_eq!(with.delivered_at - without.delivered_at, ONE_WAY * 2);
}

#[test]
fn a_lost_syn_is_sent_again_after_one_second_then_two() {
    let pipe = Pipe::new(&reno(), 1, losing([0, 1])).run();
    assert_eq!(pipe.sent[2].0, Time::ZERO + Span::from_secs(3));
    assert_eq!(pipe.stats().timeouts, 2);
}

#[test]
fn slow_start_doubles_the_window_every_round() {
    let pipe = Pipe::new(&reno(), 150, losing([])).run();
    let round = |n: u64| Time::ZERO + ONE_WAY * (2 * (n + 1));
    let in_round =
        |n: u64| pipe.sent.iter().filter(|(at, s)| !s.syn && (round(n)..round(n + 1)).contains(at)).count();
    assert_eq!([in_round(0), in_round(1), in_round(2), in_round(3)], [10, 20, 40, 80]);
}

#[test]
fn a_segment_that_was_sent_twice_tells_how_long_ago_it_was_sent_last() {
    let pipe = Pipe::new(&window(20), 200, losing([50])).run();
    let twice: Vec<_> = pipe.acks.iter().filter(|ack| ack.rtt.is_none()).collect();
    assert_eq!(twice.len(), 1);
    // A round trip, and the time that a packet takes to leave.
    let since = twice[0].since_sent;
    assert!((ONE_WAY * 2..ONE_WAY * 2 + SEND_TIME * 2).contains(&since), "{since}");
    assert!(pipe.acks.iter().all(|ack| ack.rtt.is_none_or(|rtt| rtt == ack.since_sent)));
}

#[test]
fn the_last_byte_is_injected_when_it_leaves_for_the_first_time() {
    // The handshake is packet 0, so 100 is the last, and there is no 101.
    for (lost, times) in [(101, 1), (50, 1), (100, 2)] {
        let pipe = Pipe::new(&window(20), 100, losing([lost])).run();
        let last: Vec<_> = pipe.sent.iter().filter(|(_, segment)| segment.fin).map(|(at, _)| *at).collect();
        assert_eq!((last.len(), pipe.stats().injected), (times, Some(last[0])), "without packet {lost}");
    }
}

#[test]
fn nothing_is_injected_as_long_as_something_waits() {
    let params = Params { handshake: false, ..Params::default() };
    let mut sender = Sender::new(&params, &window(2), HOST, params.mss() * 3);
    for _ in 0..2 {
        assert!(matches!(sender.poll_transmit(&params, Time::ZERO), Poll::Send(_)));
    }
    assert_eq!(sender.poll_transmit(&params, Time::ZERO), Poll::Blocked);
    assert_eq!(sender.stats().injected, None);
}

#[test]
fn lost_acknowledgments_cost_nothing_while_later_ones_arrive() {
    let fate =
        |forward: bool, number: u64| if !forward && number % 3 == 1 { Fate::Lose } else { Fate::Arrive };
    let pipe = Pipe::new(&window(20), 502, fate).run(); // the last acknowledgment is not among them
    assert_eq!(pipe.stats().retransmissions, 0, "{:?}", pipe.stats());
}

#[test]
fn a_classic_mark_halves_once_per_round() {
    let config = Config::Reno(cc::reno::Params { ecn: true, ..Default::default() });
    let fate =
        |forward, number| if forward && (31..41).contains(&number) { Fate::Mark } else { Fate::Arrive };
    let pipe = Pipe::new(&config, 300, fate).run();
    let mss = Params::default().mss();
    assert_eq!((pipe.stats().marked, pipe.stats().retransmissions), (mss, 0));
    assert_eq!(pipe.sent.iter().filter(|(_, segment)| segment.cwr).count(), 1);
}

/// A sender whose initial window of ten segments is under way.
fn under_way(config: &Config) -> (Params, Sender) {
    let params = Params { handshake: false, ..Params::default() };
    let mut sender = Sender::new(&params, config, HOST, params.mss() * 100);
    sender.start(&params, Time::ZERO);
    while let Poll::Send(_) = sender.poll_transmit(&params, Time::ZERO) {}
    (params, sender)
}

#[test]
fn a_mark_and_a_loss_of_one_window_reduce_it_once() {
    let (params, mut sender) = under_way(&Config::Reno(cc::reno::Params { ecn: true, ..Default::default() }));
    let mss = params.mss();
    let now = Time::ZERO + ONE_WAY * 2;
    let marked = AckFrame { ack: mss.get(), ece: true, ..AckFrame::default() };
    sender.on_ack(&params, now, &marked);
    assert_eq!(sender.limit().cwnd, mss * 5);
    let mut frame = AckFrame { ece: true, ..marked };
    frame.sacks.push(mss.get() * 2..mss.get() * 6);
    sender.on_ack(&params, now + SEND_TIME, &frame);
    assert_eq!((sender.stats().recoveries, sender.limit().cwnd), (1, mss * 5));
}

#[test]
fn reductions_take_their_part_off_what_is_in_flight_or_off_the_window_where_that_is_said() {
    // Eight segments are under way in a window of ten. The first is marked, or the first four are lost.
    let after = |reduce_window, marked| {
        let params = Params { handshake: false, reduce_window, ..Params::default() };
        let config = Config::Reno(cc::reno::Params { ecn: true, ..Default::default() });
        let mss = params.mss();
        let mut sender = Sender::new(&params, &config, HOST, mss * 8);
        sender.start(&params, Time::ZERO);
        while let Poll::Send(_) = sender.poll_transmit(&params, Time::ZERO) {}
        let now = Time::ZERO + ONE_WAY * 2;
        let mut frame = AckFrame::default();
        if marked {
            (frame.ack, frame.ece) = (mss.get(), true);
        } else {
            frame.sacks.push(mss.get() * 4..mss.get() * 8);
        }
        sender.on_ack(&params, now, &frame);
        sender.limit().cwnd.get() / mss.get()
    };
    assert_eq!([true, false].map(|marked| after(false, marked)), [4, 4]);
    assert_eq!([true, false].map(|marked| after(true, marked)), [5, 5]);
}

#[test]
fn what_a_mark_takes_off_the_window_is_spread_over_the_round_trip_where_that_is_asked_for() {
    // Ten segments are under way, and are acknowledged one by one; the first acknowledgment has the mark.
    let sent_after_each = |spread_marks| {
        let (params, mut sender) =
            under_way(&Config::Reno(cc::reno::Params { ecn: true, ..Default::default() }));
        let params = Params { spread_marks, ..params };
        let each = (1..=10).map(|segments| {
            let now = Time::ZERO + ONE_WAY * 2 + SEND_TIME * segments;
            let ece = segments == 1;
            let frame = AckFrame { ack: params.mss().get() * segments, ece, ..AckFrame::default() };
            sender.on_ack(&params, now, &frame);
            let sent = std::iter::from_fn(|| match sender.poll_transmit(&params, now) {
                Poll::Send(_) => Some(()),
                _ => None,
            });
            sent.count()
        });
        each.collect::<Vec<_>>()
    };
    // One for two, in bytes (RFC 9937 §6.2): 1.5 segments are not yet a second one. After the eighth, five are under way.
    assert_eq!(sent_after_each(true), [1, 0, 0, 1, 0, 1, 0, 0, 1, 1]);
    // Otherwise there is silence until half of them are left; the window has grown by a segment by then.
    assert_eq!(sent_after_each(false), [0, 0, 0, 0, 0, 2, 1, 1, 1, 1]);
}

#[test]
fn after_a_loss_the_receiver_learns_that_the_window_was_reduced() {
    // A mark and a loss in one flight: the echo of the mark stops, and nothing is reduced for it after the recovery.
    let config = Config::Reno(cc::reno::Params { ecn: true, ..Default::default() });
    let fate = |forward, number| match (forward, number) {
        (true, 31) => Fate::Lose,
        (true, 40) => Fate::Mark,
        _ => Fate::Arrive,
    };
    let pipe = Pipe::new(&config, 300, fate).run();
    assert_eq!((pipe.stats().recoveries, pipe.stats().marked), (1, Bytes::ZERO));
    assert_eq!(pipe.sent.iter().filter(|(_, segment)| segment.cwr).count(), 1);
}

#[test]
fn what_one_acknowledgment_reports_has_not_been_reordered() {
    // Of the first flight the first and the third segment are lost, and the answer to the second. The answer to the
    // fourth reports both blocks, the later one first; the next is the third beyond the hole.
    let fate = |forward: bool, number| {
        let lost = if forward { [1, 3].contains(&number) } else { number == 1 };
        if lost { Fate::Lose } else { Fate::Arrive }
    };
    let pipe = Pipe::new(&window(10), 10, fate).run();
    let again = pipe.sent.iter().find(|(_, segment)| segment.retransmission).expect("retransmitted");
    assert_eq!(again.0, pipe.sent[5].0 + ONE_WAY * 2, "no reordering window");
}

#[test]
fn a_lone_segment_is_probed_when_the_timeout_would_come() {
    // 2·SRTT + 40 ms for a delayed answer is more than the timeout (RFC 8985 §7.2).
    let params = Params { min_rto: Span::from_ms(5), ..Params::default() };
    let pipe = Pipe::with(params, &reno(), 1, losing([1])).run();
    assert_eq!((pipe.stats().probes, pipe.stats().timeouts), (1, 0));
    assert!(pipe.delivered_at < Time::ZERO + Span::from_us(5400), "{}", pipe.delivered_at);
}

#[test]
fn a_retransmission_has_a_whole_timeout_to_be_answered() {
    // The last selective acknowledgment triggers the repair; nothing comes until that is answered. The minimum timeout
    // is far below the round-trip time.
    let params = Params { min_rto: Span::from_us(10), tail_loss_probe: false, ..Params::default() };
    let pipe = Pipe::with(params, &window(4), 4, losing([1])).run();
    assert_eq!((pipe.stats().retransmissions, pipe.stats().timeouts), (1, 0));
}

#[test]
fn acknowledgments_without_progress_leave_the_timer_alone() {
    let params = Params { handshake: false, min_rto: Span::from_ms(1), ..Params::default() };
    let mut sender = Sender::new(&params, &window(2), HOST, params.mss() * 2);
    let at = |us| Time::ZERO + Span::from_us(us);
    sender.start(&params, at(0));
    assert!(matches!(sender.poll_transmit(&params, at(0)), Poll::Send(_)));
    assert!(matches!(sender.poll_transmit(&params, at(12_000)), Poll::Send(_)));
    // The answer to the second segment gives the first sample, of 100 us; the first has been out for 12 ms.
    let mut frame = AckFrame::default();
    frame.sacks.push(params.mss().get()..params.mss().get() * 2);
    sender.on_ack(&params, at(12_100), &frame);
    assert_eq!(sender.next_timer(), at(1_000_000), "as it was set when the first segment left");
    assert_eq!(sender.stats().recoveries, 1, "what arrived proves the loss");
}

#[test]
fn accurate_marks_are_counted_to_the_byte() {
    let fate = |forward, number| {
        if forward && [12, 13, 17, 20].contains(&number) { Fate::Mark } else { Fate::Arrive }
    };
    let pipe = Pipe::new(&Config::Dctcp(cc::dctcp::Params::default()), 60, fate).run();
    assert_eq!(pipe.stats().marked, Params::default().mss() * 4);
}

#[test]
fn a_rate_is_kept_to_the_packet() {
    let rate = "1.538 Gb/s".parse().expect("a rate"); // 8 us for 1538 B
    let config = Config::Fixed(cc::fixed::Params { rate: Some(rate), ..Default::default() });
    let pipe = Pipe::new(&config, 100, losing([])).run();
    let gaps: Vec<_> = pipe.sent[1..].windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|gap| *gap == Span::from_us(8)), "{gaps:?}");
}

#[test]
fn a_paced_window_is_spread_over_the_round_trip() {
    let params = Params { pace_windows: true, ..Params::default() };
    let pipe = Pipe::with(params, &window(10), 200, losing([])).run();
    let last = pipe.sent.len() - 1;
    // 10 segments in 101 us at 1.25 times the rate: one every 8 us, instead of 10 in a row.
    assert!(pipe.sent[last - 20..].windows(2).all(|pair| pair[1].0 - pair[0].0 >= Span::from_us(6)));
}

/// Any fate on a path, mostly arrival.
fn any_fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        12 => Just(Fate::Arrive),
        2 => Just(Fate::Lose),
        2 => (1..400_u64).prop_map(|us| Fate::Delay(Span::from_us(us))),
        1 => Just(Fate::Duplicate),
        1 => Just(Fate::Mark),
    ]
}

proptest! {
    #[test]
    fn every_flow_ends_whatever_the_path_does(
        fates in prop::collection::vec((any_fate(), any_fate()), 0..120),
        segments in 1..200_u64,
        // The next flows of the connection: how long after the end of the last, and how many segments.
        next in prop::collection::vec((0..30_000_u64, 1..50_u64), 0..3),
        probe: bool,
        prr: bool,
        ack_every in 1..4_u64,
        restart_after_idle: bool,
        segmentation: bool,
        receive_offload in prop::option::of((0..2000_u64).prop_map(Span::from_us)),
    ) {
        let params = Params {
            min_rto: Span::from_ms(1),
            ack_delay: Span::from_us(500),
            tail_loss_probe: probe,
            proportional_rate_reduction: prr,
            ack_every,
            restart_after_idle,
            segmentation: segmentation.then(super::Segmentation::default),
            receive_offload: receive_offload
                .map(|within| super::ReceiveOffload { within, ..Default::default() }),
            ..Params::default()
        };
        for config in Config::all() {
            let fates = fates.clone();
            let fate = move |forward: bool, number: u64| {
                let pair = fates.get(number as usize).copied().unwrap_or((Fate::Arrive, Fate::Arrive));
                if forward { pair.0 } else { pair.1 }
            };
            // `run` checks that the flow ends, complete and with nothing in flight.
            let mut pipe = Pipe::with(params.clone(), &config, segments, fate).run();
            for (pause, segments) in &next {
                pipe = pipe.then(Span::from_us(*pause), *segments);
            }
        }
    }
}

#[test]
fn no_more_is_on_its_way_than_the_receiver_has_room_for() {
    let room = Params::default().mss() * 4;
    let params = Params { receive_window: Some(room), ..Params::default() };
    let pipe = Pipe::with(params, &reno(), 400, |_, _| Fate::Arrive).run();
    // 4 segments per round trip: 100 rounds of 2·50 us and the time of a segment.
    let round = ONE_WAY * 2 + SEND_TIME;
    assert!(pipe.delivered_at >= Time::ZERO + round * 99, "{}", pipe.delivered_at);
    // The window is never used up, so it has not grown.
    assert_eq!(pipe.sender.limit().cwnd, Params::default().mss() * 10);
}

#[test]
fn no_more_is_on_its_way_than_the_sender_has_room_for() {
    let mss = Params::default().mss();
    for segmentation in [None, Some(super::Segmentation::default())] {
        // Half a segment of room beyond four is of no use.
        let send_buffer = Some(mss * 4 + mss / 2);
        let params = Params { send_buffer, segmentation, ack_every: 1, ..Params::default() };
        let pipe = Pipe::with(params, &reno(), 400, |_, _| Fate::Arrive).run();
        // A round trip for the handshake and each 4 segments, half of one for the last, which follow each other.
        let expected = Time::ZERO + ONE_WAY * 2 * 100 + ONE_WAY + SEND_TIME * 3;
        assert_eq!(pipe.delivered_at, expected);
        // The window is never used up, so it has not grown; the application was what held the sender up.
        assert_eq!(pipe.sender.limit().cwnd, mss * 10);
        assert!(pipe.acks[4..].iter().all(|ack| ack.delivery.app_limited));
    }
}

#[test]
fn a_flow_that_fits_the_send_buffer_takes_no_longer() {
    let took = |send_buffer| {
        let params = Params { send_buffer, ..Params::default() };
        Pipe::with(params, &reno(), 100, |_, _| Fate::Arrive).run().delivered_at
    };
    assert_eq!(took(Some(Params::default().mss() * 100)), took(None));
}
