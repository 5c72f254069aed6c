//! Pictures of a run. Each is a function of what is known and chosen; nothing here changes anything.

mod activity;
mod head;
mod help;
mod links;
mod queues;
mod text;
mod traffic;

use std::time::Duration;

use narrows::live::Monitor;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Row, Table};

use super::board::Tally;
use super::state::{Panel, State};
use super::theme::Theme;

/// All there is to draw.
pub(super) struct View<'a> {
    pub(super) monitor: &'a Monitor,
    pub(super) state: &'a State,
    pub(super) theme: Theme,
    /// The name of the run that is shown.
    pub(super) run: &'a str,
    /// If there are several runs.
    pub(super) tally: Option<Tally>,
    /// Since the run began.
    pub(super) elapsed: Duration,
    /// Memory of the program.
    pub(super) megabytes: u64,
}

/// A panel, how many rows it has, and how many there is room for.
type Room = (Panel, usize, usize);

/// From this size on all panels are shown at once.
const ALL_FROM: (u16, u16) = (150, 34);

/// Draws everything. Answers how much of the panels can be seen.
pub(super) fn draw(frame: &mut Frame<'_>, view: &View<'_>) -> Vec<Room> {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(head::LINES), Constraint::Fill(1), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(Paragraph::new(head::lines(view, head.width.into())), head);
    frame.render_widget(Paragraph::new(head::keys(view, foot.width.into())), foot);
    if view.state.help {
        help::draw(frame, body, view);
        return Vec::new();
    }
    if body.width < ALL_FROM.0 || body.height < ALL_FROM.1 {
        return vec![panel(frame, body, view, view.state.panel)];
    }
    let half = [Constraint::Fill(1), Constraint::Fill(1)];
    let [left, right] = Layout::horizontal(half).areas(body);
    let [[first, third], [second, fourth]] = [left, right].map(|side| Layout::vertical(half).areas(side));
    let places = [first, second, third, fourth];
    Panel::ALL.into_iter().zip(places).map(|(which, area)| panel(frame, area, view, which)).collect()
}

/// Contents of a panel in the room that it has.
struct Content {
    columns: Vec<Column>,
    rows: Vec<Row<'static>>,
    /// Rows there are in all.
    all: usize,
    /// In place of rows if there are none.
    none: &'static str,
}

struct Column {
    title: &'static str,
    width: Constraint,
    alignment: Alignment,
}

impl Column {
    fn name(title: &'static str) -> Self {
        Self { title, width: Constraint::Fill(1), alignment: Alignment::Left }
    }

    fn text(title: &'static str, width: u16) -> Self {
        Self { title, width: Constraint::Length(width), alignment: Alignment::Left }
    }

    fn number(title: &'static str, width: u16) -> Self {
        Self { title, width: Constraint::Length(width), alignment: Alignment::Right }
    }
}

fn panel(frame: &mut Frame<'_>, area: Rect, view: &View<'_>, which: Panel) -> Room {
    let theme = view.theme;
    let room = usize::from(area.height.saturating_sub(3));
    let width = usize::from(area.width.saturating_sub(2));
    let content = |first: usize| {
        let rows = first..first + room;
        match which {
            Panel::Queues => queues::content(view, rows, width),
            Panel::Links => links::content(view, rows, width),
            Panel::Traffic => traffic::content(view, rows, width),
            Panel::Activity => activity::content(view, rows, width),
        }
    };
    let all = content(0).all;
    let first = view.state.first_row(which, all, room);
    let Content { columns, rows, none, .. } = content(first);
    let chosen = view.state.panel == which;
    let range = match rows.len() {
        0 => String::new(),
        shown => format!("{}-{} of {all} ", first + 1, first + shown),
    };
    let name = format!(" {} {} ", which as usize + 1, which.name());
    let block = Block::new()
        .borders(Borders::ALL)
        .border_set(theme.borders())
        .border_style(if chosen { theme.bar() } else { theme.quiet() })
        .title(Span::styled(name, if chosen { theme.title() } else { theme.quiet() }))
        .title(Span::styled(range, theme.quiet()))
        .title(Line::from(format!(" {} ", which.order_name(view.state.order(which)))).right_aligned());
    if rows.is_empty() {
        let text = Paragraph::new(none).style(theme.quiet()).centered().block(block);
        frame.render_widget(text, area);
        return (which, all, room);
    }
    let titles = columns.iter().map(|column| Line::from(column.title).alignment(column.alignment));
    let table = Table::new(rows, columns.iter().map(|column| column.width))
        .header(Row::new(titles.collect::<Vec<_>>()).style(theme.quiet()))
        .block(block);
    frame.render_widget(table, area);
    (which, all, room)
}

#[cfg(test)]
mod tests;
