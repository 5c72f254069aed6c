//! Remote procedure calls, known before the run: when each begins, which servers it asks, and how much each answers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use narrows_proto::units::{Bytes, Span, Time};

use super::{Pairs, Sizes};
use crate::ids::{FlowId, GroupId, HostId};
use crate::random::Stream;
use crate::traffic::{FlowSpec, Rpc};

/// Calls of clients. Clients are the senders of [`Pairs`], servers the receivers.
#[derive(Clone, Debug)]
pub struct Calls<'a> {
    /// Whose settings apply to all its flows.
    pub group: GroupId,
    /// Calls per second of all clients together.
    pub per_second: f64,
    /// Different servers that each call asks; no client has fewer.
    pub fan_out: u32,
    /// Payload of a request.
    pub request: Bytes,
    /// Payloads of responses.
    pub responses: &'a Sizes,
    /// Calls begin in this time.
    pub time: Range<Time>,
    /// When there are so many flows, no more calls are drawn.
    pub most: u64,
}

/// Calls that were drawn.
#[derive(Clone, Debug)]
pub struct DrawnCalls {
    /// Their flows: of each call the requests, each followed by its response.
    pub flows: Vec<FlowSpec>,
    /// In order of time.
    pub rpcs: Vec<Rpc>,
    /// These are all.
    pub complete: bool,
}

/// Calls of all clients in order of time, and their flows, the first of which will be number `first`.
///
/// Each client calls at random, independently of the others and of how long its calls take: a Poisson process, drawn from
/// the client's own stream.
///
/// # Panics
/// If a client has fewer than `fan_out` servers.
pub fn rpcs(
    calls: &Calls<'_>,
    pairs: &Pairs,
    first: FlowId,
    stream: impl Fn(HostId) -> Stream,
) -> DrawnCalls {
    let clients = pairs.from();
    let mean_gap = clients.len() as f64 / calls.per_second;
    // As in `poisson`: drawn as a real number, added as whole picoseconds.
    let gap = |random: &mut Stream| Span::from_secs_f64(-libm::log(1.0 - random.uniform()) * mean_gap);
    let mut streams: Vec<_> = clients.iter().map(|client| stream(*client)).collect();
    // When each client calls next; of two at the same time the first goes first.
    let next = |random: (usize, &mut Stream)| Reverse((calls.time.start + gap(random.1), random.0));
    let mut due: BinaryHeap<_> = streams.iter_mut().enumerate().map(next).collect();
    let (mut flows, mut rpcs) = (Vec::new(), Vec::new());
    while let Some(Reverse((start, number))) = due.pop().filter(|next| next.0.0 < calls.time.end) {
        if flows.len() as u64 >= calls.most {
            return DrawnCalls { flows, rpcs, complete: false };
        }
        let (client, random) = (clients[number], &mut streams[number]);
        rpcs.push(Rpc { first: FlowId::from(first.index() + flows.len()), fan_out: calls.fan_out });
        for server in draw_servers(pairs, client, calls.fan_out, random) {
            let (group, size) = (calls.group, calls.responses.draw(random));
            flows.push(FlowSpec { from: client, to: server, group, start, size: calls.request });
            flows.push(FlowSpec { from: server, to: client, group, start: Time::NEVER, size });
        }
        due.push(Reverse((start + gap(random), number)));
    }
    DrawnCalls { flows, rpcs, complete: true }
}

/// So many different servers of `client`, all choices equally likely, in random order.
fn draw_servers(pairs: &Pairs, client: HostId, count: u32, random: &mut Stream) -> Vec<HostId> {
    let (all, count) = (pairs.partners(client), count as usize);
    assert!(count <= all, "a client has {all} servers and asks {count}");
    // Floyd's sampling: one draw for each server, however many there are.
    let mut chosen: Vec<usize> = Vec::with_capacity(count);
    for last in all - count..all {
        let drawn = random.below(last as u64 + 1) as usize;
        match chosen.binary_search(&drawn) {
            Ok(_) => chosen.push(last), // which was not among those to draw from so far
            Err(place) => chosen.insert(place, drawn),
        }
    }
    random.shuffle(&mut chosen);
    chosen.into_iter().map(|number| pairs.partner(client, number)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::random::Purpose;
    use crate::workload::Partner;

    /// Clients 0 to 3, servers 4 to 9.
    fn pairs() -> Pairs {
        let hosts = |range: Range<u32>| range.map(HostId).collect::<Vec<_>>();
        Pairs::new(hosts(0..4), &hosts(4..10), Partner::Any, 10, |_| 0).expect("partners exist")
    }

    fn stream(client: HostId) -> Stream {
        Stream::new(1, Purpose::Rpc, client.0.into())
    }

    fn calls(responses: &Sizes, fan_out: u32) -> Calls<'_> {
        Calls {
            group: GroupId(0),
            per_second: 1e6,
            fan_out,
            request: Bytes::new(1000),
            responses,
            time: Time::ZERO..Time::ZERO + Span::from_ms(100),
            most: u64::MAX,
        }
    }

    #[test]
    fn calls_come_at_the_rate_asked_for_in_order_and_from_all_clients_alike() {
        let sizes = Sizes::constant(Bytes::new(5000));
        let calls = calls(&sizes, 1);
        let DrawnCalls { flows, rpcs, .. } = rpcs(&calls, &pairs(), FlowId(0), stream);
        // 10^5 expected, standard deviation 316; of each client 25 000, standard deviation 158.
        assert!((rpcs.len() as f64 - 1e5).abs() < 1000.0, "{}", rpcs.len());
        let requests: Vec<_> = rpcs.iter().map(|rpc| flows[rpc.first.index()]).collect();
        assert!(requests.is_sorted_by_key(|request| request.start));
        assert!(requests.iter().all(|request| calls.time.contains(&request.start)));
        for client in 0..4 {
            let of_client = requests.iter().filter(|request| request.from == HostId(client)).count();
            assert!((of_client as f64 - 25_000.0).abs() < 500.0, "{of_client}");
        }
    }

    #[test]
    fn the_first_calls_are_those_that_all_calls_begin_with() {
        let sizes = Sizes::constant(Bytes::new(5000));
        let all = rpcs(&calls(&sizes, 2), &pairs(), FlowId(0), stream);
        let few = rpcs(&Calls { most: 1000, ..calls(&sizes, 2) }, &pairs(), FlowId(0), stream);
        assert_eq!((all.complete, few.complete, few.flows.len(), few.rpcs.len()), (true, false, 1000, 250));
        assert_eq!((&all.flows[..1000], &all.rpcs[..250]), (&few.flows[..], &few.rpcs[..]));
    }

    #[test]
    fn each_request_is_followed_by_the_response_of_its_server() {
        let sizes = Sizes::constant(Bytes::new(5000));
        let DrawnCalls { flows, rpcs, .. } = rpcs(&calls(&sizes, 3), &pairs(), FlowId(7), stream);
        assert_eq!((rpcs[0].first, rpcs[1].first), (FlowId(7), FlowId(13)));
        for rpc in &rpcs {
            let client = flows[rpc.first.index() - 7].from;
            let mut servers = BTreeSet::new();
            for (request, response) in rpc.calls() {
                let (request, response) = (flows[request.index() - 7], flows[response.index() - 7]);
                assert_eq!((request.from, request.size), (client, Bytes::new(1000)));
                assert_eq!((response.from, response.to), (request.to, client));
                assert_eq!((response.start, response.size), (Time::NEVER, Bytes::new(5000)));
                servers.insert(request.to);
            }
            assert_eq!(servers.len(), 3);
        }
    }

    #[test]
    fn every_choice_of_servers_in_every_order_is_equally_likely() {
        let mut random = stream(HostId(0));
        let mut counts = BTreeMap::new();
        for _ in 0..12_000 {
            *counts.entry(draw_servers(&pairs(), HostId(0), 3, &mut random)).or_insert(0) += 1;
        }
        // 6·5·4 orders of three of six servers, 100 of each expected, standard deviation 10.
        assert_eq!(counts.len(), 120);
        assert!(counts.values().all(|count| (50..150).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_call_may_ask_all_servers() {
        let mut servers = draw_servers(&pairs(), HostId(0), 6, &mut stream(HostId(0)));
        servers.sort_unstable();
        assert_eq!(servers, (4..10).map(HostId).collect::<Vec<_>>());
    }

    #[test]
    fn what_one_client_draws_does_not_depend_on_the_others() {
        let sizes = Sizes::from_points(&[(100.0, 0.0), (9000.0, 1.0)]).expect("sizes");
        let alone =
            Pairs::new(vec![HostId(2)], &(4..10).map(HostId).collect::<Vec<_>>(), Partner::Any, 10, |_| 0);
        let of = |pairs: &Pairs, per_second| {
            let DrawnCalls { flows, .. } =
                rpcs(&Calls { per_second, ..calls(&sizes, 2) }, pairs, FlowId(0), stream);
            flows.into_iter().filter(|flow| [flow.from, flow.to].contains(&HostId(2))).collect::<Vec<_>>()
        };
        assert_eq!(of(&alone.expect("partners exist"), 2.5e5), of(&pairs(), 1e6));
    }
}
