//! The lines above and below the panels.

use ratatui::text::{Line, Span};

use super::text::{clock, prefixed, seconds};
use super::{Column, View};
use crate::watch::state::{Pace, Panel, Stage};

/// Lines above the panels.
pub(super) const LINES: u16 = 4;

/// Title, progress and speed of the run, and the panels that can be shown.
pub(super) fn lines(view: &View<'_>, width: usize) -> Vec<Line<'static>> {
    vec![title(view), progress(view, width), speed(view, width), tabs(view)]
}

fn title(view: &View<'_>) -> Line<'static> {
    let theme = view.theme;
    let (stage, style) = match view.state.stage {
        Stage::Over => ("finished, results are written", theme.good()),
        Stage::Stopping => ("stopping, what there is will be written", theme.alarm()),
        Stage::Running if view.state.paused => ("PAUSED", theme.notable()),
        Stage::Running if view.monitor.done() >= 1.0 => ("writing results", theme.good()),
        Stage::Running => ("running", theme.good()),
    };
    let mut spans = vec![
        Span::styled(format!(" {}", view.monitor.plan().scenario.name), theme.title()),
        Span::raw(format!("{}{}{}", theme.dot(), view.run, theme.dot())),
        Span::styled(stage, style),
    ];
    if let Some(tally) = view.tally {
        let super::Tally { waiting, running, over } = tally;
        let text = format!("{}{running} running, {waiting} waiting, {over} over (n, p)", theme.dot());
        spans.push(Span::styled(text, theme.quiet()));
    }
    Line::from(spans)
}

fn progress(view: &View<'_>, width: usize) -> Line<'static> {
    let monitor = view.monitor;
    let now = seconds(monitor.at().saturating_since(narrows_proto::units::Time::ZERO));
    let end = seconds(monitor.end().saturating_since(narrows_proto::units::Time::ZERO));
    let left = match monitor.left() {
        _ if view.state.stage == Stage::Over || monitor.done() >= 1.0 => String::new(),
        Some(left) if !view.state.paused => format!("  ETA {}", clock(left.as_secs())),
        _ => format!("  ETA {}", view.theme.none()),
    };
    let before = format!(" {now} of {end} ");
    let after = format!(" {:.0}%  elapsed {}{left}", monitor.done() * 100.0, clock(view.elapsed.as_secs()));
    let bar = width.saturating_sub(before.chars().count() + after.chars().count() + 3).min(60);
    let meter = if bar < 4 { String::new() } else { format!("[{}]", view.theme.meter(monitor.done(), bar)) };
    Line::from(vec![Span::raw(before), Span::styled(meter, view.theme.bar()), Span::raw(after)])
}

fn speed(view: &View<'_>, width: usize) -> Line<'static> {
    let speed = view.monitor.speed();
    let limit = match view.state.pace {
        Pace::Clock => "by the clock".into(),
        Pace::Limit(None) => "no limit".into(),
        Pace::Limit(Some(limit)) => format!("limit {}/s", seconds(limit)),
    };
    let parts = [
        format!("{}s/s simulated", prefixed(speed.simulated)),
        format!("{} packet-hops/s", prefixed(speed.packets).trim_end()),
        format!("{} MB", view.megabytes),
        limit,
        format!("every {}s", prefixed(view.state.refresh().as_secs_f64())),
    ];
    let mut line = format!(" {}", parts[0]);
    for part in &parts[1..] {
        let longer = format!("{line}{}{part}", view.theme.dot());
        if longer.chars().count() > width {
            break;
        }
        line = longer;
    }
    Line::raw(line)
}

fn tabs(view: &View<'_>) -> Line<'static> {
    let tab = |panel: Panel| {
        let style = if panel == view.state.panel { view.theme.chosen() } else { view.theme.quiet() };
        [Span::raw(" "), Span::styled(format!(" {} {} ", panel as usize + 1, panel.name()), style)]
    };
    Line::from_iter(Panel::ALL.into_iter().flat_map(tab))
}

/// Keys that can be pressed, as far as there is room.
pub(super) fn keys(view: &View<'_>, width: usize) -> Line<'static> {
    let theme = view.theme;
    let pause = if view.state.paused { "go on" } else { "pause" };
    let scroll = theme.up_down();
    let keys: &[(&str, &str)] = match view.state.stage {
        Stage::Over => &[("q", "leave"), ("tab", "panel"), (scroll, "scroll"), ("s", "sort"), ("?", "help")],
        Stage::Stopping => &[("q", "give up, lose results"), ("tab", "panel"), ("?", "help")],
        Stage::Running => &[
            ("space", pause),
            ("q", "quit"),
            ("?", "help"),
            ("tab", "panel"),
            (scroll, "scroll"),
            ("s", "sort"),
            ("+-", "refresh"),
            ("<>", "speed"),
        ],
    };
    let by_clock = view.state.pace == Pace::Clock;
    let keys = keys.iter().filter(|(key, _)| !(by_clock && ["space", "<>"].contains(key)));
    let mut spans = Vec::new();
    let mut used = 0;
    for (key, what) in keys {
        used += key.chars().count() + what.len() + 3;
        if used > width {
            break;
        }
        spans.extend([
            Span::styled(format!(" {key}"), theme.title()),
            Span::styled(format!(" {what} "), theme.quiet()),
        ]);
    }
    Line::from(spans)
}

impl View<'_> {
    /// Characters that columns leave to that of names.
    pub(super) fn room_for_name(&self, columns: &[Column], width: usize) -> usize {
        let taken = columns.iter().map(|column| match column.width {
            ratatui::layout::Constraint::Length(length) => usize::from(length),
            _ => 0,
        });
        width.saturating_sub(taken.sum::<usize>() + columns.len() - 1)
    }

    /// A name in so many characters.
    pub(super) fn name(&self, name: &str, room: usize) -> Line<'static> {
        Line::raw(super::text::shorten(&self.theme.link(name), room, self.theme.dots()))
    }
}
