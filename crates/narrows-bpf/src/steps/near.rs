//! The near-source loop of the kernel beside that of `narrows-proto`, over a million random steps.
//!
//! Each operation rounds by a unit or two; averaging, cutting, minima and maxima make no error larger. So the error of R grows by as
//! much with each event, from that of the measured rate on:
//!
//! ```text
//! u = 2^-8 bit/s, unit of rates
//!
//! measured  e  = 8e9·2^-30 b/s (bytes in nanoseconds, twice) + 2^-29·(rate before) + 1 b/s, as the original has whole ones
//! cut       e' = e + (line rate)·Fb·2^-31 + 2u
//! event     e' = e + 2u, for what is added n·u more
//! ```
//! Timers differ by less than two nanoseconds for each event, countdowns by less than a byte. Where a decision hangs on less than the
//! errors, either way is right, and a new connection begins.
#![allow(unsafe_code)]

use fastrand::Rng;
use narrows_proto::annulus::NearSource;
use narrows_proto::annulus::near_source::{self, Settings, Start};
use narrows_proto::cnm::{Cnm, CpId, Signal};
use narrows_proto::reaction::qcn::Variant;
use narrows_proto::units::{BitRate, Bytes, Span, Time};

use crate::NearParams;

/// `struct narrows_near`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Near {
    from_ns: u64,
    sent: u64,
    before: u64,
    last_ns: u64,
    current: u64,
    target: u64,
    timer_ns: u64,
    held_ns: u64,
    bytes_left: i64,
    last: u32,
    random: u32,
    byte_stage: u32,
    time_stage: u32,
    phase: u8,
    unused: [u8; 7],
}

unsafe extern "C" {
    fn core_near_sizes() -> u64;
    fn core_near_init(near: *mut Near, now_ns: u64, seed: u32);
    fn core_near_on_cnm(near: *mut Near, params: *const NearParams, now_ns: u64, feedback: u32);
    fn core_near_advance(near: *mut Near, params: *const NearParams, now_ns: u64, rtt_ns: u64);
    fn core_near_on_sent(near: *mut Near, params: *const NearParams, now_ns: u64, bytes: u32);
    fn core_near_on_held(near: *mut Near, now_ns: u64);
    fn core_near_payload(near: *const Near, mss: u32, around: u32) -> u64;
}

/// Bit/s of a unit.
const U: f64 = 1.0 / 256.0;

#[derive(Clone, Copy, Debug)]
enum Event {
    Message { feedback: u8 },
    Advance { rtt_ns: u64 },
    Sent { bytes: u16 },
    Held,
}

impl Near {
    fn step(&mut self, params: &NearParams, now_ns: u64, event: Event) {
        // SAFETY: pointers come from references to structures laid out as in C, and are not kept.
        unsafe {
            match event {
                Event::Message { feedback } => core_near_on_cnm(self, params, now_ns, feedback.into()),
                Event::Advance { rtt_ns } => core_near_advance(self, params, now_ns, rtt_ns),
                Event::Sent { bytes } => core_near_on_sent(self, params, now_ns, bytes.into()),
                Event::Held => core_near_on_held(self, now_ns),
            }
        }
    }

    /// Decisions that it has come to.
    fn decided(&self) -> (u8, u32, u32) {
        if self.phase == 0 { (0, 0, 0) } else { (self.phase, self.byte_stage, self.time_stage) }
    }
}

/// The same draws as the loop of the kernel.
fn draw(state: &mut u32) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    f64::from(*state) / 2_f64.powi(32)
}

/// A loop under both.
struct Pair {
    params: NearParams,
    core: Near,
    settings: Settings,
    original: NearSource,
    random: u32,
    /// Of R, of the target, and of the rate before; bit/s.
    error: f64,
    /// Of the timer, nanoseconds.
    late: u64,
}

impl Pair {
    fn new(settings: &near_source::Params, line: BitRate, seed: u32) -> Self {
        let params = NearParams::new(settings, line, 1.0).expect("the kernel has it");
        let mut core = Near::default();
        // SAFETY: as above.
        unsafe { core_near_init(&raw mut core, 0, seed) };
        let settings = Settings::new(settings, line);
        Self { params, core, settings, original: NearSource::default(), random: seed, error: 0.0, late: 0 }
    }

    /// The error of a measured rate.
    fn measured(&self) -> f64 {
        2.0 * 8e9 * 2_f64.powi(-30) + self.core.before as f64 * U * 2_f64.powi(-29) + 1.0 + 4.0 * U
    }

    /// A step of both, and the comparison. Returns false, and does nothing, if an error decides what happens.
    fn step(&mut self, now_ns: u64, event: Event) -> bool {
        let mut after = self.core;
        after.step(&self.params, now_ns, event);
        let stages = |near: &Near| u64::from(near.byte_stage) + u64::from(near.time_stage);
        let events = match event {
            Event::Message { .. } => 0,
            _ => stages(&after).saturating_sub(stages(&self.core)),
        };
        let (mut error, mut late) = (self.error, self.late + 2 * events);
        let cap = f64::from(self.params.cap) / 65_536.0;
        if let Event::Message { feedback } = event {
            late = 2;
            if self.core.phase == 0 {
                error = self.measured();
            }
            error += self.params.line_rate as f64 * U * f64::from(feedback) * 2_f64.powi(-31) + 2.0 * U;
        } else if events > 0 {
            error += events as f64 * 2.0 * U + f64::from(after.byte_stage.min(after.time_stage)) * U;
            error = error.max(cap * self.measured() + U);
        }
        if self.is_tie(now_ns, event, &after, error, late) {
            return false;
        }
        (self.core, self.error, self.late) = (after, error, late);
        self.step_original(now_ns, event);
        let (found, expected) = (self.core.current as f64 * U, self.original.rate());
        assert_eq!(self.core.phase != 0, expected.is_some(), "{event:?}: {:?}", self.core);
        if let Some(expected) = expected.map(BitRate::as_f64) {
            let allowed = self.error + 1.0;
            assert!(
                (found - expected).abs() <= allowed,
                "{found} for {expected}, {allowed} allowed, {event:?}: {:?}",
                self.core
            );
        }
        true
    }

    /// A loop that is off by no more than the errors decides otherwise, or comes to another rate.
    fn is_tie(&self, now_ns: u64, event: Event, after: &Near, error: f64, late: u64) -> bool {
        let off = (error / U).ceil() as u64 + 1;
        let other = |signs: u32| {
            let mut other = self.core;
            let shift = |bit: u32, value: u64, by: u64| {
                if signs >> bit & 1 == 1 { value + by } else { value.saturating_sub(by) }
            };
            other.current = shift(0, other.current, off);
            other.target = shift(1, other.target, off);
            other.timer_ns = shift(2, other.timer_ns, late);
            other.bytes_left += if signs >> 3 & 1 == 1 { 1 } else { -1 };
            other.step(&self.params, now_ns, event);
            let is_far = other.phase != 0 && other.current.abs_diff(after.current) > 2 * off + 8;
            other.decided() != after.decided() || is_far
        };
        self.core.phase != 0 && (0..16).any(other)
    }

    fn step_original(&mut self, now_ns: u64, event: Event) {
        let now = Time::ZERO + Span::from_ns(now_ns);
        let random = &mut || draw(&mut self.random);
        match event {
            Event::Message { feedback } => {
                let from = CpId(std::num::NonZeroU16::MIN);
                let cnm = Cnm { from, signal: Signal::Quantized(feedback), q_offset: 0, q_delta: 0 };
                self.original.on_cnm(&self.settings, now, &cnm, random);
            }
            Event::Advance { rtt_ns } => {
                self.original.advance(&self.settings, now, Span::from_ns(rtt_ns), random);
            }
            Event::Sent { bytes } => self.original.on_sent(&self.settings, now, bytes, random),
            Event::Held => self.original.on_held(now),
        }
    }
}

fn settings(rng: &mut Rng, line: BitRate, gap_ns: u64) -> near_source::Params {
    let part = |rng: &mut Rng, most: f64| Some(line.scaled(rng.f64() * most + 1e-4));
    near_source::Params {
        dc_rtt: Span::from_us(rng.u64(10..2_000)),
        byte_reset: rng.bool().then(|| Bytes::new(rng.u64(5_000..500_000))),
        // Few stages pass from one step to the next.
        time_reset: Some(Span::from_ns(2 * gap_ns + rng.u64(1_000_000..20_000_000))),
        ai_rate: part(rng, 0.05),
        hai_rate: part(rng, 0.3),
        min_rate: part(rng, 0.01),
        threshold: rng.u32(1..8),
        gd: if rng.bool() { 1.0 / 128.0 } else { rng.f64() * 0.02 + 1e-3 },
        min_dec_fac: rng.f64() * 0.8 + 0.1,
        jitter: if rng.bool() { 0.15 } else { 0.0 },
        variant: if rng.bool() { Variant::Standard } else { Variant::PseudoCode },
        start: if rng.u8(..) < 200 { Start::Measured } else { Start::LineRate },
        measure_over: rng.bool().then(|| Span::from_us(rng.u64(50..5_000))),
        cap: if rng.bool() { 2.0 } else { f64::INFINITY },
        release_after: rng.bool().then(|| Span::from_us(rng.u64(1_000..200_000))),
        ..near_source::Params::default()
    }
}

#[test]
fn structures_of_the_loop_have_no_gaps() {
    // SAFETY: it takes nothing.
    let sizes = unsafe { core_near_sizes() };
    assert_eq!(
        [sizes >> 32, sizes & 0xffff_ffff],
        [size_of::<Near>() as u64, size_of::<NearParams>() as u64]
    );
}

#[test]
fn the_near_source_loop_of_the_kernel_is_that_of_simulations_in_whole_numbers() {
    const STEPS: usize = 1_000_000;
    const EACH: usize = 2_000;
    let mut rng = Rng::with_seed(28);
    let (mut steps, mut ties, mut limited) = (0, 0, 0);
    while steps < STEPS {
        let line = BitRate::from_mbps(rng.u64(10..20_000));
        // From one step to the next, as at a part of line rate.
        let gap_ns = (1_500.0 * 8e9 / line.as_f64() / (rng.f64() * 0.9 + 0.1)) as u64 + 1;
        let set = settings(&mut rng, line, gap_ns);
        let mut pair = Pair::new(&set, line, rng.u32(1..));
        let (mut now_ns, messages) = (rng.u64(1..1_000_000), rng.u32(1..30));
        for _ in 0..EACH {
            now_ns += rng.u64(1..2 * gap_ns + 2);
            let event = match rng.u32(0..1_000) {
                0..400 => Event::Sent { bytes: rng.u16(80..9_000) },
                400..600 => Event::Held,
                _ if rng.u32(0..1_000) < messages => Event::Message { feedback: rng.u8(1..64) },
                _ => Event::Advance { rtt_ns: rng.u64(0..20_000_000) },
            };
            if !pair.step(now_ns, event) {
                ties += 1;
                break;
            }
            limited += usize::from(pair.core.phase != 0);
            steps += 1;
        }
    }
    assert!(ties <= STEPS / 10_000, "{ties} ties");
    assert!(limited > STEPS / 4, "{limited} steps with a loop that limits");
}

#[test]
fn the_pacing_of_payload_leaves_room_for_what_is_around_it() {
    let mut near = Near { current: 100_000_000 << 8, phase: 1, ..Near::default() };
    // SAFETY: as above.
    let payload = |near: &Near| unsafe { core_near_payload(near, 1_448, 90) };
    // 12 500 000 B/s·1448/1538
    assert_eq!(payload(&near), 11_768_530);
    near.phase = 0;
    assert_eq!(payload(&near), u64::MAX);
}
