//! Controls that learn from delays: Vegas, Copa, Swift.

use super::{Page, Path, assert_near, half_taken};

#[test]
fn vegas_keeps_two_to_four_segments_waiting() {
    let path = Path { rate: 1000.0, round_trip: 0.05, buffer: 200, mark_above: None };
    let run = path.play(6.0, "vegas = {}", &half_taken(&path, 1.0, 4.0));
    let mut page = Page::new(
        "\
Vegas over 1000 packets/s and 50 ms, which hold 50 packets. From 1 s to 4 s datagrams take half.
Brakmo & Peterson (JSAC 1995): diff = cwnd·(1 − baseRTT/RTT), RTT the smallest of a round. Once per round the window grows by
one if diff < alpha = 2, shrinks by one if diff > beta = 4, and rests between. Slow start doubles in every other round and
ends with diff > gamma = 1, at what the path holds and one segment more (Linux).
diff: of the round that ends here, with the window it had. expected: what that asks for. queue: at that time, datagrams too.
",
        &["at s", "round", "cwnd", "rtt ms", "diff", "expected", "next cwnd", "queue"],
    );
    let (rounds, trips) = (run.rounds(), run.round_trips());
    let base = trips.iter().copied().fold(f64::MAX, f64::min);
    assert_near("base", base * 1e3, 50.0, 0.02);
    let mut settled = false;
    let mut counts = [0; 3];
    for (number, pair) in rounds.windows(2).enumerate() {
        let number = number + 1;
        let (first, end) = (pair[0], pair[1]);
        let smallest = |from, to| trips[from..=to].iter().copied().fold(f64::MAX, f64::min);
        let (window, next) = (run.flow[end - 1].cwnd, run.flow[end].cwnd);
        // In slow start what counts is the packet sent first in a round that rests, which ends the next one.
        let slow_start = !settled;
        let round_trip = if slow_start { trips[end] } else { smallest(first + 1, end) };
        let diff = window * (1.0 - base / round_trip);
        let expected = if slow_start {
            let rests = number % 2 == 0;
            settled = rests && diff > 1.0;
            match (rests, settled) {
                (_, true) => "ends",
                (true, _) => "double",
                _ => "rest",
            }
        } else {
            let place = usize::from(diff >= 2.0) + usize::from(diff > 4.0);
            counts[place] += 1;
            ["+1", "0", "−1"][place]
        };
        match expected {
            "ends" => assert_near("end of slow start", next, window * base / round_trip + 1.0, 0.01),
            "double" => assert_near("doubled", run.flow[rounds[number + 1] - 1].cwnd, 2.0 * window, 1.0),
            "rest" => assert_near("resting", run.flow[rounds[number + 1] - 1].cwnd, window, 1.0),
            "+1" => assert_near("below alpha", next - window, 1.0, 1e-6),
            "−1" => assert_near("above beta", next - window, -1.0, 1e-6),
            _ => assert_near("between", next - window, 0.0, 1e-6),
        }
        if [1..=10, 19..=22, 41..=45, 58..=61, 81..=84].iter().any(|shown| shown.contains(&number)) {
            let at = run.flow[end].at;
            page.row([
                format!("{at:.3}"),
                format!("{number}"),
                format!("{window:.1}"),
                format!("{:.1}", round_trip * 1e3),
                format!("{diff:.2}"),
                expected.to_owned(),
                format!("{next:.1}"),
                format!("{:.0}", run.queue(at)),
            ]);
        }
    }
    // 25 rounds to give half of the path up, and as many to take it again.
    assert!(counts[0] >= 20 && counts[2] >= 20 && counts[1] >= 20, "{counts:?}");
    insta::assert_snapshot!(page.text());
}

#[test]
fn copa_swings_between_an_empty_queue_and_two_and_a_half_over_delta() {
    let path = Path { rate: 10_000.0, round_trip: 0.02, buffer: 4000, mark_above: None };
    let run = path.play(3.0, "copa = { delta = 0.1 }", "");
    let mut page = Page::new(
        "\
Copa with δ = 0.1 over 10 000 packets/s and 20 ms, which hold 200 packets.
Arun & Balakrishnan (NSDI 2018) §3: near equilibrium the window moves by 1/δ = 10 packets per round trip. It turns when the
sender learns, late, that the queue is longer or shorter than 1/δ. So the queue swings from 0 to 2.5/δ = 25 packets and back
in five round trips; the mean is 1.25/δ.
phase: in round trips of 20 ms since the queue was empty. expected: 10·phase up to 2.5, then 10·(5 − phase); a window of what
the path holds and the queue there is; 20 ms and the queue a round trip ago.
",
        &["at s", "phase", "queue", "expected", "cwnd", "expected", "srtt ms", "expected"],
    );
    // The last second. The bottoms are where the queue, which rose since, is empty again.
    let queue: Vec<_> =
        (0..10_000).map(|n| 2.0 + f64::from(n) * 1e-4).map(|at| (at, run.queue(at))).collect();
    let mut bottoms: Vec<f64> = Vec::new();
    let mut risen = false;
    for &(at, waiting) in &queue {
        risen |= waiting > 12.0;
        if risen && waiting < 1.0 {
            bottoms.push(at);
            risen = false;
        }
    }
    let mean = queue.iter().map(|(_, waiting)| waiting).sum::<f64>() / queue.len() as f64;
    // The window moves in packets: ±1.
    assert_near("mean queue", mean, 12.5, 1.0);
    assert_near("longest queue", queue.iter().map(|(_, waiting)| *waiting).fold(0.0, f64::max), 25.0, 1.5);
    let periods = (bottoms.len() - 1) as f64;
    let period = (bottoms[bottoms.len() - 1] - bottoms[0]) / periods / path.round_trip;
    // A round trip with the queue of §3 lasts up to an eighth longer than an empty one, a sixteenth on average.
    assert!((5.0..=5.0 * 1.0625 + 0.1).contains(&period), "a period of {period} round trips");
    let delivered = run.at(3.0).delivered - run.at(2.0).delivered;
    assert!(delivered > 0.999 * path.rate, "{delivered} packets in a second");
    for step in 0..20 {
        let phase = f64::from(step) * 0.5;
        let at = bottoms[0] + phase * path.round_trip;
        let within = phase % 5.0;
        let expected = 10.0 * within.min(5.0 - within);
        let (waiting, sample) = (run.queue(at), run.at(at));
        // A packet is on the wire, another half is rounded away, the bottom may be a packet above zero, and by the second
        // swing the phase is off by a tenth, which is a packet.
        assert_near("queue", waiting, expected, 3.5);
        assert_near("window", sample.cwnd, 200.0 + waiting, 3.0);
        // Smoothed over eight acknowledgments, 0.8 ms, in which the queue moves by half a packet.
        let round_trip = path.round_trip * 1e3 + run.queue(at - sample.srtt) / 10.0;
        assert_near("round trip", sample.srtt * 1e3, round_trip, 0.2);
        page.row([
            format!("{at:.3}"),
            format!("{phase:.1}"),
            format!("{waiting:.0}"),
            format!("{expected:.0}"),
            format!("{:.1}", sample.cwnd),
            format!("{:.0}", 200.0 + waiting),
            format!("{:.1}", sample.srtt * 1e3),
            format!("{round_trip:.1}"),
        ]);
    }
    insta::assert_snapshot!(page.text());
}

#[test]
fn swift_adds_a_segment_per_round_below_its_target_and_stays_there() {
    let path = Path { rate: 1e6, round_trip: 50e-6, buffer: 1000, mark_above: None };
    let run = path.play(0.008, "swift = { base_target = \"60 us\", hop_delay = \"5 us\", hops = 3 }", "");
    let mut page = Page::new(
        "\
Swift over a packet per us and 50 us, which hold 50 packets.
Kumar et al. (SIGCOMM 2020) §3.2, §3.5: target = base + hops·h + fs = 60 + 3·5 us + fs, fs = a/√cwnd − b, 0 from 100 segments
on. With fs_min = 0.1, fs_max = 100 and a range of 100 us, a = 32.66 us and b = 3.27 us.
Algorithm 1: below the target cwnd + 1/cwnd for each packet acknowledged, so that n of them make √(cwnd² + 2n) of it, about one
segment more; above it, once per round trip, cwnd·(1 − 0.8·(delay − target)/delay). With W packets in flight the delay is W us,
in whole packets. So the window grows until 76 are in flight, and stays there: target(76) = 75.5 us.
delay: of the packet that is acknowledged. expected: the window at the end of the round, or after the cut.
",
        &["at us", "cwnd", "delay us", "target us", "rule", "expected", "next cwnd"],
    );
    let trips = run.round_trips();
    let a = 100.0 / (1.0 / 0.1_f64.sqrt() - 0.1);
    let target = |cwnd: f64| 75.0 + (a / cwnd.sqrt() - a / 10.0).clamp(0.0, 100.0);
    let mut show = |at: usize, delay: f64, rule: &str, expected: f64, next: f64| {
        let cwnd = run.flow[at].cwnd;
        page.row([
            format!("{:.0}", run.flow[at].at * 1e6),
            format!("{cwnd:.2}"),
            format!("{delay:.1}"),
            format!("{:.2}", target(cwnd)),
            rule.to_owned(),
            format!("{expected:.2}"),
            format!("{next:.2}"),
        ]);
    };
    let (rounds, cuts) = (run.rounds(), run.cuts(0.01));
    // The first round trip of a packet is known with the second window.
    for (number, pair) in rounds.windows(2).enumerate().skip(1).take_while(|(_, pair)| pair[1] < cuts[0]) {
        let (begin, end) = (pair[0] - 1, pair[1] - 1);
        let delay = trips[end] * 1e6;
        assert!(delay < target(run.flow[end].cwnd), "no cut at {delay} us");
        let (now, next) = (run.flow[begin], run.flow[end].cwnd);
        let expected = (now.cwnd * now.cwnd + 2.0 * (end - begin) as f64).sqrt();
        // The sum of 1/cwnd against its integral: below 1/(2·cwnd²) per segment.
        assert_near("growth", next, expected, 0.01);
        if number % 6 == 1 {
            show(begin, delay, "below", expected, next);
        }
    }
    for (number, pair) in cuts.windows(2).enumerate() {
        let (cut, following) = (pair[0], pair[1]);
        let (cwnd, delay) = (run.flow[cut - 1].cwnd, trips[cut] * 1e6);
        let expected = cwnd * (1.0 - 0.8 * (delay - target(cwnd)) / delay);
        // The host's link takes 10 ns for a packet: 0.01 us of 76, times 0.8.
        assert_near("cut", run.flow[cut].cwnd, expected, 0.02);
        let apart = (run.flow[following].at - run.flow[cut].at) * 1e6;
        assert!(apart >= delay - 0.1, "cuts {apart} us apart at {delay} us");
        let highest = run.flow[following - 1].cwnd;
        // A round trip of growth beyond the 76 in flight that are the first above the target.
        assert!((75.0..78.0).contains(&highest) && expected > 74.0, "{highest} {expected}");
        if number < 8 {
            show(cut - 1, delay, "above", expected, run.flow[cut].cwnd);
        }
    }
    assert!(cuts.len() > 20, "{}", cuts.len());
    let last_half = run.at(0.008).delivered - run.at(0.004).delivered;
    assert!(last_half > 0.999 * 4000.0, "{last_half} of 4000 packets");
    insta::assert_snapshot!(page.text());
}
