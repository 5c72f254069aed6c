//! Work of congestion controls for an acknowledgment, on one connection over a bottleneck.
//!
//! ```text
//! cargo bench -p narrows-proto --bench controls -- --list    their names
//! cargo bench -p narrows-proto --bench controls -- reno      one of them
//! ```
//! `cargo xtask instructions` runs each under callgrind and counts what is executed inside the functions `counted_…`. The
//! path and the sender around the control are as simple as they can be without reporting anything untrue to the control: every
//! segment is acknowledged on its own, and what did not fit the queue is noticed when its acknowledgment is missing.

use std::collections::VecDeque;
use std::process::ExitCode;

use narrows_proto::cc::{Ack, Cc, Config, Congestion, Controller, DeliverySample, Ecn, Limit, Path, PeerEcn};
use narrows_proto::units::{BitRate, Bytes, Span, Time};

const ACKNOWLEDGMENTS: u64 = 50_000;

const MSS: Bytes = Bytes::new(1460);
const PACKET: Bytes = Bytes::new(1538);
/// A path inside a data center, because Swift expects one; to the others lengths of time mean little.
const HOST: BitRate = BitRate::from_gbps(1000);
const BOTTLENECK: BitRate = BitRate::from_gbps(100);
/// Without waiting. The path holds 163 packets, so that a control meets hundreds of rounds.
const RTT: Span = Span::from_us(20);
/// As much as the path holds: losses every now and then for those who wait for them.
const BUFFER: Bytes = Bytes::new(250_000);
const MARK_ABOVE: Bytes = Bytes::new(100_000);

fn main() -> ExitCode {
    // `cargo bench` adds --bench, and tests of benchmarks want nothing measured.
    let wanted = std::env::args().skip(1).find(|word| word != "--bench");
    // Controls for RDMA receive no signals on this path.
    let all: Vec<_> = Config::all().into_iter().filter(|config| !config.needs_rdma()).collect();
    match wanted.as_deref() {
        None => {}
        Some("--list") => all.iter().for_each(|config| println!("{}", config.name())),
        Some(name) => match all.iter().find(|config| config.name() == name) {
            Some(config) => println!("{}", Connection::new(config).run()),
            None => {
                eprintln!("unknown control \"{name}\"; --list shows those there are");
                return ExitCode::from(2);
            }
        },
    }
    ExitCode::SUCCESS
}

#[inline(never)]
fn counted_on_ack(cc: &mut Cc, ack: &Ack) -> Limit {
    cc.on_ack(ack);
    cc.limit()
}

#[inline(never)]
fn counted_on_congestion(cc: &mut Cc, now: Time, event: Congestion) -> Limit {
    cc.on_congestion(now, event);
    cc.limit()
}

/// An endless connection.
struct Connection {
    name: &'static str,
    cc: Cc,
    markable: bool,
    limit: Limit,
    now: Time,
    /// When the host may send again, and when the bottleneck is free.
    host_free: Time,
    link_free: Time,
    flight: VecDeque<Sent>,
    sent: Bytes,
    delivered: Bytes,
    delivered_at: Time,
    first_sent_at: Time,
    lost: Bytes,
    srtt: Span,
    /// A round ends when a segment sent after this much had been delivered is acknowledged.
    round_end: Bytes,
    /// Segments up to this were sent before the last loss was noticed.
    recovered_at: Bytes,
    /// The window stopped the sender in this round, and in the one before.
    limited: [bool; 2],
}

/// A segment on its way.
#[derive(Clone, Copy)]
struct Sent {
    at: Time,
    /// When it is acknowledged, or missed.
    answered_at: Time,
    fate: Fate,
    /// All that was sent, this segment included.
    end: Bytes,
    delivered: Bytes,
    delivered_at: Time,
    first_sent_at: Time,
}

#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Arrives,
    Marked,
    Lost,
}

impl Connection {
    fn new(config: &Config) -> Self {
        let path = Path {
            mss: MSS,
            initial_window: MSS * 10,
            packet: PACKET,
            link: HOST,
            seed: 1,
            paced: false,
            merged: 1,
            offload: None,
            peer_ecn: PeerEcn::Accurate,
        };
        let cc = config.build(&path);
        Self {
            name: config.name(),
            limit: cc.limit(),
            cc,
            markable: config.ecn() != Ecn::Off,
            now: Time::ZERO,
            host_free: Time::ZERO,
            link_free: Time::ZERO,
            flight: VecDeque::new(),
            sent: Bytes::ZERO,
            delivered: Bytes::ZERO,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            lost: Bytes::ZERO,
            srtt: Span::ZERO,
            round_end: Bytes::ZERO,
            recovered_at: Bytes::ZERO,
            limited: [false; 2],
        }
    }

    fn run(mut self) -> String {
        while self.delivered < MSS * ACKNOWLEDGMENTS {
            let answered_at = self.flight.front().map_or(Time::NEVER, |sent| sent.answered_at);
            let fits = self.flight.is_empty() || self.inflight() + MSS <= self.limit.cwnd;
            self.limited[0] |= !fits;
            let send_at = self.now.max(self.host_free);
            if fits && send_at <= answered_at {
                self.now = send_at;
                self.send();
            } else {
                self.now = answered_at;
                let sent = self.flight.pop_front().expect("something is on its way");
                self.answer(&sent);
            }
        }
        let carried = BOTTLENECK.as_f64() * self.now.saturating_since(Time::ZERO).as_secs_f64() / 8.0;
        let used = (self.delivered.as_f64() / MSS.as_f64()) * PACKET.as_f64() / carried;
        let (name, lost) = (self.name, self.lost.as_f64() / self.sent.as_f64());
        assert!(used > 0.5, "{name} used {used:.3} of the path: in use it receives other acknowledgments");
        format!(
            r#"{{"name":"{name}","acknowledgments":{ACKNOWLEDGMENTS},"used":{used:.3},"lost":{lost:.5}}}"#
        )
    }

    fn inflight(&self) -> Bytes {
        self.sent - self.delivered - self.lost
    }

    fn send(&mut self) {
        let rate = self.limit.pacing.unwrap_or(HOST).min(HOST);
        self.host_free = self.now + rate.time_to_send(PACKET);
        if self.flight.is_empty() {
            (self.first_sent_at, self.delivered_at) = (self.now, self.now);
        }
        let wait = self.link_free.saturating_since(self.now);
        let fate = match wait {
            wait if wait > BOTTLENECK.time_to_send(BUFFER) => Fate::Lost,
            wait if wait > BOTTLENECK.time_to_send(MARK_ABOVE) && self.markable => Fate::Marked,
            _ => Fate::Arrives,
        };
        if fate != Fate::Lost {
            self.link_free = self.now + wait + BOTTLENECK.time_to_send(PACKET);
        }
        self.sent += MSS;
        self.flight.push_back(Sent {
            at: self.now,
            answered_at: self.link_free + RTT,
            fate,
            end: self.sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
        });
    }

    fn answer(&mut self, sent: &Sent) {
        let in_recovery = sent.end <= self.recovered_at;
        if sent.fate == Fate::Lost {
            if !in_recovery {
                let flight_size = self.inflight();
                self.recovered_at = self.sent;
                self.limit = counted_on_congestion(&mut self.cc, self.now, Congestion::Loss { flight_size });
            }
            self.lost += MSS;
            return;
        }
        let ack = self.digest(sent, in_recovery);
        self.limit = counted_on_ack(&mut self.cc, &ack);
    }

    fn digest(&mut self, sent: &Sent, in_recovery: bool) -> Ack {
        let inflight_before = self.inflight();
        self.delivered += MSS;
        self.delivered_at = self.now;
        self.first_sent_at = sent.at;
        let rtt = self.now.saturating_since(sent.at);
        self.srtt = if self.srtt == Span::ZERO { rtt } else { (self.srtt * 7 + rtt) / 8 };
        let interval =
            sent.at.saturating_since(sent.first_sent_at).max(self.now.saturating_since(sent.delivered_at));
        let round_start = sent.delivered >= self.round_end;
        if round_start {
            self.round_end = self.delivered;
            self.limited = [false, self.limited[0]];
        }
        Ack {
            now: self.now,
            rtt: Some(rtt),
            since_sent: rtt,
            srtt: self.srtt,
            acked: MSS,
            marked: if sent.fate == Fate::Marked { MSS } else { Bytes::ZERO },
            inflight: self.inflight(),
            inflight_before,
            sent: self.sent,
            delivered: self.delivered,
            lost: self.lost,
            delivery: DeliverySample {
                delivered: self.delivered - sent.delivered,
                interval,
                app_limited: false,
                ..DeliverySample::default()
            },
            round_start,
            cwnd_limited: self.limited[0] || self.limited[1],
            in_recovery,
        }
    }
}
