//! Generators of flows that are known before the run. Each draws from one stream, in one order.

use std::ops::Range;

use narrows_proto::units::{Bytes, Span, Time};

use super::Sizes;
use crate::ids::{GroupId, HostId};
use crate::random::Stream;
use crate::traffic::FlowSpec;

/// Who may send to whom.
#[derive(Clone, Debug)]
pub struct Pairs {
    from: Vec<HostId>,
    /// Hosts with the place they are in (rack, data center); two in the same place have equal numbers.
    to: Vec<(HostId, u32)>,
    /// By host.
    place: Vec<u32>,
    partner: Partner,
}

/// Which of the receivers a sender may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    /// Any but itself.
    Any,
    /// Only in the same place.
    Same,
    /// Only elsewhere.
    Other,
}

/// Nobody may send to anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairsError {
    /// There is no sender.
    #[error("no host sends")]
    NoSender,
    /// This sender has nobody to send to.
    #[error("a sender has nobody to send to")]
    NoPartner(HostId),
}

impl Pairs {
    /// Every host of `from` may send to the hosts of `to`, all different, that `partner` allows; `place` gives the place
    /// of each host.
    ///
    /// # Errors
    /// If a sender has nobody to send to.
    pub fn new(
        from: Vec<HostId>,
        to: &[HostId],
        partner: Partner,
        hosts: usize,
        place: impl Fn(HostId) -> u32,
    ) -> Result<Self, PairsError> {
        let place: Vec<_> = (0..hosts).map(|host| place(HostId::from(host))).collect();
        let mut to: Vec<_> = to.iter().map(|host| (*host, place[host.index()])).collect();
        to.sort_unstable_by_key(|(host, place)| (*place, *host));
        let pairs = Self { from, to, place, partner };
        if pairs.from.is_empty() {
            return Err(PairsError::NoSender);
        }
        match pairs.from.iter().find(|host| pairs.partners(**host) == 0) {
            Some(host) => Err(PairsError::NoPartner(*host)),
            None => Ok(pairs),
        }
    }

    /// Who sends.
    pub fn from(&self) -> &[HostId] {
        &self.from
    }

    /// Who may receive.
    pub fn to(&self) -> Vec<HostId> {
        self.to.iter().map(|(host, _)| *host).collect()
    }

    /// Those who receive from anyone.
    pub fn receivers(&self) -> Vec<HostId> {
        let from = self.from.iter().map(|host| (*host, self.place[host.index()]));
        let mut back =
            Self { from: Vec::new(), to: from.collect(), place: self.place.clone(), partner: self.partner };
        back.to.sort_unstable_by_key(|(host, place)| (*place, *host));
        let mut receivers: Vec<_> = self.to.iter().map(|(host, _)| *host).collect();
        receivers.retain(|host| back.partners(*host) > 0);
        receivers.sort_unstable();
        receivers
    }

    /// The receivers in the same place as `host`, as a range of `to`.
    fn neighbors(&self, host: HostId) -> Range<usize> {
        let place = self.place[host.index()];
        self.to.partition_point(|(_, p)| *p < place)..self.to.partition_point(|(_, p)| *p <= place)
    }

    /// Where `host` itself is among the receivers in its place, as a range of `to`.
    fn own(&self, host: HostId, near: &Range<usize>) -> Range<usize> {
        let own = self.to[near.clone()].binary_search_by_key(&host, |(other, _)| *other);
        own.map_or(0..0, |at| near.start + at..near.start + at + 1)
    }

    /// Number of receivers that `host` may choose from.
    pub fn partners(&self, host: HostId) -> usize {
        let near = self.neighbors(host);
        let own = self.own(host, &near).len();
        match self.partner {
            Partner::Any => self.to.len() - own,
            Partner::Same => near.len() - own,
            Partner::Other => self.to.len() - near.len(),
        }
    }

    /// The `number`-th receiver `host` may choose.
    pub(super) fn partner(&self, host: HostId, number: usize) -> HostId {
        let near = self.neighbors(host);
        let skip = |at: usize, range: &Range<usize>| if at >= range.start { at + range.len() } else { at };
        let own = self.own(host, &near);
        let at = match self.partner {
            Partner::Any if own.is_empty() => number,
            Partner::Any => skip(number, &own),
            Partner::Same if own.is_empty() => near.start + number,
            Partner::Same => skip(near.start + number, &own),
            Partner::Other => skip(number, &near),
        };
        self.to[at].0
    }

    /// A sender, and one of its receivers, all equally likely.
    pub fn draw(&self, random: &mut Stream) -> (HostId, HostId) {
        let from = self.from[random.below(self.from.len() as u64) as usize];
        (from, self.draw_partner(from, random))
    }

    /// One of the receivers of `from`, all equally likely.
    pub fn draw_partner(&self, from: HostId, random: &mut Stream) -> HostId {
        self.partner(from, random.below(self.partners(from) as u64) as usize)
    }

    /// All receivers of `from`.
    pub fn partners_of(&self, from: HostId) -> impl Iterator<Item = HostId> {
        (0..self.partners(from)).map(move |number| self.partner(from, number))
    }

    /// The pairs of those hosts that `keep` chooses.
    pub fn among(&self, keep: impl Fn(HostId) -> bool) -> Vec<(HostId, HostId)> {
        let to: Vec<_> = self.to.iter().filter(|(host, _)| keep(*host)).collect();
        let may = |from: HostId, (to, place): (HostId, u32)| match self.partner {
            Partner::Any => from != to,
            Partner::Same => from != to && self.place[from.index()] == place,
            Partner::Other => self.place[from.index()] != place,
        };
        let of = |from: HostId| to.iter().filter(move |to| may(from, ***to)).map(move |to| (from, to.0));
        self.from.iter().copied().filter(|from| keep(*from)).flat_map(of).collect()
    }

    /// Every pair with its probability to be drawn.
    pub fn all(&self) -> impl Iterator<Item = (HostId, HostId, f64)> {
        self.from.iter().flat_map(|from| {
            let probability = 1.0 / (self.from.len() * self.partners(*from)) as f64;
            self.partners_of(*from).map(move |to| (*from, to, probability))
        })
    }
}

/// Flows that start at random, `per_second` on average, between pairs drawn anew each time (a Poisson process). They are drawn
/// as they are requested.
pub fn poisson<'a>(
    group: GroupId,
    per_second: f64,
    sizes: &'a Sizes,
    pairs: &'a Pairs,
    time: Range<Time>,
    random: &'a mut Stream,
) -> impl Iterator<Item = FlowSpec> + use<'a> {
    let mean_gap = 1.0 / per_second;
    let mut start = time.start;
    std::iter::from_fn(move || {
        // The gap is drawn as a real number and added as whole picoseconds; the error is far below any link's time.
        start += Span::from_secs_f64(-libm::log(1.0 - random.uniform()) * mean_gap);
        if start >= time.end {
            return None;
        }
        let (from, to) = pairs.draw(random);
        Some(FlowSpec { from, to, group, start, size: sizes.draw(random) })
    })
}

/// `flows` flows between pairs drawn at random, each starting at any moment of `within`, in order of their starts.
pub fn random(
    group: GroupId,
    flows: u32,
    sizes: &Sizes,
    pairs: &Pairs,
    start: Time,
    within: Span,
    random: &mut Stream,
) -> Vec<FlowSpec> {
    let mut flows: Vec<_> = (0..flows)
        .map(|_| {
            let start = start + Span::from_ps(random.below(within.as_ps().max(1)));
            let (from, to) = pairs.draw(random);
            FlowSpec { from, to, group, start, size: sizes.draw(random) }
        })
        .collect();
    flows.sort_by_key(|flow| flow.start);
    flows
}

/// Which pair of hosts each of several flows joins.
#[derive(Clone, Debug)]
pub enum Partners {
    /// Flow after flow the next of these, and after the last the first again; at least one.
    Listed(Vec<(HostId, HostId)>),
    /// Senders take turns, so that no host has two flows while another has none; receivers are drawn.
    Drawn(Pairs),
}

impl Partners {
    fn of(&self, number: u64, random: &mut Stream) -> (HostId, HostId) {
        let turn = |len: usize| (number % len as u64) as usize;
        match self {
            Self::Listed(pairs) => pairs[turn(pairs.len())],
            Self::Drawn(pairs) => {
                let from = pairs.from()[turn(pairs.from().len())];
                (from, pairs.draw_partner(from, random))
            }
        }
    }
}

/// When each of several flows starts, after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stagger {
    /// All of them spread evenly over this time.
    Over(Span),
    /// Each so much later than the one before.
    Every(Span),
}

impl Stagger {
    /// Delay of flow number `number` of `flows` after the first.
    pub fn after(self, number: u64, flows: u32) -> Span {
        match self {
            // Less than the spread.
            Self::Over(spread) => {
                Span::from_ps((u128::from(spread.as_ps()) * u128::from(number) / u128::from(flows)) as u64)
            }
            Self::Every(gap) => gap.saturating_mul(number),
        }
    }
}

/// `flows` flows of `size`, each between the hosts that `partners` says, starting as `stagger` says.
pub fn long_lived(
    group: GroupId,
    flows: u32,
    size: Bytes,
    partners: &Partners,
    start: Time,
    stagger: Stagger,
    random: &mut Stream,
) -> Vec<FlowSpec> {
    let flow = |number| {
        let (from, to) = partners.of(number, random);
        FlowSpec { from, to, group, start: start + stagger.after(number, flows), size }
    };
    (0..u64::from(flows)).map(flow).collect()
}

/// `times` times, `period` apart, `fan_in` of the senders send `size` each to one receiver at once. Senders, and the
/// receiver among `to`, are drawn anew each time.
#[allow(clippy::too_many_arguments)]
pub fn incast(
    group: GroupId,
    from: &[HostId],
    to: &[HostId],
    fan_in: u32,
    size: Bytes,
    start: Time,
    period: Span,
    times: u32,
    random: &mut Stream,
) -> Vec<FlowSpec> {
    let mut flows = Vec::new();
    for time in 0..u64::from(times) {
        let receiver = to[random.below(to.len() as u64) as usize];
        let mut senders: Vec<_> = from.iter().copied().filter(|host| *host != receiver).collect();
        random.shuffle(&mut senders);
        senders.truncate(fan_in as usize);
        let start = start + period.saturating_mul(time);
        flows.extend(senders.into_iter().map(|from| FlowSpec { from, to: receiver, group, start, size }));
    }
    flows
}

/// Every host sends `size` to one other and receives from one other: a random permutation without fixed points.
pub fn permutation(
    group: GroupId,
    hosts: &[HostId],
    size: Bytes,
    start: Time,
    random: &mut Stream,
) -> Vec<FlowSpec> {
    // Sattolo's algorithm: a random cycle through all hosts.
    let mut cycle = hosts.to_vec();
    for last in (1..cycle.len()).rev() {
        cycle.swap(last, random.below(last as u64) as usize);
    }
    let next = cycle.iter().cycle().skip(1);
    let mut flows: Vec<_> = cycle
        .iter()
        .zip(next)
        .map(|(from, to)| FlowSpec { from: *from, to: *to, group, start, size })
        .collect();
    flows.sort_by_key(|flow| flow.from);
    flows
}

/// Every host sends `size` to every other.
pub fn all_to_all(group: GroupId, hosts: &[HostId], size: Bytes, start: Time) -> Vec<FlowSpec> {
    let from = |from: HostId| hosts.iter().filter(move |to| **to != from).map(move |to| (from, *to));
    let pairs = hosts.iter().flat_map(|host| from(*host));
    pairs.map(|(from, to)| FlowSpec { from, to, group, start, size }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::Purpose;

    const GROUP: GroupId = GroupId(0);

    fn hosts(range: Range<u32>) -> Vec<HostId> {
        range.map(HostId).collect()
    }

    fn random() -> Stream {
        Stream::new(1, Purpose::Workload, 0)
    }

    /// Twelve hosts in three places of four.
    fn pairs(partner: Partner) -> Pairs {
        Pairs::new(hosts(0..12), &hosts(0..12), partner, 12, |host| host.0 / 4).expect("partners exist")
    }

    #[test]
    fn partners_are_where_they_should_be() {
        let of = |partner, host| pairs(partner).partners_of(HostId(host)).map(|h| h.0).collect::<Vec<_>>();
        assert_eq!(of(Partner::Same, 5), [4, 6, 7]);
        assert_eq!(of(Partner::Other, 5), [0, 1, 2, 3, 8, 9, 10, 11]);
        assert_eq!(of(Partner::Any, 5), [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]);
    }

    #[test]
    fn those_receive_who_are_the_partner_of_someone() {
        let of = |from, partner| {
            let pairs = Pairs::new(hosts(from), &hosts(0..12), partner, 12, |host| host.0 / 4);
            pairs.expect("partners exist").receivers()
        };
        assert_eq!(of(0..1, Partner::Any), hosts(1..12));
        assert_eq!(of(0..2, Partner::Any), hosts(0..12));
        assert_eq!(of(0..1, Partner::Same), hosts(1..4));
        assert_eq!(of(0..4, Partner::Other), hosts(4..12));
        assert_eq!(of(3..5, Partner::Other), hosts(0..12));
    }

    #[test]
    fn a_sender_outside_the_receivers_may_choose_all_of_them() {
        let pairs = Pairs::new(hosts(0..1), &hosts(4..8), Partner::Any, 12, |host| host.0 / 4)
            .expect("partners exist");
        assert_eq!(pairs.partners_of(HostId(0)).count(), 4);
    }

    #[test]
    fn a_sender_without_partner_is_refused() {
        let alone = Pairs::new(hosts(0..1), &hosts(0..1), Partner::Any, 12, |_| 0);
        assert_eq!(alone.expect_err("refused"), PairsError::NoPartner(HostId(0)));
    }

    #[test]
    fn probabilities_add_up_to_one() {
        for partner in [Partner::Any, Partner::Same, Partner::Other] {
            let sum: f64 = pairs(partner).all().map(|(_, _, probability)| probability).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{partner:?}: {sum}");
        }
    }

    #[test]
    fn poisson_flows_come_at_the_rate_asked_for_and_in_order() {
        let sizes = Sizes::constant(Bytes::new(1000));
        let time = Time::ZERO..Time::ZERO + Span::from_ms(100);
        let (pairs, mut random) = (pairs(Partner::Any), random());
        let flows: Vec<_> = poisson(GROUP, 1e6, &sizes, &pairs, time.clone(), &mut random).collect();
        // 10^5 expected, standard deviation 316.
        assert!((flows.len() as f64 - 1e5).abs() < 1000.0, "{}", flows.len());
        assert!(flows.is_sorted_by_key(|flow| flow.start));
        assert!(flows.iter().all(|flow| time.contains(&flow.start) && flow.from != flow.to));
    }

    #[test]
    fn random_flows_start_evenly_over_their_time_and_in_order() {
        let sizes = Sizes::from_points(&[(0.0, 0.0), (2000.0, 1.0)]).expect("a distribution");
        let (start, within) = (Time::ZERO + Span::from_ms(5), Span::from_ms(2));
        let flows = super::random(GROUP, 40_000, &sizes, &pairs(Partner::Any), start, within, &mut random());
        assert_eq!(flows.len(), 40_000);
        assert!(flows.is_sorted_by_key(|flow| flow.start));
        assert!(flows.iter().all(|flow| flow.start >= start && flow.start < start + within));
        // In each of four parts 10^4 expected, standard deviation 87.
        for part in 0..4 {
            let from = start + within / 4 * part;
            let of_part = flows.iter().filter(|flow| flow.start >= from && flow.start < from + within / 4);
            let count = of_part.count() as f64;
            assert!((count - 1e4).abs() < 350.0, "{count} flows in part {part}");
        }
        // The mean size is 1000 B, its standard deviation 577/√40 000.
        let mean = flows.iter().map(|flow| flow.size.as_f64()).sum::<f64>() / 4e4;
        assert!((mean - 1000.0).abs() < 12.0, "{mean}");
    }

    #[test]
    fn random_flows_are_between_all_pairs_that_are_allowed_and_no_others() {
        let sizes = Sizes::constant(Bytes::new(1));
        for (partner, expected) in [(Partner::Any, 132), (Partner::Same, 36), (Partner::Other, 96)] {
            let pairs = pairs(partner);
            let flows =
                super::random(GROUP, 5000, &sizes, &pairs, Time::ZERO, Span::from_ms(1), &mut random());
            let seen: BTreeMap<_, _> = flows.iter().map(|flow| ((flow.from, flow.to), ())).collect();
            let allowed: BTreeMap<_, _> = pairs.all().map(|(from, to, _)| ((from, to), ())).collect();
            assert_eq!((seen.len(), &seen), (expected, &allowed), "{partner:?}");
        }
    }

    #[test]
    fn random_flows_without_a_time_start_at_once() {
        let sizes = Sizes::constant(Bytes::new(1));
        let start = Time::ZERO + Span::from_us(3);
        let flows = super::random(GROUP, 9, &sizes, &pairs(Partner::Any), start, Span::ZERO, &mut random());
        assert!(flows.len() == 9 && flows.iter().all(|flow| flow.start == start));
    }

    #[test]
    fn a_permutation_lets_every_host_send_and_receive_once() {
        let flows = permutation(GROUP, &hosts(0..50), Bytes::new(1), Time::ZERO, &mut random());
        let mut to: Vec<_> = flows.iter().map(|flow| flow.to).collect();
        to.sort_unstable();
        assert_eq!(to, hosts(0..50));
        assert!(flows.iter().all(|flow| flow.from != flow.to));
    }

    #[test]
    fn incast_senders_are_distinct_and_never_the_receiver() {
        let (all, size) = (hosts(0..20), Bytes::new(1));
        let flows = incast(GROUP, &all, &all, 8, size, Time::ZERO, Span::from_ms(1), 50, &mut random());
        assert_eq!(flows.len(), 400);
        for burst in flows.chunk_by(|a, b| a.start == b.start) {
            let senders: BTreeMap<_, _> = burst.iter().map(|flow| (flow.from, ())).collect();
            assert_eq!(senders.len(), 8);
            assert!(burst.iter().all(|flow| flow.to == burst[0].to && flow.from != flow.to));
        }
    }

    #[test]
    fn all_to_all_has_every_ordered_pair() {
        assert_eq!(all_to_all(GROUP, &hosts(0..10), Bytes::new(1), Time::ZERO).len(), 90);
    }

    fn lasting(flows: u32, partners: &Partners, stagger: Stagger) -> Vec<FlowSpec> {
        long_lived(GROUP, flows, Bytes::MAX, partners, Time::ZERO, stagger, &mut random())
    }

    #[test]
    fn long_lived_flows_are_spread_over_any_time() {
        let spread = Span::from_secs(86_400 * 30);
        let flows = lasting(100, &Partners::Drawn(pairs(Partner::Any)), Stagger::Over(spread));
        assert_eq!(flows[99].start, Time::ZERO + spread / 100 * 99);
    }

    #[test]
    fn long_lived_flows_are_shared_out_over_the_senders() {
        let flows = lasting(24, &Partners::Drawn(pairs(Partner::Other)), Stagger::Over(Span::from_ms(24)));
        let first = flows.iter().filter(|flow| flow.from == HostId(0)).count();
        assert_eq!((first, flows[1].start), (2, Time::ZERO + Span::from_ms(1)));
    }

    #[test]
    fn listed_pairs_take_turns_one_flow_after_the_other() {
        let pairs = [(0, 5), (1, 4), (0, 3)].map(|(from, to)| (HostId(from), HostId(to)));
        let flows = lasting(5, &Partners::Listed(pairs.to_vec()), Stagger::Every(Span::from_ms(20)));
        let seen: Vec<_> = flows.iter().map(|flow| (flow.from, flow.to)).collect();
        assert_eq!(seen, [pairs[0], pairs[1], pairs[2], pairs[0], pairs[1]]);
        let starts: Vec<_> = flows.iter().map(|flow| flow.start - Time::ZERO).collect();
        assert_eq!(starts, [0, 20, 40, 60, 80].map(Span::from_ms));
    }
}
