//! What observers that keep rows have in common.

use narrows_proto::units::{Span, Time};

/// The rows of several observers in one list, without a second copy of them if there is one.
pub(crate) fn gather<R>(parts: impl IntoIterator<Item = Vec<R>>) -> Vec<R> {
    let mut parts: Vec<_> = parts.into_iter().collect();
    if parts.len() == 1 {
        return parts.pop().unwrap_or_default();
    }
    let mut rows = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|mut part| rows.append(&mut part));
    rows
}

/// When the interval after that of `at` begins.
pub(crate) fn next_interval(at: Time, interval: Span) -> Time {
    Time::from_ps((at.as_ps() / interval.as_ps() + 1) * interval.as_ps())
}
