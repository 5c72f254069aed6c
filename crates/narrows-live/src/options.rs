//! Options of live runs.

use narrows_proto::units::Span;

use crate::program::Program;

/// Options of a live run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seconds of the clock for a second of the scenario: rates are divided by it, delays multiplied.
    pub scale: f64,
    /// Bound of the lateness, on the clock: a run of which one packet in a hundred is later is void.
    pub bound: Span,
    /// Most segments in a packet that a real host hands over, or receives, at once: fewer calls of the kernel, and faster therefore.
    pub segments: u32,
    /// Traffic groups whose hosts stay simulated.
    pub simulated: Vec<String>,
    /// Programs of the user on real hosts.
    pub programs: Vec<Program>,
}

impl Default for Options {
    fn default() -> Self {
        let bound = Span::from_us(200);
        Self { scale: 1.0, bound, segments: 1, simulated: Vec::new(), programs: Vec::new() }
    }
}
