//! Controls of RDMA that give a rate: DCQCN.

use super::{PACKET, Page, assert_near, play};

/// A change of the rate, in Gb/s and us.
struct Step {
    at: f64,
    rate: f64,
    target: f64,
    alpha: f64,
    what: String,
}

/// What the paper's rules make of a rate of 40 Gb/s with CNPs at these times, up to the first byte stage.
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
    let (flow, port) = play(
        r#"
version = 1
name = "trajectory"
stop = { after = "2 ms" }

[topology.dumbbell]
hosts = 1
host_rate = "40 Gb/s"
bottleneck_rate = "20 Gb/s"
host_delay = "1 us"
bottleneck_delay = "1 us"

[switches.default]
buffer = { size = "10 MB", sharing = "per_port" }
marking = { step = { k = "50 kB" } }

[[traffic]]
name = "flow"
pattern = { long_lived = { flows = 1, from = "left/host0", to = "right/host0" } }
rdma = {}
cc = { dcqcn = {} }

[record]
windows = { interval = "1 ns" }
queues = { interval = "1 us", of = "left/switch" }
"#,
    );
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for sample in &flow {
        let rate = sample.pacing * PACKET * 8.0 / 1e9;
        if steps.last().map_or(40.0, |(_, last)| *last) != rate {
            steps.push((sample.at * 1e6, rate));
        }
    }
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
