//! Controls that try rates: PCC Allegro and Vivace.

use super::{Page, Path, SEGMENT, assert_near};

/// Payload of a packet, in Mb.
const MEGABITS: f64 = 8e-6 * SEGMENT;

/// Number of these rates that are twice the one before, from the first on.
fn doublings(rates: &[(f64, f64)]) -> usize {
    rates.windows(2).take_while(|pair| (pair[1].1 / pair[0].1 - 2.0).abs() < 1e-3).count()
}

fn path() -> Path {
    Path { rate: 8000.0, round_trip: 0.03, buffer: 60, mark_above: None }
}

#[test]
fn allegro_doubles_then_decides_by_trials_and_steps_ever_further() {
    let path = path();
    let run = path.play(2.0, "pcc_allegro = {}", "");
    let mut page = Page::new(
        "\
PCC Allegro over 8000 packets/s and 30 ms; 60 packets can wait.
Dong et al. (NSDI 2015): an interval of 1.7 to 2.2 round trips for each rate; results come a round trip after its end.
Starting: each rate is twice the one before, until a result is worse; here 10 704 loses a sixth, so it goes back to 5352.
Deciding: r·(1 + ε) and r·(1 − ε) twice each, ε = 0.01, in random order; r until the last result. Both pairs are won by more:
without losses the utility is the rate. Adjusting: r·(1 + ε) and then, n = 1, 2, …, r_n = r_(n−1)·(1 + n·0.01), until a result
is worse: 8363 fills 20 places of the queue and is fine, 9199 overflows it and loses 6 %. Back to 8363; there less is tried first.
",
        &["at s", "rate", "to the one before", "expected", "what", "length ms", "round trips"],
    );
    let rates = run.pacing_steps();
    let doubled = doublings(&rates);
    assert_eq!(doubled, 6, "doublings: {rates:?}");
    // The rate before the one that was worse; another doubling was on its way.
    let r = rates[doubled - 2].1;
    let mut what: Vec<(&str, f64)> = vec![("start", f64::NAN)];
    what.extend([("double", 2.0); 6]);
    // Deciding at r, told by what was tried.
    let trials = &rates[doubled + 1..doubled + 5];
    let ups: Vec<_> = trials.iter().map(|(_, rate)| *rate > r).collect();
    assert!(ups[0] != ups[1] && ups[2] != ups[3], "one above and one below in each pair: {trials:?}");
    let mut last = rates[doubled].1;
    for up in ups {
        let (name, factor) = if up { ("r·(1 + ε)", 1.01) } else { ("r·(1 − ε)", 0.99) };
        what.push((name, factor * r / last));
        last = factor * r;
    }
    what.push(("r, waits", r / last));
    // r·(1 + ε) is where the steps begin.
    what.push(("n = 1", 1.01 * 1.01));
    let names = ["n = 2", "n = 3", "n = 4", "n = 5", "n = 6", "n = 7", "n = 8", "n = 9", "n = 10", "n = 11"];
    what.extend(names.iter().zip(2_u32..).map(|(name, n)| (*name, 1.0 + f64::from(n) / 100.0)));
    let peak = rates[what.len() - 3].1;
    assert!(peak > path.rate && rates[what.len() - 4].1 < path.rate, "{peak}");
    let before = rates[what.len() - 1].1;
    what.push(("r·(1 − ε)", 0.99 * peak / before));
    for (number, ((name, factor), pair)) in what.iter().zip(rates.windows(2)).enumerate() {
        let (at, rate) = pair[0];
        let length = pair[1].0 - at;
        let ratio = number.checked_sub(1).map_or(f64::NAN, |before| rate / rates[before].1);
        if number > 0 {
            assert_near(name, ratio, *factor, 1e-4);
        }
        let round_trips = length / run.at(at).srtt;
        // An interval ends with the first acknowledgment after its time, or when a result changes the course. While the
        // queue of the starting phase drains the round trip is another one at its end.
        let whole = name.starts_with("n =") && *name != "n = 11" || *name == "double" && number < 6;
        if whole {
            let gap = 1.0 / rate.min(path.rate) / path.round_trip;
            assert!((1.7..=2.2 + 2.0 * gap).contains(&round_trips), "{name}: {round_trips} round trips");
        }
        page.row([
            format!("{at:.3}"),
            format!("{rate:.0}"),
            if number > 0 { format!("{ratio:.4}") } else { String::new() },
            if number > 0 { format!("{factor:.4}") } else { String::new() },
            (*name).to_owned(),
            format!("{:.0}", length * 1e3),
            format!("{round_trips:.2}"),
        ]);
    }
    insta::assert_snapshot!(page.text());
}

#[test]
fn vivace_climbs_the_gradient_of_its_utility() {
    let path = path();
    let run = path.play(3.0, "pcc_vivace = {}", "");
    let mut page = Page::new(
        "\
PCC Vivace over 8000 packets/s and 30 ms; 60 packets can wait. Rates x in Mb/s of payload, of which the path carries 92.67.
Dong et al. (NSDI 2018) §4: starting like Allegro, with intervals of one round trip. Then steps: 1.05·x and 0.95·x in random
order, x until the second result. Eq. 1, without losses: u = x^0.9 − 900·x·dRTT/dt; γ = (u₊ − u₋)/(0.1·x), 0.9·x^−0.1 while no
delay grows. §4.2: Δ = m·θ·γ, θ = 1 Mb/s; m = 1, 2, 3, then 2τ − 3 for the τ-th step in one direction; at most ω·x, ω = 0.05
and 0.1 more after each step that was cut, 0.05 again after a turn.
A trial above the path makes the delay grow by what it exceeds the path by; up to 0.01 that is noise (§4.3), so it begins to
turn the rate at 93.6.
",
        &["at s", "x", "tried", "and", "dRTT/dt", "τ", "m·γ", "ω·x", "expected", "change"],
    );
    let rates = run.pacing_steps();
    // The starting phase ends with the first rate that is not doubled.
    let steps: Vec<_> = rates[doublings(&rates) + 1..].chunks_exact(3).collect();
    let (mut tau, mut cuts, mut up) = (0_u32, 0_u32, true);
    // Until a queue that a trial left is still there in the next step: its fall counts as a gain then.
    for (number, pair) in steps.windows(2).enumerate().take(14) {
        let [(at, one), (_, two), (_, x)] = [pair[0][0], pair[0][1], pair[0][2]];
        let (high, low) = (one.max(two), one.min(two));
        assert_near("trial above", high / x, 1.05, 1e-4);
        assert_near("trial below", low / x, 0.95, 1e-4);
        let growth = (high / path.rate - 1.0).max(0.0);
        let noticed = if growth > 0.01 { growth } else { 0.0 };
        let utility = |x: f64, growth: f64| libm::pow(x, 0.9) - 900.0 * x * growth;
        let x = x * MEGABITS;
        let gradient = (utility(1.05 * x, noticed) - utility(0.95 * x, 0.0)) / (0.1 * x);
        if (gradient > 0.0) != up {
            (tau, cuts, up) = (0, 0, gradient > 0.0);
        }
        tau += 1;
        let m = if tau <= 3 { tau } else { 2 * tau - 3 };
        let wanted = f64::from(m) * gradient;
        let allowed = (0.05 + 0.1 * f64::from(cuts)) * x;
        let expected = wanted.clamp(-allowed, allowed);
        let change = pair[1][2].1 * MEGABITS - x;
        // The queue of the starting phase drains during the first trials, which favors one of them.
        let tolerance = if number == 0 { 0.05 } else { 0.01 };
        assert_near("step", change, expected, tolerance * expected.abs());
        // The least widening that allows the step counts from then on.
        let needed = ((wanted.abs() / x - 0.05) / 0.1).ceil().max(0.0) as u32;
        cuts = if wanted.abs() > allowed { cuts + 1 } else { cuts.min(needed) };
        page.row([
            format!("{at:.3}"),
            format!("{x:.2}"),
            format!("{:.2}", one * MEGABITS),
            format!("{:.2}", two * MEGABITS),
            format!("{growth:.3}"),
            format!("{tau}"),
            format!("{wanted:+.2}"),
            format!("{allowed:.2}"),
            format!("{expected:+.2}"),
            format!("{change:+.2}"),
        ]);
    }
    insta::assert_snapshot!(page.text());
}
