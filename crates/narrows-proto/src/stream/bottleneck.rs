//! Connections over one bottleneck, for tests: enough of a network to check the trajectory of a control.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::{AckFrame, Endpoint, Params, Poll, Receiver, Segment, Sender};
use crate::cc::{Config, Ecn};
use crate::units::{BitRate, Bytes, Span, Time};

/// A first-in-first-out queue in front of a link, and the way back.
#[derive(Clone, Debug)]
pub(crate) struct Bottleneck {
    /// Rate of the link behind the queue. Hosts send ten times as fast.
    pub(crate) rate: BitRate,
    /// Round trip of propagation.
    pub(crate) rtt: Span,
    /// Backlog at which arrivals are dropped.
    pub(crate) buffer: Bytes,
    /// Backlog at which arrivals are marked, if they may be.
    pub(crate) mark_above: Bytes,
    /// The n-th data packet of all is lost if this says so.
    pub(crate) loses: fn(u64) -> bool,
    /// Time that the way back of the n-th connection adds to its round trip.
    pub(crate) extra_rtt: fn(usize) -> Span,
}

impl Bottleneck {
    /// A lossless one with room for `buffer`.
    pub(crate) fn new(rate: BitRate, rtt: Span, buffer: Bytes) -> Self {
        Self { rate, rtt, buffer, mark_above: Bytes::MAX, loses: |_| false, extra_rtt: |_| Span::ZERO }
    }

    /// Bytes that fit on the path without waiting, headers included.
    pub(crate) fn product(&self) -> Bytes {
        Bytes::from_f64(self.rate.as_f64() * self.rtt.as_secs_f64() / 8.0)
    }
}

/// A connection, seen at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Time,
    pub(crate) cwnd: Bytes,
    pub(crate) pacing: Option<BitRate>,
    pub(crate) inflight: Bytes,
    pub(crate) srtt: Span,
    /// Payload delivered since the last sample, as a rate.
    pub(crate) rate: BitRate,
    /// Backlog of the bottleneck, of all connections.
    pub(crate) queue: Bytes,
    /// Segments retransmitted so far.
    pub(crate) retransmissions: u64,
    /// The `mode` that its control reports.
    pub(crate) mode: &'static str,
}

struct Connection {
    sender: Sender,
    receiver: Receiver,
    markable: bool,
    link_free: Time,
    delivered: Bytes,
    /// The earliest timers on the agenda.
    armed: [Time; 2],
}

enum Event {
    Start,
    Segment(Segment),
    Ack(AckFrame),
    Timer,
    LinkFree,
    Departure,
    Sample,
}

/// Runs endless connections, each from its own start, until `until`. Returns samples of each connection, `every` so often.
pub(crate) fn run(
    path: &Bottleneck,
    params: &Params,
    connections: &[(Config, Time)],
    until: Time,
    every: Span,
) -> Vec<Vec<Sample>> {
    let mut run = Run {
        path,
        params,
        now: Time::ZERO,
        agenda: BinaryHeap::new(),
        events: Vec::new(),
        free: Vec::new(),
        waiting: VecDeque::new(),
        queue: Bytes::ZERO,
        carried: 0,
        order: 0,
        samples: vec![Vec::new(); connections.len()],
    };
    let link = path.rate.scaled(10.0);
    let mut all: Vec<_> = (0..)
        .zip(connections)
        .map(|(seed, (config, _))| Connection {
            sender: Sender::new(params, config, Endpoint { link, seed }, Bytes::new(1 << 50)),
            receiver: Receiver::new(params.ecn(config)),
            markable: config.ecn() != Ecn::Off,
            link_free: Time::ZERO,
            delivered: Bytes::ZERO,
            armed: [Time::NEVER; 2],
        })
        .collect();
    for (number, (_, start)) in connections.iter().enumerate() {
        run.at(*start, number, Event::Start);
    }
    run.at(Time::ZERO + every, 0, Event::Sample);
    while run.step(&mut all, until, every) {}
    run.samples
}

struct Run<'a> {
    path: &'a Bottleneck,
    params: &'a Params,
    now: Time,
    /// Time, order of planning, place of the event.
    agenda: BinaryHeap<Reverse<(Time, u64, usize)>>,
    events: Vec<Option<(usize, Event)>>,
    free: Vec<usize>,
    waiting: VecDeque<(usize, Segment)>,
    queue: Bytes,
    carried: u64,
    order: u64,
    samples: Vec<Vec<Sample>>,
}

impl Run<'_> {
    fn at(&mut self, at: Time, connection: usize, event: Event) {
        if at == Time::NEVER {
            return;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() - 1
        });
        self.events[place] = Some((connection, event));
        self.order += 1;
        self.agenda.push(Reverse((at, self.order, place)));
    }

    fn step(&mut self, all: &mut [Connection], until: Time, every: Span) -> bool {
        let Some(Reverse((at, _, place))) = self.agenda.pop() else { return false };
        if at > until {
            return false;
        }
        self.now = at;
        self.free.push(place);
        let (number, event) = self.events[place].take().expect("every event happens once");
        let mut frames = Vec::new();
        let it = &mut all[number];
        match event {
            Event::Start => it.sender.start(self.params, at),
            Event::Segment(segment) => {
                it.receiver.on_segment(self.params, at, &segment, |frame| frames.push(frame));
            }
            Event::Ack(frame) => it.sender.on_ack(self.params, at, &frame),
            Event::Timer => {
                it.armed = it.armed.map(|armed| if armed <= at { Time::NEVER } else { armed });
                if it.sender.next_timer() <= at {
                    it.sender.on_timer(self.params, at);
                }
                if it.receiver.next_timer() <= at {
                    frames.extend(it.receiver.on_timer(self.params, at));
                }
            }
            Event::LinkFree => {}
            Event::Departure => self.depart(),
            Event::Sample => {
                self.sample(all, every);
                return true;
            }
        }
        for frame in frames {
            self.at(at + self.path.rtt / 2 + (self.path.extra_rtt)(number), number, Event::Ack(frame));
        }
        let it = &mut all[number];
        self.pump(number, it);
        let timers = [it.sender.next_timer(), it.receiver.next_timer()];
        for (due, armed) in timers.into_iter().zip(&mut it.armed) {
            if due < *armed {
                *armed = due;
                self.at(due, number, Event::Timer);
            }
        }
        true
    }

    fn pump(&mut self, number: usize, it: &mut Connection) {
        if it.link_free > self.now {
            return;
        }
        match it.sender.poll_transmit(self.params, self.now) {
            Poll::Send(segment) => {
                let size = self.size(&segment);
                it.link_free = self.now + self.path.rate.scaled(10.0).time_to_send(size);
                self.at(it.link_free, number, Event::LinkFree);
                self.arrive(number, it.markable, segment);
            }
            Poll::At(at) => self.at(at, number, Event::LinkFree),
            Poll::Blocked => {}
        }
    }

    fn size(&self, segment: &Segment) -> Bytes {
        self.params.packet_size(Bytes::new(segment.len.into()))
    }

    fn arrive(&mut self, number: usize, markable: bool, mut segment: Segment) {
        let size = self.size(&segment);
        self.carried += 1;
        if self.queue + size > self.path.buffer || (self.path.loses)(self.carried) {
            return;
        }
        segment.ce = markable && self.queue >= self.path.mark_above;
        self.queue += size;
        self.waiting.push_back((number, segment));
        if self.waiting.len() == 1 {
            self.at(self.now + self.path.rate.time_to_send(size), number, Event::Departure);
        }
    }

    fn depart(&mut self) {
        let (number, segment) = self.waiting.pop_front().expect("something departs");
        self.queue -= self.size(&segment);
        self.at(self.now + self.path.rtt / 2, number, Event::Segment(segment));
        if let Some((next, waiting)) = self.waiting.front() {
            self.at(self.now + self.path.rate.time_to_send(self.size(waiting)), *next, Event::Departure);
        }
    }

    fn sample(&mut self, all: &mut [Connection], every: Span) {
        for (it, samples) in all.iter_mut().zip(&mut self.samples) {
            let delivered = it.sender.delivered();
            let limit = it.sender.limit();
            let mut mode = "";
            it.sender.inside(&mut |name, value| {
                if name == "mode" {
                    mode = value.word().unwrap_or_default();
                }
            });
            samples.push(Sample {
                at: self.now,
                cwnd: limit.cwnd,
                pacing: limit.pacing,
                inflight: it.sender.inflight(),
                srtt: it.sender.srtt(),
                rate: BitRate::per(delivered - it.delivered, every),
                queue: self.queue,
                retransmissions: it.sender.stats().retransmissions,
                mode,
            });
            it.delivered = delivered;
        }
        self.at(self.now + every, 0, Event::Sample);
    }
}

#[test]
fn a_window_of_half_the_product_uses_half_of_the_path() {
    let path = Bottleneck::new(BitRate::from_gbps(1), Span::from_ms(10), Bytes::new(100_000));
    let params = Params { ack_every: 1, ..Params::default() };
    let window = path.product() / 2;
    let config = Config::Fixed(crate::cc::fixed::Params { window: Some(window), ..Default::default() });
    let samples =
        run(&path, &params, &[(config, Time::ZERO)], Time::ZERO + Span::from_ms(500), Span::from_ms(100));
    let last = samples[0].last().expect("samples were taken");
    // The window is payload, half of the product is on the wire: 500 Mb/s of payload, less what one segment takes.
    assert!((last.rate.as_f64() / 500e6 - 1.0).abs() < 0.01, "{last:?}");
    assert_eq!(last.queue, Bytes::ZERO);
}
