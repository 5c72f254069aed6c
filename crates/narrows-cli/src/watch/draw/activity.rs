use std::ops::Range;

use narrows::live::ActivityRow;
use narrows::numbers::grouped;
use ratatui::widgets::Row;

use super::text::{prefixed, right};
use super::{Column, Content, View};

/// Counts of events all over the network.
pub(super) fn content(view: &View<'_>, rows: Range<usize>, width: usize) -> Content {
    let (rows, all) = view.monitor.activity(view.state.order(super::Panel::Activity), rows);
    let columns = vec![
        Column::name("what"),
        Column::number("so far", 11),
        Column::number("new", 9),
        Column::number("per ms", 8),
        Column::text("", if width >= 90 { 20 } else { 0 }),
    ];
    let span = view.monitor.span().as_secs_f64() * 1e3;
    let theme = view.theme;
    let row = |row: ActivityRow| {
        let since = if row.since > 0 { format!("+{}", grouped(row.since as i64)) } else { String::new() };
        let rate =
            if row.since > 0 && span > 0.0 { prefixed(row.since as f64 / span) } else { String::new() };
        let style = match row {
            ActivityRow { times: 0, .. } => theme.quiet(),
            ActivityRow { since: 0, .. } => ratatui::style::Style::new(),
            ActivityRow { what, .. } if what.starts_with("drops") || what == "timeouts" => theme.alarm(),
            _ => theme.notable(),
        };
        let cells = [row.what.into(), right(grouped(row.times as i64)), right(since), right(rate)];
        Row::new(cells).style(style)
    };
    Content { columns, rows: rows.into_iter().map(row).collect(), all, none: "" }
}
