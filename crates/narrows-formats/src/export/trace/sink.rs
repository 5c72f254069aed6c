//! Writers of formats, as the watcher of a run knows them.

use narrows::results::Results;
use narrows_proto::units::Time;

use super::happening::Happening;

/// Takes what happens, in order of time.
pub(super) trait Sink: Send {
    /// Events that it wants to receive.
    fn wants(&self) -> Wants;

    /// Takes one happening.
    fn take(&mut self, at: Time, what: &Happening) -> std::io::Result<()>;

    /// The run is over. Returns what was written, for people.
    fn finish(self: Box<Self>, results: &Results) -> std::io::Result<String>;
}

/// Events that a sink wants to receive.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wants {
    /// Packets that begin to be sent; otherwise only those that are retransmitted.
    pub(super) packets: bool,
    /// Packets that are retransmitted, when they leave their host.
    pub(super) repeats: bool,
    /// Packets that are marked.
    pub(super) marks: bool,
    /// Packets that are dropped or lost on a link, apart from departures.
    pub(super) drops: bool,
    /// States of senders.
    pub(super) windows: bool,
    /// Backlogs of ports.
    pub(super) backlogs: bool,
    /// Links that are paused.
    pub(super) pauses: bool,
}
