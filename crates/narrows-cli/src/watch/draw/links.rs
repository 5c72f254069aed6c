use std::ops::Range;

use narrows::live::LinkRow;
use narrows::numbers::grouped;
use ratatui::widgets::Row;

use super::text::{prefixed, right, styled};
use super::{Column, Content, View};

/// Links that have carried something.
pub(super) fn content(view: &View<'_>, rows: Range<usize>, width: usize) -> Content {
    let (links, all) = view.monitor.links(view.state.order(super::Panel::Links), rows);
    let (bar, wide) = (if width >= 60 { 8 } else { 0 }, width >= 90);
    let mut columns = vec![
        Column::name("link"),
        Column::text("", 1),
        Column::number("now", 6),
        Column::text("", bar),
        Column::number("mean", 6),
    ];
    if wide {
        columns.extend([Column::number("b/s", 7), Column::number("rate", 7)]);
    }
    columns.extend([Column::number("B", 7), Column::number("drops", 7)]);
    let room = view.room_for_name(&columns, width);
    let theme = view.theme;
    let row = |link: LinkRow| {
        let style = if link.utilization > 0.95 { theme.notable() } else { theme.good() };
        let percent = |part: f64| right(format!("{:.1}%", part * 100.0));
        let mut cells = vec![
            view.name(&link.name, room),
            styled(if link.paused { "P" } else { "" }, theme.alarm()),
            percent(link.utilization),
            styled(theme.meter(link.utilization, bar.into()), style),
            percent(link.mean_utilization),
        ];
        if wide {
            let rate = link.rate.as_f64();
            cells.extend([right(prefixed(link.utilization * rate)), right(prefixed(rate))]);
        }
        cells.extend([right(prefixed(link.carried.as_f64())), right(grouped(link.drops as i64))]);
        Row::new(cells)
    };
    Content { columns, rows: links.into_iter().map(row).collect(), all, none: "nothing was sent so far" }
}
