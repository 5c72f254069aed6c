//! RCCC: receivers grant credits, and nothing else limits a sender (Ultra Ethernet).
//!
//! The window is without bound; [credits](crate::rdma::credits) say when a packet may leave. The first product of rate and round-trip time
//! and a half leaves without a grant. Marks, timeouts and trimmed packets change nothing, but the choice of paths reads them.
//!
//! A control that measures the network besides: `nscc` with `credits`.

use super::{Ack, Algorithm, Congestion, Controller, Ecn, Limit, OutOfRange, Path, Ranges};
use crate::rdma::Credits;
use crate::units::{Bytes, Time};

/// Settings of RCCC: those of its credits.
pub type Params = Credits;

/// The window of a connection that credits limit.
#[derive(Clone, Debug)]
pub struct Rccc;

impl Algorithm for Rccc {
    type Params = Params;
    const SUMMARY: &'static str = "credits of receivers, one pacer for each network card (Ultra Ethernet)";
    const SOURCE: &'static str = "Ultra Ethernet 1.0, by the consortium's simulator uet-htsim";
    const NEEDS_RDMA: bool = true;

    fn new(_params: &Params, _path: &Path) -> Self {
        Self
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Accurate
    }

    fn credits(params: &Params) -> Option<Credits> {
        Some(*params)
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        params.check(ranges)
    }
}

impl Controller for Rccc {
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_congestion(&mut self, _now: Time, _event: Congestion) {}

    fn limit(&self) -> Limit {
        Limit::window(Bytes::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Config;
    use crate::units::Span;

    #[test]
    fn its_credits_are_those_of_its_settings() {
        let credits = Credits { rtt: Span::from_us(20), ..Credits::default() };
        assert_eq!(Config::Rccc(credits).credits(), Some(credits));
        assert_eq!(Config::Reno(Default::default()).credits(), None);
    }
}
