//! Time that real hosts take to respond: their stacks, and the way to the fabric and back; and the time that lies between starts of flows
//! which are to start at once: one thread and one processor start them, one after the other. In virtual time both are none.
//!
//! All are those of the run itself: what was measured before a run did not hold in it.

use std::collections::{BTreeMap, HashMap};

use narrows_proto::units::{Bytes, Span, Time};

use crate::frames::{self, Connection, Opens};

/// Times that the hosts of a run take, in seconds of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTimes {
    /// Of one response, the fabric's lateness included: the mean of the middle half. Zero if there was none.
    pub response: Span,
    /// Twice the range of the middle half: of times that are equally likely, from the shortest to the longest.
    pub spread: Span,
    /// So much longer takes the acknowledgment of one segment that says PSH: until the application has read.
    pub reading: Span,
    /// So much longer than the responses in it takes a handshake, as the sender's kernel reports.
    pub opening: Span,
    /// Hosts whose flows are to start at once start them so much later, each than the one before, as often as it was seen, in order; none if
    /// no two are.
    pub start_every: Vec<Span>,
}

/// Of fewer the mean says little: a kernel before 6.6 ends no burst with PSH.
const ENOUGH: usize = 20;

/// A connection that a sender's kernel has opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    /// When its flow was to start.
    pub(crate) due: Time,
    /// When it was open.
    pub(crate) at: Time,
    /// Time of the handshake, as the kernel reports.
    pub(crate) took: Span,
}

/// Times from segments that a host got to their acknowledgment.
///
/// Two segments are acknowledged at once, one that says PSH when the application has read (`__tcp_cleanup_rbuf`), another one at once, too
/// (quick, or out of order), or when its time is up, which is after 40 ms at least (`TCP_DELACK_MIN`). If the receive buffer leaves a
/// smaller window than the one announced, two wait for the application, too (`__tcp_ack_snd_check`).
///
/// The middle half counts: what a pause of the machine makes of responses is no time that hosts take.
pub(crate) struct Responses {
    mtu: Bytes,
    /// An acknowledgment that takes longer has waited, if it may wait.
    waits: Span,
    got: HashMap<Connection, Got>,
    took: Vec<Span>,
    /// Of those to one segment that says PSH.
    took_to_read: Vec<Span>,
    handshakes: HashMap<Connection, Crossing>,
}

/// The way of a SYN and its answer through the network.
#[derive(Clone, Copy, Default)]
struct Crossing {
    /// When the last of them entered it.
    entered: Time,
    /// Time they were in it.
    took: Span,
    /// Times that one was seen, by each end.
    seen: u32,
}

impl Crossing {
    /// Neither was repeated or lost.
    fn is_plain(&self) -> bool {
        self.seen == 4
    }
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
    /// Of hosts with this MTU: what is longer are several segments. An acknowledgment that waits does so for more than `waits`.
    pub(crate) fn new(mtu: Bytes, waits: Span) -> Self {
        Self {
            mtu,
            waits,
            got: HashMap::new(),
            took: Vec::new(),
            took_to_read: Vec::new(),
            handshakes: HashMap::new(),
        }
    }

    /// A frame that a host received or sent.
    pub(crate) fn on_frame(&mut self, at: Time, received: bool, parts: &[&[u8]]) {
        let Some(segment) = frames::segment(parts) else { return };
        let connection = segment.connection;
        if let Some(opens) = segment.opens {
            let connection = if opens == Opens::Syn { connection } else { connection.back() };
            let crossing = self.handshakes.entry(connection).or_default();
            crossing.seen += 1;
            if received {
                crossing.took += at.saturating_since(crossing.entered);
            } else {
                crossing.entered = at;
            }
        }
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
            Got { is_one: true, is_pushed: true, .. } => self.took_to_read.push(took),
            Got { is_one: true, .. } if took > self.waits => {}
            _ => self.took.push(took),
        }
    }

    /// Times of the run in which these connections were opened.
    pub(crate) fn times(self, mut opened: Vec<Opened>) -> HostTimes {
        opened.retain(|one| self.handshakes.get(&one.connection).is_some_and(Crossing::is_plain));
        let beyond = |one: &Opened| one.took.saturating_sub(self.handshakes[&one.connection].took);
        let (opening, _) = middle_half(opened.iter().map(beyond).collect());
        let (response, spread) = middle_half(self.took);
        let reading =
            if self.took_to_read.len() < ENOUGH { Span::ZERO } else { middle_half(self.took_to_read).0 };
        HostTimes {
            response,
            spread,
            reading: reading.saturating_sub(response),
            // Both ends respond in it.
            opening: opening.saturating_sub(response * 2),
            start_every: start_every(&opened),
        }
    }
}

/// Times from one host to the next that begins a flow which is to start at the same moment, in order.
fn start_every(opened: &[Opened]) -> Vec<Span> {
    let mut first: BTreeMap<Time, HashMap<u32, Time>> = BTreeMap::new();
    for Opened { connection, due, at, took } in opened {
        let began = Time::ZERO + at.saturating_since(Time::ZERO + *took);
        let of_host = first.entry(*due).or_default().entry(connection.from).or_insert(began);
        *of_host = began.min(*of_host);
    }
    let mut every = Vec::new();
    for hosts in first.values() {
        let mut began: Vec<_> = hosts.values().collect();
        began.sort_unstable();
        every.extend(began.windows(2).map(|pair| pair[1].saturating_since(*pair[0])));
    }
    every.sort_unstable();
    every
}

/// The mean of the middle half of times, and twice its range.
fn middle_half(mut times: Vec<Span>) -> (Span, Span) {
    times.sort_unstable();
    let middle = &times[times.len() / 4..times.len() - times.len() / 4];
    let (Some(least), Some(most)) = (middle.first(), middle.last()) else { return (Span::ZERO, Span::ZERO) };
    (middle.iter().copied().sum::<Span>() / middle.len() as u64, most.saturating_sub(*least) * 2)
}

#[cfg(test)]
mod tests {
    use narrows_sim::HostId;

    use super::*;
    use crate::attached::Frame;
    use crate::frames::Ports;

    /// A segment at `at` us of the data of host 1 to host 0, received there, or an acknowledgment of it, sent there.
    fn segment(at: u64, payload: usize, is_pushed: bool) -> Frame {
        let is_data = payload > 0;
        let address = narrows::addresses::address_of(0);
        let (at, bytes) = (Time::ZERO + Span::from_us(at), vec![0; 54 + payload]);
        let mut frame = Frame { at, host: HostId(0), address, received: is_data, bytes };
        let (from, to) = if is_data { (1, 0) } else { (0, 1) };
        (frame.bytes[12], frame.bytes[14], frame.bytes[23]) = (8, 0x45, 6);
        frame.bytes[26..30].copy_from_slice(&narrows::addresses::address_of(from).octets());
        frame.bytes[30..34].copy_from_slice(&narrows::addresses::address_of(to).octets());
        frame.bytes[46] = 0x50;
        frame.bytes[47] = if is_pushed { 0x18 } else { 0x10 };
        frame
    }

    fn times(frames: impl IntoIterator<Item = Frame>) -> HostTimes {
        let mut responses = Responses::new(Bytes::new(1500), Span::from_ms(20));
        for Frame { at, received, bytes, .. } in frames {
            responses.on_frame(at, received, &[&bytes]);
        }
        responses.times(Vec::new())
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
    fn a_segment_alone_is_answered_at_once_or_waits_for_longer_than_responses_take() {
        let one = |at, took| [segment(at, 1448, false), segment(at + took, 0, false)];
        assert_eq!(times(one(0, 30)).response, Span::from_us(30));
        assert_eq!(times([one(0, 30), one(50_000, 44_000)].concat()).response, Span::from_us(30));
    }

    /// A connection of host `from`, begun at `began` us, of a flow that is due at `due`.
    fn opened(from: u32, due: u64, began: u64, took: u64) -> Opened {
        let connection = Connection { from, to: 0, ports: Ports::default() };
        let [due, at] = [due, began + took].map(|us| Time::ZERO + Span::from_us(us));
        Opened { connection, due, at, took: Span::from_us(took) }
    }

    #[test]
    fn hosts_start_one_after_the_other_what_is_due_at_one_moment() {
        let opened = [
            opened(1, 0, 20, 0),
            opened(3, 0, 60, 7),
            opened(2, 0, 50, 30),
            opened(2, 0, 95, 0),
            opened(1, 500, 500, 0),
            opened(3, 500, 540, 0),
            opened(2, 900, 910, 0),
        ];
        assert_eq!(start_every(&opened), [10, 30, 40].map(Span::from_us));
    }

    #[test]
    fn a_handshake_takes_longer_by_what_it_is_in_neither_the_network_nor_in_responses() {
        let mut responses = Responses::new(Bytes::new(1500), Span::from_ms(20));
        let mut see = |at, received, is_answer: bool| {
            let mut bytes = segment(0, usize::from(!is_answer), false).bytes;
            bytes.truncate(54);
            bytes[47] = if is_answer { 0x12 } else { 0x02 };
            responses.on_frame(Time::ZERO + Span::from_us(at), received, &[&bytes]);
        };
        see(0, false, false);
        see(100, true, false);
        see(130, false, true);
        see(230, true, true);
        assert_eq!(responses.times(vec![opened(1, 0, 0, 280)]).opening, Span::from_us(80));
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
