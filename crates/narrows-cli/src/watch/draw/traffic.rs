use std::ops::Range;

use narrows::live::GroupRow;
use ratatui::widgets::Row;

use super::text::{prefixed, right, seconds};
use super::{Column, Content, View};
use crate::watch::state::Pace;

/// Traffic groups.
pub(super) fn content(view: &View<'_>, rows: Range<usize>, width: usize) -> Content {
    let (groups, all) = view.monitor.groups(view.state.order(super::Panel::Traffic), rows);
    let wide = width >= 70;
    let mut columns = vec![Column::name("group")];
    if wide {
        columns.push(Column::text("control", 12));
    }
    columns.extend([
        Column::number("b/s", 7),
        Column::number("active", 6),
        Column::number("done", 7),
        Column::number("p50 FCT", 8),
        Column::number("p99 FCT", 8),
    ]);
    if wide {
        columns.push(Column::number("B", 7));
    }
    let room = view.room_for_name(&columns, width);
    let row = |group: GroupRow| {
        let time =
            |pick: fn(_) -> _| right(group.fct.map_or(view.theme.none().into(), |both| seconds(pick(both))));
        let (p50, p99) = (time(|both: (_, _)| both.0), time(|both: (_, _)| both.1));
        let mut cells = vec![view.name(&group.name, room)];
        if wide {
            cells.push(group.control.clone().into());
        }
        cells.extend([
            right(prefixed(group.rate)),
            right(group.active.to_string()),
            right(group.finished.to_string()),
            p50,
            p99,
        ]);
        if wide {
            cells.push(right(prefixed(group.delivered.as_f64())));
        }
        Row::new(cells)
    };
    let by_clock = view.state.pace == Pace::Clock;
    if by_clock && groups.iter().all(|group| group.active + group.finished == 0) {
        let none = "the results will say what connections of real hosts carried";
        return Content { columns, rows: Vec::new(), all: 0, none };
    }
    Content { columns, rows: groups.into_iter().map(row).collect(), all, none: "there is no traffic" }
}
