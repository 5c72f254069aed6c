//! Controls that learn from losses: Reno and CUBIC.

use super::{Page, Path, assert_near, half_taken};

#[test]
fn reno_adds_a_segment_per_round_and_halves() {
    let path = Path { rate: 1000.0, round_trip: 0.05, buffer: 50, mark_above: None };
    let run = path.play(20.0, "reno = {}", "");
    let (cuts, rounds) = (run.cuts(1.0), run.rounds());
    let mut page = Page::new(
        "\
Reno over 1000 packets/s and 50 ms: 50 packets on the way and 50 that can wait.
RFC 5681 §3.1: one segment more per round in congestion avoidance. Eq. 4: a loss leaves half of what is in flight.
With W in flight, W − 50 wait and a round lasts W ms. The 101st packet finds no room; a round later, with W = 102, the loss
is known. The window rests while the loss is repaired, about a round. Then it grows from 51 to 102 in 51 rounds.
expected: the window after the loss + rounds since the repair; that − 50 in the queue; the round trip of a packet sent a round
ago, when one less was in flight.
",
        &["at s", "round", "cwnd", "expected", "queue", "expected", "rtt ms", "expected"],
    );
    // The first two end slow start, which overshoots.
    for (cycle, pair) in cuts[2..].windows(2).enumerate() {
        let (cut, next) = (pair[0], pair[1]);
        let [before, after] = [run.flow[cut - 1], run.flow[cut]];
        assert_near("loss at", before.cwnd.floor(), 102.0, 0.0);
        // The window is counted in bytes, what is in flight in segments.
        assert_near("half", after.cwnd, before.cwnd / 2.0, 0.5);
        let within = rounds.iter().filter(|&&place| (cut..next).contains(&place));
        let growing: Vec<_> = within.copied().filter(|&place| run.flow[place].cwnd > after.cwnd).collect();
        for (&place, number) in growing.iter().zip(1_u32..) {
            let sample = run.flow[place];
            let expected = after.cwnd + f64::from(number);
            assert_near("window", sample.cwnd, expected, 0.01);
            // Whole packets are sent, and one may be on its way from the host to the queue.
            let waiting = (expected.floor() - 50.0).min(50.0);
            assert_near("queue", run.queue(sample.at), waiting, 1.5);
            // Of a packet that was sent a round ago, when one less was in flight.
            let round_trip = expected.floor() - 1.0;
            assert_near("round trip", sample.srtt * 1e3, round_trip, 0.5);
            if cycle == 0 && (number == 1 || number % 4 == 0) {
                page.row([
                    format!("{:.2}", sample.at),
                    format!("{number}"),
                    format!("{:.2}", sample.cwnd),
                    format!("{expected:.2}"),
                    format!("{:.0}", run.queue(sample.at)),
                    format!("{waiting:.0}"),
                    format!("{:.1}", sample.srtt * 1e3),
                    format!("{round_trip:.1}"),
                ]);
            }
        }
        // The 51st segment is added in the round in which the loss becomes known.
        assert_eq!(growing.len(), 50, "rounds that begin with a larger window");
        assert_near("growth", run.flow[next - 1].cwnd, after.cwnd + 51.0, 0.01);
    }
    assert!(cuts.len() >= 5, "{cuts:?}");
    insta::assert_snapshot!(page.text());
}

/// C and β of RFC 9438 §5.1, §4.6.
const C: f64 = 0.4;
const BETA: f64 = 0.7;

#[test]
fn cubic_follows_the_cubic_from_its_last_loss() {
    let path = Path { rate: 1000.0, round_trip: 0.1, buffer: 100, mark_above: None };
    let run = path.play(36.0, "cubic = {}", &half_taken(&path, 0.0, 11.0));
    let mut page = Page::new(
        "\
CUBIC over 1000 packets/s and 100 ms: 100 packets on the way and 100 that can wait. Until 11 s datagrams take half.
RFC 9438 §4.2: W(t) = C·(t − K)³ + W_max, K = ∛((W_max − cwnd_epoch)/C), C = 0.4, t since the epoch began, with the end of
the repair. §4.6: a loss leaves 0.7 of the window. §4.7, fast convergence: if the window had not reached the W_max before,
W_max is 0.85 of it, else the window itself.
The epoch of 10 s begins at half of the rate. It comes back to W_max, which no longer is the limit, rests there, and goes on
convex. The next loss is above its W_max, the one after that below: then the plateau is lower than the window that was lost.
",
        &["at s", "W_max", "K s", "t s", "cwnd", "W(t)", "difference", "shape"],
    );
    // W_max of each epoch, from the windows alone.
    let mut w_max: Option<f64> = None;
    let mut epochs = Vec::new();
    let cuts = run.cuts(5.0);
    for (number, &cut) in cuts.iter().enumerate() {
        let [before, after] = [run.flow[cut - 1].cwnd, run.flow[cut].cwnd];
        let lost_ground = w_max.is_some_and(|w_max| before < w_max);
        w_max = Some(if lost_ground { before * (1.0 + BETA) / 2.0 } else { before });
        let end = cuts.get(number + 1).copied().unwrap_or(run.flow.len());
        let start = (cut..end).find(|&place| run.flow[place].cwnd > after);
        epochs.extend(start.map(|start| (start, end, before, after, w_max.unwrap_or_default(), lost_ground)));
    }
    let mut seen = [false; 2];
    for (start, end, before, after, w_max, lost_ground) in epochs {
        let begun = run.flow[start].at;
        let lasted = run.flow[end - 1].at - begun;
        // Not those of slow start, and those long enough to be seen in whole.
        if begun < 9.0 || lasted < 4.0 {
            continue;
        }
        seen[usize::from(lost_ground)] = true;
        assert_near("left by the loss", after, BETA * before, 1.0);
        let k = libm::cbrt((w_max - after) / C);
        for &sample in &run.flow[start..end] {
            let t = sample.at - begun;
            let expected = C * (t - k).powi(3) + w_max;
            // The window moves to W(t + RTT) within about a round trip R: it is W(t) + ½·R²·W″(t) with W″ = 6·C·(t − K), which
            // is 0.3 at most here. It begins a part of W′·R = 3·C·K²·R behind, 3 segments, gone after three round trips.
            let tolerance = if t < 0.6 { 3.0 } else { 0.3 };
            assert_near("window", sample.cwnd, expected, tolerance);
        }
        let steps = (lasted / 0.8).floor() as u32;
        for step in 0..=steps {
            let t = f64::from(step) * 0.8;
            let sample = run.at(begun + t + 1e-9);
            let expected = C * (t - k).powi(3) + w_max;
            page.row([
                format!("{:.2}", begun + t),
                format!("{w_max:.1}"),
                format!("{k:.2}"),
                format!("{t:.1}"),
                format!("{:.1}", sample.cwnd),
                format!("{expected:.1}"),
                format!("{:+.1}", sample.cwnd - expected),
                (if t < k { "concave" } else { "convex" }).to_owned(),
            ]);
        }
    }
    assert_eq!(seen, [true; 2], "an epoch with fast convergence and one without");
    insta::assert_snapshot!(page.text());
}
