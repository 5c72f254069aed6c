//! Watching a run without changing it.
//!
//! An [`Observer`] is called at what happens; the default methods are empty and vanish when compiled, so what is not
//! watched costs nothing. Each thread has an observer of its own that sees the nodes of that thread; calls for one link
//! or flow come in the order of time.

mod isolation;
mod limiters;
mod live;
mod observer;
mod packets;
mod ports;
mod racks;
mod rows;
mod state;
mod windows;

pub use isolation::{IsolationObserver, IsolationRow, RowLimit};
pub use limiters::{LimiterObserver, LimiterRow};
pub use live::{Counts, Durations, GroupLook, LinkLook, Live, LiveObserver, Look};
pub use observer::{BetweenWindows, Observer, Reviewed, SenderRef};
pub use packets::{PacketKind, PacketRef, StopFrame};
pub use ports::{PortObserver, PortRow};
pub use racks::{AdvertisedRow, JumboFlowRow, RackObserver};
pub use state::{StateObserver, StateRow};
pub use windows::{WindowObserver, WindowRow};

/// The observers of everything that may be recorded: queues and links, windows and states, limiters, isolation, racks; and those of
/// a run that is watched while it goes on.
pub type Recorders = (
    ((Option<PortObserver>, Option<PortObserver>), (OfSenders, OfMechanisms)),
    Option<(Box<dyn BetweenWindows>, LiveObserver)>,
);

/// The observers of senders.
type OfSenders = (Option<WindowObserver>, Option<StateObserver>);

/// The observers of what only some networks have.
type OfMechanisms = (Option<LimiterObserver>, (Option<IsolationObserver>, Option<RackObserver>));
