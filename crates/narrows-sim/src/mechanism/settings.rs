//! Common parts of settings of mechanisms at switches.

use narrows_proto::units::Bytes;

/// Settings of a switch that make one mechanism.
pub(crate) trait SwitchSettings {
    /// It has packets of the side class, which is free of loss.
    const HAS_SIDE_CLASS: bool = false;

    /// It is asked at the queued ports of the switch ([`AtPorts`](super::at_ports::AtPorts)).
    const AT_PORTS: bool = Self::HAS_SIDE_CLASS;

    /// It keeps what waits at the ports of the switch ([`AtQueues`](super::at_queues::AtQueues)).
    const KEEPS_QUEUES: bool = false;

    /// It marks packets that can be marked.
    fn marks(&self) -> bool {
        false
    }

    /// Size on the wire of what it sends, if it sends something.
    fn control_size(&self) -> Option<Bytes> {
        None
    }
}
