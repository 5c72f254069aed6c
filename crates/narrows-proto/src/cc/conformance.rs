//! Rules that every registered algorithm must keep, whatever it receives. An algorithm's own file does not repeat these tests.

use proptest::prelude::*;

use super::rackcc::{Advice, JumboReport};
use super::registry::ALGORITHMS;
use super::{
    Ack, Cc, Config, Congestion, Controller, DeliverySample, Inside, Limit, LostSegment, MOST_INSIDE, Path,
    PeerEcn, Signal, copa, dctcp, gemini,
};

use crate::telemetry::{Hop, Telemetry};
use crate::units::{BitRate, Bytes, Span, Time};

pub(super) const MSS: Bytes = Bytes::new(1000);

pub(super) fn path() -> Path {
    let link = BitRate::from_gbps(10);
    Path {
        mss: MSS,
        initial_window: MSS * 10,
        packet: MSS + Bytes::new(90),
        link,
        seed: 1,
        paced: false,
        merged: 1,
        offload: None,
        peer_ecn: PeerEcn::Accurate,
    }
}

/// An unremarkable acknowledgment of `acked` bytes: unmarked, limited by the window, in the middle of a round.
pub(super) fn ack(acked: Bytes) -> Ack {
    Ack {
        now: Time::ZERO,
        rtt: Some(Span::from_us(100)),
        since_sent: Span::from_us(100),
        srtt: Span::from_us(100),
        acked,
        marked: Bytes::ZERO,
        inflight: MSS * 10,
        inflight_before: MSS * 10 + acked,
        sent: MSS * 10 + acked,
        delivered: acked,
        lost: Bytes::ZERO,
        delivery: DeliverySample {
            delivered: MSS * 10,
            interval: Span::from_us(100),
            app_limited: false,
            ..DeliverySample::default()
        },
        round_start: false,
        cwnd_limited: true,
        in_recovery: false,
    }
}

/// Events that a controller may receive.
#[derive(Clone, Debug)]
enum Event {
    Ack(Ack),
    Congestion(Congestion),
    /// A notification packet, and a packet sent.
    Cnp,
    /// A flow begins after an idle time, and the window restarts or not.
    Idle(Span, bool),
    /// Telemetry of a port of 10 Gb/s: bytes it has sent, and bytes that wait.
    Telemetry(u64, u64),
    /// Report of the switch of its rack, and the rate its destination advertised.
    Rack(JumboReport, BitRate),
    /// A segment of a flight of so many bytes was lost, with a part of the flight.
    Lost(u64, f64),
    /// A packet arrived without its payload, trimmed at the last hop or before.
    Trimmed(bool),
}

/// The largest product the project promises to survive: 400 Gb/s × 300 ms = 15 GB in flight.
const LARGEST_FLIGHT: u64 = 15_000_000_000;

fn any_ack() -> impl Strategy<Value = Event> {
    let flags = any::<(bool, bool, bool, bool, bool)>();
    (1..=10 * MSS.get(), 1..=1_000_000_000_000_u64, 0..=LARGEST_FLIGHT, flags).prop_map(
        |(acked, rtt, inflight, flags)| {
            let (marked, round_start, cwnd_limited, in_recovery, app_limited) = flags;
            let (acked, rtt) = (Bytes::new(acked), Span::from_ps(rtt));
            Event::Ack(Ack {
                rtt: Some(rtt),
                since_sent: rtt,
                srtt: rtt,
                marked: if marked { acked } else { Bytes::ZERO },
                inflight: Bytes::new(inflight),
                inflight_before: Bytes::new(inflight) + acked,
                delivery: DeliverySample {
                    delivered: Bytes::new(inflight),
                    interval: rtt,
                    app_limited,
                    ..DeliverySample::default()
                },
                round_start,
                cwnd_limited,
                in_recovery,
                ..ack(acked)
            })
        },
    )
}

fn any_congestion() -> impl Strategy<Value = Event> {
    (0..4, 0..=LARGEST_FLIGHT, any::<bool>()).prop_map(|(kind, flight_size, repeated)| {
        let flight_size = Bytes::new(flight_size);
        Event::Congestion(match kind {
            0 => Congestion::Loss { flight_size },
            1 => Congestion::Mark { flight_size },
            2 => Congestion::Timeout { flight_size, repeated },
            _ => Congestion::Spurious,
        })
    })
}

fn any_events() -> impl Strategy<Value = Vec<Event>> {
    let idle = (0..10_000_000_000_u64, any::<bool>())
        .prop_map(|(ps, restart)| Event::Idle(Span::from_ps(ps), restart));
    let telemetry = (any::<u32>(), 0..10_000_000_u64);
    let telemetry = telemetry.prop_map(|(sent, waiting)| Event::Telemetry(sent.into(), waiting));
    let report = (0.0..=1.0, 0..1000_u32, any::<[u64; 3]>(), -50.0..50.0, any::<bool>());
    let report = report.prop_map(|(alpha, subflows, [throughput, marked, rtt], yielded, quiet)| {
        let rtt = Span::from_ps(rtt % 1_000_000_000_000);
        let throughput = BitRate::from_bps(throughput >> 16);
        let (joined, base_rtt, recent_rtt) = (0, rtt, rtt * 2);
        JumboReport { alpha, joined, subflows, throughput, yielded, marked, rtt, base_rtt, recent_rtt, quiet }
    });
    let rack = (report, 0..1_000_000_000_000_u64);
    let rack = rack.prop_map(|(report, rate)| Event::Rack(report, BitRate::from_bps(rate)));
    let lost = (MSS.get()..=LARGEST_FLIGHT, 0.0..=1.0);
    let lost = lost.prop_map(|(inflight, part)| Event::Lost(inflight, part));
    let event = prop_oneof![
        5 => rack,
        10 => lost,
        40 => any_ack(),
        2 => any_congestion(),
        1 => Just(Event::Cnp),
        5 => any::<bool>().prop_map(Event::Trimmed),
        1 => idle,
        10 => telemetry,
    ];
    prop::collection::vec(event, 0..400)
}

/// Replays the events to `cc`, a microsecond and what is idle apart, and calls `check` with its limits before and after each.
fn replay(cc: &mut Cc, events: &[Event], mut check: impl FnMut(&Event, Limit, Limit)) {
    let (mut delivered, mut lost) = (Bytes::ZERO, Bytes::ZERO);
    let mut now = Time::ZERO;
    for event in events {
        now += Span::from_us(1);
        let before = cc.limit();
        match event {
            Event::Ack(ack) => {
                delivered += ack.acked;
                let sent = delivered + lost + ack.inflight;
                cc.on_ack(&Ack { now, sent, delivered, lost, ..*ack });
            }
            Event::Congestion(event) => {
                if matches!(event, Congestion::Loss { .. } | Congestion::Timeout { .. }) {
                    lost += MSS;
                }
                cc.on_congestion(now, *event);
            }
            Event::Telemetry(sent, waiting) => {
                let hop = Hop::new(BitRate::from_gbps(10), now, *sent, *waiting);
                cc.on_signal(now, &Signal::Telemetry(&Telemetry::new(0, [hop])));
            }
            Event::Rack(report, destination) => {
                cc.on_signal(now, &Signal::Rack(Advice { report: Some(report), destination: *destination }));
            }
            Event::Lost(inflight, part) => {
                let inflight = Bytes::new(*inflight);
                let before = Bytes::from_f64(inflight.as_f64() * part);
                let (first, size) = (delivered.get(), MSS);
                let segment = LostSegment { first, size, inflight, lost: before + MSS, app_limited: false };
                cc.on_signal(now, &Signal::Lost(segment));
            }
            Event::Trimmed(at_last_hop) => {
                cc.on_signal(
                    now,
                    &Signal::Trimmed {
                        size: path().packet,
                        rtt: Span::from_us(30),
                        at_last_hop: *at_last_hop,
                    },
                );
            }
            Event::Cnp => {
                cc.on_signal(now, &Signal::Cnp);
                cc.on_signal(now, &Signal::Sent { size: MSS });
            }
            Event::Idle(idle, restart) => {
                now += *idle;
                cc.on_idle(now, *idle, restart.then_some(path().initial_window));
            }
        }
        while cc.next_timer() <= now {
            cc.on_signal(now, &Signal::Timer);
        }
        check(event, before, cc.limit());
    }
}

proptest! {
    #[test]
    fn the_limit_always_lets_one_segment_out(events in any_events()) {
        for config in Config::all() {
            let name = config.name();
            replay(&mut config.build(&path()), &events, |event, _, after| {
                assert!(after.cwnd >= MSS, "{name}: {after:?} after {event:?}");
                assert!(after.pacing.is_none_or(|rate| rate.as_bps() > 0), "{name}: {after:?} after {event:?}");
            });
        }
    }

    #[test]
    fn congestion_never_raises_the_limit(events in any_events()) {
        for config in Config::all() {
            let name = config.name();
            replay(&mut config.build(&path()), &events, |event, before, after| {
                let ceiling = match event {
                    Event::Congestion(Congestion::Timeout { .. }) => before.cwnd,
                    // Two segments are the smallest threshold (RFC 5681 §3.1), and a window may have been at one.
                    Event::Congestion(Congestion::Loss { .. } | Congestion::Mark { .. }) => before.cwnd.max(MSS * 2),
                    _ => return,
                };
                assert!(after.cwnd <= ceiling, "{name}: {before:?} to {after:?} after {event:?}");
            });
        }
    }

    #[test]
    fn the_slow_start_threshold_never_falls_below_two_segments(events in any_events()) {
        for config in Config::all().into_iter().chain(with_windows_of_one_segment()) {
            let name = config.name();
            let mut cc = config.build(&path());
            for event in &events {
                replay(&mut cc, std::slice::from_ref(event), |_, _, _| {});
                cc.inside(&mut |what, value| {
                    let threshold = value.number().filter(|_| what == "ssthresh_bytes");
                    let kept = threshold.is_none_or(|threshold| threshold >= (MSS * 2).as_f64());
                    assert!(kept, "{name}: {value:?} after {event:?}");
                });
            }
        }
    }

    #[test]
    fn what_a_controller_reports_is_described_and_is_a_number_or_a_short_word(events in any_events()) {
        for config in Config::all() {
            let described = config.inside().expect("it is built in");
            assert!(described.len() <= MOST_INSIDE);
            let mut cc = config.build(&path());
            for event in &events {
                replay(&mut cc, std::slice::from_ref(event), |_, _, _| {});
                let mut reported = Vec::new();
                cc.inside(&mut |what, value| {
                    assert!(described.iter().any(|(name, _)| *name == what), "{}: {what}", config.name());
                    assert!(!reported.contains(&what), "{}: {what} twice", config.name());
                    reported.push(what);
                    match value {
                        Inside::Number(number) => assert!(!number.is_nan(), "{}: {what}", config.name()),
                        Inside::Word(word) => assert!(word.len() <= 16, "{}: {word}", config.name()),
                    }
                });
            }
        }
    }

    #[test]
    fn an_idle_time_never_raises_the_window(events in any_events()) {
        for config in Config::all() {
            let name = config.name();
            replay(&mut config.build(&path()), &events, |event, before, after| {
                if let Event::Idle(..) = event {
                    assert!(after.cwnd <= before.cwnd, "{name}: after {event:?}");
                }
            });
        }
    }

    #[test]
    fn an_unmarked_acknowledgment_never_lowers_a_window(events in any_events()) {
        for config in Config::all().into_iter().filter(|config| !config.reads_delay()) {
            let name = config.name();
            replay(&mut config.build(&path()), &events, |event, before, after| {
                if let Event::Ack(Ack { marked: Bytes::ZERO, .. }) = event {
                    assert!(after.cwnd >= before.cwnd, "{name}: after {event:?}");
                }
            });
        }
    }

    #[test]
    fn the_same_events_give_the_same_limits(events in any_events()) {
        for config in Config::all() {
            let mut limits = [Vec::new(), Vec::new()];
            for limits in &mut limits {
                replay(&mut config.build(&path()), &events, |_, _, after| limits.push(after));
            }
            prop_assert_eq!(&limits[0], &limits[1], "{}", config.name());
        }
    }
}

/// Controls whose windows may be smaller than the threshold.
fn with_windows_of_one_segment() -> [Config; 3] {
    [
        Config::Dctcp(dctcp::Params { min_window: 1, ..Default::default() }),
        Config::Gemini(gemini::Params { min_window: 1, ..Default::default() }),
        Config::Copa(copa::Params { min_window: 1, ..Default::default() }),
    ]
}

/// Acknowledges one window to `cc` after `rtt`, one for each segment, all of them marked or none.
fn round_trip(cc: &mut Cc, now: Time, rtt: Span, marked: bool) {
    for segment in 0..(cc.limit().cwnd.get() / MSS.get()).min(100) {
        let marked = if marked { MSS } else { Bytes::ZERO };
        cc.on_ack(&Ack { now, rtt: Some(rtt), srtt: rtt, marked, round_start: segment == 0, ..ack(MSS) });
    }
}

#[test]
fn after_a_timeout_and_a_mark_the_window_grows_past_one_segment_within_ten_round_trips() {
    // Short, so that delay controls have no reason to hold back.
    let rtt = Span::from_us(10);
    let fixed = |config: &Config| matches!(config, Config::Fixed(_));
    let configs = Config::all().into_iter().filter(|config| !fixed(config));
    for config in configs.chain(with_windows_of_one_segment()) {
        for flight in 1..=10 {
            let (name, mut cc, mut now) = (config.name(), config.build(&path()), Time::ZERO);
            let mut pass = |cc: &mut Cc, marked| {
                now += rtt;
                round_trip(cc, now, rtt, marked);
                now
            };
            let time = pass(&mut cc, false);
            let flight_size = MSS * flight;
            cc.on_congestion(time, Congestion::Timeout { flight_size, repeated: false });
            let time = pass(&mut cc, true);
            cc.on_congestion(time, Congestion::Mark { flight_size: MSS });
            (0..10).for_each(|_| _ = pass(&mut cc, false));
            assert!(cc.limit().cwnd >= MSS * 2, "{name}: {:?} with {flight} in flight", cc.limit());
        }
    }
}

#[test]
fn a_flow_of_hours_at_the_largest_product_does_not_overflow() {
    let event = Event::Ack(Ack { acked: MSS * 64, ..ack(MSS) });
    let events = vec![event; 1_000_000];
    for config in Config::all() {
        replay(&mut config.build(&path()), &events, |_, _, _| {});
    }
}

#[test]
fn default_settings_are_in_range_and_every_name_is_unique() {
    let mut names: Vec<_> = ALGORITHMS.iter().map(|entry| entry.name).collect();
    for config in Config::all() {
        assert_eq!(config.check(&mut super::Ranges::default()), Ok(()), "{}", config.name());
        assert!(names.contains(&config.name()));
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ALGORITHMS.len());
}

#[test]
fn the_enum_of_controllers_stays_small() {
    // Every connection has one, whatever its algorithm. CUBIC is the largest; larger states belong in a `Box`.
    assert!(size_of::<Cc>() <= 144, "{} B", size_of::<Cc>());
}
