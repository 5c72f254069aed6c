//! Memory of rows.

use narrows_proto::units::Span;

/// A list that grows by doubling has up to twice the room it needs, and while it grows its old half besides.
pub(crate) const GROWS: u64 = 3;
/// Of each row: the list of rows, up to twice as large as they are, and the columns of the table. Those take at most twice as
/// much as the row, as a field of 4 bytes may become a column of 8. While rows are sorted or the list grows, it is less.
pub(crate) const ROW_AND_TABLE: u64 = 2 + 2;

/// The most single events that a run may record, unless it is forced: what could come is a thousand times what does.
pub(crate) const MOST_EVENTS: u64 = 1 << 23;

/// Memory of so many rows.
pub(crate) fn bytes<R>(rows: u64) -> u64 {
    rows.saturating_mul(ROW_AND_TABLE * size_of::<R>() as u64)
}

/// Number of intervals begun in `span`; one more for what happens at its very end.
pub(crate) fn intervals(span: Span, interval: Span) -> u64 {
    span.as_ps().div_ceil(interval.as_ps().max(1)).saturating_add(1)
}
