use super::classic_aqm::Detector;
use super::*;
use crate::cc::conformance::{MSS, ack, path};
use crate::cc::{DeliverySample, parts::SplitMix};
use crate::units::BitRate;

fn prague(params: &Params) -> Scalable {
    Scalable::new(params, &path())
}

/// A sender in steady state: `window` packets acknowledged one by one in each round trip of `rtt`, each marked with probability `p`.
struct Flow {
    scalable: Scalable,
    rtt: Span,
    now: Time,
    delivered: Bytes,
    random: SplitMix,
}

impl Flow {
    fn new(params: &Params, rtt: Span) -> Self {
        let (now, delivered) = (Time::ZERO, Bytes::ZERO);
        Self { scalable: prague(params), rtt, now, delivered, random: SplitMix::new(7) }
    }

    fn window(&self) -> f64 {
        self.scalable.limit().cwnd.as_f64() / MSS.as_f64()
    }

    /// The next packet is acknowledged, as the pacing rate has it.
    fn ack(&mut self, marked: bool) {
        let rate = self.scalable.limit().pacing;
        let packet = MSS + Bytes::new(90);
        self.now += rate.map_or(self.rtt / 10, |rate| rate.time_to_send(packet));
        self.delivered += MSS;
        let sent =
            rate.map_or(MSS * 9, |rate| Bytes::from_f64(rate.as_f64() / 8.0 / 1.09 * self.rtt.as_secs_f64()));
        let inflight = sent.min(self.scalable.limit().cwnd - MSS);
        let delivery =
            DeliverySample { delivered: inflight.max(MSS), interval: self.rtt, ..DeliverySample::default() };
        self.scalable.on_ack(&Ack {
            now: self.now,
            rtt: Some(self.rtt),
            srtt: self.rtt,
            marked: if marked { MSS } else { Bytes::ZERO },
            inflight,
            inflight_before: inflight + MSS,
            delivered: self.delivered,
            delivery,
            ..ack(MSS)
        });
    }

    /// Mean rate in packets per second over so long.
    fn rate(&mut self, p: f64, seconds: u64) -> f64 {
        let (from, before) = (self.now, self.delivered);
        let until = from + Span::from_secs(seconds);
        while self.now < until {
            let marked = self.random.uniform() < p;
            self.ack(marked);
        }
        (self.delivered - before).as_f64() / MSS.as_f64() / (self.now - from).as_secs_f64()
    }
}

#[test]
fn the_first_mark_halves_the_window_and_ends_slow_start() {
    let mut flow = Flow::new(&Params::default(), Span::from_ms(10));
    (0..30).for_each(|_| flow.ack(false));
    assert_eq!(flow.window(), 40.0);
    flow.ack(true);
    assert_eq!(flow.window(), 39.0, "one packet per acknowledgment");
    (0..30).for_each(|_| flow.ack(false));
    assert!((20.0..23.0).contains(&flow.window()), "{}", flow.window());
}

#[test]
fn one_reduction_per_virtual_round_trip_however_many_marks() {
    let params = Params { initial_alpha: 1.0, transition: 0, gain: 1e-9, ..Params::default() };
    let mut flow = Flow::new(&params, Span::from_ms(5));
    flow.scalable.ssthresh = 10.0;
    flow.scalable.window = 100.0;
    flow.scalable.cwnd = 100.0;
    let mut reductions = 0;
    let from = flow.now;
    while flow.now < from + Span::from_ms(99) {
        let before = flow.scalable.window;
        flow.ack(true);
        reductions += u32::from(flow.scalable.window < before);
    }
    assert_eq!(reductions, 4, "at 0, 25, 50 and 75 ms");
}

/// The mean window in virtual round trips times p. A reduction by p/2 of the largest window, which exceeds the mean by p/4, makes up for
/// the growth of 1 − p in a virtual round trip and in the time until the next mark, 1/p packets and a half less.
fn law(p: f64) -> f64 {
    let a = (1.0 - p) * (1.0 - p / 4.0);
    a + (a * a + 2.0 * a * (1.0 - p / 2.0)).sqrt()
}

#[test]
fn marks_at_random_hold_the_rate_that_the_law_says() {
    // ±3 %: 200 s have 8000 virtual round trips; the mean of a law for means.
    for (rtt, p) in [(5, 0.01), (25, 0.01), (25, 0.1), (5, 0.1), (100, 0.02), (1, 0.3)] {
        let mut flow = Flow::new(&Params::default(), Span::from_ms(rtt));
        flow.scalable.ssthresh = 10.0;
        flow.rate(p, 30);
        let found = flow.rate(p, 200) * (rtt.max(25) as f64 / 1000.0) * p;
        let expected = law(p);
        assert!((found / expected - 1.0).abs() < 0.03, "{rtt} ms, p = {p}: {found}, expected {expected}");
    }
}

#[test]
fn alpha_follows_a_change_of_the_marked_part_by_a_sixteenth_per_update() {
    let params = Params { transition: 0, target_rtt: Span::ZERO, ..Params::default() };
    let mut scalable = prague(&Params { initial_alpha: 1e-9, ..params });
    scalable.ssthresh = 2.0;
    let mut alphas: Vec<f64> = Vec::new();
    for number in 1..=43 {
        let delivered = MSS * 10 * number;
        let delivery =
            DeliverySample { delivered: MSS * 10, interval: Span::from_ms(10), ..Default::default() };
        let now = Time::ZERO + Span::from_ms(10) * number;
        scalable.on_ack(&Ack { now, delivered, delivery, marked: MSS * 10, ..ack(MSS * 10) });
        alphas.push(scalable.alpha.get());
    }
    // (15/16)^n of the change is left: 52 % after 10 updates, 6 % after 43.
    assert!((1.0 - alphas[9] - 0.5245).abs() < 1e-3, "{}", alphas[9]);
    assert!((1.0 - alphas[42] - 0.0623).abs() < 1e-3, "{}", alphas[42]);
}

#[test]
fn a_window_of_a_part_of_a_packet_is_paced() {
    // Half of the packets are marked: 2.7 packets in 25 ms, a ninth of one in a round trip of 1 ms.
    let mut flow = Flow::new(&Params::default(), Span::from_ms(1));
    flow.scalable.ssthresh = 2.0;
    flow.rate(0.5, 30);
    let found = flow.rate(0.5, 1000) * 0.025 * 0.5;
    assert_eq!(flow.window(), 2.0);
    assert!(flow.scalable.window < 0.5, "{}", flow.scalable.window);
    // ±10 %: an update of alpha has three packets.
    assert!((found / law(0.5) - 1.0).abs() < 0.1, "{found}, expected {}", law(0.5));
}

#[test]
fn all_marked_it_sends_at_the_lowest_rate() {
    let mut flow = Flow::new(&Params::default(), Span::from_ms(1));
    flow.rate(1.0, 10);
    assert_eq!(flow.scalable.limit().pacing, Some(BitRate::from_bps(100_000).scaled(1.03125)));
}

#[test]
fn a_loss_halves_once_and_a_needless_one_is_taken_back() {
    let mut scalable = prague(&Params::default());
    let flight_size = MSS * 10;
    scalable.on_congestion(Congestion::Loss { flight_size });
    assert_eq!(scalable.limit().cwnd, MSS * 5);
    scalable.on_ack(&Ack { in_recovery: true, ..ack(MSS) });
    assert_eq!(scalable.limit().cwnd, MSS * 5, "nothing grows while it is repaired");
    scalable.on_congestion(Congestion::Spurious);
    assert_eq!(scalable.limit().cwnd, MSS * 10);
    assert!(scalable.in_slow_start());
}

#[test]
fn without_ecn_it_is_reno() {
    let params = Params { ecn: false, ..Params::default() };
    assert_eq!((Prague::ecn(&params), Prague::is_l4s(&params)), (Ecn::Off, false));
    let mut prague = Prague::new(&params, &path());
    let mut reno = Reno::new(&reno::Params::default(), &path());
    for number in 0..200 {
        for control in [&mut prague as &mut dyn Controller, &mut reno] {
            control.on_ack(&ack(MSS));
            if number == 20 {
                control.on_congestion(Time::ZERO, Congestion::Loss { flight_size: MSS * 30 });
            }
        }
        assert_eq!(prague.limit(), reno.limit());
    }
}

#[test]
fn a_rate_is_kept_up_to_four_packets_and_swings_by_a_thirty_second() {
    let mut flow = Flow::new(&Params::default(), Span::from_ms(1));
    flow.scalable.ssthresh = 2.0;
    flow.rate(0.3, 10);
    assert!(flow.scalable.by_rate);
    let kept = flow.scalable.rate;
    let [first, second] =
        [0, 13].map(|ms| flow.scalable.swung(flow.scalable.updated + Span::from_ms(ms)) / 0.001 / kept);
    assert!((first - 1.03125).abs() < 1e-9 && (second - 0.96875).abs() < 1e-9, "{first} {second}");
}

#[test]
fn packets_shrink_so_that_two_leave_in_a_virtual_round_trip() {
    // On the wire; 90 B of them are headers.
    for (kbps, wire) in [(2000, 1090), (640, 1000), (320, 500), (64, 150), (320, 500), (2000, 1090)] {
        let mut flow =
            Flow::new(&Params { transition: 0, gain: 1e-9, ..Params::default() }, Span::from_ms(1));
        flow.scalable.ssthresh = 2.0;
        flow.scalable.on_handshake(Span::from_ms(1));
        flow.scalable.window = f64::from(kbps) / flow.scalable.packet;
        // Nothing that is acknowledged while a loss is repaired raises the rate.
        let repaired = Ack { in_recovery: true, srtt: Span::from_ms(1), ..ack(MSS) };
        flow.scalable.on_ack(&repaired);
        assert_eq!(flow.scalable.segment(), Bytes::new(wire - 90), "{kbps} kb/s");
    }
}

/// Score and least alpha after so many updates with these deviations and queues.
fn detected(mdev_us: f64, queue_us: f64, updates: u32) -> (f64, f64) {
    let mut detector = Detector::new(Fallback::default());
    (detector.srtt, detector.min_rtt, detector.mdev) = (0.02 + queue_us * 1e-6, 0.02, mdev_us * 1e-6);
    (0..updates).for_each(|_| detector.update());
    (detector.score, detector.least_alpha())
}

#[test]
fn the_score_rises_by_half_of_both_logarithms() {
    // Four times 750 us is 1, four times 2 ms another 1 for each update.
    assert!((detected(3000.0, 8000.0, 4).0 - 8.0).abs() < 1e-9);
    assert!((detected(3000.0, 1000.0, 4).0 - 4.0).abs() < 1e-9, "a short queue says nothing");
    assert_eq!(detected(187.5, 500.0, 4), (0.0, 0.0), "calm ones lower it, down to 0");
    assert_eq!(detected(3000.0, 8000.0, 100), (17.0, 0.625));
}

#[test]
fn between_both_kinds_of_queues_alpha_is_held_up_in_part() {
    let (score, alpha) = detected(1500.0, 0.0, 17);
    assert!((score - 8.5).abs() < 1e-9 && (alpha - 0.3125).abs() < 1e-9, "{score} {alpha}");
}

#[test]
fn averages_of_the_detection_last_for_several_sawteeth() {
    let mut detector = Detector::new(Fallback::default());
    detector.scale(100.0);
    // lg is 6: 2^(6 + 3 + 1).
    assert_eq!(detector.gain, 1.0 / 1024.0);
    detector.measure(0.02);
    detector.measure(0.03);
    assert!((detector.srtt - (0.02 + 0.01 / 1024.0)).abs() < 1e-12);
    assert!((detector.mdev - (1e-6 + (0.01 - 1e-6) / 2048.0)).abs() < 1e-12);
}

#[test]
fn without_feedback_of_each_mark_it_is_reno() {
    for peer_ecn in [PeerEcn::Classic, PeerEcn::Off] {
        let path = Path { peer_ecn, ..path() };
        assert!(matches!(Prague::new(&Params::default(), &path), Prague::Reno(_)));
    }
}
