//! Sources of datagrams as subflows of a JumboFlow (RackCC §5): besides the rate of their bursts they keep to their share.

use super::report::Advice;
use super::subflow::{Params, Subflow};
use crate::cc::{DatagramController, Path, Signal};
use crate::units::{Bytes, Span, Time};

/// A source of datagrams as a subflow.
#[derive(Clone, Debug)]
pub struct Share {
    subflow: Subflow,
    /// A datagram on the wire.
    size: Bytes,
    /// When the next datagram may leave.
    release: Time,
    round_end: Time,
    /// Echoed with a number above this one, a datagram that left then is a sample of the round-trip time.
    probe: Option<(u64, Time)>,
    /// Echoed below this, and when that was received.
    echoed: u64,
    echoed_at: Time,
}

/// A source that has not received its share waits for so long, if it does not know the round-trip time.
const PATIENCE: Span = Span::from_ms(1);

impl Share {
    /// Of a source that has received no report.
    pub fn new(params: &Params, path: &Path) -> Self {
        Self {
            subflow: Subflow::new(params, path),
            size: path.packet,
            release: Time::ZERO,
            round_end: Time::ZERO,
            probe: None,
            echoed: 0,
            echoed_at: Time::ZERO,
        }
    }

    fn rtt(&self) -> Span {
        let rtt = self.subflow.rtt();
        if rtt == Span::ZERO { PATIENCE } else { rtt }
    }
}

impl DatagramController for Share {
    #[inline]
    fn wait(&mut self, now: Time, sent: u64) -> Option<Time> {
        if now < self.release {
            return Some(self.release);
        }
        if !self.subflow.has_begun() && sent > 0 {
            self.subflow.begin_alone(now);
        }
        // Without echoes for a while those that are out are lost.
        let (room, patience) = (self.subflow.in_flight(), self.echoed_at + self.rtt() * 4);
        if self.subflow.has_begun() && self.size * (sent - self.echoed + 1) > room.max(self.size) {
            if now < patience {
                return Some(patience);
            }
            (self.echoed, self.echoed_at) = (sent, now);
        }
        if now >= self.round_end {
            self.subflow.end_round(now, (sent * self.size.get() * 8) as f64);
            self.round_end = now + self.rtt();
        }
        None
    }

    #[inline]
    fn on_sent(&mut self, now: Time, number: u64) {
        self.probe.get_or_insert((number, now));
        let gap =
            if self.subflow.has_begun() { self.subflow.limit().time_to_send(self.size) } else { self.rtt() };
        self.release = now + gap;
    }

    fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        let Signal::Rack(Advice { report, destination }) = *signal else { return };
        self.subflow.on_destination(destination);
        let Some(report) = report else { return };
        let waited = !self.subflow.has_begun();
        self.subflow.on_report(now, report);
        if waited {
            self.release = self.release.min(now);
        }
    }

    fn on_echo(&mut self, now: Time, number: u64) {
        if let Some((probe, at)) = self.probe
            && number > probe
        {
            let (rtt, sample) = (self.subflow.rtt(), now.saturating_since(at));
            self.subflow.on_rtt(if rtt == Span::ZERO { sample } else { (rtt * 7 + sample) / 8 });
            self.probe = None;
        }
        let echoed = number.saturating_sub(self.echoed);
        self.echoed += echoed;
        self.echoed_at = now;
        self.subflow.on_acked(now, (echoed * self.size.get() * 8) as f64);
    }

    fn restart(&mut self) {
        self.subflow.restart();
    }
}
