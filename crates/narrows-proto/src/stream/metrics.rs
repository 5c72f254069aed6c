//! Values that connections to a host leave to later ones to the same host.
//!
//! ```text
//! RTT        SRTT if that is no less, otherwise an eighth nearer to it           tcp_update_metrics of Linux
//! ssthresh   before the first congestion: cwnd/2 if one is stored and less
//!            beyond slow start, nothing lost:   max(cwnd/2, ssthresh)
//!            otherwise:                         ssthresh if one is stored and less
//! Beginning  slow start ends at ssthresh; the first timeout is                   tcp_init_metrics of Linux
//!            RTT + max(2·RTT, min_rto) if RTT is more than the handshake took
//! ```
//! After an hour what is stored is forgotten. A connection that is kept for later flows stores nothing, as it does not end.
//!
//! Left out: the variation and the window, which Linux stores and does not use unless a route locks them; and the degree of reordering.

use crate::units::{Bytes, Span, Time};

/// Settings of what is remembered of hosts.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "HostMetrics")]
pub struct HostMetrics {
    /// The slow start threshold, besides the round-trip time. Linux does so up to version 5.5 (`tcp_no_ssthresh_metrics_save`).
    pub ssthresh: bool,
}

/// `TCP_METRICS_TIMEOUT`.
const KEPT: Span = Span::from_secs(3600);

/// Values remembered of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Zero if it is not known.
    rtt: Span,
    ssthresh: Option<Bytes>,
    stored: Time,
}

/// A connection at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// Zero if there was no sample, or if the last timeout has not been answered.
    pub(super) srtt: Span,
    pub(super) cwnd: Bytes,
    /// None before the first congestion.
    pub(super) ssthresh: Option<Bytes>,
    /// Nothing was being repaired.
    pub(super) open: bool,
}

impl Remembered {
    const NOTHING: Self = Self { rtt: Span::ZERO, ssthresh: None, stored: Time::ZERO };

    /// Values known at `now`.
    pub(super) fn at(self, now: Time) -> Self {
        if now.saturating_since(self.stored) > KEPT { Self::NOTHING } else { self }
    }

    /// The round-trip time, zero if it is not known, and the slow start threshold.
    pub(super) fn path(&self) -> (Span, Option<Bytes>) {
        (self.rtt, self.ssthresh)
    }

    /// Values known after a connection.
    pub(super) fn after(before: Option<Self>, settings: HostMetrics, now: Time, ended: &Ended) -> Self {
        let Ended { srtt, cwnd, ssthresh, open } = *ended;
        let old = before.map_or(Self::NOTHING, |before| before.at(now));
        if srtt == Span::ZERO {
            return Self { rtt: Span::ZERO, ..old };
        }
        let rtt = if srtt >= old.rtt { srtt } else { old.rtt - (old.rtt - srtt) / 8 };
        let half = cwnd / 2;
        let learned = match ssthresh {
            None => old.ssthresh.map(|old| old.max(half)),
            Some(ssthresh) if cwnd >= ssthresh && open => Some(half.max(ssthresh)),
            Some(ssthresh) => old.ssthresh.map(|old| old.max(ssthresh)),
        };
        Self { rtt, ssthresh: learned.filter(|_| settings.ssthresh), stored: now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);
    const ALL: HostMetrics = HostMetrics { ssthresh: true };

    fn ended(rtt_ms: u64, cwnd: u64, ssthresh: Option<u64>) -> Ended {
        let ssthresh = ssthresh.map(|segments| MSS * segments);
        Ended { srtt: Span::from_ms(rtt_ms), cwnd: MSS * cwnd, ssthresh, open: true }
    }

    /// Values that a series of connections leaves: milliseconds, segments.
    fn left(connections: &[Ended]) -> (u64, Option<u64>) {
        let after = |before, ended| Some(Remembered::after(before, ALL, Time::ZERO, ended));
        let known = connections.iter().fold(None, after).expect("there was one");
        (known.rtt.as_ps() / 1_000_000_000, known.ssthresh.map(|bytes| bytes.get() / MSS.get()))
    }

    #[test]
    fn a_connection_beyond_slow_start_leaves_its_threshold() {
        assert_eq!(left(&[ended(40, 100, Some(70))]), (40, Some(70)));
        assert_eq!(left(&[ended(40, 200, Some(70))]), (40, Some(100)));
        // The window of a repaired loss is the threshold: `tcp_in_slow_start` is over.
        assert_eq!(left(&[ended(40, 70, Some(70))]), (40, Some(70)));
    }

    #[test]
    fn one_in_its_first_slow_start_or_in_repair_leaves_none_but_raises_what_there_is() {
        let repairing = Ended { open: false, ..ended(40, 100, Some(70)) };
        assert_eq!(left(&[ended(40, 100, None)]), (40, None));
        assert_eq!(left(&[repairing]), (40, None));
        let first = ended(40, 100, Some(60));
        assert_eq!(left(&[first, ended(40, 200, None)]), (40, Some(100)));
        assert_eq!(left(&[first, ended(40, 50, None)]), (40, Some(60)));
        assert_eq!(left(&[first, repairing]), (40, Some(70)));
    }

    #[test]
    fn a_longer_round_trip_counts_at_once_and_a_shorter_one_by_an_eighth() {
        assert_eq!(left(&[ended(40, 10, None), ended(80, 10, None)]).0, 80);
        assert_eq!(left(&[ended(80, 10, None), ended(40, 10, None)]).0, 75);
        assert_eq!(left(&[ended(80, 10, None), ended(0, 10, None)]).0, 0, "it had no sample");
    }

    #[test]
    fn after_an_hour_and_without_the_setting_there_is_no_threshold() {
        let known = Remembered::after(None, ALL, Time::ZERO, &ended(40, 100, Some(70)));
        let hour = Time::ZERO + Span::from_secs(3600);
        assert_eq!(known.at(hour), known);
        assert_eq!(known.at(hour + Span::from_ps(1)).path(), (Span::ZERO, None));
        let rtt_alone = HostMetrics { ssthresh: false };
        let known = Remembered::after(None, rtt_alone, Time::ZERO, &ended(40, 100, Some(70)));
        assert_eq!(known.path(), (Span::from_ms(40), None));
    }
}
