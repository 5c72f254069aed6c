//! A model of htsim's program for Ultra Ethernet, written from its source: hosts at one switch that send to another host there.
//!
//! ```text
//! main_uec.cpp          settings, all from rate, packet and length of the paths
//! uec.cpp               sender, NSCC, receiver, network cards
//! compositequeue.cpp    marks when a packet has left, trimming by a coin
//! ```
//! Times are picoseconds.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::agenda::Agenda;

const US: u64 = 1_000_000;
const HEADER: u64 = 64;
pub(super) const DELAY: u64 = US;

pub(super) struct Case {
    pub(super) gbps: u64,
    /// `-mtu`.
    pub(super) mtu: u64,
    pub(super) seed: u64,
    /// Bytes, and when each starts, in us.
    pub(super) flows: Vec<(u64, u64)>,
}

impl Case {
    fn time_to_send(&self, size: u64) -> u64 {
        size * 8000 / self.gbps
    }

    /// `calculate_rtt` of two levels of switches.
    fn network_rtt(&self) -> u64 {
        8 * DELAY + 4 * self.time_to_send(self.mtu + HEADER)
    }

    fn bytes_in(&self, ps: u64) -> f64 {
        ps as f64 / 1e12 * self.gbps as f64 * 1e9 / 8.0
    }

    /// In packets.
    fn bdp(&self) -> f64 {
        (self.bytes_in(self.network_rtt()) / self.mtu as f64).ceil()
    }

    fn queue(&self) -> u64 {
        self.bdp() as u64 * self.mtu
    }

    fn marks(&self) -> [u64; 2] {
        [0.2, 0.8].map(|part: f64| (part * self.bdp()).ceil() as u64 * self.mtu)
    }

    fn rto(&self) -> u64 {
        15 * US + 6 * self.time_to_send(self.queue())
    }

    fn target(&self) -> u64 {
        self.network_rtt() * 3 / 4
    }

    /// `_scaling_factor_a`.
    fn scale(&self) -> f64 {
        self.bytes_in(self.network_rtt()) / 150_000.0
    }

    fn mss(&self) -> f64 {
        (self.mtu - HEADER) as f64
    }
}

#[derive(Clone, Copy)]
struct Packet {
    flow: usize,
    seq: u64,
    size: u64,
    wants_ack: bool,
    again: bool,
    marked: bool,
    trimmed: bool,
}

#[derive(Clone, Copy)]
struct Ack {
    flow: usize,
    psn: u64,
    next: u64,
    base: u64,
    bitmap: u64,
    received: u64,
    marked: bool,
    again: bool,
}

#[derive(Clone, Copy)]
enum Event {
    Start(usize),
    CardFree(usize),
    AtSwitch(Packet),
    PortDone,
    AtReceiver(Packet),
    Ack(Ack),
    Nack(usize, u64),
    Timer(usize),
}

#[derive(Default)]
struct Flow {
    size: u64,
    /// Sender.
    backlog: u64,
    next: u64,
    busy: bool,
    timed: bool,
    sent: BTreeMap<u64, (u64, u64)>,
    again: BTreeMap<u64, u64>,
    times: BTreeMap<u64, u32>,
    in_flight: i64,
    reported: u64,
    /// NSCC.
    window: i64,
    largest: i64,
    base: u64,
    average: u64,
    increase: i64,
    arrived: u64,
    fast: (i64, bool),
    decreased: u64,
    adjusted: u64,
    achieved: i64,
    period: u64,
    triggered: bool,
    ignored: [i64; 2],
    /// Receiver.
    expected: u64,
    beyond: BTreeSet<u64>,
    accepted: u64,
    payload: u64,
    received: u64,
    ack_request: bool,
    received_at: u64,
}

pub(super) struct Model<'a> {
    case: &'a Case,
    now: u64,
    random: u64,
    agenda: Agenda<Event>,
    flows: Vec<Flow>,
    low: VecDeque<Packet>,
    low_size: u64,
    high: VecDeque<Packet>,
    /// Whether the port sends a packet of the high queue, while it sends one.
    serves: Option<bool>,
    card_free_at: u64,
}

impl<'a> Model<'a> {
    /// When each flow has arrived, after its start.
    pub(super) fn run(case: &'a Case) -> Vec<u64> {
        let flow = |(size, _): &(u64, u64)| {
            let window = (1.5 * case.bytes_in(case.network_rtt())) as i64;
            let packets = size.div_ceil(case.mtu - HEADER);
            Flow {
                size: *size,
                backlog: size + packets * HEADER,
                window,
                largest: window,
                base: case.network_rtt(),
                ..Flow::default()
            }
        };
        let mut model = Self {
            case,
            now: 0,
            random: case.seed,
            agenda: Agenda::new(),
            flows: case.flows.iter().map(flow).collect(),
            low: VecDeque::new(),
            low_size: 0,
            high: VecDeque::new(),
            serves: None,
            card_free_at: 0,
        };
        for (number, (_, start)) in case.flows.iter().enumerate() {
            model.at(start * US, Event::Start(number));
        }
        while let Some((at, event)) = model.agenda.next() {
            model.now = at;
            model.handle(event);
        }
        let took = |(flow, (_, start)): (&Flow, &(u64, u64))| flow.received_at - start * US;
        model.flows.iter().zip(&case.flows).map(took).collect()
    }

    fn at(&mut self, at: u64, event: Event) {
        self.agenda.at(at, event);
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Start(flow) => self.send(flow),
            Event::CardFree(flow) => {
                self.flows[flow].busy = false;
                self.send(flow);
            }
            Event::AtSwitch(packet) => self.enqueue(packet),
            Event::PortDone => self.complete(),
            Event::AtReceiver(packet) => self.receive(&packet),
            Event::Ack(ack) => self.on_ack(&ack),
            Event::Nack(flow, seq) => self.on_nack(flow, seq),
            Event::Timer(flow) => self.on_timer(flow),
        }
    }

    /// A number from 0 to 1.
    fn draw(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) as f64 / u64::MAX as f64
    }

    /// `sendIfPermitted`, `sendNewPacket`, `sendRtxPacket`.
    fn send(&mut self, number: usize) {
        let mtu = self.case.mtu;
        let flow = &mut self.flows[number];
        let (seq, size, again) = match flow.again.first_key_value() {
            Some((seq, size)) => (*seq, *size, true),
            None => (flow.next, mtu.min(flow.backlog), false),
        };
        if flow.busy || size == 0 || flow.window < flow.in_flight + size as i64 {
            return;
        }
        flow.in_flight += size as i64;
        let wants_ack = if again {
            flow.again.remove(&seq);
            true
        } else {
            flow.next += 1;
            flow.backlog -= size;
            flow.backlog == 0 || flow.in_flight + size as i64 >= flow.window
        };
        flow.sent.insert(seq, (size, self.now));
        flow.times.entry(seq).and_modify(|times| *times += 1).or_insert(0);
        flow.busy = true;
        let packet = Packet { flow: number, seq, size, wants_ack, again, marked: false, trimmed: false };
        let time = self.case.time_to_send(size);
        self.at(self.now + time, Event::CardFree(number));
        self.at(self.now + time + DELAY, Event::AtSwitch(packet));
        self.time(number);
    }

    fn time(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        let earliest = flow.sent.values().map(|(_, at)| *at).min();
        if let Some(earliest) = earliest.filter(|_| !flow.timed) {
            flow.timed = true;
            self.at(self.now.max(earliest + self.case.rto()), Event::Timer(number));
        }
    }

    /// `rtxTimerExpired`.
    fn on_timer(&mut self, number: usize) {
        let (now, rto, mtu) = (self.now, self.case.rto(), self.case.mtu as i64);
        let flow = &mut self.flows[number];
        flow.timed = false;
        let late = flow.sent.iter().filter(|(_, (_, at))| at + rto <= now).min_by_key(|(_, (_, at))| *at);
        if let Some((seq, (size, _))) = late.map(|(seq, sent)| (*seq, *sent)) {
            flow.sent.remove(&seq);
            flow.in_flight -= size as i64;
            flow.window = (flow.window - size as i64).max(mtu);
            flow.again.insert(seq, size);
            self.send(number);
        }
        self.time(number);
    }

    /// `CompositeQueue::receivePacket`.
    fn enqueue(&mut self, packet: Packet) {
        let full = self.low_size + packet.size > self.case.queue();
        if full && self.draw() >= 0.5 {
            self.trim(packet);
        } else {
            if full {
                let youngest = self.low.pop_back().expect("the queue is full");
                self.low_size -= youngest.size;
                self.trim(youngest);
            }
            self.low_size += packet.size;
            self.low.push_back(packet);
        }
        self.serve();
    }

    fn trim(&mut self, packet: Packet) {
        self.high.push_back(Packet { size: HEADER, trimmed: true, ..packet });
    }

    /// `beginService`.
    fn serve(&mut self) {
        if self.serves.is_some() {
            return;
        }
        let Some(first) = self.high.front().or(self.low.front()) else { return };
        self.serves = Some(first.trimmed);
        self.at(self.now + self.case.time_to_send(first.size), Event::PortDone);
    }

    /// `completeService`, `decide_ECN`.
    fn complete(&mut self) {
        let [min, max] = self.case.marks();
        let packet = if self.serves.take() == Some(true) {
            self.high.pop_front().expect("it was served")
        } else {
            let mut packet = self.low.pop_front().expect("it was served");
            self.low_size -= packet.size;
            let excess = self.low_size.saturating_sub(min) as f64;
            packet.marked = excess > 0.0 && self.draw() < excess / (max - min) as f64;
            packet
        };
        self.at(self.now + DELAY, Event::AtReceiver(packet));
        self.serve();
    }

    /// `processData`, `processTrimmed`.
    fn receive(&mut self, packet: &Packet) {
        let now = self.now;
        let flow = &mut self.flows[packet.flow];
        let is_known = packet.seq < flow.expected || flow.beyond.contains(&packet.seq);
        if packet.trimmed {
            if is_known {
                return self.acknowledge(packet, false);
            }
            let at = self.control();
            return self.at(at, Event::Nack(packet.flow, packet.seq));
        }
        flow.accepted += packet.size;
        if is_known {
            flow.accepted = 0;
            return self.acknowledge(packet, packet.marked);
        }
        let mut forced = flow.payload == 0;
        flow.payload += packet.size - HEADER;
        flow.received += packet.size;
        if flow.payload >= flow.size {
            flow.received_at = now;
        }
        if packet.wants_ack {
            forced = true;
            flow.ack_request = true;
        }
        if packet.seq == flow.expected {
            flow.expected += 1;
            while flow.beyond.remove(&flow.expected) {
                flow.expected += 1;
            }
            if flow.beyond.is_empty() && flow.ack_request {
                forced = true;
                flow.ack_request = false;
            }
        } else {
            flow.beyond.insert(packet.seq);
        }
        if packet.marked || flow.accepted >= 16_384 || forced {
            flow.accepted = 0;
            self.acknowledge(packet, packet.marked || packet.wants_ack);
        }
    }

    /// `sack`.
    fn acknowledge(&mut self, packet: &Packet, from_packet: bool) {
        let flow = &self.flows[packet.flow];
        let (psn, next) = (packet.seq, flow.expected);
        let base = if from_packet { psn } else { (psn.saturating_sub(63)).max(next + 1) };
        let bit = |place: u64| u64::from(flow.beyond.contains(&(base + place))) << place;
        let ack = Ack {
            flow: packet.flow,
            psn,
            next,
            base,
            bitmap: (0..64).map(bit).sum(),
            received: flow.received,
            marked: packet.marked,
            again: packet.again,
        };
        let at = self.control();
        self.at(at, Event::Ack(ack));
    }

    /// When a packet that the receiver sends now is at the sender.
    fn control(&mut self) -> u64 {
        let time = self.case.time_to_send(HEADER);
        self.card_free_at = self.card_free_at.max(self.now) + time;
        self.card_free_at + DELAY + time + DELAY
    }

    /// `processAck`.
    fn on_ack(&mut self, ack: &Ack) {
        let now = self.now;
        let flow = &mut self.flows[ack.flow];
        let new = ack.received.saturating_sub(flow.reported);
        flow.reported += new;
        flow.achieved += new as i64;
        flow.arrived += new;
        flow.ignored[0] += new as i64;
        flow.in_flight -= new as i64;
        let is_valid = flow.times.get(&ack.psn) == Some(&u32::from(ack.again));
        let sent = flow.sent.get(&ack.psn).filter(|_| is_valid).map(|(_, at)| now - at);
        let delay = sent.map_or(flow.average, |rtt| {
            shorten_base(self.case, flow, rtt);
            let delay = rtt - flow.base;
            average_in(self.case, flow, delay, ack.marked);
            delay
        });
        for seq in flow.again.range(..ack.next).map(|(seq, _)| *seq).collect::<Vec<_>>() {
            flow.in_flight += flow.again.remove(&seq).expect("it was there") as i64;
        }
        flow.sent = flow.sent.split_off(&ack.next);
        for seq in (0..64).filter(|place| ack.bitmap >> place & 1 == 1).map(|place| ack.base + place) {
            if flow.sent.remove(&seq).is_none()
                && let Some(size) = flow.again.remove(&seq)
            {
                flow.in_flight += size as i64;
            }
        }
        self.nscc(ack.flow, ack.marked, delay, new);
        self.send(ack.flow);
    }

    /// `processNack`, `updateCwndOnNack_NSCC`.
    fn on_nack(&mut self, number: usize, seq: u64) {
        let flow = &mut self.flows[number];
        let Some((size, at)) = flow.sent.get(&seq).copied() else { return };
        shorten_base(self.case, flow, self.now - at);
        flow.ignored[0] += size as i64;
        average_in(self.case, flow, self.case.network_rtt(), true);
        flow.triggered = true;
        if !self.quick_adapt(number, true, true, 0) {
            self.flows[number].window -= size as i64;
            self.bound(number);
        }
        let flow = &mut self.flows[number];
        flow.sent.remove(&seq);
        flow.in_flight -= size as i64;
        flow.again.insert(seq, size);
        self.send(number);
    }

    fn bound(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        flow.window = flow.window.max(self.case.mtu as i64).min(flow.largest);
    }

    /// `quick_adapt`.
    fn quick_adapt(&mut self, number: usize, is_loss: bool, marked: bool, delay: u64) -> bool {
        let (now, target, mtu) = (self.now, self.case.target(), self.case.mtu as i64);
        let flow = &mut self.flows[number];
        let mut adapts = false;
        if flow.ignored[0] < flow.ignored[1] && marked {
            adapts = true;
        } else if now > flow.period {
            let sign = flow.triggered || is_loss || delay > 4 * target;
            if flow.period != 0 && sign && flow.achieved < flow.largest >> 3 {
                flow.window = flow.achieved.max(mtu);
                flow.ignored = [0, flow.in_flight];
                flow.triggered = false;
                adapts = true;
            }
            flow.achieved = 0;
            flow.period = now + flow.base + target;
        }
        if adapts {
            flow.increase = 0;
            flow.arrived = 0;
        }
        adapts
    }

    /// `updateCwndOnAck_NSCC`.
    fn nscc(&mut self, number: usize, marked: bool, delay: u64, new: u64) {
        if self.quick_adapt(number, false, marked, delay) {
            return;
        }
        let (now, target, scale, mss) = (self.now, self.case.target(), self.case.scale(), self.case.mss());
        let flow = &mut self.flows[number];
        match (marked, delay >= target) {
            (false, true) => flow.increase += (5.0 * mss * scale * new as f64) as i64,
            (false, false) => {
                if delay < US {
                    flow.fast.0 += new as i64;
                    flow.fast.1 |= flow.fast.0 > flow.window;
                } else {
                    flow.fast = (0, false);
                }
                if flow.fast.1 {
                    flow.window += (new as f64 * 0.25 * scale) as i64;
                } else {
                    let b = target as f64 / (12.0 * US as f64);
                    let alpha = 4.0 * mss * scale * b / target as f64;
                    flow.increase += (alpha * new as f64 * (target - delay) as f64) as i64;
                }
            }
            (true, true) => {
                flow.fast = (0, false);
                if flow.average > target && now - flow.decreased > flow.base {
                    let excess = (flow.average - target) as f64 / flow.average as f64;
                    flow.window = (flow.window as f64 * (1.0 - 0.8 * excess).max(0.5)) as i64;
                    flow.decreased = now;
                }
            }
            (true, false) => {}
        }
        self.bound(number);
        let rtt = self.case.network_rtt();
        let flow = &mut self.flows[number];
        if flow.arrived > 8 * self.case.mtu || now - flow.adjusted > rtt {
            flow.window += flow.increase / flow.window;
            if now - flow.adjusted >= rtt {
                flow.window += (0.15 * mss * scale) as i64;
                flow.adjusted = now;
            }
            flow.increase = 0;
            flow.arrived = 0;
        }
        self.bound(number);
    }
}

fn shorten_base(case: &Case, flow: &mut Flow, rtt: u64) {
    if rtt < flow.base {
        flow.base = rtt;
        flow.largest = (1.5 * case.bytes_in(rtt)) as i64;
    }
}

/// `update_delay`.
fn average_in(case: &Case, flow: &mut Flow, delay: u64, marked: bool) {
    let sample = if !marked && delay > case.target() { flow.base as f64 * 0.25 } else { delay as f64 };
    flow.average = (0.0125 * sample + (1.0 - 0.0125) * flow.average as f64) as u64;
}
