//! Watching a run without changing it.
//!
//! An [`Observer`] is called at what happens; the default methods are empty and vanish when compiled, so what is not
//! watched costs nothing. Each thread has an observer of its own that sees the nodes of that thread; calls for one link
//! or flow come in the order of time.

mod discards;
mod live;
mod observer;
mod of_mechanisms;
mod packets;
mod ports;
pub(crate) mod rows;
mod state;
mod windows;

pub use discards::DiscardObserver;
pub use live::{Counts, Durations, GroupLook, LinkLook, Live, LiveObserver, Look, WindowLook};
pub use observer::{BetweenWindows, MechanismEvent, Observer, Reviewed, SenderRef};
pub use of_mechanisms::OfMechanisms;
pub use packets::{Control, PacketKind, PacketRef, StopFrame};
pub use ports::{PortObserver, PortRow};
pub use rows::RowLimit;
pub use state::{StateObserver, StateRow};
pub use windows::{WindowObserver, WindowRow};

/// The observers of everything that may be recorded: queues and links, windows and states, what mechanisms do; and those of a run
/// that is watched while it goes on, or has hosts outside.
pub type Recorders = (
    ((Option<PortObserver>, Option<PortObserver>), (OfSenders, OfMechanisms)),
    (Option<(Box<dyn BetweenWindows>, LiveObserver)>, Option<DiscardObserver>),
);

/// The observers of senders.
type OfSenders = (Option<WindowObserver>, Option<StateObserver>);
