//! Controls of RDMA that give a rate: DCQCN, TIMELY, HPCC.

use super::{Interval, PACKET, Page, assert_near, play};

/// A change of the rate, in Gb/s and us.
struct Step {
    at: f64,
    rate: f64,
    target: f64,
    alpha: f64,
    what: String,
}

/// Steps by the paper's rules from 40 Gb/s with CNPs at these times, up to the first byte stage.
fn expected(steps: &[(f64, f64)]) -> Vec<Step> {
    let (mut rate, mut target, mut alpha) = (40.0, 40.0, 1.0);
    let (mut cnp, mut stage) = (f64::NAN, 0);
    let step = |&(at, found): &(f64, f64)| {
        let what = if found < rate {
            // 1 ns is for rounding.
            let falls = if cnp.is_nan() { 0.0 } else { ((at - cnp + 0.001) / 55.0).floor() };
            alpha *= (255.0_f64 / 256.0).powf(falls);
            (target, rate) = (rate, rate * (1.0 - alpha / 2.0));
            alpha = 255.0 / 256.0 * alpha + 1.0 / 256.0;
            (cnp, stage) = (at, 0);
            "CNP".to_owned()
        } else {
            stage += 1;
            assert_near("time since the CNP", at - cnp, 55.0 * f64::from(stage), 0.001);
            if stage >= 5 {
                target = (target + 0.04_f64).min(40.0);
            }
            rate = f64::midpoint(rate, target);
            format!("T = {stage}")
        };
        Step { at, rate, target, alpha, what }
    };
    steps.iter().map(step).collect()
}

#[test]
fn dcqcn_cuts_by_alpha_recovers_by_halves_and_then_adds() {
    let marking = "marking = { step = { k = \"50 kB\" } }";
    let (steps, port) = alone("dcqcn = {}", marking, 2_000);
    let mut page = Page::new(
        "DCQCN over 20 Gb/s behind a host with 40 Gb/s; every packet that finds more than 50 kB waiting is marked.
Zhu et al. (SIGCOMM 2015) §3.1: a CNP sets RT = RC, RC = RC·(1 − alpha/2), alpha = 255/256·alpha + 1/256, with alpha = 1 at first
and 255/256 of it for 55 us without. Every 55 us after the CNP RC goes half of the way to RT, from the fifth time on after
40 Mb/s were added to RT. A flow begins at line rate; while the queue is above 50 kB there is a CNP each 50 us.
Rates are in Gb/s, alpha is that of the last CNP, the queue is what waits then. expected: by these rules, from the times of the CNPs.",
        &["at us", "what", "rate", "expected", "RT", "alpha", "queue kB"],
    );
    let expected = expected(&steps);
    for (found, step) in steps.iter().zip(&expected).take(30) {
        // 1 b/s: rates are whole.
        assert_near("rate", found.1, step.rate, 2e-9);
        let last = port.partition_point(|interval| interval.at * 1e6 <= step.at);
        let queue = last.checked_sub(1).map_or(0.0, |last| port[last].mean * PACKET / 1e3);
        page.row([
            format!("{:.1}", step.at),
            step.what.clone(),
            format!("{:.4}", found.1),
            format!("{:.4}", step.rate),
            format!("{:.4}", step.target),
            format!("{:.4}", step.alpha),
            format!("{queue:.1}"),
        ]);
    }
    let cnps = expected.iter().filter(|step| step.what == "CNP").count();
    assert!(cnps >= 3 && expected.iter().any(|step| step.what == "T = 6"), "{cnps} CNPs");
    insta::assert_snapshot!(page.text());
}

/// One endless flow from a host at 40 Gb/s over 20 Gb/s for `us`. Each change of the rate, in us and Gb/s of
/// packets as large as those of streams, and the bottleneck.
fn alone(cc: &str, switches: &str, us: u64) -> (Vec<(f64, f64)>, Vec<Interval>) {
    let (flow, port, _) = play(&format!(
        r#"
version = 1
name = "trajectory"
stop = {{ after = "{us} us" }}

[topology.dumbbell]
hosts = 1
host_rate = "40 Gb/s"
bottleneck_rate = "20 Gb/s"
host_delay = "1 us"
bottleneck_delay = "1 us"

[switches.default]
buffer = {{ size = "10 MB", sharing = "per_port" }}
{switches}

[[traffic]]
name = "flow"
pattern = {{ long_lived = {{ flows = 1, from = "left/host0", to = "right/host0" }} }}
rdma = {{}}
cc = {{ {cc} }}

[record]
windows = {{ interval = "1 ns" }}
queues = {{ interval = "1 us", of = "left/switch" }}
"#
    ));
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for sample in &flow {
        let rate = sample.pacing * PACKET * 8.0 / 1e9;
        if steps.last().map_or(40.0, |(_, last)| *last) != rate {
            steps.push((sample.at * 1e6, rate));
        }
    }
    (steps, port)
}

/// Backlog at a time, in kB of whole packets of `packet` bytes.
fn waiting(port: &[Interval], us: f64, packet: f64) -> f64 {
    let last = port.partition_point(|interval| interval.at * 1e6 <= us);
    // Intervals in which nothing happened are left out.
    let last = last.checked_sub(1).map(|last| port[last]).filter(|last| us < last.at * 1e6 + 1.5);
    last.map_or(0.0, |last| (last.mean * PACKET / packet).round() * packet / 1e3)
}

#[test]
fn timely_adds_delta_and_falls_by_the_gradient() {
    let (steps, port) = alone("timely = {}", "", 6_000);
    let waiting = |us| waiting(&port, us, 1106.0);
    let mut page = Page::new(
        "TIMELY over 20 Gb/s behind a host with 40 Gb/s, an empty round trip of 8 us.
Mittal et al. (SIGCOMM 2015) Alg. 1, one update each 16 kB: + 10 Mb/s below 50 us, and where the gradient is 0 or less; + 50 Mb/s from
the fifth such time in a row on; times 1 - 0.8·gradient where it is more; times 1 - 0.8·(1 - 500 us/rtt) above 500 us.
A flow begins at line rate. Rates are in Gb/s, the queue is what waits then: 125 kB are 50 us. factor: of the rate before.",
        &["at us", "rate", "plus Mb/s", "factor", "queue kB"],
    );
    let mut before = 40.0;
    for (number, &(at, rate)) in steps.iter().enumerate() {
        let (plus, factor) = ((rate - before) * 1e3, rate / before);
        before = rate;
        // 1 b/s: rates are whole.
        let is_step = [10.0, 50.0].iter().any(|step| (plus - step).abs() < 3e-6);
        assert!(is_step || factor < 1.0, "{plus} Mb/s at {at} us");
        if number < 30 || number % 50 == 0 {
            let [plus, factor] = if is_step {
                [format!("{plus:.0}"), String::new()]
            } else {
                [String::new(), format!("{factor:.4}")]
            };
            page.row([format!("{at:.1}"), format!("{rate:.4}"), plus, factor, format!("{:.1}", waiting(at))]);
        }
    }
    assert!(steps.len() > 100, "{} steps", steps.len());
    insta::assert_snapshot!(page.text());
}

#[test]
fn hpcc_comes_to_rest_at_95_percent_of_the_link() {
    let t = 8.1;
    let (steps, port) = alone("hpcc = { base_rtt = \"8.1 us\" }", "telemetry = true", 400);
    let waiting = |us| waiting(&port, us, 1148.0);
    let mut page = Page::new(
        "HPCC over 20 Gb/s behind a host with 40 Gb/s, T = 8.1 us.
Li et al. (SIGCOMM 2019) Alg. 1: W = Wc·0.95/U + W_AI while U is 0.95 or more, or after five round trips of W = Wc + W_AI; R = W/T. Where
that stands still, with the link of 20 Gb/s the busiest: W/U = 20 Gb/s·T, so R = 0.95·20 Gb/s + W_AI/T, and
W_AI/T = 40 Gb/s·0.05/100 = 20 Mb/s. A flow begins with 40 Gb/s·T at line rate; the first records come back after a round trip.
Rates are in Gb/s, one row for each T; the queue is what waits then.",
        &["at us", "rate", "at rest", "queue kB"],
    );
    let rest = 19.02;
    let at = |us: f64| {
        let place = steps.partition_point(|(at, _)| *at <= us);
        place.checked_sub(1).map_or(40.0, |place| steps[place].1)
    };
    for round in 0..48 {
        let us = t * f64::from(round);
        page.row([
            format!("{us:.1}"),
            format!("{:.4}", at(us)),
            format!("{rest:.4}"),
            format!("{:.1}", waiting(us)),
        ]);
        if round >= 24 {
            // 1 %: records count 128 B and whole ns.
            assert_near("rate", at(us), rest, 0.01 * rest);
            assert!(waiting(us) < 1.2, "{} kB at {us} us", waiting(us));
        }
    }
    insta::assert_snapshot!(page.text());
}
