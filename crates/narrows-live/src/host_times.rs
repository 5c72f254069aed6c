//! Time that real hosts take to respond: their stacks, and the way to the fabric and back; and the time that lies between starts of flows
//! which are to start at once: one thread and one processor start them, one after the other. In virtual time both are none.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use narrows::diagnostic::Checked;
use narrows::plan::Plan;
use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::HostId;

use crate::attached::Frame;
use crate::estimate::trial_of;
use crate::frames::{self, Connection};

/// Times that the hosts of a run take, in seconds of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTimes {
    /// Of one response, the fabric's lateness included: the mean of the middle half. Zero if there was none.
    pub response: Span,
    /// Twice the range of the middle half: of times that are equally likely, from the shortest to the longest.
    pub spread: Span,
    /// So much longer takes the acknowledgment of one segment that says PSH: until the application has read.
    pub reading: Span,
    /// Flows that are to start at once on several hosts start so much later, each than the one before, as often as it was seen, in order; none
    /// if only one host sends.
    pub start_every: Vec<Span>,
}

/// Of fewer the mean says little: a kernel before 6.6 ends no burst with PSH.
const ENOUGH: usize = 20;

/// Times from segments that a host got to their acknowledgment. They are those of the run itself: a flow of half a second before it had
/// 35 or 60 us, as it happened, with runs that all had 33 to 38, and 32 to 62 us with runs of an incast that had 15 to 48.
///
/// Two segments are acknowledged at once, one that says PSH when the application has read (`__tcp_cleanup_rbuf`), another one when its time
/// is up. If the receive buffer leaves a smaller window than the one announced, two wait for the application, too (`__tcp_ack_snd_check`).
///
/// The middle half counts: what a pause of the machine makes of responses is no time that hosts take.
pub(crate) struct Responses {
    mtu: Bytes,
    got: HashMap<Connection, Got>,
    took: Vec<Span>,
    /// Of those to one segment that says PSH.
    took_to_read: Vec<Span>,
}

/// Segments of a connection that have not been acknowledged.
#[derive(Clone, Copy)]
struct Got {
    /// The last one.
    at: Time,
    is_one: bool,
    is_pushed: bool,
}

impl Responses {
    /// Of hosts with this MTU: what is longer are several segments.
    pub(crate) fn new(mtu: Bytes) -> Self {
        Self { mtu, got: HashMap::new(), took: Vec::new(), took_to_read: Vec::new() }
    }

    /// A frame that a host received or sent.
    pub(crate) fn on_frame(&mut self, at: Time, received: bool, parts: &[&[u8]]) {
        let Some(segment) = frames::segment(parts) else { return };
        let connection = segment.connection;
        if received {
            if segment.payload > 0 {
                let is_one = segment.packet as u64 <= self.mtu.get() && !self.got.contains_key(&connection);
                self.got.insert(connection, Got { at, is_one, is_pushed: segment.is_pushed });
            }
            return;
        }
        let Some(got) = self.got.remove(&connection.back()) else { return };
        let took = at.saturating_since(got.at);
        match got {
            // It left when there were data to send.
            _ if segment.payload > 0 => {}
            Got { is_one: false, .. } => self.took.push(took),
            Got { is_pushed: true, .. } => self.took_to_read.push(took),
            _ => {}
        }
    }

    /// All but the time between starts.
    pub(crate) fn times(self) -> HostTimes {
        let (response, spread) = middle_half(self.took);
        let reading =
            if self.took_to_read.len() < ENOUGH { Span::ZERO } else { middle_half(self.took_to_read).0 };
        HostTimes { response, spread, reading: reading.saturating_sub(response), start_every: Vec::new() }
    }
}

/// The mean of the middle half of times, and twice its range.
fn middle_half(mut times: Vec<Span>) -> (Span, Span) {
    times.sort_unstable();
    let middle = &times[times.len() / 4..times.len() - times.len() / 4];
    let (Some(least), Some(most)) = (middle.first(), middle.last()) else { return (Span::ZERO, Span::ZERO) };
    (middle.iter().copied().sum::<Span>() / middle.len() as u64, most.saturating_sub(*least) * 2)
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

    /// A segment at `at` us of the data of host 1 to host 0, received there, or an acknowledgment of it, sent there.
    fn segment(at: u64, payload: usize, is_pushed: bool) -> Frame {
        let is_data = payload > 0;
        let mut frame = frame(0, Span::from_us(at), 54 + payload, is_data);
        let (from, to) = if is_data { (1, 0) } else { (0, 1) };
        (frame.bytes[12], frame.bytes[14], frame.bytes[23]) = (8, 0x45, 6);
        frame.bytes[26..30].copy_from_slice(&narrows::addresses::address_of(from).octets());
        frame.bytes[30..34].copy_from_slice(&narrows::addresses::address_of(to).octets());
        frame.bytes[46] = 0x50;
        frame.bytes[47] = if is_pushed { 0x18 } else { 0x10 };
        frame
    }

    fn times(frames: impl IntoIterator<Item = Frame>) -> HostTimes {
        let mut responses = Responses::new(Bytes::new(1500));
        for Frame { at, received, bytes, .. } in frames {
            responses.on_frame(at, received, &[&bytes]);
        }
        responses.times()
    }

    #[test]
    fn a_response_is_the_acknowledgment_of_two_segments_or_more() {
        let one = |at| segment(at, 1448, false);
        let ack = |at| segment(at, 0, false);
        let frames = [one(0), one(100), ack(130), ack(150), one(200), one(210), one(220), ack(270)];
        assert_eq!(times(frames).response, Span::from_us(40));
        assert_eq!(
            times([segment(0, 2896, true), ack(30)]).response,
            Span::from_us(30),
            "longer than the MTU"
        );
        assert_eq!(times([one(0), ack(40_000)]).response, Span::ZERO, "one waits for another one");
        let mut back = Frame { received: false, ..segment(50, 100, false) };
        back.bytes[26..34].rotate_left(4);
        assert_eq!(times([one(0), one(10), back, ack(60)]).response, Span::ZERO, "sent with data");
    }

    #[test]
    fn the_middle_half_of_responses_counts() {
        let twice = |at, took| [segment(at, 9, false), segment(at, 9, false), segment(at + took, 0, false)];
        let even = times((30..=70).flat_map(|took| twice(10_000 * took, took)));
        assert_eq!((even.response, even.spread), (Span::from_us(50), Span::from_us(40)));
        let took = [1, 40, 40, 40, 40, 40, 40, 5000];
        let skewed = times((0_u64..).zip(took).flat_map(|(number, took)| twice(10_000 * number, took)));
        assert_eq!((skewed.response, skewed.spread), (Span::from_us(40), Span::ZERO));
        assert_eq!(times(twice(0, 7)).response, Span::from_us(7));
    }

    #[test]
    fn reading_is_what_the_answer_to_one_pushed_segment_takes_longer() {
        let frames = (0..ENOUGH as u64).flat_map(|number| {
            let at = 1000 * number;
            [
                segment(at, 9, true),
                segment(at + 90, 0, false),
                // Two segments: an acknowledgment that does not wait for the application.
                segment(at + 300, 9, false),
                segment(at + 400, 9, true),
                segment(at + 430, 0, false),
            ]
        });
        let HostTimes { response, reading, .. } = times(frames);
        assert_eq!((response, reading), (Span::from_us(30), Span::from_us(60)));
    }
}
