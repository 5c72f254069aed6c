//! Observers of each frame of a real host.

use std::sync::mpsc::Sender;

use narrows_proto::units::Time;

use crate::attached::Frame;
use crate::host::RealHost;
use crate::host_times::Responses;

/// Observers of each frame.
#[derive(Default)]
pub(crate) struct Watchers {
    /// Gets a copy of it, on another thread.
    pub(crate) capture: Option<Sender<Frame>>,
    /// Called on the thread of the fabric.
    pub(crate) responses: Option<Responses>,
}

impl Watchers {
    /// A host received or sent a frame.
    pub(crate) fn on_frame(&mut self, host: &RealHost, at: Time, received: bool, parts: &[&[u8]]) {
        if let Some(responses) = &mut self.responses {
            responses.on_frame(at, received, parts);
        }
        if let Some(capture) = &self.capture {
            let bytes = parts.concat();
            let _ = capture.send(Frame { at, host: host.id, address: host.address, received, bytes });
        }
    }
}
