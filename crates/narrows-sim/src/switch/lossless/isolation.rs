//! Isolation of congested flows: Dynamic Virtual Lanes (Gonzalez-Naharro et al., NEAT 2019), basic and enhanced, and the form
//! that became IEEE 802.1Qcz.
//!
//! - A queue that reaches a threshold names flows as congested. Their packets join a queue of their own, one for each port.
//! - If that grows, what comes in over a link is counted as the congested queue of that link.
//! - If that grows, the neighbour is told the flow and isolates it too, and the class of isolated flows is stopped there, not the
//!   others.
//! - [Markings](super::markings) keep packets in order.
//!
//! Differs from the slides: packets are stored once, so the congested queue at the side of the input is a count of what came
//! over its link, and not a place where packets wait a second time.

use narrows_proto::units::{Bytes, Span, Time};

use super::super::pause::{InputLink, smallest_frame};
use super::markings::{Markings, Side};
use crate::ids::FlowId;
use crate::packet::{Packet, Parcel};
use crate::record::PortCounters;
use crate::ring::Ring;

/// How a switch isolates congested flows. Needs [`Pfc`](super::Pfc) for the priority it watches.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Isolation {
    /// The rules in force.
    #[serde(default)]
    pub scheme: Scheme,
    /// The priority whose queues are watched.
    #[serde(default)]
    pub priority: u8,
    /// A queue that holds this much is congested, and the packets that come then are those of congested flows.
    #[serde(default = "twenty_kb")]
    pub detect: Bytes,
    /// A congested queue that holds more than this has one at the links that feed it.
    #[serde(default = "twenty_kb")]
    pub propagate_egress: Bytes,
    /// With more than this of isolated flows from a link, the neighbour there is told.
    #[serde(default = "twenty_kb")]
    pub propagate_ingress: Bytes,
    /// With more than this from a link that came isolated, the class of isolated flows is stopped there. What the neighbour
    /// does not isolate, for want of room in its table, no such stop would hold back.
    #[serde(default = "sixty_kb")]
    pub stop: Bytes,
    /// It may go on with no more than this. With enhanced DVL more than `detect`, or else the queue is given up each time its
    /// class is stopped.
    #[serde(default = "forty_kb")]
    pub go: Bytes,
    /// Flows a port can isolate at once. Others stay where they are, and PFC does what it does without isolation.
    #[serde(default = "sixty_four")]
    pub table: u32,
    /// The part of the link that isolated flows get beside the others; those have the rest. One half means in turn.
    #[serde(default = "tenth")]
    pub share: f64,
    /// A queue that a neighbour has stopped names no flows: those who wait there may be victims.
    #[serde(default)]
    pub spare_stopped: bool,
    /// When a stop of isolated flows stops the other queue of the port too.
    #[serde(default)]
    pub joint_stop: Option<JointStop>,
    /// How often a neighbour is told the same flow before its packets come isolated.
    #[serde(default = "three")]
    pub messages: u8,
    /// Size of these messages on the wire, framing included.
    #[serde(default = "smallest_frame")]
    pub message_size: Bytes,
    /// How long a flow that a neighbour has named stays isolated after its queue has become empty, with `scheme = "qcz"`.
    #[serde(default = "a_second")]
    pub flow_life: Span,
    /// Network cards are told too: each destination has a queue of its own there, and those that were named can be stopped
    /// alone.
    #[serde(default = "yes")]
    pub hosts: bool,
    /// How long a flow that a neighbour has named stays isolated where that turns out not to be needed: at ports of enhanced DVL
    /// that are not congested, and in network cards since the class of isolated flows was last stopped.
    #[serde(default = "hundred_us")]
    pub idle_life: Span,
}

/// Rules of isolation.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Basic DVL: a congested queue goes when it is empty and no neighbour downstream has one for its flows. The neighbours
    /// upstream are told then.
    Dvl,
    /// Enhanced DVL: each switch decides for itself. A congested queue goes when both queues of the port together hold less than
    /// what makes a queue congested.
    #[default]
    Edvl,
    /// IEEE 802.1Qcz: neighbours are told of each flow at once; a queue goes when it is empty and what neighbours have named
    /// has aged.
    Qcz,
}

/// When a stop of isolated flows stops the other queue of the port too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JointStop {
    /// Never. Basic DVL and 802.1Qcz.
    Never,
    /// While flows move back.
    WhileClosing,
    /// While any pair of markings is under way. Enhanced DVL.
    WithMarkings,
}

fn forty_kb() -> Bytes {
    Bytes::new(40_000)
}

fn sixty_kb() -> Bytes {
    Bytes::new(60_000)
}

fn twenty_kb() -> Bytes {
    Bytes::new(20_000)
}

fn sixty_four() -> u32 {
    64
}

fn tenth() -> f64 {
    0.1
}

fn three() -> u8 {
    3
}

fn a_second() -> Span {
    Span::from_secs(1)
}

fn yes() -> bool {
    true
}

fn hundred_us() -> Span {
    Span::from_us(100)
}

impl Default for Isolation {
    fn default() -> Self {
        Self {
            scheme: Scheme::default(),
            priority: 0,
            detect: twenty_kb(),
            propagate_egress: twenty_kb(),
            propagate_ingress: twenty_kb(),
            stop: sixty_kb(),
            go: forty_kb(),
            table: sixty_four(),
            share: tenth(),
            spare_stopped: false,
            joint_stop: None,
            messages: three(),
            message_size: smallest_frame(),
            flow_life: a_second(),
            hosts: true,
            idle_life: hundred_us(),
        }
    }
}

impl Isolation {
    /// When a stop of isolated flows stops the other queue of the port too.
    pub fn joint_stop(&self) -> JointStop {
        self.joint_stop.unwrap_or(match self.scheme {
            Scheme::Edvl => JointStop::WithMarkings,
            Scheme::Dvl | Scheme::Qcz => JointStop::Never,
        })
    }
}

/// What happened to a congested queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationEvent {
    /// A port has one now.
    Allocated,
    /// It has none any more.
    Freed,
    /// One more flow joins it.
    Flow(FlowId),
    /// A link that leads to the switch has one now.
    AllocatedAtInput,
    /// It has none any more.
    FreedAtInput,
    /// The neighbour at the other end of a link was told a flow.
    Told(FlowId),
}

/// Who is congested: flow and destination, so that acknowledgements are not their data.
pub(super) fn key(packet: Packet) -> u64 {
    u64::from(packet.flow().0) | u64::from(packet.to().0) << 32
}

/// Flows that are isolated at a port.
#[derive(Debug, Default)]
struct Table {
    keys: Vec<u64>,
    entries: Vec<Entry>,
}

/// A flow that is isolated at a port.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// A neighbour downstream has named it, and has not taken that back.
    downstream: bool,
    /// How often the neighbour it comes from was told, since it last came isolated.
    told: u8,
    /// When it was told last.
    told_at: Time,
    /// The link it comes over, once it was told.
    from: u32,
}

/// The congested queue of a port, which exists while flows are in its table.
#[derive(Debug, Default)]
pub(super) struct Lane {
    queue: Ring<Packet>,
    pub(super) backlog: u64,
    pub(super) markings: Markings,
    table: Table,
    /// Bytes that isolated flows may send before the others.
    credit: f64,
    /// It will be looked whether the queue is still needed.
    pub(super) look_planned: bool,
    /// The port has been congested since the queue was allocated.
    was_congested: bool,
    /// When the queue was last empty and became so, for the life of its flows.
    empty_since: Time,
    pub(super) counters: LaneCounters,
}

/// What happened at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LaneCounters {
    pub(super) allocated: u64,
    pub(super) freed: u64,
    pub(super) flows: u64,
    pub(super) refused: u64,
    pub(super) max_backlog: u64,
}

/// What came in over one link for congested queues.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Input {
    allocated: bool,
    stored: u64,
    /// The part of `stored` that came isolated, so that a stop of that class stops more of it.
    isolated: u64,
    full: bool,
    /// What is at its other end takes messages.
    listens: bool,
}

/// The isolation of one switch.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) config: Isolation,
    pub(super) joint_stop: JointStop,
    lanes: Vec<Lane>,
    inputs: Vec<Input>,
    /// Bytes of credit for each byte that others send.
    earned: f64,
    largest: f64,
}

/// A message to the neighbour at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tell {
    pub(super) from: u32,
    pub(super) key: u64,
    /// The flow is not congested any more.
    pub(super) over: bool,
}

/// What a packet that was stored has brought about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stored {
    /// It was counted at its link.
    pub(super) counted: bool,
    pub(super) input_allocated: bool,
    /// The class of isolated flows is to be stopped at the link it came over.
    pub(super) stop: bool,
    pub(super) tell: Option<Tell>,
}

/// What became of a congested queue when a packet left its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    /// It is gone.
    Freed,
}

/// A link between two switches takes this long at least; a neighbour is not told again sooner.
const TELL_AGAIN_AFTER: Span = Span::from_us(10);

impl Stage {
    pub(super) fn new(config: &Isolation, ports: usize, links: &[InputLink], largest: Bytes) -> Self {
        let input = |link: &InputLink| Input { listens: config.hosts || !link.from_host, ..Input::default() };
        Self {
            joint_stop: config.joint_stop(),
            earned: config.share / (1.0 - config.share).max(1e-9),
            config: config.clone(),
            lanes: (0..ports).map(|_| Lane::default()).collect(),
            inputs: links.iter().map(input).collect(),
            largest: largest.as_f64(),
        }
    }

    #[inline]
    pub(super) fn lane(&self, port: usize) -> &Lane {
        &self.lanes[port]
    }

    /// A flow of a port is isolated.
    pub(super) fn is_allocated(&self, port: usize) -> bool {
        !self.lanes[port].table.keys.is_empty()
    }

    #[inline]
    pub(super) fn lane_mut(&mut self, port: usize) -> &mut Lane {
        &mut self.lanes[port]
    }

    /// The queue that a packet joins.
    #[inline]
    pub(super) fn side(&self, port: usize, packet: Packet) -> Side {
        let lane = &self.lanes[port];
        if lane.table.keys.is_empty() || packet.priority() != self.config.priority {
            return Side::Normal;
        }
        if lane.table.keys.contains(&key(packet)) { Side::Congested } else { Side::Normal }
    }

    /// Names a flow as congested. Returns whether the port got its congested queue with that, or nothing if the flow cannot
    /// be isolated now, or is so already.
    pub(super) fn isolate(&mut self, port: usize, key: u64, downstream: bool) -> Option<bool> {
        let lane = &mut self.lanes[port];
        if lane.markings.is_closing() {
            return None;
        }
        if let Some(place) = lane.table.keys.iter().position(|known| *known == key) {
            lane.table.entries[place].downstream |= downstream;
            return None;
        }
        if lane.table.keys.len() >= self.config.table as usize {
            lane.counters.refused += 1;
            return None;
        }
        let first = lane.table.keys.is_empty();
        let entry = Entry { downstream, told: 0, told_at: Time::ZERO, from: u32::MAX };
        lane.table.keys.push(key);
        lane.table.entries.push(entry);
        lane.markings.open();
        lane.was_congested |= !downstream;
        lane.counters.allocated += u64::from(first);
        lane.counters.flows += 1;
        Some(first)
    }

    /// A neighbour downstream takes back what it named.
    pub(super) fn take_back(&mut self, port: usize, key: u64) {
        let table = &mut self.lanes[port].table;
        if let Some(place) = table.keys.iter().position(|known| *known == key) {
            table.entries[place].downstream = false;
        }
    }

    /// A packet of an isolated flow is to wait at `port`. It came over link number `from`, `isolated` there or not.
    pub(super) fn store(
        &mut self,
        now: Time,
        port: usize,
        packet: Packet,
        from: u32,
        isolated: bool,
    ) -> Stored {
        let lane = &mut self.lanes[port];
        let size = u64::from(packet.size());
        lane.counters.max_backlog = lane.counters.max_backlog.max(lane.backlog + size);
        let mut stored = Stored::default();
        let Some(input) = self.inputs.get_mut(from as usize) else { return stored };
        if !input.allocated && lane.backlog + size > self.config.propagate_egress.get() {
            input.allocated = true;
            stored.input_allocated = true;
        }
        if input.allocated {
            input.stored += size;
            input.isolated += if isolated { size } else { 0 };
            stored.counted = true;
            if !input.full && input.isolated > self.config.stop.get() {
                input.full = true;
                stored.stop = true;
            }
        }
        let grown = input.listens
            && (self.config.scheme == Scheme::Qcz || input.stored > self.config.propagate_ingress.get());
        let table = &mut lane.table;
        if (grown || isolated)
            && let Some(place) = table.keys.iter().position(|known| *known == key(packet))
        {
            let entry = &mut table.entries[place];
            if isolated {
                entry.told = 0;
            } else if entry.told < self.config.messages
                && (entry.told == 0 || now >= entry.told_at + TELL_AGAIN_AFTER)
            {
                (entry.told, entry.told_at, entry.from) = (entry.told + 1, now, from);
                stored.tell = Some(Tell { from, key: key(packet), over: false });
            }
        }
        stored
    }

    /// A packet that was counted at link number `from` waits no longer. Returns whether isolated flows may go on there, and
    /// whether the link's congested queue is gone.
    pub(super) fn release_input(&mut self, from: u32, size: u64, isolated: bool) -> (bool, bool) {
        let input = &mut self.inputs[from as usize];
        input.stored -= size;
        input.isolated -= if isolated { size } else { 0 };
        let go = input.full && input.isolated <= self.config.go.get();
        input.full &= !go;
        let freed = input.stored == 0;
        input.allocated &= !freed;
        (go, freed)
    }

    /// Whether the two queues of a port are too empty for isolation now. `normal` is what waits in the normal queue, `stopped`
    /// says whether isolated flows are stopped by the neighbour downstream.
    pub(super) fn is_over(&mut self, now: Time, port: usize, normal: u64, stopped: bool) -> bool {
        let lane = &mut self.lanes[port];
        if lane.table.keys.is_empty() || lane.markings.is_active() {
            return false;
        }
        let detect = self.config.detect.get();
        match self.config.scheme {
            // One that a neighbour has asked for may be far below from the beginning: it has to have been above.
            Scheme::Edvl => {
                let congested = lane.backlog + normal >= detect;
                lane.was_congested |= congested;
                !congested && !stopped && lane.was_congested
            }
            Scheme::Dvl => lane.backlog == 0 && normal < detect && !lane.has_downstream(),
            Scheme::Qcz => {
                let aged = now.saturating_since(lane.empty_since) >= self.config.flow_life;
                lane.backlog == 0 && normal < detect && (aged || !lane.has_downstream())
            }
        }
    }

    /// Whether a port that has not been congested since a neighbour named a flow may go without its queue: the flow does not
    /// need it.
    pub(super) fn is_idle(&self, port: usize, stopped: bool) -> bool {
        let lane = &self.lanes[port];
        let enhanced = self.config.scheme == Scheme::Edvl;
        enhanced && !lane.was_congested && !stopped && lane.backlog == 0 && !lane.markings.is_active()
    }

    /// When to look again whether a port still needs its queue, which has one because of a neighbour (`downstream`) or by itself.
    pub(super) fn look_after(&self, downstream: bool) -> Option<Span> {
        match self.config.scheme {
            Scheme::Dvl => None,
            Scheme::Edvl => downstream.then_some(self.config.idle_life),
            Scheme::Qcz => Some(self.config.flow_life),
        }
    }

    /// Lets all flows of a port go back to the normal queue. Calls `tell` for those whose neighbours are to be told.
    pub(super) fn close(&mut self, port: usize, mut tell: impl FnMut(Tell)) -> Left {
        let lane = &mut self.lanes[port];
        if self.config.scheme == Scheme::Dvl {
            for (key, entry) in lane.table.keys.iter().zip(&lane.table.entries) {
                if entry.from != u32::MAX {
                    tell(Tell { from: entry.from, key: *key, over: true });
                }
            }
        }
        lane.table.keys.clear();
        lane.table.entries.clear();
        if lane.markings.close() { lane.free() } else { Left::Nothing }
    }

    /// Others than isolated flows have sent `size` bytes.
    #[inline]
    pub(super) fn earn(&mut self, port: usize, size: u64) {
        let lane = &mut self.lanes[port];
        lane.credit = (lane.credit + size as f64 * self.earned).min(self.largest);
    }

    /// Isolated flows may send before the others of their priority.
    #[inline]
    pub(super) fn has_credit(&self, port: usize) -> bool {
        let lane = &self.lanes[port];
        lane.queue.front().is_some_and(|packet| lane.credit >= f64::from(packet.size()))
    }
}

impl Lane {
    fn has_downstream(&self) -> bool {
        self.table.entries.iter().any(|entry| entry.downstream)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn push(&mut self, parcel: Parcel<'_>) {
        self.queue.push_with(parcel);
        self.backlog += u64::from(parcel.packet.size());
        self.markings.join(Side::Congested);
    }

    /// The next isolated packet, which must exist. `paid` says whether others of its priority wait.
    pub(super) fn pop(
        &mut self,
        now: Time,
        paid: bool,
        trailers: &mut crate::packet::Trailers,
    ) -> (Packet, Left) {
        let packet = self.queue.pop(trailers);
        let size = u64::from(packet.size());
        self.backlog -= size;
        if paid {
            self.credit -= size as f64;
        }
        if self.backlog == 0 {
            self.empty_since = now;
        }
        let freed = self.markings.leave(Side::Congested);
        (packet, if freed { self.free() } else { Left::Nothing })
    }

    /// A packet left the normal queue.
    pub(super) fn leave_normal(&mut self) -> Left {
        if self.markings.leave(Side::Normal) { self.free() } else { Left::Nothing }
    }

    /// Adds what happened to the counters of its port.
    pub(super) fn report(&self, counters: &mut PortCounters) {
        let LaneCounters { allocated, freed, flows, refused, max_backlog } = self.counters;
        (counters.isolations, counters.isolations_ended) = (allocated, freed);
        (counters.isolated_flows, counters.isolation_refused) = (flows, refused);
        counters.max_isolated = max_backlog;
    }

    fn free(&mut self) -> Left {
        self.counters.freed += 1;
        self.credit = 0.0;
        self.was_congested = false;
        Left::Freed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_proto::units::BitRate;

    use crate::ids::{HostId, LinkId};
    use crate::packet::{Fields, Kind, Trailers};

    fn packet(flow: u32) -> Packet {
        let (flow, to, kind) = (FlowId(flow), HostId(7), Kind::Data);
        Packet::new(Fields {
            seq: 0,
            flow,
            to,
            size: 1000,
            turn: 0,
            kind,
            priority: 0,
            flags: 0,
            trailers: 0,
        })
    }

    fn stage(config: &Isolation) -> Stage {
        let link = |link| InputLink {
            link: LinkId(link),
            back: link as usize,
            rate: BitRate::from_gbps(40),
            headroom: Bytes::new(10_000),
            from_host: false,
        };
        Stage::new(config, 2, &[link(0), link(1)], Bytes::new(1000))
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_full_table_leaves_flows_where_they_are_and_counts_them() {
        let mut stage = stage(&Isolation { table: 2, ..Isolation::default() });
        assert_eq!(stage.isolate(0, key(packet(1)), false), Some(true));
        assert_eq!(stage.isolate(0, key(packet(2)), false), Some(false));
        assert_eq!(stage.isolate(0, key(packet(2)), false), None, "known");
        assert_eq!(stage.lane(0).counters.refused, 0);
        assert_eq!(stage.isolate(0, key(packet(3)), false), None);
        assert_eq!(stage.lane(0).counters.refused, 1);
        assert_eq!(stage.side(0, packet(3)), Side::Normal);
        assert_eq!(stage.side(0, packet(2)), Side::Congested);
        assert_eq!(stage.side(1, packet(2)), Side::Normal, "at this port only");
    }

    #[test]
    fn the_neighbour_is_told_when_the_queue_of_the_link_has_grown_and_stopped_when_it_is_full() {
        let mut stage = stage(&Isolation::default());
        stage.isolate(0, key(packet(1)), false);
        let mut events = Vec::new();
        for number in 1..=130 {
            // The neighbour has listened by the fiftieth.
            let stored = stage.store(at(0), 0, packet(1), 1, number > 50);
            stage.lane_mut(0).push(Parcel::bare(packet(1)));
            let told = stored.tell.is_some();
            if stored.input_allocated || told || stored.stop {
                events.push((number, stored.input_allocated, told, stored.stop));
            }
        }
        // 20 kB at the port, then 20 kB of the link, then 60 kB that came isolated.
        assert_eq!(events, [(21, true, false, false), (41, false, true, false), (111, false, false, true)]);
    }

    #[test]
    fn a_neighbour_is_told_three_times_and_again_once_it_has_listened() {
        let mut stage = stage(&Isolation { scheme: Scheme::Qcz, ..Isolation::default() });
        stage.isolate(0, key(packet(1)), false);
        let mut told = |us, isolated| stage.store(at(us), 0, packet(1), 1, isolated).tell.is_some();
        assert_eq!(
            [told(0, false), told(1, false), told(10, false), told(20, false)],
            [true, false, true, true]
        );
        assert!(!told(100, false), "enough");
        assert!(!told(200, true));
        assert!(told(201, false));
    }

    #[test]
    fn each_scheme_ends_isolation_in_its_own_way() {
        let over = |scheme, downstream, backlog, normal, us| {
            let mut stage = stage(&Isolation { scheme, detect: Bytes::new(40_000), ..Isolation::default() });
            stage.isolate(0, key(packet(1)), downstream);
            stage.lane_mut(0).was_congested = true;
            stage.lane_mut(0).backlog = backlog;
            stage.is_over(at(us), 0, normal, false)
        };
        assert!(over(Scheme::Edvl, true, 20_000, 19_999, 0), "both queues together");
        assert!(!over(Scheme::Edvl, false, 20_000, 20_000, 0));
        assert!(over(Scheme::Dvl, false, 0, 39_999, 0));
        assert!(!over(Scheme::Dvl, false, 1_000, 0, 0));
        assert!(!over(Scheme::Dvl, true, 0, 0, 0), "the neighbour downstream still isolates it");
        assert!(!over(Scheme::Qcz, true, 0, 0, 999_999));
        assert!(over(Scheme::Qcz, true, 0, 0, 1_000_000), "aged");
    }

    #[test]
    fn a_queue_that_is_stopped_or_that_a_neighbour_has_just_asked_for_does_not_go() {
        let mut stage = stage(&Isolation::default());
        stage.isolate(0, key(packet(1)), false);
        assert!(!stage.is_over(at(0), 0, 0, true));
        assert!(stage.is_over(at(0), 0, 0, false));
        stage.isolate(1, key(packet(1)), true);
        assert!(!stage.is_over(at(0), 1, 0, false), "it was never congested");
        assert!(stage.is_idle(1, false) && !stage.is_idle(1, true));
        assert!(!stage.is_over(at(0), 1, 20_000, false));
        assert!(stage.is_over(at(0), 1, 19_999, false));
    }

    #[test]
    fn neighbours_that_were_told_are_told_the_end_by_basic_dvl() {
        for (scheme, expected) in [(Scheme::Dvl, 1), (Scheme::Edvl, 0)] {
            let config = Isolation {
                scheme,
                propagate_ingress: Bytes::ZERO,
                propagate_egress: Bytes::ZERO,
                ..Isolation::default()
            };
            let mut stage = stage(&config);
            stage.isolate(0, key(packet(1)), false);
            stage.isolate(0, key(packet(2)), false);
            assert!(stage.store(at(0), 0, packet(1), 1, false).tell.is_some());
            let mut told = Vec::new();
            assert_eq!(stage.close(0, |tell| told.push(tell)), Left::Freed);
            assert_eq!(told.len(), expected);
            assert!(told.iter().all(|tell| *tell == Tell { from: 1, key: key(packet(1)), over: true }));
        }
    }

    #[test]
    fn isolated_flows_get_their_share() {
        let mut stage = stage(&Isolation { share: 0.2, ..Isolation::default() });
        stage.isolate(0, key(packet(1)), false);
        let mut isolated = 0;
        for _ in 0..1000 {
            while stage.lane(0).is_empty() {
                stage.lane_mut(0).push(Parcel::bare(packet(1)));
            }
            if stage.has_credit(0) {
                stage.lane_mut(0).pop(at(0), true, &mut Trailers::default());
                isolated += 1;
            } else {
                stage.earn(0, 1000);
            }
        }
        assert_eq!(isolated, 200);
    }
}
