//! Congestion control of datagrams, which are not acknowledged: few algorithms have rules for them.

use super::Signal;
use crate::units::Time;

/// Rules of an algorithm for a source of datagrams, which sends at a rate of its own besides.
///
/// A mechanism that governs the source may have its destination echo what arrives.
pub trait DatagramController {
    /// When the next datagram may leave, if that is not now. So many have left.
    fn wait(&mut self, now: Time, sent: u64) -> Option<Time>;

    /// The datagram with this number leaves.
    fn on_sent(&mut self, now: Time, number: u64);

    /// The destination has echoed all datagrams below `number` that arrived.
    fn on_echo(&mut self, now: Time, number: u64);

    /// A mechanism of switches and hosts has reported.
    fn on_signal(&mut self, now: Time, signal: &Signal<'_>);

    /// The source was silent: what the controller knew of the path counts no more.
    fn restart(&mut self);
}
