//! Time that real hosts take to respond: their stacks, and the way to the fabric and back; and the time that lies between starts of flows
//! which are to start at once: one thread and one processor start them, one after the other. In virtual time both are none.

use std::collections::BTreeMap;
use std::sync::Arc;

use narrows::diagnostic::Checked;
use narrows::plan::Plan;
use narrows_proto::units::{Span, Time};
use narrows_sim::HostId;

use crate::attached::Frame;
use crate::estimate::trial_of;
use crate::frames;

/// Times that the hosts of this machine take, in seconds of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTimes {
    /// Of one response, the fabric's lateness included: the mean, without the slowest in a hundred.
    pub response: Span,
    /// Twice the distance between the quartiles of responses: of times that are equally likely, from the shortest to the longest.
    pub spread: Span,
    /// So much longer takes the acknowledgment of one segment that says PSH: until the application has read.
    pub reading: Span,
    /// Flows that are to start at once on several hosts start so much later, each than the one before, as often as it was seen, in order; none
    /// if only one host sends.
    pub start_every: Vec<Span>,
}

/// A flow that never waits for its host's link, as dense as those of a run: hosts that have slept take longer. Of each host handshakes took
/// 55 us on one machine, and packets of such a flow 37 us.
///
/// The mean counts, as it does for the round trip of a window, without the slowest in a hundred, so that one pause of the fabric does not.
/// Half of the responses of a sender lay within 24 us, almost independent of each other.
/// Not all acknowledgments take as long: of one segment that says PSH 94 us on one machine, others 37 us. By the source the first waits
/// until the application has read (`__tcp_cleanup_rbuf`).
const TRIAL: &str = r#"
version = 2
name = "trial"
hosts = "ideal"
stop = { after = "450 ms" }

[topology.dumbbell]
hosts = 1
host_rate = "1 Gb/s"
bottleneck_rate = "100 Mb/s"
host_delay = "20 us"
bottleneck_delay = "1 ms"

[switches.default]
buffer = { size = "50 kB", sharing = "complete" }

[[traffic]]
name = "trial"
pattern = { long_lived = { flows = 1, from = ["left/host0"], to = ["right/host0"] } }
cc = { reno = {} }
"#;

/// Responses count from here on: before, acknowledgments are quick.
const SETTLED: Span = Span::from_ms(100);

/// Of fewer the mean says little: a kernel before 6.6 ends no burst with PSH.
const ENOUGH: usize = 20;

/// The plan of a flow to which hosts respond.
pub(crate) fn responses() -> Checked<Arc<Plan>> {
    trial_of(TRIAL)
}

/// Times from what a host gets to what it sends next.
#[derive(Default)]
pub(crate) struct Responses {
    got: BTreeMap<HostId, Got>,
    took: Vec<Span>,
    /// Of those to one segment that says PSH.
    took_to_read: Vec<Span>,
}

/// Frames that a host got since it last sent one.
#[derive(Clone, Copy)]
struct Got {
    /// The last one.
    at: Time,
    count: u64,
    is_pushed: bool,
}

impl Responses {
    /// A frame of any host.
    pub(crate) fn on_frame(&mut self, frame: &Frame) {
        if frame.received {
            let count = self.got.get(&frame.host).map_or(0, |got| got.count) + 1;
            let is_pushed = frames::is_pushed(&frame.bytes);
            self.got.insert(frame.host, Got { at: frame.at, count, is_pushed });
            return;
        }
        let Some(got) = self.got.remove(&frame.host) else { return };
        let took = frame.at.saturating_since(got.at);
        match got {
            _ if frame.at < Time::ZERO + SETTLED => {}
            Got { count: 1, is_pushed: true, .. } => self.took_to_read.push(took),
            _ => self.took.push(took),
        }
    }

    /// All but the time between starts.
    pub(crate) fn times(self) -> HostTimes {
        let (mut took, mut to_read) = (self.took, self.took_to_read);
        took.sort_unstable();
        to_read.sort_unstable();
        let quartile = |number: usize| took.get(took.len() * number / 4).copied().unwrap_or_default();
        let spread = quartile(3).saturating_sub(quartile(1)) * 2;
        let response = mean(&took);
        let reading = if to_read.len() < ENOUGH { Span::ZERO } else { mean(&to_read) };
        HostTimes { response, spread, reading: reading.saturating_sub(response), start_every: Vec::new() }
    }
}

/// The mean of sorted times, without the slowest in a hundred.
fn mean(times: &[Span]) -> Span {
    let times = &times[..(times.len() * 99).div_ceil(100)];
    times.iter().copied().sum::<Span>() / (times.len() as u64).max(1)
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

    /// Times from one host to the next one.
    pub(crate) fn every(&self) -> Vec<Span> {
        let mut starts: Vec<_> = self.first.values().collect();
        starts.sort_unstable();
        starts.windows(2).map(|pair| pair[1].saturating_since(*pair[0])).collect()
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(starts.every(), [30, 30].map(Span::from_us));
    }

    #[test]
    fn a_host_that_is_alone_starts_after_nobody() {
        let mut starts = Starts::default();
        assert_eq!(starts.every(), []);
        starts.on_frame(&frame(1, Span::from_us(10), 1514, false));
        assert_eq!(starts.every(), []);
    }

    #[test]
    fn in_virtual_time_hosts_start_at_once() {
        let plan = starts(3).expect("it is valid");
        let mut first: Vec<_> = plan.traffic.flows.iter().map(|flow| (flow.from.0, flow.start)).collect();
        first.sort_unstable();
        assert_eq!(first, [(1, Time::ZERO), (2, Time::ZERO), (3, Time::ZERO)]);
    }

    #[test]
    fn a_response_is_what_a_host_sends_first_after_what_it_got_last() {
        let mut responses = Responses::default();
        for (host, at, received) in [
            (1, 5, false),
            (1, 10, true),
            (2, 11, true),
            (1, 20, true),
            (1, 50, false),
            (1, 60, false),
            (2, 51, false),
        ] {
            responses.on_frame(&frame(host, SETTLED + Span::from_us(at), 66, received));
        }
        assert_eq!(responses.took, [Span::from_us(30), Span::from_us(40)]);
        assert_eq!(responses.times().response, Span::from_us(35));
        assert_eq!(Responses::default().times().response, Span::ZERO);
        let mut responses = Responses { took: vec![Span::from_us(40); 99], ..Responses::default() };
        responses.took.insert(7, Span::from_ms(5));
        assert_eq!(responses.times().response, Span::from_us(40), "the slowest in a hundred");
    }

    #[test]
    fn nothing_counts_before_acknowledgments_are_those_of_a_long_flow() {
        let mut responses = Responses::default();
        responses.on_frame(&frame(1, Span::from_us(10), 66, true));
        responses.on_frame(&frame(1, Span::from_us(50), 66, false));
        assert_eq!(responses.took, []);
    }

    #[test]
    fn the_spread_has_the_middle_half_of_all_times_in_its_own() {
        let took = (30..=70).map(Span::from_us).collect();
        let spread = Responses { took, ..Responses::default() }.times().spread;
        assert_eq!(spread, Span::from_us(40));
    }

    #[test]
    fn reading_is_what_the_answer_to_one_pushed_segment_takes_longer() {
        let mut responses = Responses::default();
        let mut send = |at, received, pushed: bool| {
            let mut frame = frame(1, SETTLED + Span::from_us(at), 66, received);
            (frame.bytes[12], frame.bytes[14], frame.bytes[23]) = (8, 0x45, 6);
            frame.bytes[47] = if pushed { 0x18 } else { 0x10 };
            responses.on_frame(&frame);
        };
        for at in (0..).step_by(1000).take(ENOUGH) {
            send(at, true, true);
            send(at + 90, false, false);
            // Two segments: an acknowledgment that does not wait for the application.
            send(at + 300, true, false);
            send(at + 400, true, true);
            send(at + 430, false, false);
        }
        let HostTimes { response, reading, .. } = responses.times();
        assert_eq!((response, reading), (Span::from_us(30), Span::from_us(60)));
    }
}
