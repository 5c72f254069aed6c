//! Controls that learn from marks: DCTCP and GEMINI.

use super::{Page, Path, Trajectory, assert_near};

/// A sawtooth from one cut to the next.
#[derive(Debug)]
struct Tooth {
    at: f64,
    /// Window before and after the cut that ends it.
    before: f64,
    after: f64,
    /// Fraction of marked bytes as the control should have it at that cut.
    alpha: f64,
    /// Since the cut before, in round trips.
    rounds: f64,
    /// Least and most that waited since the cut before, and of that time the marks.
    least: f64,
    most: f64,
    marks: u64,
}

/// The running fraction of marked bytes after each acknowledgment, from what the port marked: RFC 8257 §3.3 with g = 1/16.
///
/// All marks of a sawtooth come in a row, and the first of them causes the cut.
fn alphas(run: &Trajectory, cuts: &[usize]) -> Vec<f64> {
    let mut marked = vec![false; run.flow.len()];
    for (number, &cut) in cuts.iter().enumerate() {
        let begin =
            number.checked_sub(1).map_or(0.0, |before| run.flow[cuts[before]].at + run.flow[cut].srtt);
        let end = run.flow[cut].at + run.flow[cut].srtt;
        let marks: u64 = run.port_between(begin.min(end), end).iter().map(|interval| interval.marks).sum();
        let last = run.flow.len().min(cut + marks as usize);
        marked[cut..last].fill(true);
    }
    let mut starts = run.rounds().into_iter().peekable();
    let (mut alpha, mut sum, mut count) = (1.0, 0.0, 0.0);
    let mut alphas = Vec::with_capacity(run.flow.len());
    for (place, &marked) in marked.iter().enumerate() {
        sum += f64::from(u8::from(marked));
        count += 1.0;
        if starts.next_if_eq(&place).is_some() {
            alpha += (sum / count - alpha) / 16.0;
            (sum, count) = (0.0, 0.0);
        }
        alphas.push(alpha);
    }
    alphas
}

/// Sawteeth that begin after `from`.
fn teeth(run: &Trajectory, from: f64) -> Vec<Tooth> {
    let cuts = run.cuts(1.0);
    let alphas = alphas(run, &cuts);
    let tooth = |pair: &[usize]| {
        let (last, cut) = (pair[0], pair[1]);
        // A cut shows in the queue within a round trip.
        let shown = run.flow[last].at + run.flow[last].srtt;
        let port = run.port_between(shown.min(run.flow[cut].at), run.flow[cut].at);
        Tooth {
            at: run.flow[cut].at,
            before: run.flow[cut - 1].cwnd,
            after: run.flow[cut].cwnd,
            alpha: alphas[cut],
            rounds: (run.flow[cut].at - run.flow[last].at) / run.flow[cut].srtt,
            least: port.iter().map(|interval| interval.mean).fold(f64::MAX, f64::min),
            most: port.iter().map(|interval| interval.max).fold(0.0, f64::max),
            marks: port.iter().map(|interval| interval.marks).sum(),
        }
    };
    cuts.windows(2).filter(|pair| run.flow[pair[0]].at > from).map(tooth).collect()
}

fn mean(teeth: &[Tooth], value: impl Fn(&Tooth) -> f64) -> f64 {
    teeth.iter().map(value).sum::<f64>() / teeth.len() as f64
}

const COLUMNS: [&str; 10] =
    ["at ms", "rounds", "cwnd", "after cut", "cut", "expected", "Qmax", "expected", "Qmin", "expected"];

fn show(page: &mut Page, tooth: &Tooth, cut: f64, most: f64, least: f64) {
    page.row([
        format!("{:.2}", tooth.at * 1e3),
        format!("{:.1}", tooth.rounds),
        format!("{:.2}", tooth.before),
        format!("{:.2}", tooth.after),
        format!("{:.4}", 1.0 - tooth.after / tooth.before),
        format!("{cut:.4}"),
        format!("{:.0}", tooth.most),
        format!("{most:.0}"),
        format!("{:.0}", tooth.least),
        format!("{least:.0}"),
    ]);
}

#[test]
fn dctcp_has_the_sawtooth_of_its_analysis() {
    let path = Path { rate: 1e6, round_trip: 160e-6, buffer: 1000, mark_above: Some(40) };
    let run = path.play(0.04, "dctcp = {}", "");
    let mut page = Page::new(
        "\
DCTCP over a packet per us and 160 us, which hold 160 packets; K = 40, so that W* = C·RTT + K = 200.
RFC 8257 §3.3: once per window of data cwnd·(1 − alpha/2), else a segment more per round; alpha takes 1/16 of each round.
Alizadeh et al. (SIGCOMM 2010) §3.3, N = 1: Qmax = K + 1, alpha = √(2/W*) = 0.1, amplitude ½·√(2·W*) = 10 in 10 rounds, so
Qmin = 31. A packet is marked if it finds more than K: the queue is 41 before it and 42 with it.
The analysis takes alpha for constant. It rises in the round of the marks and falls until the next, and the cut comes with
the first mark, where alpha is smallest: T rounds apart, (1/16)·q^(T−1)/(1 − q^T) with q = 15/16, 0.073 for T = 10.
cut: expected is alpha/2, alpha from the marks of the port. Qmin: expected is the window after the cut before, less 160.
",
        &COLUMNS,
    );
    let teeth = teeth(&run, 0.015);
    for pair in teeth.windows(2) {
        let (last, tooth) = (&pair[0], &pair[1]);
        // §3.3: no more than one reaction for every window of data.
        assert!(tooth.rounds > 1.0, "cut again after {} rounds: {tooth:?}", tooth.rounds);
        // W* + 1 and the packet by which the threshold is exceeded; all of a window is marked.
        assert_near("marks", tooth.marks as f64, tooth.before.floor(), 2.0);
        let cut = 1.0 - tooth.after / tooth.before;
        // A mark more or less in one of two rounds is 1/200 of 1/16; a few of these.
        assert_near("cut", cut, tooth.alpha / 2.0, 0.001);
        let recorded = run.kept("alpha", tooth.at).number().expect("a number");
        assert_near("recorded alpha", recorded, tooth.alpha, 0.002);
        assert_near("Qmax", tooth.most, 42.0, 1.0);
        let least = last.after.floor() - 160.0;
        assert_near("Qmin", tooth.least, least, 1.5);
        // The window rests for the round trip of the marks, and grows by whole segments.
        assert_near("growth", tooth.before - last.after, tooth.rounds - 1.0, 1.0);
        show(&mut page, tooth, tooth.alpha / 2.0, 42.0, least);
    }
    // Between what the analysis says and what alpha at its smallest makes of it.
    let amplitude = mean(&teeth, |tooth| tooth.before - tooth.after);
    assert!((7.3..=10.0).contains(&amplitude), "an amplitude of {amplitude}");
    insta::assert_snapshot!(page.text());
}

#[test]
fn gemini_inside_a_data_center_has_the_sawtooth_of_its_theorem() {
    let path = Path { rate: 1e6, round_trip: 280e-6, buffer: 1000, mark_above: Some(40) };
    let run = path.play(0.11, "gemini = { marking_threshold = \"61520 B\", capacity = \"12.304 Gb/s\" }", "");
    let mut page = Page::new(
        "\
GEMINI over a packet per us (12.304 Gb/s) and 280 us, which hold 280 packets; K = 40, so that W* = C·RTT + K = 320.
GEMINI §III-C: F = 4K/(C·RTT + K) = 1/2, which is DCTCP's; a cut leaves 1 − alpha·F of the window. §III-D: h = H·C·RTT with
C·RTT in bits, 1.2e-7 · 3.445e6 = 0.413 segments per round. Eq. 5, 7, 8: alpha = √(h/(F·W*)) = 0.051, amplitude
√(h·F·W*) = 8.1 in 20 rounds, Qmax = K + h. A packet is marked if it finds more than K: 41 wait before it and 42 with it.
The theorem takes alpha for constant. It rises in the round of the marks and falls until the next, and the cut comes with
the first mark, where alpha is smallest. alpha = q^T·(alpha + 1/15), q = 15/16, and T = W*·F·alpha/h: 0.0395, T = 15.3,
amplitude 6.3.
cut: expected is alpha·F, alpha from the marks of the port. Qmin: expected is the window after the cut before, less 280.
",
        &COLUMNS,
    );
    let (f, h) = (0.5, 1.2e-7 * 280.0 * 12_304.0);
    let teeth = teeth(&run, 0.045);
    for pair in teeth.windows(2) {
        let (last, tooth) = (&pair[0], &pair[1]);
        let cut = 1.0 - tooth.after / tooth.before;
        assert_near("cut", cut, tooth.alpha * f, 0.0005);
        assert_near("marks", tooth.marks as f64, tooth.before, 2.0);
        assert_near("Qmax", tooth.most, 42.0, 1.0);
        assert_near("Qmin", tooth.least, last.after.floor() - 280.0, 1.5);
        // The window rests for the round trip of the marks.
        assert_near("growth", tooth.before - last.after, h * (tooth.rounds - 1.0), 0.5 * h);
        show(&mut page, tooth, tooth.alpha * f, 42.0, last.after.floor() - 280.0);
    }
    assert_near("amplitude", mean(&teeth, |tooth| tooth.before - tooth.after), 6.3, 0.4);
    assert_near("rounds", mean(&teeth, |tooth| tooth.rounds), 15.3 + 1.0, 1.0);
    insta::assert_snapshot!(page.text());
}

#[test]
fn gemini_between_data_centers_takes_a_fifth_where_the_delay_exceeds_its_threshold() {
    let path = Path { rate: 10_000.0, round_trip: 0.01, buffer: 1000, mark_above: None };
    let run = path.play(8.0, "gemini = { ecn = false, capacity = \"123.04 Mb/s\" }", "");
    let mut page = Page::new(
        "\
GEMINI without marks over 10 000 packets/s (123.04 Mb/s) and 10 ms, which hold 100 packets.
GEMINI §III-B: congested if the smallest round trip of a round exceeds RTT + T = 15 ms, which takes 51 packets waiting, one less as the handshake's packet is short; then
cwnd·(1 − beta) = 0.8·cwnd. §III-D: else h = H·C·RTT with C·RTT in bits, 1.2e-7 · 1.2304e6 = 0.148 segments per round. With
beta = 0.2 < T/(T + RTT) = 1/3 the queue does not run empty: 121 of 151 packets, 21 of them waiting.
expected: the window after the cut + 0.148·rounds; whole packets beyond 100 in the queue; 10 ms and the queue.
",
        &["at s", "round", "cwnd", "expected", "queue", "expected", "srtt ms", "expected"],
    );
    // The base is the handshake's, whose packet is 1454 B shorter.
    let base = 0.01 - 1454.0 / 1538.0 / 10_000.0;
    let h = 1.2e-7 * 123.04e6 * base;
    let (cuts, rounds) = (run.cuts(1.0), run.rounds());
    let settled: Vec<_> = cuts.into_iter().filter(|&cut| run.flow[cut].at > 2.0).collect();
    assert!(settled.len() >= 3, "{settled:?}");
    for (cycle, pair) in settled.windows(2).enumerate() {
        let (cut, next) = (pair[0], pair[1]);
        let [before, after] = [run.flow[cut - 1], run.flow[cut]];
        assert_near("cut", after.cwnd / before.cwnd, 0.8, 1e-4);
        // Above the threshold for a whole round, in which it grows further; it is known at the end of that. The base is the
        // handshake's, whose packets are 1454 B shorter: the threshold is 0.95 packets below 151.
        assert!((150.05..150.05 + 3.0 * h).contains(&before.cwnd), "{before:?}");
        let within: Vec<_> = rounds.iter().copied().filter(|place| (cut..next).contains(place)).collect();
        // What it lost at h per round, the round of the cut and the one until it is known.
        assert_near("rounds", within.len() as f64, 0.2 * before.cwnd / h + 2.0, 1.0);
        for (number, &place) in (0_u32..).zip(&within) {
            let sample = run.flow[place];
            // No growth in the round trip of the cut.
            let expected = after.cwnd + h * f64::from(number.saturating_sub(1));
            assert_near("window", sample.cwnd, expected, 1.5 * h);
            let waiting = expected.floor() - 100.0;
            // The cut drains for a round trip, and packets of the round after it are paced at 1.2 times its rate.
            if number > 3 {
                assert_near("queue", run.queue(sample.at), waiting, 1.5);
                assert_near("round trip", sample.srtt * 1e3, 10.0 + waiting / 10.0, 0.2);
            }
            if cycle == 0 && (number == 4 || number % 15 == 0 && number > 0) || cycle == 1 && number == 4 {
                page.row([
                    format!("{:.3}", sample.at),
                    format!("{number}"),
                    format!("{:.2}", sample.cwnd),
                    format!("{expected:.2}"),
                    format!("{:.0}", run.queue(sample.at)),
                    format!("{waiting:.0}"),
                    format!("{:.2}", sample.srtt * 1e3),
                    format!("{:.2}", 10.0 + waiting / 10.0),
                ]);
            }
        }
    }
    insta::assert_snapshot!(page.text());
}
