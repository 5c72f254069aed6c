use narrows_proto::units::{Span, Time};

use super::dual_queue::{Controller, DualQueue, Law};
use super::scheduler::Turns;
use super::*;
use crate::ids::{FlowId, HostId};
use crate::mechanism::marking::Verdict;
use crate::packet::{CE, ECT, Fields, Kind, L4S, NO_TRAILERS, Packet, Parcel};
use crate::switch::waiting;

const SIZE: u16 = 1_500;

/// ECN field of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    NotEct,
    Ect0,
    Ect1,
    Ce,
}

fn packet(says: Says) -> Packet {
    let (flags, marks) = match says {
        Says::NotEct => (0, 0),
        Says::Ect0 => (ECT, 0),
        Says::Ect1 => (ECT, L4S),
        Says::Ce => (ECT | CE, 0),
    };
    let (flow, to, kind) = (FlowId(says as u32), HostId(0), Kind::Data);
    let fields =
        Fields { seq: 0, flow, to, size: SIZE, incarnation: 0, kind, priority: 0, flags, trailers: 0 };
    Packet::new(fields).with_marks(marks)
}

struct Fixture {
    law: Law,
    queue: DualQueue,
    counters: DualPi2Counters,
}

impl Fixture {
    fn new(config: &DualPi2) -> Self {
        let queue = DualQueue::new(Turns::new(config.scheduler, SIZE.into()));
        Self { law: Law::new(config, SIZE.into()), queue, counters: DualPi2Counters::default() }
    }

    /// One whose base controller stays at p'.
    fn at(p: f64, config: &DualPi2) -> Self {
        let mut fixture = Self::new(config);
        fixture.queue.set_p(p);
        fixture
    }

    fn push(&mut self, now: Time, says: Says) {
        let parcel = Parcel::bare(waiting(packet(says), now));
        self.queue.push(&self.law, now, parcel, &mut self.counters);
    }

    fn pop(&mut self, now: Time) -> (Says, Verdict) {
        let (packet, verdict) = self.queue.pop(&self.law, now, &mut NO_TRAILERS.clone(), &mut self.counters);
        let all = [Says::NotEct, Says::Ect0, Says::Ect1, Says::Ce];
        (all[packet.flow().index()], verdict)
    }

    /// Verdicts on so many packets, of which a few always wait, at time zero.
    fn verdicts(&mut self, says: Says, packets: usize) -> [f64; 2] {
        (0..4).for_each(|_| self.push(Time::ZERO, says));
        let mut counts = [0.0; 2];
        for _ in 0..packets {
            self.push(Time::ZERO, says);
            match self.pop(Time::ZERO).1 {
                Verdict::Pass => {}
                Verdict::Mark => counts[0] += 1.0,
                Verdict::Drop => counts[1] += 1.0,
            }
        }
        counts.map(|count| count / packets as f64)
    }
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// RFC 9332 Fig. 2 and Fig. 8 by hand: T = 15 ms, α = 0.1·15 ms/(100 ms)² = 0.15, β = 3. Delays of 20, 20, 15, 10, 15 ms:
/// 0.15·5e-3 + 3·20e-3 = 0.06075; + 0.00075; + 3·(−5e-3); + 0.15·(−5e-3) + 3·(−5e-3); + 3·5e-3.
#[test]
fn the_base_controller_follows_the_law() {
    let law = Law::new(&DualPi2::default(), 1_500);
    let mut controller = Controller::default();
    for (delay, expected) in
        [(20e-3, 0.06075), (20e-3, 0.0615), (15e-3, 0.0465), (10e-3, 0.03075), (15e-3, 0.04575)]
    {
        controller.update(&law, delay);
        assert!((controller.p - expected).abs() < 1e-12, "{}, expected {expected}", controller.p);
    }
}

/// §2.1: p_C = (p_CL/k)².
#[test]
fn classic_packets_are_hit_with_the_square_of_what_marks_l4s() {
    for (k, p) in [(2.0, 0.01), (2.0, 0.1), (2.0, 0.45), (1.0, 0.3), (4.0, 0.2)] {
        let config = DualPi2 { coupling: k, ..DualPi2::default() };
        let [l4s_marks, l4s_drops] = Fixture::at(p, &config).verdicts(Says::Ect1, 100_000);
        let [classic_marks, classic_drops] = Fixture::at(p, &config).verdicts(Says::Ect0, 100_000);
        let [none, drops] = Fixture::at(p, &config).verdicts(Says::NotEct, 100_000);
        // One packet more or less of a hundred thousand.
        assert!((l4s_marks - k * p).abs() < 2e-5, "{l4s_marks} for k = {k}, p' = {p}");
        assert!((classic_marks - p * p).abs() < 2e-5, "{classic_marks} for k = {k}, p' = {p}");
        assert!((drops - p * p).abs() < 2e-5, "{drops} for k = {k}, p' = {p}");
        assert_eq!([l4s_drops, classic_drops, none], [0.0; 3]);
    }
}

/// Fig. 7: from p_CL = 1 on, p' = 0.5 for k = 2.
#[test]
fn overload_drops_from_both_queues() {
    let config = DualPi2::default();
    let [marks, drops] = Fixture::at(0.6, &config).verdicts(Says::Ect1, 100_000);
    assert!((drops - 0.36).abs() < 1e-3 && (marks - 0.64).abs() < 1e-3, "{marks} marked, {drops} dropped");
    let [marks, drops] = Fixture::at(0.6, &config).verdicts(Says::Ect0, 100_000);
    assert!(marks == 0.0 && (drops - 0.36).abs() < 1e-3, "{marks} marked, {drops} dropped");
}

/// Fig. 5: from 800 us to 1200 us.
#[test]
fn l4s_packets_are_marked_by_a_ramp_of_their_sojourn_time() {
    for (us, expected) in [(700, 0.0), (900, 0.25), (1_000, 0.5), (1_200, 1.0), (5_000, 1.0)] {
        let mut fixture = Fixture::new(&DualPi2::default());
        let mut marked = 0.0;
        let mut now = Time::ZERO;
        fixture.push(now, Says::Ect1);
        // Too early for the base controller to have a say.
        for _ in 0..1_000 {
            fixture.push(now, Says::Ect1);
            let later = now + Span::from_us(us);
            marked += f64::from(fixture.pop(later).1 == Verdict::Mark);
            now += Span::from_ns(1);
        }
        assert!((marked / 1_000.0 - expected).abs() <= 0.002, "{marked} of 1000 after {us} us");
    }
}

#[test]
fn a_packet_that_leaves_none_behind_is_not_marked_for_its_sojourn_time() {
    let mut fixture = Fixture::new(&DualPi2::default());
    (0..3).for_each(|_| fixture.push(Time::ZERO, Says::Ect1));
    let verdicts = [1, 2, 3].map(|_| fixture.pop(ms(5)).1);
    // The first adds up to 1, which is not above 1.
    assert_eq!(verdicts, [Verdict::Pass, Verdict::Mark, Verdict::Pass]);
}

#[test]
fn ect1_and_ce_wait_in_l_and_all_else_in_c() {
    let mut fixture = Fixture::new(&DualPi2::default());
    for says in [Says::NotEct, Says::Ect0, Says::Ect1, Says::Ce] {
        fixture.push(Time::ZERO, says);
    }
    let order = [0; 4].map(|_| fixture.pop(Time::ZERO).0);
    assert_eq!(order, [Says::Ect1, Says::Ce, Says::NotEct, Says::Ect0]);
}

/// §4.2.2: with a weight of 1/16 a classic packet waits for 15 others at most.
#[test]
fn classic_packets_get_a_sixteenth_of_the_link() {
    let mut fixture = Fixture::new(&DualPi2::default());
    for _ in 0..400 {
        fixture.push(Time::ZERO, Says::NotEct);
        fixture.push(Time::ZERO, Says::Ect1);
    }
    let order: Vec<_> = (0..320).map(|_| fixture.pop(Time::ZERO).0).collect();
    let runs: Vec<_> = order.split(|says| *says == Says::NotEct).map(<[Says]>::len).collect();
    // The credit begins in favor of L.
    assert!(runs[1..runs.len() - 1].iter().all(|run| *run == 15), "{runs:?}");
}

#[test]
fn a_time_shift_lets_l4s_go_first_until_classic_packets_have_waited_that_much_longer() {
    let config = DualPi2 { scheduler: Scheduler::TimeShifted(TimeShifted::default()), ..DualPi2::default() };
    let mut fixture = Fixture::new(&config);
    fixture.push(ms(0), Says::NotEct);
    fixture.push(ms(20), Says::Ect1);
    fixture.push(ms(50), Says::Ect1);
    fixture.push(ms(51), Says::Ect1);
    let order = [0; 4].map(|_| fixture.pop(ms(60)).0);
    assert_eq!(order, [Says::Ect1, Says::Ect1, Says::NotEct, Says::Ect1]);
}

#[test]
fn so_little_as_one_packet_is_left_alone() {
    let mut fixture = Fixture::at(1.0, &DualPi2::default());
    for _ in 0..100 {
        fixture.push(Time::ZERO, Says::NotEct);
        assert_eq!(fixture.pop(Time::ZERO).1, Verdict::Pass);
    }
}

#[test]
fn updates_that_were_missed_are_made_up_for_by_the_time_that_the_first_packet_had_waited() {
    let mut fixture = Fixture::new(&DualPi2::default());
    fixture.push(ms(10), Says::NotEct);
    fixture.push(ms(10), Says::NotEct);
    fixture.pop(ms(50));
    // At 15, 30 and 45 ms the first packet had waited for 5, 20 and 35 ms: p' = 0.15·(−10) + 3·5 = 13.5e-3;
    // + 0.15·5 + 3·15 = 45.75e-3; + 0.15·20 + 3·15 = 48e-3.
    assert!((fixture.queue.p() - 0.10725).abs() < 1e-9, "{}", fixture.queue.p());
}

#[test]
fn a_queue_that_is_idle_for_a_hundred_days_is_soon_up_to_date() {
    let mut fixture = Fixture::at(1.0, &DualPi2::default());
    fixture.push(Time::ZERO + Span::from_secs(8_640_000), Says::NotEct);
    assert_eq!(fixture.queue.p(), 0.0);
}
