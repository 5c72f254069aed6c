//! Watching a run without changing it.
//!
//! An [`Observer`] is called at what happens; the default methods are empty and vanish when compiled, so what is not
//! watched costs nothing. Each thread has an observer of its own that sees the nodes of that thread; calls for one link
//! or flow come in the order of time.

mod isolation;
mod limiters;
mod live;
mod packets;
mod ports;
mod racks;
mod windows;

use narrows_proto::cc::Limit;
use narrows_proto::notification::Signal;
use narrows_proto::rack::Told;
use narrows_proto::stream::{Repairing, Stats};
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_proto::{rdma, stream};

use crate::ids::{FlowId, LinkId, NodeId};
use crate::record::{DatagramRecord, DropCause, FlowRecord, PortCounters};
use crate::switch::IsolationEvent;

pub use isolation::{IsolationObserver, IsolationRow, RowLimit};
pub use limiters::{LimiterObserver, LimiterRow};
pub use live::{Counts, Durations, GroupLook, LinkLook, Live, LiveObserver, Look, SenderCounts};
pub use packets::{PacketKind, PacketRef, StopFrame};
pub use ports::{PortObserver, PortRow};
pub use racks::{AdvertisedRow, JumboFlowRow, RackObserver};
pub use windows::{WindowObserver, WindowRow};

/// A sender of any transport.
#[derive(Clone, Copy, Debug)]
pub enum SenderRef<'a> {
    /// Of a stream.
    Stream(&'a stream::Sender),
    /// Over RDMA.
    Rdma(&'a rdma::Sender),
}

impl SenderRef<'_> {
    /// The window and pacing rate in force.
    pub fn limit(self) -> Limit {
        match self {
            Self::Stream(sender) => sender.limit(),
            Self::Rdma(sender) => sender.limit(),
        }
    }

    /// Payload on its way.
    pub fn inflight(self) -> Bytes {
        match self {
            Self::Stream(sender) => sender.inflight(),
            Self::Rdma(sender) => sender.inflight(),
        }
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub fn srtt(self) -> Span {
        match self {
            Self::Stream(sender) => sender.srtt(),
            Self::Rdma(sender) => sender.srtt(),
        }
    }

    /// Smallest round-trip time, and mean deviation (RFC 6298); none before the first sample.
    pub fn rtt_range(self) -> Option<(Span, Span)> {
        match self {
            Self::Stream(sender) => sender.rtt_range(),
            Self::Rdma(sender) => sender.rtt_range(),
        }
    }

    /// What it repairs.
    pub fn repairing(self) -> Repairing {
        match self {
            Self::Stream(sender) => sender.repairing(),
            Self::Rdma(sender) => sender.repairing(),
        }
    }

    /// What its congestion control keeps besides the limit ([`Controller::inside`](narrows_proto::cc::Controller::inside)).
    pub fn inside(self, tell: &mut dyn FnMut(&'static str, f64)) {
        match self {
            Self::Stream(sender) => sender.inside(tell),
            Self::Rdma(sender) => sender.inside(tell),
        }
    }

    /// Payload delivered, in or out of order.
    pub fn delivered(self) -> Bytes {
        match self {
            Self::Stream(sender) => sender.delivered(),
            Self::Rdma(sender) => sender.delivered(),
        }
    }

    /// What happened so far.
    pub fn stats(self) -> Stats {
        match self {
            Self::Stream(sender) => sender.stats(),
            Self::Rdma(sender) => sender.stats(),
        }
    }
}

/// One thing of many that an observer is shown when it asks for a review.
#[derive(Clone, Copy, Debug)]
pub enum Reviewed<'a> {
    /// A review begins.
    Begin,
    /// What was counted so far at the port of a link and on that link. One link may come twice, from both its ends; then
    /// both together are meant.
    Port(LinkId, &'a PortCounters),
    /// Packets that had nowhere to go.
    NoRoute(&'a PortCounters),
    /// A flow whose sender does not know yet that it is complete.
    Flow(&'a FlowRecord),
    /// A source of datagrams, or a sink: each tells its half.
    Datagrams(&'a DatagramRecord),
}

/// Hears of what happens. Compose observers in tuples.
pub trait Observer: Send {
    /// False only if no method does anything; then what would be told is not even looked up.
    const ACTIVE: bool = true;

    /// At `at`, `backlog` bytes wait at the port of `link`.
    #[inline]
    fn backlog(&mut self, at: Time, link: LinkId, backlog: u64) {
        let _ = (at, link, backlog);
    }

    /// At `at`, a packet of `size` bytes begins to be sent over `link`.
    #[inline]
    fn sent(&mut self, at: Time, link: LinkId, size: u16) {
        let _ = (at, link, size);
    }

    /// At `at`, a packet at the port of `link` was marked.
    #[inline]
    fn marked(&mut self, at: Time, link: LinkId) {
        let _ = (at, link);
    }

    /// At `at`, a packet of `size` bytes was dropped at the port of `link`.
    #[inline]
    fn dropped(&mut self, at: Time, link: LinkId, size: u16, cause: DropCause) {
        let _ = (at, link, size, cause);
    }

    /// A packet of `size` bytes that would have arrived over `link` at `at` was lost on the way. The node at the far end
    /// tells this; the order of time holds only among these calls.
    #[inline]
    fn lost(&mut self, at: Time, link: LinkId, size: u16, cause: DropCause) {
        let _ = (at, link, size, cause);
    }

    /// At `at`, a congestion point at the port of `link` has told a source something.
    #[inline]
    fn notified(&mut self, at: Time, link: LinkId, signal: Signal) {
        let _ = (at, link, signal);
    }

    /// At `at`, the host of `flow` has heard of it from a congestion point; its limiter or near-source loop takes it in.
    #[inline]
    fn told(&mut self, at: Time, flow: FlowId, signal: Signal) {
        let _ = (at, flow, signal);
    }

    /// At `at`, the node at the far end of `link` has paused it until `until`, or no longer.
    #[inline]
    fn paused(&mut self, at: Time, link: LinkId, until: Time) {
        let _ = (at, link, until);
    }

    /// At `at`, `backlog` of the bytes that wait at the port of `link` are those of isolated flows.
    #[inline]
    fn isolated_backlog(&mut self, at: Time, link: LinkId, backlog: u64) {
        let _ = (at, link, backlog);
    }

    /// At `at`, something happened to the queue for isolated flows of the port of `link`, or to that of `link` at the switch it
    /// leads to.
    #[inline]
    fn isolation(&mut self, at: Time, link: LinkId, event: IsolationEvent) {
        let _ = (at, link, event);
    }

    /// At `at`, limiter number `limiter` of `node` sends at `rate`, and `waiting` bytes wait in it.
    #[inline]
    fn limiter(&mut self, at: Time, node: NodeId, limiter: u32, rate: BitRate, waiting: u64) {
        let _ = (at, node, limiter, rate, waiting);
    }

    /// At `at`, the switch `node` has told its hosts of JumboFlow number `number` to the rack of switch number `rack` among those
    /// with hosts.
    #[inline]
    fn jumboflow(&mut self, at: Time, node: NodeId, rack: u32, number: u32, told: &Told) {
        let _ = (at, node, rack, number, told);
    }

    /// At `at`, the host `node` has advertised a rate, knowing that `queue` bytes had waited for it.
    #[inline]
    fn advertised(&mut self, at: Time, node: NodeId, rate: BitRate, queue: u64) {
        let _ = (at, node, rate, queue);
    }

    /// At `at`, the sender of `flow` has taken in an acknowledgement, a notification packet or a timer.
    #[inline]
    fn window(&mut self, at: Time, flow: FlowId, sender: SenderRef<'_>) {
        let _ = (at, flow, sender);
    }

    /// At `at`, `packet` has joined the port of `link` at a switch, where `backlog` bytes waited that go before it. If it was
    /// marked there, [`marked`](Self::marked) was called just before.
    #[inline]
    fn queued(&mut self, at: Time, link: LinkId, packet: PacketRef<'_>, backlog: u64) {
        let _ = (at, link, packet, backlog);
    }

    /// At `at`, `packet` begins to be sent over `link`. Plain ports tell it when the packet joins them, so `at` may lie ahead, even
    /// beyond the end of the run.
    #[inline]
    fn departs(&mut self, at: Time, link: LinkId, packet: PacketRef<'_>) {
        let _ = (at, link, packet);
    }

    /// `packet` was dropped at `at` at the port of `link`, or lost on the way over it when it would have arrived; then the
    /// node at the far end tells this, and the order of time holds only among such calls.
    #[inline]
    fn discarded(&mut self, at: Time, link: LinkId, packet: PacketRef<'_>, cause: DropCause) {
        let _ = (at, link, packet, cause);
    }

    /// At `at`, `flow` has started, or a client its next one.
    #[inline]
    fn started(&mut self, at: Time, flow: FlowId) {
        let _ = (at, flow);
    }

    /// At `at`, the receiver of `flow` had all of it.
    #[inline]
    fn completed(&mut self, at: Time, flow: FlowId) {
        let _ = (at, flow);
    }

    /// At `at`, the sender of a flow has heard that it is complete. `record` has no end; the receiver knows that.
    #[inline]
    fn closed(&mut self, at: Time, record: &FlowRecord) {
        let _ = (at, record);
    }

    /// Asked at the end of each window: whether to go through all ports and flows of this thread with
    /// [`review`](Self::review), then call [`reviewed`](Self::reviewed). Every run ends with a review.
    #[inline]
    fn wants_review(&mut self) -> bool {
        false
    }

    /// See [`wants_review`](Self::wants_review).
    #[inline]
    fn review(&mut self, what: Reviewed<'_>) {
        let _ = what;
    }

    /// The review is over. All that happened before `until` has been told, departures from ports included.
    #[inline]
    fn reviewed(&mut self, until: Time) {
        let _ = until;
    }

    /// A window is over: nothing more happens before `until`. The run waits as long as this takes.
    #[inline]
    fn window_over(&mut self, until: Time) {
        let _ = until;
    }
}

/// An observer of the moments between two windows, when nothing happens.
pub trait BetweenWindows: std::fmt::Debug + Send {
    /// Observers beside this one are asked whether they want a review.
    fn before_review(&mut self);

    /// A window is over: nothing more happens before `until`. The run waits as long as this takes.
    fn window_over(&mut self, until: Time);
}

impl Observer for Box<dyn BetweenWindows> {
    #[inline]
    fn wants_review(&mut self) -> bool {
        self.before_review();
        false
    }

    #[inline]
    fn window_over(&mut self, until: Time) {
        self.as_mut().window_over(until);
    }
}

/// The observers of everything that may be recorded: queues and links, windows, limiters, isolation, racks; and those of a run that
/// is watched while it goes on.
pub type Recorders = (
    ((Option<PortObserver>, Option<PortObserver>), (Option<WindowObserver>, OfMechanisms)),
    Option<(Box<dyn BetweenWindows>, LiveObserver)>,
);

/// The observers of what only some networks have.
type OfMechanisms = (Option<LimiterObserver>, (Option<IsolationObserver>, Option<RackObserver>));

/// The rows of several observers in one list, without a second copy of them if there is one.
fn gather<R>(parts: impl IntoIterator<Item = Vec<R>>) -> Vec<R> {
    let mut parts: Vec<_> = parts.into_iter().collect();
    if parts.len() == 1 {
        return parts.pop().unwrap_or_default();
    }
    let mut rows = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|mut part| rows.append(&mut part));
    rows
}

/// When the interval after that of `at` begins.
fn next_interval(at: Time, interval: Span) -> Time {
    Time::from_ps((at.as_ps() / interval.as_ps() + 1) * interval.as_ps())
}

impl Observer for () {
    const ACTIVE: bool = false;
}

/// Watches if there is something to watch.
impl<A: Observer> Observer for Option<A> {
    #[inline]
    fn backlog(&mut self, at: Time, link: LinkId, backlog: u64) {
        if let Some(observer) = self {
            observer.backlog(at, link, backlog);
        }
    }

    #[inline]
    fn sent(&mut self, at: Time, link: LinkId, size: u16) {
        if let Some(observer) = self {
            observer.sent(at, link, size);
        }
    }

    #[inline]
    fn marked(&mut self, at: Time, link: LinkId) {
        if let Some(observer) = self {
            observer.marked(at, link);
        }
    }

    #[inline]
    fn dropped(&mut self, at: Time, link: LinkId, size: u16, cause: DropCause) {
        if let Some(observer) = self {
            observer.dropped(at, link, size, cause);
        }
    }

    #[inline]
    fn lost(&mut self, at: Time, link: LinkId, size: u16, cause: DropCause) {
        if let Some(observer) = self {
            observer.lost(at, link, size, cause);
        }
    }

    #[inline]
    fn notified(&mut self, at: Time, link: LinkId, signal: Signal) {
        if let Some(observer) = self {
            observer.notified(at, link, signal);
        }
    }

    #[inline]
    fn told(&mut self, at: Time, flow: FlowId, signal: Signal) {
        if let Some(observer) = self {
            observer.told(at, flow, signal);
        }
    }

    #[inline]
    fn paused(&mut self, at: Time, link: LinkId, until: Time) {
        if let Some(observer) = self {
            observer.paused(at, link, until);
        }
    }

    #[inline]
    fn isolated_backlog(&mut self, at: Time, link: LinkId, backlog: u64) {
        if let Some(observer) = self {
            observer.isolated_backlog(at, link, backlog);
        }
    }

    #[inline]
    fn isolation(&mut self, at: Time, link: LinkId, event: IsolationEvent) {
        if let Some(observer) = self {
            observer.isolation(at, link, event);
        }
    }

    #[inline]
    fn limiter(&mut self, at: Time, node: NodeId, limiter: u32, rate: BitRate, waiting: u64) {
        if let Some(observer) = self {
            observer.limiter(at, node, limiter, rate, waiting);
        }
    }

    #[inline]
    fn jumboflow(&mut self, at: Time, node: NodeId, rack: u32, number: u32, told: &Told) {
        if let Some(observer) = self {
            observer.jumboflow(at, node, rack, number, told);
        }
    }

    #[inline]
    fn advertised(&mut self, at: Time, node: NodeId, rate: BitRate, queue: u64) {
        if let Some(observer) = self {
            observer.advertised(at, node, rate, queue);
        }
    }

    #[inline]
    fn window(&mut self, at: Time, flow: FlowId, sender: SenderRef<'_>) {
        if let Some(observer) = self {
            observer.window(at, flow, sender);
        }
    }

    #[inline]
    fn started(&mut self, at: Time, flow: FlowId) {
        if let Some(observer) = self {
            observer.started(at, flow);
        }
    }

    #[inline]
    fn queued(&mut self, at: Time, link: LinkId, packet: PacketRef<'_>, backlog: u64) {
        if let Some(observer) = self {
            observer.queued(at, link, packet, backlog);
        }
    }

    #[inline]
    fn completed(&mut self, at: Time, flow: FlowId) {
        if let Some(observer) = self {
            observer.completed(at, flow);
        }
    }

    #[inline]
    fn departs(&mut self, at: Time, link: LinkId, packet: PacketRef<'_>) {
        if let Some(observer) = self {
            observer.departs(at, link, packet);
        }
    }

    #[inline]
    fn closed(&mut self, at: Time, record: &FlowRecord) {
        if let Some(observer) = self {
            observer.closed(at, record);
        }
    }

    #[inline]
    fn wants_review(&mut self) -> bool {
        self.as_mut().is_some_and(Observer::wants_review)
    }

    #[inline]
    fn review(&mut self, what: Reviewed<'_>) {
        if let Some(observer) = self {
            observer.review(what);
        }
    }

    #[inline]
    fn reviewed(&mut self, until: Time) {
        if let Some(observer) = self {
            observer.reviewed(until);
        }
    }

    #[inline]
    fn discarded(&mut self, at: Time, link: LinkId, packet: PacketRef<'_>, cause: DropCause) {
        if let Some(observer) = self {
            observer.discarded(at, link, packet, cause);
        }
    }

    #[inline]
    fn window_over(&mut self, until: Time) {
        if let Some(observer) = self {
            observer.window_over(until);
        }
    }
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    const ACTIVE: bool = A::ACTIVE || B::ACTIVE;

    #[inline]
    fn backlog(&mut self, at: Time, link: LinkId, backlog: u64) {
        self.0.backlog(at, link, backlog);
        self.1.backlog(at, link, backlog);
    }

    #[inline]
    fn sent(&mut self, at: Time, link: LinkId, size: u16) {
        self.0.sent(at, link, size);
        self.1.sent(at, link, size);
    }

    #[inline]
    fn marked(&mut self, at: Time, link: LinkId) {
        self.0.marked(at, link);
        self.1.marked(at, link);
    }

    #[inline]
    fn dropped(&mut self, at: Time, link: LinkId, size: u16, cause: DropCause) {
        self.0.dropped(at, link, size, cause);
        self.1.dropped(at, link, size, cause);
    }

    #[inline]
    fn lost(&mut self, at: Time, link: LinkId, size: u16, cause: DropCause) {
        self.0.lost(at, link, size, cause);
        self.1.lost(at, link, size, cause);
    }

    #[inline]
    fn notified(&mut self, at: Time, link: LinkId, signal: Signal) {
        self.0.notified(at, link, signal);
        self.1.notified(at, link, signal);
    }

    #[inline]
    fn told(&mut self, at: Time, flow: FlowId, signal: Signal) {
        self.0.told(at, flow, signal);
        self.1.told(at, flow, signal);
    }

    #[inline]
    fn paused(&mut self, at: Time, link: LinkId, until: Time) {
        self.0.paused(at, link, until);
        self.1.paused(at, link, until);
    }

    #[inline]
    fn isolated_backlog(&mut self, at: Time, link: LinkId, backlog: u64) {
        self.0.isolated_backlog(at, link, backlog);
        self.1.isolated_backlog(at, link, backlog);
    }

    #[inline]
    fn isolation(&mut self, at: Time, link: LinkId, event: IsolationEvent) {
        self.0.isolation(at, link, event);
        self.1.isolation(at, link, event);
    }

    #[inline]
    fn limiter(&mut self, at: Time, node: NodeId, limiter: u32, rate: BitRate, waiting: u64) {
        self.0.limiter(at, node, limiter, rate, waiting);
        self.1.limiter(at, node, limiter, rate, waiting);
    }

    #[inline]
    fn jumboflow(&mut self, at: Time, node: NodeId, rack: u32, number: u32, told: &Told) {
        self.0.jumboflow(at, node, rack, number, told);
        self.1.jumboflow(at, node, rack, number, told);
    }

    #[inline]
    fn advertised(&mut self, at: Time, node: NodeId, rate: BitRate, queue: u64) {
        self.0.advertised(at, node, rate, queue);
        self.1.advertised(at, node, rate, queue);
    }

    #[inline]
    fn window(&mut self, at: Time, flow: FlowId, sender: SenderRef<'_>) {
        self.0.window(at, flow, sender);
        self.1.window(at, flow, sender);
    }

    #[inline]
    fn started(&mut self, at: Time, flow: FlowId) {
        self.0.started(at, flow);
        self.1.started(at, flow);
    }

    #[inline]
    fn completed(&mut self, at: Time, flow: FlowId) {
        self.0.completed(at, flow);
        self.1.completed(at, flow);
    }

    #[inline]
    fn closed(&mut self, at: Time, record: &FlowRecord) {
        self.0.closed(at, record);
        self.1.closed(at, record);
    }

    #[inline]
    fn wants_review(&mut self) -> bool {
        // Both are asked.
        self.0.wants_review() | self.1.wants_review()
    }

    #[inline]
    fn review(&mut self, what: Reviewed<'_>) {
        self.0.review(what);
        self.1.review(what);
    }

    #[inline]
    fn reviewed(&mut self, until: Time) {
        self.0.reviewed(until);
        self.1.reviewed(until);
    }

    #[inline]
    fn queued(&mut self, at: Time, link: LinkId, packet: PacketRef<'_>, backlog: u64) {
        self.0.queued(at, link, packet, backlog);
        self.1.queued(at, link, packet, backlog);
    }

    #[inline]
    fn departs(&mut self, at: Time, link: LinkId, packet: PacketRef<'_>) {
        self.0.departs(at, link, packet);
        self.1.departs(at, link, packet);
    }

    #[inline]
    fn discarded(&mut self, at: Time, link: LinkId, packet: PacketRef<'_>, cause: DropCause) {
        self.0.discarded(at, link, packet, cause);
        self.1.discarded(at, link, packet, cause);
    }

    #[inline]
    fn window_over(&mut self, until: Time) {
        self.0.window_over(until);
        self.1.window_over(until);
    }
}
