//! Time that real hosts take of a round trip: their stacks, and the way to the fabric and back; how it differs from one round trip to the
//! next; and the time that lies between starts of flows which are to start at once: one thread and one processor start them, one after the
//! other. In virtual time all are none.

use std::collections::BTreeMap;
use std::sync::Arc;

use narrows::diagnostic::Checked;
use narrows::plan::Plan;
use narrows::results::Results;
use narrows_proto::units::{Span, Time};
use narrows_sim::HostId;

use crate::attached::Frame;
use crate::estimate::trial_of;

/// Times that the hosts of this machine take, in seconds of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostTimes {
    /// Of a round trip, by two hosts, the fabric's lateness included: the median.
    pub round_trip: Span,
    /// Part of that which differs from one round trip to the next: each of the two hosts takes between nothing and this, all equally likely.
    /// At most `round_trip`, and the shortest round trip of the network.
    pub spread: Span,
    /// Flows that are to start at once on several hosts start so much later, each than the one before; none if only one host sends.
    pub start_every: Option<Span>,
}

/// Flows of one segment: nothing waits for a link. There are so many that the threads of the fabric have no time to sleep, as in a run; with
/// one in 10 ms handshakes took 0.09 to 0.2 ms on one machine, with one in 1 ms 0.07 to 0.1 ms.
const TRIAL: &str = r#"
version = 2
name = "trial"
hosts = "ideal"
stop = { after = "450 ms" }
topology.star = { hosts = 2, rate = "1 Gb/s", delay = "500 us" }
switches.default = { buffer = { size = "4 MB", sharing = "complete" } }

[[traffic]]
name = "trial"
pattern = { long_lived = { flows = 400, start_every = "1 ms", size = "1 kB", pairs = [["host0", "host1"]] } }
cc = { reno = {} }

[record]
windows = { interval = "500 us", flows = 400 }
"#;

/// The plan of flows whose handshakes show what a round trip takes.
pub(crate) fn round_trips() -> Checked<Arc<Plan>> {
    trial_of(TRIAL)
}

/// The one in the middle; none of nothing.
pub(crate) fn median(mut times: Vec<Span>) -> Span {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Times that handshakes took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handshakes {
    pub(crate) median: Span,
    /// Time between the quartiles.
    between_quartiles: Span,
}

impl Handshakes {
    pub(crate) fn of(results: &Results) -> Self {
        let mut first = BTreeMap::new();
        for row in results.windows.iter().flatten().filter(|row| row.srtt > Span::ZERO) {
            first.entry(row.flow).or_insert(row.srtt);
        }
        Self::from_iter(first.into_values())
    }

    fn from_iter(times: impl IntoIterator<Item = Span>) -> Self {
        let mut times: Vec<_> = times.into_iter().collect();
        times.sort_unstable();
        let quarter = |number: usize| times.get(times.len() * number / 4).copied().unwrap_or_default();
        Self { median: median(times.clone()), between_quartiles: quarter(3).saturating_sub(quarter(1)) }
    }

    /// The bound of two times, all up to it equally likely, whose sum lies as far apart. A quarter of such sums is below `bound · √½`, and a
    /// quarter above `bound · (2 − √½)`.
    pub(crate) fn spread(self) -> Span {
        Span::from_secs_f64(self.between_quartiles.as_secs_f64() / (2.0 - std::f64::consts::SQRT_2))
    }
}

/// More hosts than this are not made to measure their starts.
pub(crate) const MOST_SENDERS: usize = 32;

/// So many times hosts are made whose flows start at once. Those that have started before start sooner after each other: 28 us on one machine,
/// new ones 45 us, and the hosts of a run are new.
pub(crate) const STARTS: usize = 9;

/// The plan of a flow on each of `senders` hosts, larger than what a socket takes at once: what does not end is written so far, too, before
/// the next flow starts.
pub(crate) fn starts(senders: usize) -> Checked<Arc<Plan>> {
    trial_of(&format!(
        r#"
version = 2
name = "trial"
hosts = "ideal"
stop = {{ after = "20 ms" }}
topology.star = {{ hosts = {hosts}, rate = "1 Gb/s", delay = "500 us" }}
switches.default = {{ buffer = {{ size = "16 MB", sharing = "complete" }} }}

[[traffic]]
name = "trial"
pattern = {{ incast = {{ fan_in = {senders}, size = "200 kB", to = ["host0"] }} }}
cc = {{ reno = {{}} }}
"#,
        hosts = senders + 1,
    ))
}

/// When hosts send their first packets with data.
#[derive(Default)]
pub(crate) struct Starts {
    first: BTreeMap<HostId, Time>,
}

impl Starts {
    /// A frame of any host. Those without data have no more than 100 bytes.
    pub(crate) fn on_frame(&mut self, frame: &Frame) {
        if !frame.received && frame.bytes.len() > 100 {
            self.first.entry(frame.host).or_insert(frame.at);
        }
    }

    /// Time from one host to the next one.
    pub(crate) fn every(&self) -> Span {
        let Some((first, last)) = self.first.values().min().zip(self.first.values().max()) else {
            return Span::ZERO;
        };
        last.saturating_since(*first) / (self.first.len() as u64 - 1).max(1)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use narrows::run::{Options, run};

    use super::*;

    fn frame(host: u32, at: Span, bytes: usize, received: bool) -> Frame {
        let address = narrows::addresses::address_of(host);
        Frame { at: Time::ZERO + at, host: HostId(host), address, received, bytes: vec![0; bytes] }
    }

    #[test]
    fn hosts_start_one_after_the_other_as_their_first_packets_with_data_do() {
        let mut starts = Starts::default();
        for frame in [
            frame(1, Span::from_us(5), 66, false),
            frame(1, Span::from_us(10), 1514, false),
            frame(0, Span::from_us(15), 1514, true),
            frame(3, Span::from_us(40), 1514, false),
            frame(2, Span::from_us(70), 1514, false),
            frame(2, Span::from_us(900), 1514, false),
        ] {
            starts.on_frame(&frame);
        }
        assert_eq!(starts.every(), Span::from_us(30));
    }

    #[test]
    fn a_host_that_is_alone_starts_after_nobody() {
        let mut starts = Starts::default();
        assert_eq!(starts.every(), Span::ZERO);
        starts.on_frame(&frame(1, Span::from_us(10), 1514, false));
        assert_eq!(starts.every(), Span::ZERO);
    }

    #[test]
    fn in_virtual_time_hosts_start_at_once() {
        let plan = starts(3).expect("it is valid");
        let mut first: Vec<_> = plan.traffic.flows.iter().map(|flow| (flow.from.0, flow.start)).collect();
        first.sort_unstable();
        assert_eq!(first, [(1, Time::ZERO), (2, Time::ZERO), (3, Time::ZERO)]);
    }

    #[test]
    fn in_virtual_time_a_handshake_takes_what_its_links_do() {
        let results =
            run(&round_trips().expect("it is valid"), Options::default(), |_| ControlFlow::Continue(()));
        // Four times 500 us, and packets of 84 to 90 B on four links of 1 Gb/s.
        let took = Handshakes::of(&results.expect("it runs"));
        assert!((Span::from_us(2000)..Span::from_us(2004)).contains(&took.median), "{took:?}");
        assert!(took.spread() < Span::from_us(1), "{took:?}");
    }

    #[test]
    fn two_times_up_to_a_bound_that_are_equally_likely_have_it_as_their_spread() {
        let sums = (0..=80).flat_map(|first| (0..=80).map(move |second| Span::from_us(100 + first + second)));
        let took = Handshakes::from_iter(sums);
        assert_eq!(took.median, Span::from_us(180));
        assert!((Span::from_us(78)..Span::from_us(82)).contains(&took.spread()), "{took:?}");
    }

    #[test]
    fn handshakes_that_all_take_the_same_have_no_spread_and_so_have_none() {
        assert_eq!(Handshakes::from_iter([Span::from_us(7); 5]).spread(), Span::ZERO);
        assert_eq!(Handshakes::from_iter([]).spread(), Span::ZERO);
    }
}
