use std::ops::Range;

use narrows::live::{QueueRow, SAMPLES};
use ratatui::widgets::Row;

use super::text::{kilobytes, right, styled};
use super::{Column, Content, View};

/// From this width on nothing is left out.
const WIDE: usize = 130;

/// Ports where packets wait or have waited.
pub(super) fn content(view: &View<'_>, rows: Range<usize>, width: usize) -> Content {
    let order = view.state.order(super::Panel::Queues);
    let (queues, all) = view.monitor.queues(order, rows);
    let wide = width >= WIDE;
    // The name comes first, then what was before.
    let (bar, line) = match width {
        WIDE.. => (12, SAMPLES),
        60.. => (8, width.saturating_sub(66).clamp(8, SAMPLES)),
        _ => (0, 8),
    };
    let mut columns = vec![Column::name("port"), Column::text("", if wide { 9 } else { 2 })];
    if wide {
        columns.push(Column::number("now kB", 8));
    }
    columns.extend([Column::number("kB", 7), Column::text("", bar as u16), Column::number("peak kB", 7)]);
    if wide {
        columns.extend([Column::number("marks", 7), Column::number("drops", 7)]);
    }
    columns.push(Column::text("before", line as u16));
    let room = view.room_for_name(&columns, width);
    let highest = queues.iter().map(|queue| queue.peak).max().unwrap_or(1).max(1);
    let theme = view.theme;
    let row = |queue: QueueRow| {
        let style = if queue.drops > 0 { theme.notable() } else { theme.bar() };
        let mut cells = vec![view.name(&queue.name, room), flags(&queue, view, wide)];
        if wide {
            cells.push(right(kilobytes(queue.backlog)));
        }
        cells.extend([
            right(kilobytes(queue.most)),
            styled(theme.meter(queue.most as f64 / highest as f64, bar), style),
            right(kilobytes(queue.peak)),
        ]);
        if wide {
            cells.extend([right(queue.marks.to_string()), right(queue.drops.to_string())]);
        }
        cells.push(styled(theme.sparkline(&queue.history, queue.peak, line), style));
        Row::new(cells)
    };
    Content {
        columns,
        rows: queues.into_iter().map(row).collect(),
        all,
        none: "nothing has waited at any switch so far",
    }
}

fn flags(queue: &QueueRow, view: &View<'_>, wide: bool) -> ratatui::text::Line<'static> {
    let isolates = queue.isolates || queue.isolated > 0;
    let (text, style) = match (queue.paused, isolates) {
        (true, true) => (["PI", "stop+iso"], view.theme.alarm()),
        (true, false) => (["P", "stopped"], view.theme.alarm()),
        (false, true) => (["I", "isolates"], view.theme.notable()),
        (false, false) => (["", ""], view.theme.quiet()),
    };
    styled(text[usize::from(wide)], style)
}
