//! A control with phases: BBR.

use super::{Page, Path, Trajectory, assert_near};

/// A time in which pacing and window followed the same gains.
struct Phase {
    name: &'static str,
    begin: f64,
    length: f64,
}

/// The phases of a run after STARTUP has found `rate`, told by pacing rate and window.
fn phases(run: &Trajectory, rate: f64) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    let gain = |pacing: f64| pacing / (0.99 * rate);
    for sample in run.flow.iter().skip_while(|sample| gain(sample.pacing) < 2.88) {
        let gain = gain(sample.pacing);
        let name = match gain {
            _ if sample.cwnd <= 4.0 => "PROBE_RTT",
            2.88.. => "STARTUP",
            1.1..1.3 => "up",
            // The estimate is 0.99 of the rate when ten rounds have passed without an up phase.
            0.97..1.1 => "level",
            0.73..0.77 => "down",
            0.3..0.4 => "DRAIN",
            _ => continue,
        };
        if let Some(last) = phases.last_mut() {
            last.length = sample.at - last.begin;
            if last.name == name {
                continue;
            }
        }
        phases.push(Phase { name, begin: sample.at, length: 0.0 });
    }
    phases
}

#[test]
fn bbr_goes_through_its_phases_with_their_gains() {
    let path = Path { rate: 2000.0, round_trip: 0.05, buffer: 1000, mark_above: None };
    let run = path.play(21.0, "bbr = {}", "");
    let mut page = Page::new(
        "\
BBR version 1 over 2000 packets/s and 50 ms, which hold 100 packets.
Cardwell et al. (ACM Queue 2016), BBR draft §4.3. STARTUP paces at 2.885 times the bandwidth it knows, which doubles what is in
flight in each round, until that bandwidth has not grown by a quarter for 3 rounds: with 2.885·100 and a few in flight a round
lasts 146 ms. DRAIN paces at 1/2.885 until 100 are in flight: it takes 2000 − 686 packets/s from the queue. PROBE_BW, round
trip by round trip: gain 1.25 (until 1.25·100 and a few are in flight), 0.75 (or until 100 are), six times 1; it begins anywhere
but with 0.75. PROBE_RTT, 10 s after the round-trip time was smallest: 4 packets until what was in flight has left, and 200 ms
more. Pacing is 1 % below each gain (Linux).
in flight: after an acknowledgment, before it is answered: one less than the window allows; in the first rows when a round
begins, then the most of the phase. expected: of pacing, gain·0.99·2000 packets/s; of length, from the above; of what is in
flight, twice the round before, then what ends the phase.
",
        &["phase", "at s", "pacing", "expected", "length ms", "expected", "in flight", "expected"],
    );
    let flight = |from: f64, until: f64| {
        let within = run.flow.iter().filter(|sample| (from..until).contains(&sample.at));
        within.map(|sample| sample.inflight).fold(0.0, f64::max)
    };
    // Rounds of STARTUP before the bandwidth is known. Of the first two the initial window is a large part.
    let rounds: Vec<_> = run.rounds().into_iter().map(|place| run.flow[place]).collect();
    for (number, pair) in (0..).zip(rounds[2..7].windows(2)) {
        let [begin, end] = [pair[0], pair[1]];
        let expected = rounds[2].inflight * f64::from(1 << number);
        // Rates rise with single acknowledgments, of which the first rounds have few: ±10 %.
        assert_near("doubling", begin.inflight, expected, 0.1 * expected);
        page.row([
            "STARTUP".to_owned(),
            format!("{:.3}", begin.at),
            format!("{:.0}", begin.pacing),
            String::new(),
            format!("{:.0}", (end.at - begin.at) * 1e3),
            String::new(),
            format!("{:.0}", begin.inflight),
            if number > 0 { format!("{expected:.0}") } else { String::new() },
        ]);
    }
    let phases = phases(&run, path.rate);
    let mut held = Vec::new();
    for (number, phase) in phases.iter().enumerate().filter(|(number, _)| number + 1 < phases.len()) {
        let Phase { name, begin, length } = *phase;
        let most = flight(begin, begin + length);
        let ms = length * 1e3;
        let sample = run.at(begin + 0.5 * length);
        let mode = match name {
            "STARTUP" => "startup",
            "DRAIN" => "drain",
            "PROBE_RTT" => "probe_rtt",
            _ => "probe_bw",
        };
        assert_eq!(run.kept("mode", begin + 0.5 * length).word(), Some(mode), "{name} at {begin}");
        let next = phases[number + 1].name;
        // Once per cycle, in order; after DRAIN and PROBE_RTT in the middle.
        let after_probe = number > 0 && ["DRAIN", "PROBE_RTT"].contains(&phases[number - 1].name);
        let order = match name {
            "STARTUP" => next == "DRAIN",
            "DRAIN" | "PROBE_RTT" => next == "up" || next == "level",
            "up" => next == "down" || next == "PROBE_RTT",
            "down" => next == "level" || next == "PROBE_RTT",
            _ => next == "up" || next == "PROBE_RTT",
        };
        assert!(order, "{name} and then {next} at {begin}");
        // (gain, shortest and longest in ms, most in flight)
        let (gain, shortest, longest, inflight) = match name {
            // Three rounds. The first began with 252 in flight and has the full rate after some acknowledgments, 126 ms in
            // all; the others have 292, 146 ms.
            "STARTUP" => (2.885, 405.0, 419.0, 292.0),
            // From 292 to 100 and 4.
            "DRAIN" => (1.0 / 2.885, 136.0, 148.0, 292.0),
            // From 98 to 102 to 126, 3 more, an even number, and 2: 30 to 34 at 2475 − 1980 = 495 packets/s.
            "up" => (1.25, 60.0, 69.0, 131.0),
            // Down to 104 again, at 2000 − 1485 = 515 packets/s; ends after 50 ms at the latest.
            "down" => (0.75, 48.0, 51.5, 131.0),
            // One to six phases, or six, each of which ends with the first acknowledgment after 50 ms.
            "level" if after_probe => (1.0, 49.0, 306.0, 104.0),
            "level" => (1.0, 300.0, 306.0, 104.0),
            // Until all but two of those in flight have left at 2 per ms, give or take two, and 200 ms.
            _ => (1.0, 198.0 + most / 2.0, 200.0 + most / 2.0, 3.0),
        };
        // PROBE_RTT does not wait for the end of a phase.
        let shortest = if next == "PROBE_RTT" { 0.0 } else { shortest };
        // 1 % is what the estimate falls by when its best samples were paced.
        let pacing = gain * 0.99 * path.rate;
        let recorded = run.kept("pacing_gain", begin + 0.5 * length).number().expect("a number");
        assert_near("recorded gain", recorded, gain, 0.001);
        assert_near(name, sample.pacing, pacing, 0.011 * pacing);
        assert!((shortest..=longest).contains(&ms), "{name} at {begin} lasts {ms} ms");
        let most = if name == "PROBE_RTT" { flight(begin + length - 0.2, begin + length) } else { most };
        // A level phase may begin with what the end of DRAIN or PROBE_RTT left.
        assert_near(name, most, inflight, 7.0);
        if name == "PROBE_RTT" {
            assert!(most <= 3.0, "{most} in flight in PROBE_RTT");
            held.push((begin, begin + length));
        }
        let near_probe = (9.5..11.2).contains(&begin) || name == "PROBE_RTT";
        if number < 8 || near_probe {
            let expected = if longest - shortest > 20.0 {
                format!("{shortest:.0} to {longest:.0}")
            } else {
                format!("{:.0}", 0.5 * (shortest + longest))
            };
            page.row([
                name.to_owned(),
                format!("{begin:.3}"),
                format!("{:.0}", sample.pacing),
                format!("{pacing:.0}"),
                format!("{ms:.0}"),
                expected,
                format!("{most:.0}"),
                format!("{inflight:.0}"),
            ]);
        }
    }
    assert_eq!(held.len(), 2, "PROBE_RTT in 21 s");
    // The smallest round-trip time was that of the second window; from then on the end of the last one counts.
    assert!((10.0..10.2).contains(&held[0].0), "{held:?}");
    assert_near("10 s apart", held[1].0 - held[0].1, 10.0, 0.002);
    insta::assert_snapshot!(page.text());
}
