//! The observers of mechanisms.

use narrows_proto::cnm::Signal;
use narrows_proto::units::Time;

use super::observer::{MechanismEvent, Observer, Reviewed, SenderRef, observers};
use super::packets::PacketRef;
use crate::ids::{FlowId, LinkId};
use crate::mechanism::list::mechanisms;
use crate::record::{DropCause, FlowRecord};

mechanisms!(observer => observers);
