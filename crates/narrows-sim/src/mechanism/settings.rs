//! Common parts of settings of mechanisms at switches.

use narrows_proto::units::Bytes;

/// Settings of a switch that make one mechanism.
pub(crate) trait SwitchSettings {
    /// It has packets of the side class, which is free of loss.
    const HAS_SIDE_CLASS: bool = false;

    /// Size on the wire of what it sends.
    fn control_size(&self) -> Bytes;
}
