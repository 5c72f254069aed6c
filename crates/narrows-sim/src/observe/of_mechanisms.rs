//! The list of observers of mechanisms.

use narrows_proto::notification::Signal;
use narrows_proto::units::{BitRate, Time};

use super::limiters::LimiterObserver;
use super::observer::{Observer, Reviewed, SenderRef, observers};
use super::packets::PacketRef;
use crate::ids::{FlowId, LinkId, NodeId};
use crate::record::{DropCause, FlowRecord};

observers! {
    /// The observers of what mechanisms do.
    OfMechanisms
    /// Of limiters.
    limiters: LimiterObserver,
    /// Of isolation.
    isolation: crate::mechanism::isolation::IsolationObserver,
    /// Of RackCC.
    racks: crate::mechanism::rackcc::RackObserver,
}
