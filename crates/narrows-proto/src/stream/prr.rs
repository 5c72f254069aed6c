use crate::units::Bytes;

/// Proportional rate reduction (RFC 9937): spreads the transmissions of a recovery over a round trip instead of
/// waiting for half a window and then sending at line rate.
#[derive(Clone, Debug)]
pub(super) struct Prr {
    ssthresh: Bytes,
    /// In flight when the recovery began (`RecoverFS`), or the window of then (`prior_cwnd` of Linux).
    at_start: Bytes,
    delivered: Bytes,
    out: Bytes,
    /// Bytes that may be sent until the next acknowledgment (`SndCnt`).
    allowance: Bytes,
}

impl Prr {
    /// None if the window was not reduced: there is nothing to spread.
    pub(super) fn new(ssthresh: Bytes, inflight: Bytes) -> Option<Self> {
        let zero = Bytes::ZERO;
        let prr = Self { ssthresh, at_start: inflight, delivered: zero, out: zero, allowance: zero };
        (ssthresh < inflight).then_some(prr)
    }

    /// `acked` was delivered, `inflight` is left. `safe` says that the recovery makes progress without new losses.
    pub(super) fn on_ack(&mut self, acked: Bytes, inflight: Bytes, safe: bool, mss: Bytes) {
        self.delivered += acked;
        let send = if inflight > self.ssthresh {
            let share = u128::from(self.delivered.get()) * u128::from(self.ssthresh.get());
            let share = share.div_ceil(u128::from(self.at_start.get()));
            Bytes::new(share as u64).saturating_sub(self.out) // delivered·ssthresh/at_start ≤ delivered
        } else {
            let conserved = self.delivered.saturating_sub(self.out).max(acked);
            let grown = if safe { conserved + mss } else { conserved };
            grown.min(self.ssthresh - inflight)
        };
        // The fast retransmission itself is never held back.
        self.allowance = if self.out == Bytes::ZERO { send.max(mss) } else { send };
    }

    pub(super) fn on_send(&mut self, sent: Bytes) {
        self.out += sent;
        self.allowance = self.allowance.saturating_sub(sent);
    }

    /// The window while `inflight` is on its way.
    pub(super) fn window(&self, inflight: Bytes) -> Bytes {
        inflight + self.allowance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    /// One loss in a window of 20, halved: 19 acknowledgments arrive. Returns what each lets out, in segments.
    fn recovery() -> Vec<u64> {
        let mut prr = Prr::new(MSS * 10, MSS * 20).expect("the window was reduced");
        let mut inflight = MSS * 19;
        let step = |_| {
            inflight -= MSS;
            prr.on_ack(MSS, inflight, true, MSS);
            let sent = prr.window(inflight) - inflight;
            let whole = MSS * (sent.get() / MSS.get());
            prr.on_send(whole);
            inflight += whole;
            whole.get() / MSS.get()
        };
        (0..19).map(step).collect()
    }

    #[test]
    fn a_halving_lets_out_one_segment_for_two_delivered() {
        // The first is the fast retransmission, half a segment ahead of its share.
        let sent = recovery();
        assert_eq!(sent[..8], [1, 0, 0, 1, 0, 1, 0, 1]);
        assert!(sent.iter().all(|segments| *segments <= 2), "{sent:?}");
    }

    #[test]
    fn a_window_that_was_not_reduced_needs_no_spreading() {
        assert!(Prr::new(MSS * 20, MSS * 20).is_none());
    }
}
