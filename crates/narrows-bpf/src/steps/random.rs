//! A million random steps, on connections with random settings that last for a thousand each.

use fastrand::Rng;
use narrows_proto::cc::{Algorithm, Config, Controller, Path, PeerEcn, dctcp, gemini};
use narrows_proto::units::{BitRate, Bytes, Span};

use super::core::{Ack, Dctcp, Gemini, pacing};
use super::pair::{Bounded, Event, Pair, SEGMENT};
use crate::Parameters;

const STEPS: usize = 1_000_000;
const EACH: usize = 1_000;

/// L of connections whose receivers merge nothing.
const LIMITS: (u32, u32) = (2, 1);

fn path(window: u32) -> Path {
    Path {
        mss: Bytes::new(SEGMENT),
        initial_window: Bytes::new(u64::from(window) * SEGMENT),
        packet: Bytes::new(SEGMENT),
        link: BitRate::from_gbps(1),
        seed: 1,
        paced: false,
        merged: 1,
        offload: None,
        peer_ecn: PeerEcn::Accurate,
    }
}

/// Settings of the kernel for those of a scenario.
fn for_kernel(config: &Config) -> Parameters {
    let path = crate::Path {
        link: Some(BitRate::from_gbps(1)),
        packet: Bytes::new(1_538),
        ..crate::Path::default()
    };
    Parameters::new(config, &path).expect("the kernel has it")
}

struct Events {
    rng: Rng,
    now_us: u64,
    rtt_us: u32,
    /// Of 256 acknowledgments.
    marked: u8,
}

impl Events {
    fn next(&mut self) -> Event {
        let rng = &mut self.rng;
        self.now_us += rng.u64(1..2_000);
        match rng.u32(0..1_000) {
            0..10 => Event::Loss { flight: rng.u32(1..400) },
            10..13 => Event::Timeout { flight: rng.u32(1..400), repeated: rng.bool() },
            13..20 => Event::Spurious,
            20..25 => Event::Idle { restart: rng.bool().then(|| rng.u32(1..20)) },
            _ => {
                let acked = if rng.u8(..) < 16 { rng.u32(1..64) } else { rng.u32(1..4) };
                let rtt_us = self.rtt_us + rng.u32(0..12_000);
                Event::Ack(Ack {
                    now_us: self.now_us,
                    rtt_us: if rng.u8(..) < 10 { 0 } else { rtt_us },
                    srtt_us: rtt_us,
                    acked,
                    marked: if rng.u8(..) < self.marked { acked } else { 0 },
                    round_start: (rng.u8(..) < 20).into(),
                    cwnd_limited: (rng.u8(..) < 220).into(),
                    in_recovery: (rng.u8(..) < 10).into(),
                    unused: [0; 5],
                })
            }
        }
    }
}

/// Runs connections that `make` begins, with settings of both.
fn run<C: Bounded, R: Controller>(mut make: impl FnMut(&mut Rng, u32) -> (C::Params, R)) {
    let mut rng = Rng::with_seed(28);
    let (mut steps, mut ties) = (0, 0);
    while steps < STEPS {
        let window = rng.u32(1..40);
        let (params, original) = make(&mut rng, window);
        let mut pair = Pair::<C, R>::new(params, window, original);
        let (rtt_us, marked) = (rng.u32(1..100_000), rng.u8(..) / 2);
        let mut events = Events { rng: rng.fork(), now_us: 0, rtt_us, marked };
        pair.step(0, Event::Handshake { rtt_us });
        for _ in 0..EACH {
            let event = events.next();
            if !pair.step(events.now_us, event) {
                ties += 1;
                break;
            }
            steps += 1;
        }
    }
    // One in a hundred thousand.
    assert!(ties <= STEPS / 100_000, "{ties} ties");
}

#[test]
fn gemini_of_the_kernel_is_that_of_simulations_in_whole_numbers() {
    run::<Gemini, gemini::Gemini>(|rng, window| {
        let settings = gemini::Params {
            ecn: rng.u8(..) > 20,
            delay: rng.u8(..) > 60,
            capacity: Some(BitRate::from_mbps(rng.u64(1..100_000))),
            marking_threshold: Some(Bytes::new(rng.u64(1_000..1_000_000)).into()),
            delay_threshold: Span::from_us(rng.u64(0..6_000)),
            beta: rng.f64() * 0.5 + 1e-3,
            increase: if rng.bool() { 1.2e-7 } else { rng.f64() * 1e-5 },
            max_scale: if rng.bool() { 0.5 } else { 4.0 },
            gain: if rng.bool() { 1.0 / 16.0 } else { rng.f64() * 0.9 + 0.01 },
            initial_alpha: rng.f64(),
            // Connections last for a second.
            base_rtt_window: rng.bool().then(|| Span::from_us(rng.u64(1..300_000))),
            max_base_rtt: rng.bool().then(|| Span::from_us(rng.u64(1..50_000))),
            slow_start_ignores_delay: rng.bool(),
            min_window: rng.u64(1..4),
            ..gemini::Params::default()
        };
        let Parameters::Gemini(mut params) = for_kernel(&Config::Gemini(settings.clone())) else {
            unreachable!("it is GEMINI")
        };
        (params.slow_start_limit, params.limit_after_timeout) = LIMITS;
        (params, gemini::Gemini::new(&settings, &path(window)))
    });
}

#[test]
fn dctcp_of_the_kernel_is_that_of_simulations_in_whole_numbers() {
    run::<Dctcp, dctcp::Dctcp>(|rng, window| {
        let settings = dctcp::Params {
            gain: if rng.bool() { 1.0 / 16.0 } else { rng.f64() * 0.9 + 0.01 },
            initial_alpha: rng.f64(),
            min_window: rng.u64(1..4),
        };
        let Parameters::Dctcp(mut params) = for_kernel(&Config::Dctcp(settings.clone())) else {
            unreachable!("it is DCTCP")
        };
        (params.slow_start_limit, params.limit_after_timeout) = LIMITS;
        (params, dctcp::Dctcp::new(&settings, &path(window)))
    });
}

#[test]
fn the_pacing_rate_is_a_window_in_a_round_trip() {
    let mut rng = Rng::with_seed(28);
    for _ in 0..100_000 {
        let most = SEGMENT << rng.u32(1..24);
        let (window, mss) = (rng.u64(SEGMENT..most), rng.u32(1..65_536));
        let (srtt, factor) = (rng.u32(8..1 << 29), rng.u32(1 << 16..1 << 20));
        let exact = window as f64 / SEGMENT as f64 * f64::from(mss) * 8e6 / f64::from(srtt);
        let exact = exact * f64::from(factor) / 65_536.0;
        // The window is cut to 2^-16 segments and then to bytes, the rate to bytes per second, twice.
        let bytes = 1.0 + f64::from(mss) / 65_536.0;
        let error = f64::from(factor) / 65_536.0 * (bytes * 8e6 / f64::from(srtt) + 1.0) + 1.0;
        let found = pacing(window, mss, srtt, factor) as f64;
        assert!(found <= exact * (1.0 + 1e-12) && exact - found <= error, "{found} for {exact}");
    }
}
