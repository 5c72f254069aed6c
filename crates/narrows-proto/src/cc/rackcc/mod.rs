//! RackCC: the rate of a subflow follows what its rack knows of the path (Zhuo et al., HotNets 2016).
//!
//! Its reaction to reports is in [`subflow`]; here is how a connection feeds it: rounds are those of its
//! acknowledgments, its share is their window, and its rate paces packets. Marks that its own acknowledgments echo are left
//! to the switch of its rack, which counts them for all subflows.

use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter, Signal,
};
use crate::units::{Bytes, Span, Time};

mod datagrams;
pub mod jumbo;
pub mod receiver;
mod report;
pub mod subflow;

pub use self::datagrams::Share;
pub use self::report::{Advice, DOCS, JumboReport};
pub use self::subflow::Params;
use self::subflow::Subflow;

/// A subflow of RackCC.
#[derive(Clone, Debug)]
pub struct Rackcc {
    subflow: Box<Subflow>,
    mss: Bytes,
    /// Bits on the wire for each byte of payload.
    wire_bits: f64,
}

impl Algorithm for Rackcc {
    type Params = Params;
    const SUMMARY: &'static str =
        "all connections between two racks share one congestion state; new ones start at their share";
    const SOURCE: &'static str = "Zhuo, Zhang, Liu, Krishnamurthy, Anderson, HotNets 2016";
    const INSIDE: Described =
        &[("share_bps", "f, its share of the JumboFlow, on the wire; no row before it has one.")];
    const READS_DELAY: bool = true;
    const NEEDS_RACK: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        Self {
            subflow: Box::new(Subflow::new(params, path)),
            mss: path.mss,
            wire_bits: 8.0 * path.packet.as_f64() / path.mss.as_f64(),
        }
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Accurate
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        params.check(ranges)
    }
}

impl Controller for Rackcc {
    fn on_ack(&mut self, ack: &Ack) {
        self.subflow.on_rtt(ack.srtt);
        if ack.round_start {
            self.subflow.begin_alone(ack.now);
            self.subflow.end_round(ack.now, ack.sent.as_f64() * self.wire_bits);
        }
        if !ack.in_recovery {
            self.subflow.on_acked(ack.now, ack.acked.as_f64() * self.wire_bits);
        }
    }

    fn on_congestion(&mut self, now: Time, event: Congestion) {
        match event {
            Congestion::Loss { .. } | Congestion::Timeout { .. } => self.subflow.on_loss(now),
            Congestion::Mark { .. } | Congestion::Spurious => {}
        }
    }

    fn limit(&self) -> Limit {
        if !self.subflow.has_begun() {
            return Limit::window(self.mss);
        }
        let payload = self.subflow.in_flight().as_f64() * 8.0 / self.wire_bits;
        let cwnd = Bytes::from_f64(payload).max(self.mss * 2);
        Limit { cwnd, pacing: Some(self.subflow.pacing()) }
    }

    fn on_idle(&mut self, _now: Time, _idle: Span, _restart: Option<Bytes>) {
        self.subflow.restart();
    }

    fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        match *signal {
            Signal::Handshake { rtt } => self.subflow.on_rtt(rtt),
            Signal::Rack(Advice { report, destination }) => {
                self.subflow.on_destination(destination);
                if let Some(report) = report {
                    self.subflow.on_report(now, report);
                }
            }
            _ => {}
        }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        if self.subflow.has_begun() {
            report("share_bps", self.subflow.share().as_f64().into());
        }
    }
}
