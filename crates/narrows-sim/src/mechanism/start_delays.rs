//! Delays with which applications of hosts begin what starts by itself: flows that are scheduled, clients and ranks.
//!
//! `start_jitter` of real hosts is drawn once for each host. With `start_every`, hosts that begin something at the same moment do so one
//! after the other, in an order drawn for each moment.

use std::fmt;

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::{Span, Time};
use serde::de::value::{SeqAccessDeserializer, StrDeserializer};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::random::{Purpose, Stream};

/// Time from one host to the next that begins something at the same moment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(untagged)]
#[schemars(untagged)]
pub enum StartEvery {
    /// Always the same.
    Constant(Span),
    /// Drawn from these, which are equally likely: times that were measured, say.
    OneOf(Vec<Span>),
}

impl StartEvery {
    fn times(&self) -> &[Span] {
        match self {
            Self::Constant(time) => std::slice::from_ref(time),
            Self::OneOf(times) => times,
        }
    }

    pub(super) fn check(&self, most: Span, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let times = self.times();
        ranges.unless(!times.is_empty(), "start_every", "no times", "at least one time")?;
        let longest = times.iter().max().copied().unwrap_or_default();
        ranges.unless(longest <= most, "start_every", longest, "at most 1 s")
    }
}

impl<'de> Deserialize<'de> for StartEvery {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StartEveryVisitor)
    }
}

struct StartEveryVisitor;

impl<'de> Visitor<'de> for StartEveryVisitor {
    type Value = StartEvery;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time such as \"50 us\", or an array of times")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<StartEvery, E> {
        Span::deserialize(StrDeserializer::new(text)).map(StartEvery::Constant)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, times: A) -> Result<StartEvery, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(times)).map(StartEvery::OneOf)
    }
}

/// Delays of the applications of one host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StartDelays {
    jitter: Span,
    /// Moments at which others begin something, too, in order, and how much later this host does then.
    turns: Vec<(Time, Span)>,
}

impl StartDelays {
    /// When something begins that is to begin at `moment`.
    pub(crate) fn after(&self, moment: Time) -> Time {
        let turn = self.turns.binary_search_by_key(&moment, |turn| turn.0);
        moment + self.jitter + turn.map_or(Span::ZERO, |place| self.turns[place].1)
    }
}

/// Of hosts with these numbers. `begins` has each moment at which one of them, by its place, begins something.
pub(crate) fn start_delays(
    (start_jitter, start_every): (Option<Span>, Option<&StartEvery>),
    seed: u64,
    numbers: impl Iterator<Item = u64>,
    begins: impl IntoIterator<Item = (Time, usize)>,
) -> Vec<StartDelays> {
    let jitter = |number| {
        let most = start_jitter?.as_ps().saturating_add(1);
        Some(Span::from_ps(Stream::new(seed, Purpose::Start, number).below(most)))
    };
    let of = |number| StartDelays { jitter: jitter(number).unwrap_or_default(), turns: Vec::new() };
    let mut delays: Vec<_> = numbers.map(of).collect();
    let Some(every) = start_every else { return delays };
    let mut random = Stream::new(seed, Purpose::Start, 0).beside();
    let mut begins: Vec<_> = begins.into_iter().collect();
    begins.sort_unstable();
    begins.dedup();
    for together in begins.chunk_by_mut(|one, next| one.0 == next.0) {
        random.shuffle(together);
        let mut delay = Span::ZERO;
        for (moment, place) in together.iter().skip(1) {
            delay += every.times()[random.below(every.times().len() as u64) as usize];
            delays[*place].turns.push((*moment, delay));
        }
    }
    delays
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn times_between_starts_are_one_or_several_and_a_wrong_one_says_what_is_wrong() {
        let read = |json: &str| serde_json::from_str::<StartEvery>(json).map_err(|error| error.to_string());
        assert_eq!(read("\"50 us\""), Ok(StartEvery::Constant(Span::from_us(50))));
        assert_eq!(read(r#"["1 us", "2 us"]"#), Ok(StartEvery::OneOf([1, 2].map(Span::from_us).to_vec())));
        for wrong in ["\"50 mus\"", r#"["50 us", "50 mus"]"#] {
            let alone = serde_json::from_str::<Span>("\"50 mus\"").expect_err("no unit").to_string();
            let alone = alone.split(" at line").next().expect("a part");
            assert!(read(wrong).is_err_and(|error| error.starts_with(alone)), "{:?}", read(wrong));
        }
        assert!(read("7").is_err_and(|error| error.contains("or an array of times")));
    }

    #[test]
    fn applications_of_hosts_begin_at_times_of_their_own_within_the_jitter() {
        let jitter = Span::from_us(10);
        let of = |jitter, seed| {
            let delays = start_delays((jitter, None), seed, 0..1000, []);
            delays.iter().map(|delays| delays.after(at(5)) - at(5)).collect::<Vec<_>>()
        };
        let delays = of(Some(jitter), 1);
        assert!(delays.iter().all(|delay| *delay <= jitter));
        let mean = delays.iter().copied().sum::<Span>().as_secs_f64() / 1000.0;
        // 5 us ± 5 · 10 us/√(12 · 1000).
        assert!((mean - 5e-6).abs() < 0.46e-6, "{mean}");
        assert_ne!(of(Some(jitter), 2)[0], delays[0]);
        assert_eq!(of(None, 1)[..2], [Span::ZERO; 2]);
    }

    #[test]
    fn hosts_that_begin_at_one_moment_take_turns_in_an_order_drawn_for_each_moment() {
        let every = Span::from_us(40);
        let constant = StartEvery::Constant(every);
        let moments = || (0..20).map(|round| at(round * 500));
        let begins = moments().flat_map(|moment| [0, 1, 3].map(|place| (moment, place)));
        let delays = start_delays((None, Some(&constant)), 1, 7..11, begins);
        let turns = |moment| [0, 1, 3].map(|place: usize| delays[place].after(moment) - moment);
        for moment in moments() {
            let mut sorted = turns(moment);
            sorted.sort_unstable();
            assert_eq!(sorted, [Span::ZERO, every, every * 2]);
        }
        assert!(moments().any(|moment| turns(moment) != turns(at(0))));
        assert_eq!(delays[2], StartDelays::default(), "it begins nothing");
        assert_eq!(delays[1].after(at(7)), at(7), "nobody else begins then");
    }

    #[test]
    fn a_host_that_begins_several_things_at_a_moment_begins_them_together() {
        let every = StartEvery::Constant(Span::from_us(40));
        let delays = start_delays((None, Some(&every)), 1, 0..2, [(at(0), 0), (at(0), 0)]);
        assert_eq!(delays, [StartDelays::default(), StartDelays::default()]);
    }

    #[test]
    fn times_between_hosts_are_drawn_from_those_that_are_listed() {
        let times = [3, 5].map(Span::from_us);
        let one_of = StartEvery::OneOf(times.to_vec());
        let delays = start_delays((None, Some(&one_of)), 1, 0..100, (0..100).map(|place| (at(1), place)));
        let mut starts: Vec<_> = delays.iter().map(|delays| delays.after(at(1))).collect();
        starts.sort_unstable();
        let longer = starts.windows(2).filter(|pair| pair[1] - pair[0] == times[1]).count();
        let shorter = starts.windows(2).filter(|pair| pair[1] - pair[0] == times[0]).count();
        assert_eq!(longer + shorter, 99);
        // 49.5 ± 5 · √99/2.
        assert!((25..=74).contains(&longer), "{longer}");
    }
}
