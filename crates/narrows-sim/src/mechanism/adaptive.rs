//! Adaptive choice by local queues: the port with the shortest queue, of all that lead to the destination or of some drawn at random.
//!
//! ```text
//! queue      bytes that wait at the port; of two without any, an idle one is shorter than one that sends
//! compared   all ports, or `choices` of them, drawn anew each time (d of DRILL); and, with `memory`,
//!            the best one of the last choice towards the same rack (m = 1 of DRILL)
//! chosen     the shortest; of equal ones the one that was chosen before, else one at random
//! sticky     with `gap` a choice holds for a flowlet; when one begins, it is chosen anew with
//!            probability `rechoose`, and the port before is kept unless another is shorter
//! ```
//! `choices = 2, memory = true` is DRILL(2, 1) (Ghorbani et al., SIGCOMM 2017): two random ports and the best of the last choice suffice
//! to come close to the shortest of all. `gap = "10 us", rechoose = 0.5` is what the simulator of the Ultra Ethernet Consortium does per
//! flowlet. Chosen for each packet, ports differ from packet to packet: transports must stand reordering.
//!
//! Switches know their own queues only: none sees that a path is congested behind the next switch.
//!
//! Left out: other measures of congestion (utilization, stopped neighbors, combinations of them).
//!
//! Differs from DRILL: what is remembered is one port for each rack, not for each engine of a switch.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::Span;

use super::at_routing::{AtRouting, Fork, RoutingSite};
use super::flowlets::{FlowletTable, check_table};
use crate::random::{Purpose, Stream};
use crate::record::PortCounters;

/// Documentation of its module.
pub const DOCS: &[&str] = &[narrows_proto::module_docs!("adaptive.rs")];

/// Packets or flowlets take the port with the shortest queue.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Adaptive {
    /// Ports that are drawn at random and compared; all if left out.
    pub choices: Option<u32>,
    /// The best port of the last choice towards the same rack is compared, too.
    pub memory: bool,
    /// A flow that has paused for longer than this may take another port; any packet may if left out.
    pub gap: Option<Span>,
    /// Probability that a flow which may take another port, after a gap, chooses anew; 1.
    pub rechoose: f64,
    /// Entries of the table of a switch, with `gap`; 16384.
    pub table: u32,
    /// An entry without packets for this long is forgotten, with `gap`; 2 ms.
    #[serde(alias = "ageing")]
    pub aging: Span,
}

impl Default for Adaptive {
    fn default() -> Self {
        let (choices, memory, gap, rechoose) = (None, false, None, 1.0);
        Self { choices, memory, gap, rechoose, table: 16_384, aging: Span::from_ms(2) }
    }
}

impl Adaptive {
    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let choices = self.choices.unwrap_or(u32::MAX);
        ranges.unless(choices > 0, "choices", choices, "at least 1")?;
        let rechoose = self.rechoose;
        let is_probability = rechoose > 0.0 && rechoose <= 1.0;
        ranges.unless(is_probability, "rechoose", rechoose, "more than 0, at most 1")?;
        check_table(self.gap.unwrap_or(self.aging), self.table, self.aging, ranges)
    }
}

/// Adaptive choice at a switch.
#[derive(Debug)]
pub(crate) struct AdaptiveChoice {
    flowlets: Option<FlowletTable>,
    rechoose: f64,
    shortest: Shortest,
}

/// The search for a short queue.
#[derive(Debug)]
struct Shortest {
    choices: usize,
    /// By leaf: the best port of the last choice. Empty if none is remembered.
    best: Vec<u16>,
    random: Stream,
    /// Ports in hand; kept so that nothing is allocated.
    drawn: Vec<u16>,
    equal: Vec<u16>,
}

/// No port.
const NONE: u16 = u16::MAX;

impl AdaptiveChoice {
    pub(crate) fn new(settings: &Adaptive, site: &RoutingSite) -> Self {
        let &Adaptive { choices, memory, gap, rechoose, table, aging } = settings;
        let mut random = Stream::new(site.seed, Purpose::Adaptive, site.node.0.into());
        let flowlets = gap.map(|gap| FlowletTable::new((table, gap, aging), random.bits(), site));
        let best = vec![NONE; if memory { site.leaves } else { 0 }];
        let choices = choices.map_or(usize::MAX, |choices| choices as usize);
        let (drawn, equal) = (Vec::with_capacity(site.ports), Vec::with_capacity(site.ports));
        Self { flowlets, rechoose, shortest: Shortest { choices, best, random, drawn, equal } }
    }
}

impl AtRouting for AdaptiveChoice {
    fn choose(&mut self, fork: &Fork<'_>, queue: impl FnMut(u16) -> u64) -> u16 {
        let Self { flowlets, rechoose, shortest } = self;
        match flowlets {
            None => shortest.find(fork, None, queue),
            Some(flowlets) => flowlets.choose(fork, |before| match before {
                Some(before) if *rechoose < 1.0 && shortest.random.uniform() >= *rechoose => before,
                before => shortest.find(fork, before, queue),
            }),
        }
    }

    fn report(&self, port: usize, counters: &mut PortCounters) {
        if let Some(flowlets) = &self.flowlets {
            counters.flowlets = flowlets.counters(port);
        }
    }
}

impl Shortest {
    /// The port with the shortest queue. What was chosen `before` is compared as well.
    fn find(&mut self, fork: &Fork<'_>, before: Option<u16>, mut queue: impl FnMut(u16) -> u64) -> u16 {
        let Self { choices, best, random, drawn, equal } = self;
        let ports = fork.ports;
        if let [port] = ports {
            return *port;
        }
        let best = best.get_mut(fork.leaf as usize);
        let known = before.or_else(|| best.as_deref().copied().filter(|best| ports.contains(best)));
        let mut shortest = known.map_or(u64::MAX, &mut queue);
        let compared = if *choices < ports.len() {
            drawn.clear();
            drawn.extend_from_slice(ports);
            for place in 0..*choices {
                let other = place + random.below((ports.len() - place) as u64) as usize;
                drawn.swap(place, other);
            }
            &drawn[..*choices]
        } else {
            ports
        };
        equal.clear();
        for port in compared {
            let length = queue(*port);
            if length < shortest {
                shortest = length;
                equal.clear();
                equal.push(*port);
            } else if length == shortest && !equal.is_empty() {
                equal.push(*port);
            }
        }
        // Nothing is shorter than what was chosen before if there are none.
        let port = match (equal.as_slice(), known) {
            ([], known) => known.unwrap_or(ports[0]),
            ([port], _) => *port,
            (equal, _) => equal[random.below(equal.len() as u64) as usize],
        };
        if let Some(best) = best {
            *best = port;
        }
        port
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::Time;

    use super::*;
    use crate::ids::{FlowId, NodeId};

    const PORTS: [u16; 8] = [3, 4, 5, 6, 7, 8, 9, 10];

    fn site() -> RoutingSite {
        RoutingSite { node: NodeId(0), ports: 16, leaves: 2, first_of_pairs: None, seed: 1 }
    }

    fn fork(us: u64, flow: u32, leaf: u32) -> Fork<'static> {
        Fork { now: Time::ZERO + Span::from_us(us), flow: FlowId(flow), leaf, ports: &PORTS }
    }

    fn adaptive(settings: &Adaptive) -> AdaptiveChoice {
        AdaptiveChoice::new(settings, &site())
    }

    /// Bytes that wait, by port.
    fn queues(queues: [u64; 8]) -> impl Fn(u16) -> u64 {
        move |port| queues[usize::from(port) - 3]
    }

    #[test]
    fn the_shortest_queue_of_all_is_chosen() {
        let mut choice = adaptive(&Adaptive::default());
        assert_eq!(choice.choose(&fork(0, 0, 0), queues([9, 9, 9, 2, 9, 3, 9, 9])), 6);
    }

    #[test]
    fn equal_queues_are_chosen_alike() {
        let mut choice = adaptive(&Adaptive::default());
        let mut chosen = [0; 11];
        for _ in 0..8_000 {
            chosen[usize::from(choice.choose(&fork(0, 0, 0), |_| 0))] += 1;
        }
        // Five standard deviations of 8000 draws with probability 1/8.
        assert!(chosen[3..].iter().all(|count: &i32| (count - 1000).abs() < 148), "{chosen:?}");
    }

    #[test]
    fn of_two_drawn_ports_the_better_is_chosen_and_all_are_drawn_at_times() {
        let mut choice = adaptive(&Adaptive { choices: Some(2), ..Adaptive::default() });
        let mut chosen = [0_u32; 11];
        for _ in 0..28_000 {
            chosen[usize::from(choice.choose(&fork(0, 0, 0), u64::from))] += 1;
        }
        // Of 28 pairs, 7 − n have port number n as the shorter: 1000 times each, ± five standard deviations of 7000.
        let expected = [7_000, 6_000, 5_000, 4_000, 3_000, 2_000, 1_000, 0];
        for (count, expected) in chosen[3..].iter().zip(expected) {
            assert!(count.abs_diff(expected) < 5 * 73, "{chosen:?}");
        }
    }

    #[test]
    fn the_best_of_the_last_choice_is_remembered_for_each_rack() {
        let settings = Adaptive { choices: Some(1), memory: true, ..Adaptive::default() };
        let elsewhere = (0..8).map(|seed| {
            let mut choice = AdaptiveChoice::new(&settings, &RoutingSite { seed, ..site() });
            let mut least = u64::MAX;
            for _ in 0..200 {
                let port = choice.choose(&fork(0, 0, 0), u64::from);
                assert!(u64::from(port) <= least, "never worse than the last");
                least = port.into();
            }
            assert_eq!(least, 3);
            choice.choose(&fork(0, 0, 1), |_| 5)
        });
        // Nothing is remembered of the other rack, where any port is as good.
        assert!(elsewhere.collect::<Vec<_>>().iter().any(|port| *port != 3));
    }

    #[test]
    fn a_flow_keeps_its_port_until_it_pauses_and_then_unless_another_is_shorter() {
        let gap = Some(Span::from_us(10));
        let mut choice = adaptive(&Adaptive { gap, ..Adaptive::default() });
        let first = choice.choose(&fork(0, 0, 0), queues([0, 9, 9, 9, 9, 9, 9, 9]));
        assert_eq!(first, 3);
        assert_eq!(choice.choose(&fork(10, 0, 0), queues([9, 0, 9, 9, 9, 9, 9, 9])), 3, "no gap yet");
        assert_eq!(choice.choose(&fork(21, 0, 0), queues([4; 8])), 3, "nothing is shorter");
        assert_eq!(choice.choose(&fork(32, 0, 0), queues([9, 0, 9, 9, 9, 9, 9, 9])), 4);
        let mut counters = PortCounters::default();
        choice.report(4, &mut counters);
        assert_eq!((counters.flowlets.flowlets, counters.flowlets.moves), (1, 1));
    }

    #[test]
    fn only_some_flowlets_choose_anew() {
        let gap = Some(Span::from_us(10));
        let mut choice = adaptive(&Adaptive { gap, rechoose: 0.5, table: 1 << 20, ..Adaptive::default() });
        let moved = (0..10_000).filter(|flow| {
            choice.choose(&fork(0, *flow, 0), queues([0, 1, 1, 1, 1, 1, 1, 1]));
            choice.choose(&fork(20, *flow, 0), queues([1, 0, 1, 1, 1, 1, 1, 1])) == 4
        });
        // Five standard deviations, 5·√10000/2, and some 50 flows that share entries.
        let moved = moved.count() as i64;
        assert!((moved - 5_000).abs() < 250 + 50, "{moved}");
    }
}
