//! Time that real hosts take of a round trip: their stacks, and the way to the fabric and back; and the time that lies between starts of
//! flows which are to start at once. In virtual time both are none.

use std::collections::{BTreeMap, BTreeSet};
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
    /// Of a round trip, by two hosts, the fabric's lateness included.
    pub round_trip: Span,
    /// Flows of several hosts that are to start at once start within so much; none if there is only one host that sends.
    pub starts: Option<Span>,
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

/// The median of what handshakes took.
pub(crate) fn handshake(results: &Results) -> Span {
    let mut first = BTreeMap::new();
    for row in results.windows.iter().flatten().filter(|row| row.srtt > Span::ZERO) {
        first.entry(row.flow).or_insert(row.srtt);
    }
    let mut times: Vec<_> = first.into_values().collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// More hosts than this are not made to measure their starts.
pub(crate) const MOST_SENDERS: usize = 32;

/// So many times flows of all hosts start at once.
const ROUNDS: u64 = 16;

/// From one round to the next: all flows have ended by then.
const PERIOD: Span = Span::from_ms(25);

/// The plan of flows that start at once on each of `senders` hosts, again and again.
pub(crate) fn starts(senders: usize) -> Checked<Arc<Plan>> {
    trial_of(&format!(
        r#"
version = 2
name = "trial"
hosts = "ideal"
stop = {{ after = "{stop} ps" }}
topology.star = {{ hosts = {hosts}, rate = "1 Gb/s", delay = "500 us" }}
switches.default = {{ buffer = {{ size = "16 MB", sharing = "complete" }} }}

[[traffic]]
name = "trial"
pattern = {{ incast = {{ fan_in = {senders}, size = "60 kB", times = {ROUNDS}, period = "{period} ps", to = ["host0"] }} }}
cc = {{ reno = {{}} }}
"#,
        stop = (PERIOD * ROUNDS).as_ps(),
        hosts = senders + 1,
        period = PERIOD.as_ps(),
    ))
}

/// First packets with data that hosts send in each round.
#[derive(Default)]
pub(crate) struct Starts {
    seen: BTreeSet<(u64, HostId)>,
    /// By round: the first of them and the last.
    between: BTreeMap<u64, (Time, Time)>,
}

impl Starts {
    /// A frame of any host. Those without data have no more than 100 bytes.
    pub(crate) fn on_frame(&mut self, frame: &Frame) {
        let round = frame.at.as_ps() / PERIOD.as_ps();
        if frame.received || frame.bytes.len() <= 100 || !self.seen.insert((round, frame.host)) {
            return;
        }
        let (first, last) = self.between.entry(round).or_insert((frame.at, frame.at));
        (*first, *last) = (frame.at.min(*first), frame.at.max(*last));
    }

    /// Time within which `senders` hosts start, each as likely sooner as later: the distance of the first to the last of so many is on
    /// average (senders − 1)/(senders + 1) of it. Of the rounds the median counts.
    pub(crate) fn within(&self, senders: usize) -> Span {
        let mut ranges: Vec<_> =
            self.between.values().map(|(first, last)| last.saturating_since(*first)).collect();
        ranges.sort_unstable();
        let median = ranges.get(ranges.len() / 2).copied().unwrap_or_default();
        median * (senders as u64 + 1) / (senders as u64 - 1).max(1)
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
    fn hosts_start_within_the_distance_of_their_first_packets_with_data_and_what_chance_leaves_at_its_ends() {
        let mut starts = Starts::default();
        for round in 0..3 {
            let at = |us| PERIOD * round + Span::from_us(us);
            for frame in [
                frame(1, at(5), 66, false),
                frame(1, at(10), 1514, false),
                frame(0, at(15), 1514, true),
                frame(3, at(40 + round), 1514, false),
                frame(2, at(70 + round), 1514, false),
                frame(2, at(900), 1514, false),
            ] {
                starts.on_frame(&frame);
            }
        }
        // 60, 61 and 62 us; (3 + 1)/(3 - 1) of the median.
        assert_eq!(starts.within(3), Span::from_us(122));
    }

    #[test]
    fn in_virtual_time_hosts_start_at_once() {
        let plan = starts(3).expect("it is valid");
        assert_eq!(plan.traffic.flows.len() as u64, 3 * ROUNDS);
        let mut first: Vec<_> =
            plan.traffic.flows.iter().take(3).map(|flow| (flow.from.0, flow.start)).collect();
        first.sort_unstable();
        assert_eq!(first, [(1, Time::ZERO), (2, Time::ZERO), (3, Time::ZERO)]);
    }

    #[test]
    fn in_virtual_time_a_handshake_takes_what_its_links_do() {
        let results =
            run(&round_trips().expect("it is valid"), Options::default(), |_| ControlFlow::Continue(()));
        // Four times 500 us, and packets of 84 to 90 B on four links of 1 Gb/s.
        let took = handshake(&results.expect("it runs"));
        assert!((Span::from_us(2000)..Span::from_us(2004)).contains(&took), "{took}");
    }
}
