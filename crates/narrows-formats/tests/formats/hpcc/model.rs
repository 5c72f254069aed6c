//! A model of HPCC's simulator, written from its source: hosts at one switch that send to another host there.
//!
//! ```text
//! rdma-queue-pair.cc    the window follows the rate; a packet leaves as long as less is on its way
//! rdma-hw.cc            the gap after a packet, and the rules of DCQCN, HPCC and TIMELY
//! switch-node.cc        marks and telemetry when a packet leaves its queue
//! switch-mmu.cc         thresholds, equal here, so that nothing is random
//! int-header.h          units of telemetry
//! ```
//! Times are picoseconds.

use std::collections::VecDeque;

use crate::agenda::Agenda;

const US: u64 = 1_000_000;
const MTU: u64 = 1000;
pub(super) const DELAY: u64 = US;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Dcqcn,
    Hpcc,
    Timely,
}

pub(super) struct Case {
    pub(super) mode: Mode,
    pub(super) gbps: u64,
    /// Both thresholds, in bytes.
    pub(super) threshold: u64,
    /// Bytes, and when each starts, in us.
    pub(super) flows: Vec<(u64, u64)>,
}

impl Case {
    fn line_rate(&self) -> f64 {
        self.gbps as f64 * 1e9
    }

    /// Of a data packet, and of an acknowledgment.
    fn headers(&self) -> (u64, u64) {
        match self.mode {
            Mode::Dcqcn => (48, 60),
            Mode::Timely => (56, 60),
            Mode::Hpcc => (90, 88),
        }
    }

    /// In ns, as `third.cc` computes it, and the window in bytes.
    fn base(&self) -> (u64, u64) {
        let rtt = (4 * DELAY + 2 * self.time_to_send(MTU)) / 1000;
        (rtt, rtt * self.gbps / 8)
    }

    fn time_to_send(&self, size: u64) -> u64 {
        size * 8000 / self.gbps
    }

    pub(super) fn ai_mbps(&self) -> u64 {
        2 * self.gbps
    }

    fn ai(&self) -> f64 {
        self.ai_mbps() as f64 * 1e6
    }
}

#[derive(Clone, Copy)]
struct Telemetry {
    ns: u64,
    sent: u64,
    queue: u64,
}

#[derive(Clone, Copy)]
struct Packet {
    flow: usize,
    end: u64,
    size: u64,
    marked: bool,
    sent_at: u64,
    telemetry: Telemetry,
}

#[derive(Clone, Copy)]
enum Event {
    Poll(usize),
    LinkFree(usize),
    AtSwitch(Packet),
    PortFree,
    AtReceiver(Packet),
    Ack(Packet),
    Alpha(usize),
    Cut(usize),
    Raise(usize, u64),
}

struct Flow {
    size: u64,
    next: u64,
    acked: u64,
    available: u64,
    sending: bool,
    last_size: u64,
    rate: f64,
    received_at: u64,
    /// DCQCN.
    target: f64,
    alpha: f64,
    marked: [bool; 2],
    has_begun: bool,
    stage: u32,
    timer: u64,
    /// HPCC and TIMELY.
    update_at: u64,
    current: f64,
    increases: u32,
    utilization: f64,
    before: Option<Telemetry>,
    rtt_before: f64,
    difference: f64,
}

pub(super) struct Model<'a> {
    case: &'a Case,
    now: u64,
    agenda: Agenda<Event>,
    flows: Vec<Flow>,
    queue: VecDeque<Packet>,
    waiting: u64,
    sending: bool,
    sent: u64,
    acks_free_at: u64,
}

impl<'a> Model<'a> {
    /// When each flow has arrived, after its start.
    pub(super) fn run(case: &'a Case) -> Vec<u64> {
        let line = case.line_rate();
        let flow = |(size, _): &(u64, u64)| Flow {
            size: *size,
            next: 0,
            acked: 0,
            available: 0,
            sending: false,
            last_size: 0,
            rate: line,
            received_at: 0,
            target: line,
            alpha: 1.0,
            marked: [false; 2],
            has_begun: false,
            stage: 0,
            timer: 0,
            update_at: 0,
            current: line,
            increases: 0,
            utilization: 1.0,
            before: None,
            rtt_before: 0.0,
            difference: 0.0,
        };
        let mut model = Self {
            case,
            now: 0,
            agenda: Agenda::new(),
            flows: case.flows.iter().map(flow).collect(),
            queue: VecDeque::new(),
            waiting: 0,
            sending: false,
            sent: 0,
            acks_free_at: 0,
        };
        for (number, (_, start)) in case.flows.iter().enumerate() {
            model.at(start * US, Event::Poll(number));
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
            Event::Poll(flow) => self.poll(flow),
            Event::LinkFree(flow) => {
                self.flows[flow].sending = false;
                self.poll(flow);
            }
            Event::AtSwitch(packet) => {
                self.waiting += packet.size;
                self.queue.push_back(packet);
                self.forward();
            }
            Event::PortFree => {
                self.sending = false;
                self.forward();
            }
            Event::AtReceiver(packet) => {
                self.flows[packet.flow].received_at = self.now;
                let time = self.case.time_to_send(self.case.headers().1);
                self.acks_free_at = self.acks_free_at.max(self.now) + time;
                self.at(self.acks_free_at + DELAY + time + DELAY, Event::Ack(packet));
            }
            Event::Ack(packet) => self.acknowledge(&packet),
            Event::Alpha(flow) => self.update_alpha(flow),
            Event::Cut(flow) => self.cut(flow),
            Event::Raise(flow, timer) => self.raise(flow, timer),
        }
    }

    /// `DequeueAndTransmit` of a host, `IsWinBound`, `UpdateNextAvail`.
    fn poll(&mut self, number: usize) {
        let window = self.case.base().1 as f64;
        let flow = &mut self.flows[number];
        let bound = ((window * flow.rate / self.case.line_rate()) as u64).max(1);
        if flow.sending || flow.next >= flow.size || flow.next - flow.acked >= bound {
            return;
        }
        if flow.available > self.now {
            let at = flow.available;
            return self.at(at, Event::Poll(number));
        }
        let len = MTU.min(flow.size - flow.next);
        let size = len + self.case.headers().0;
        flow.next += len;
        flow.sending = true;
        flow.last_size = size;
        flow.available = self.now + gap(size, flow.rate);
        let telemetry = Telemetry { ns: 0, sent: 0, queue: 0 };
        let packet =
            Packet { flow: number, end: flow.next, size, marked: false, sent_at: self.now, telemetry };
        let time = self.case.time_to_send(size);
        self.at(self.now + time, Event::LinkFree(number));
        self.at(self.now + time + DELAY, Event::AtSwitch(packet));
    }

    /// `SwitchNotifyDequeue`.
    fn forward(&mut self) {
        if self.sending {
            return;
        }
        let Some(mut packet) = self.queue.pop_front() else { return };
        self.waiting -= packet.size;
        packet.marked = self.waiting > self.case.threshold;
        packet.telemetry =
            Telemetry { ns: self.now / 1000, sent: self.sent / 128 * 128, queue: self.waiting / 80 * 80 };
        self.sent += packet.size;
        self.sending = true;
        let time = self.case.time_to_send(packet.size);
        self.at(self.now + time, Event::PortFree);
        self.at(self.now + time + DELAY, Event::AtReceiver(packet));
    }

    /// `ReceiveAck`.
    fn acknowledge(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow];
        flow.acked = flow.acked.max(packet.end);
        if !self.is_over(packet.flow) {
            match self.case.mode {
                Mode::Dcqcn => self.on_mark(packet),
                Mode::Hpcc => self.hpcc(packet),
                Mode::Timely => self.timely(packet),
            }
            self.poll(packet.flow);
        }
    }

    fn is_over(&self, number: usize) -> bool {
        self.flows[number].acked >= self.flows[number].size
    }

    /// `cnp_received_mlx`.
    fn on_mark(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow];
        if !packet.marked {
            return;
        }
        flow.marked = [true; 2];
        if !flow.has_begun {
            flow.has_begun = true;
            flow.marked[0] = false;
            self.at(self.now + US, Event::Alpha(packet.flow));
            self.at(self.now + 4 * US + 1000, Event::Cut(packet.flow));
        }
    }

    /// `UpdateAlphaMlx`.
    fn update_alpha(&mut self, number: usize) {
        if self.is_over(number) {
            return;
        }
        let flow = &mut self.flows[number];
        let marked = std::mem::take(&mut flow.marked[0]);
        flow.alpha = flow.alpha * 255.0 / 256.0 + if marked { 1.0 / 256.0 } else { 0.0 };
        self.at(self.now + US, Event::Alpha(number));
    }

    /// `CheckRateDecreaseMlx`.
    fn cut(&mut self, number: usize) {
        if self.is_over(number) {
            return;
        }
        self.at(self.now + 4 * US, Event::Cut(number));
        let flow = &mut self.flows[number];
        if std::mem::take(&mut flow.marked[1]) {
            if flow.stage > 0 {
                flow.target = flow.rate;
            }
            flow.rate = (flow.rate * (1.0 - flow.alpha / 2.0)).max(1e8);
            flow.stage = 0;
            flow.timer += 1;
            let timer = flow.timer;
            self.at(self.now + 300 * US, Event::Raise(number, timer));
        }
    }

    /// `RateIncEventTimerMlx`.
    fn raise(&mut self, number: usize, timer: u64) {
        if self.is_over(number) || self.flows[number].timer != timer {
            return;
        }
        self.at(self.now + 300 * US, Event::Raise(number, timer));
        let (ai, line) = (self.case.ai(), self.case.line_rate());
        let flow = &mut self.flows[number];
        flow.target += match flow.stage {
            0 => 0.0,
            1 => ai,
            _ => 2.0 * ai,
        };
        flow.target = flow.target.min(line);
        flow.rate = f64::midpoint(flow.rate, flow.target);
        flow.stage += 1;
        self.poll(number);
    }

    /// `UpdateRateHp` with one rate, and `ChangeRate`.
    fn hpcc(&mut self, packet: &Packet) {
        let (rtt, window) = self.case.base();
        let (ai, line) = (self.case.ai(), self.case.line_rate());
        let flow = &mut self.flows[packet.flow];
        let Some(before) = flow.before.replace(packet.telemetry) else {
            flow.update_at = flow.next;
            return;
        };
        let ns = packet.telemetry.ns - before.ns;
        let rate = (packet.telemetry.sent - before.sent) as f64 * 8e9 / ns as f64;
        let queue = packet.telemetry.queue.min(before.queue);
        let found = rate / line + queue as f64 / window as f64;
        let share = ns.min(rtt) as f64 / rtt as f64;
        flow.utilization = flow.utilization * (1.0 - share) + found * share;
        let excess = flow.utilization / 0.95;
        let scaled = excess >= 1.0 || flow.increases >= 5;
        let new = if scaled { flow.current / excess } else { flow.current } + ai;
        let new = new.clamp(1e8, line);
        flow.available = flow.available + gap(flow.last_size, new) - gap(flow.last_size, flow.rate);
        flow.rate = new;
        if packet.end > flow.update_at {
            flow.current = new;
            flow.increases = if scaled { 0 } else { flow.increases + 1 };
            flow.update_at = flow.update_at.max(flow.next);
        }
    }

    /// `UpdateRateTimely`.
    fn timely(&mut self, packet: &Packet) {
        let (ai, line) = (self.case.ai(), self.case.line_rate());
        let flow = &mut self.flows[packet.flow];
        if packet.end <= flow.update_at {
            return;
        }
        let rtt = (self.now - packet.sent_at) as f64 / 1e6;
        if flow.update_at > 0 {
            let difference = 0.125 * flow.difference + 0.875 * (rtt - flow.rtt_before);
            let gradient = difference / 20.0;
            if rtt < 50.0 || rtt <= 500.0 && gradient <= 0.0 {
                let step = if flow.increases < 5 { ai } else { 2.0 * ai };
                flow.rate = (flow.current + step).min(line);
                flow.increases += 1;
            } else {
                let cut = if rtt > 500.0 { 1.0 - 500.0 / rtt } else { gradient };
                flow.rate = (flow.current * (1.0 - 0.8 * cut)).max(1e8);
                flow.increases = 0;
            }
            flow.current = flow.rate;
            flow.difference = difference;
        }
        flow.update_at = flow.next;
        flow.rtt_before = rtt;
    }
}

fn gap(size: u64, rate: f64) -> u64 {
    (size as f64 * 8e12 / rate) as u64
}
