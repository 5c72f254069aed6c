//! Steps and ramps.

use std::sync::Arc;

use narrows_proto::units::{BitRate, Span};
use narrows_sim::is_link_rate;
use narrows_sim::path::Steps;

use super::mistake::{Mistake, delay_mistake, loss_mistake, rate_mistake};
use crate::diagnostic::{Code, Diagnostic};
use crate::scenario::{DelayOverTime, DelayRamp, DelaySteps, LossSteps, RateRamp, RateSteps};

/// The most steps of a ramp.
const MOST_OF_RAMP: u32 = 1_000_000;

/// A list of steps: there are some, in order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed<T> {
    /// Values, and when they begin to hold.
    pub steps: Vec<(Span, T)>,
    /// Time after which everything begins again.
    pub period: Option<Span>,
}

impl<T: Copy> Listed<T> {
    /// With the value that holds before the first step.
    pub(super) fn after(&self, before: T) -> Arc<Steps<T>> {
        let begins = self.steps.first().is_some_and(|(at, _)| *at == Span::ZERO);
        let before = (!begins).then_some((Span::ZERO, before));
        Arc::new(Steps::new(before.into_iter().chain(self.steps.iter().copied()), self.period))
    }
}

pub(super) fn rate_steps(of: &RateSteps) -> Result<Listed<BitRate>, Vec<Mistake>> {
    let RateSteps { at, repeat_after } = of;
    steps(at, *repeat_after, ["rate.steps.at", "rate.steps.repeat_after"], rate_mistake)
}

fn delay_steps(of: &DelaySteps) -> Result<Listed<Span>, Vec<Mistake>> {
    let DelaySteps { at, repeat_after } = of;
    steps(at, *repeat_after, ["delay.steps.at", "delay.steps.repeat_after"], delay_mistake)
}

pub(super) fn loss_steps(of: &LossSteps) -> Result<Listed<f64>, Vec<Mistake>> {
    let LossSteps { at, repeat_after } = of;
    steps(at, *repeat_after, ["loss.steps.at", "loss.steps.repeat_after"], loss_mistake)
}

/// Steps that are in order, with values that nothing is wrong with; keys of the list and of the period.
fn steps<T: Copy>(
    at: &[(Span, T)],
    period: Option<Span>,
    [list, repeat]: [&'static str; 2],
    mistake: impl Fn(T) -> Option<String>,
) -> Result<Listed<T>, Vec<Mistake>> {
    let error = |key, message: String| (key, Diagnostic::error(Code::OutOfRange, message));
    let Some((last, _)) = at.last() else {
        return Err(vec![error(list, "there are no steps, expected at least one".into())]);
    };
    let mut mistakes = Vec::new();
    let mut pairs = at.iter().zip(&at[1..]);
    if let Some(((before, _), (after, _))) = pairs.find(|(before, after)| before.0 >= after.0) {
        mistakes.push(error(list, format!("{after} after {before}, expected times that increase")));
    }
    mistakes.extend(at.iter().find_map(|(_, value)| mistake(*value)).map(|message| error(list, message)));
    if let Some(period) = period.filter(|period| period <= last) {
        let message = format!("{period}, expected later than the last step, which is at {last}");
        mistakes.push(error(repeat, message));
    }
    if mistakes.is_empty() { Ok(Listed { steps: at.to_vec(), period }) } else { Err(mistakes) }
}

pub(super) fn rate_ramp(of: &RateRamp) -> Result<Listed<BitRate>, Vec<Mistake>> {
    let RateRamp { from, to, begin, end, steps } = *of;
    let keys = ["rate.ramp.from", "rate.ramp.to", "rate.ramp.end", "rate.ramp.steps"];
    let ramp = Ramp { keys, begin, end, steps };
    let wrong = |rate| (!is_link_rate(rate)).then(|| rate_mistake(rate).unwrap_or_else(|| rate_text(rate)));
    let listed = ramp.listed([from.as_bps(), to.as_bps()], [wrong(from), wrong(to)])?;
    Ok(listed.map(BitRate::from_bps))
}

fn rate_text(rate: BitRate) -> String {
    format!("{rate}, expected the rate of a link; `rate.steps` may have rate zero")
}

pub(super) fn delay(of: &DelayOverTime) -> Result<Listed<Span>, Vec<Mistake>> {
    let DelayRamp { from, to, begin, end, steps } = *match of {
        DelayOverTime::Steps(of) => return delay_steps(of),
        DelayOverTime::Ramp(of) => of,
    };
    let keys = ["delay.ramp.from", "delay.ramp.to", "delay.ramp.end", "delay.ramp.steps"];
    let ramp = Ramp { keys, begin, end, steps };
    let listed = ramp.listed([from.as_ps(), to.as_ps()], [delay_mistake(from), delay_mistake(to)])?;
    Ok(listed.map(Span::from_ps))
}

impl Listed<u64> {
    fn map<T>(self, convert: impl Fn(u64) -> T) -> Listed<T> {
        let steps = self.steps.into_iter().map(|(at, value)| (at, convert(value)));
        Listed { steps: steps.collect(), period: self.period }
    }
}

/// An even change from one value to another.
struct Ramp {
    /// Of the values before and after, of the end, and of the number of steps.
    keys: [&'static str; 4],
    begin: Span,
    end: Span,
    steps: u32,
}

impl Ramp {
    /// Each step has the value of its middle, so that sums over the ramp are those of a straight line.
    fn listed(&self, values: [u64; 2], wrong: [Option<String>; 2]) -> Result<Listed<u64>, Vec<Mistake>> {
        let Self { keys: [from_key, to_key, end_key, steps_key], begin, end, steps } = *self;
        let error = |key, message: String| (key, Diagnostic::error(Code::OutOfRange, message));
        let mut mistakes = Vec::new();
        for (key, wrong) in [from_key, to_key].into_iter().zip(wrong) {
            mistakes.extend(wrong.map(|message| error(key, message)));
        }
        if end <= begin {
            mistakes.push(error(end_key, format!("{end}, expected later than begin = {begin}")));
        }
        let fine = end.saturating_sub(begin).as_ps();
        if !(1..=MOST_OF_RAMP).contains(&steps) || u64::from(steps) > fine.max(1) {
            mistakes
                .push(error(steps_key, format!("{steps}, expected 1 to {MOST_OF_RAMP}, each at least 1 ps")));
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let [from, to] = values;
        let (count, lasts) = (u128::from(steps), u128::from(fine));
        let value = |step: u128| {
            let towards = |a: u64, b: u64| (u128::from(b - a) * (2 * step + 1) / (2 * count)) as u64;
            if to >= from { from + towards(from, to) } else { from - towards(to, from) }
        };
        let at = |step: u128| begin + Span::from_ps((lasts * step / count) as u64);
        let before = (begin > Span::ZERO).then_some((Span::ZERO, from));
        let ramp = (0..count).map(|step| (at(step), value(step)));
        let steps = before.into_iter().chain(ramp).chain([(end, to)]);
        Ok(Listed { steps: steps.collect(), period: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBPS: fn(u64) -> BitRate = BitRate::from_mbps;

    fn ms(ms: u64) -> Span {
        Span::from_ms(ms)
    }

    #[test]
    fn a_ramp_has_the_value_of_the_middle_of_each_step() {
        let ramp = RateRamp { from: MBPS(10), to: MBPS(2), begin: ms(100), end: ms(140), steps: 4 };
        let listed = rate_ramp(&ramp).unwrap();
        let expected = [(0, 10), (100, 9), (110, 7), (120, 5), (130, 3), (140, 2)];
        assert_eq!(listed.steps, expected.map(|(at, mbps)| (ms(at), MBPS(mbps))));
        let rises = DelayRamp { from: ms(1), to: ms(5), begin: Span::ZERO, end: ms(10), steps: 2 };
        let listed = delay(&DelayOverTime::Ramp(rises)).unwrap();
        assert_eq!(listed.steps, [(0, 2), (5, 4), (10, 5)].map(|(at, delay)| (ms(at), ms(delay))));
    }

    #[test]
    fn before_the_first_step_the_topology_holds() {
        let steps = RateSteps { at: vec![(ms(10), MBPS(3))], repeat_after: None };
        let steps = rate_steps(&steps).unwrap().after(MBPS(7));
        assert_eq!(*steps, Steps::new([(Span::ZERO, MBPS(7)), (ms(10), MBPS(3))], None));
    }

    fn mistakes(at: &[(u64, u64)], repeat_after: Option<u64>) -> Vec<String> {
        let at = at.iter().map(|(at, bps)| (ms(*at), BitRate::from_bps(*bps))).collect();
        let found = rate_steps(&RateSteps { at, repeat_after: repeat_after.map(ms) }).expect_err("refused");
        found.into_iter().map(|(key, error)| format!("{key}: {}", error.message)).collect()
    }

    #[test]
    fn steps_out_of_order_and_rates_that_no_link_has_are_refused() {
        assert_eq!(mistakes(&[], None), ["rate.steps.at: there are no steps, expected at least one"]);
        let times = ["rate.steps.at: 5 ms after 5 ms, expected times that increase"];
        assert_eq!(mistakes(&[(5, 1_000_000), (5, 2_000_000)], None), times);
        let rates = ["rate.steps.at: 5 b/s, expected 0 b/s, or 1 kb/s to 100 Tb/s"];
        assert_eq!(mistakes(&[(0, 0), (5, 5)], None), rates);
        let repeats = ["rate.steps.repeat_after: 5 ms, expected later than the last step, which is at 5 ms"];
        assert_eq!(mistakes(&[(5, 1_000)], Some(5)), repeats);
    }
}
