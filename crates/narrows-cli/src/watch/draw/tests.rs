use std::sync::Arc;

use narrows::plan::Plan;
use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::observe::Look;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::style::Color;

use super::*;
use crate::watch::state::Stage;
use crate::watch::theme::tests::{PLAIN, RICH};

/// A run of two senders into one port that has been looked at twice.
fn monitor() -> Monitor {
    let document = narrows::templates::find("two-dc-mix").unwrap().document().unwrap();
    let plan = Arc::new(Plan::new(document).unwrap());
    let mut monitor = Monitor::new(&plan);
    for step in 1..=20 {
        monitor.take(look(&plan, step), Duration::from_millis(500 * step));
    }
    monitor
}

/// The look after so many steps of 100 us.
fn look(plan: &Plan, step: u64) -> Look {
    let mut look = Monitor::blank(plan);
    look.until = Time::ZERO + Span::from_us(100 * step);
    for (number, link) in (0_u64..).zip(look.links.iter_mut().take(40)) {
        link.packets = step * (number + 1);
        link.bytes = link.packets * 1500;
        if number % 3 == 0 {
            link.most = (step * 7919 * (number + 1)) % 90_000;
            link.backlog = link.most / 2;
            link.peak = 90_000 + number;
            link.marks = 11 * number;
        }
    }
    look.links[9].paused_until = Time::NEVER;
    look.links[6].has_side = true;
    look.links[3].drops = 12;
    for (number, group) in (1..).zip(&mut look.groups) {
        group.started = step * 3 * number;
        group.finished = step * number;
        group.delivered = Bytes::new(step * number * 40_000);
    }
    look.counts.ports.marks = 1_000 * step;
    look.counts.ports.drops[0] = 12;
    look.counts.senders.timeouts = step;
    look
}

fn view<'a>(monitor: &'a Monitor, state: &'a State, theme: Theme) -> View<'a> {
    let elapsed = Duration::from_secs(10);
    View { monitor, state, theme, run: "seed 1", tally: None, elapsed, megabytes: 45 }
}

fn buffer(view: &View<'_>, width: u16, height: u16) -> (ratatui::buffer::Buffer, Vec<Room>) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut rooms = Vec::new();
    terminal.draw(|frame| rooms = draw(frame, view)).unwrap();
    (terminal.backend().buffer().clone(), rooms)
}

/// The text of a picture, line by line.
fn picture(view: &View<'_>, width: u16, height: u16) -> String {
    let (buffer, _) = buffer(view, width, height);
    let line =
        |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned() + "\n";
    (0..height).map(line).collect()
}

fn showing(panel: Panel) -> State {
    State { panel, ..State::default() }
}

#[test]
fn every_panel_fits_a_small_terminal() {
    let monitor = monitor();
    for panel in Panel::ALL {
        let state = showing(panel);
        insta::assert_snapshot!(format!("{panel:?}_80x24"), picture(&view(&monitor, &state, RICH), 80, 24));
    }
}

#[test]
fn without_unicode_everything_is_ascii() {
    let monitor = monitor();
    let mut pictures = String::new();
    for panel in Panel::ALL {
        let state = showing(panel);
        pictures.push_str(&picture(&view(&monitor, &state, PLAIN), 80, 24));
    }
    let helping = State { help: true, ..State::default() };
    pictures.push_str(&picture(&view(&monitor, &helping, PLAIN), 80, 24));
    assert!(pictures.is_ascii(), "{pictures}");
    insta::assert_snapshot!(
        "queues_ascii_100x12",
        picture(&view(&monitor, &State::default(), PLAIN), 100, 12)
    );
}

#[test]
fn a_large_terminal_shows_all_panels_at_once() {
    let monitor = monitor();
    insta::assert_snapshot!("all_160x48", picture(&view(&monitor, &State::default(), RICH), 160, 48));
}

#[test]
fn help_fits_a_small_terminal() {
    let monitor = monitor();
    let state = State { help: true, ..State::default() };
    insta::assert_snapshot!("help_80x24", picture(&view(&monitor, &state, RICH), 80, 24));
}

#[test]
fn any_size_can_be_drawn() {
    let (monitor, blank) = (monitor(), Monitor::new(&Arc::new(monitor().plan().clone())));
    for monitor in [&monitor, &blank] {
        for (width, height) in (0..=30).flat_map(|step| [(step, step), (step * 11, 31 - step), (7, step * 3)])
        {
            for panel in Panel::ALL {
                for theme in [RICH, PLAIN] {
                    for help in [false, true] {
                        let state = State { panel, help, ..State::default() };
                        picture(&view(monitor, &state, theme), width, height);
                    }
                }
            }
        }
    }
}

#[test]
fn the_head_says_what_runs_do() {
    let monitor = monitor();
    let head = |state: State, tally| {
        let mut view = view(&monitor, &state, PLAIN);
        view.tally = tally;
        picture(&view, 100, 10).lines().next().unwrap_or_default().to_owned()
    };
    let with = |stage, paused| State { stage, paused, ..State::default() };
    let tally = Tally { waiting: 3, running: 2, over: 1 };
    let heads = [
        head(with(Stage::Running, false), Some(tally)),
        head(with(Stage::Running, true), None),
        head(with(Stage::Stopping, false), None),
        head(with(Stage::Over, false), None),
    ];
    insta::assert_snapshot!("heads", heads.join("\n"));
}

#[test]
fn scrolling_shows_other_rows_and_says_which() {
    let monitor = monitor();
    let mut state = showing(Panel::Links);
    for _ in 0..5 {
        state.on_key(KeyEvent::from(KeyCode::Down), 0.0);
    }
    let scrolled = picture(&view(&monitor, &state, RICH), 80, 24);
    assert!(scrolled.contains("6-21 of 40"), "{scrolled}");
    state.on_key(KeyEvent::from(KeyCode::End), 0.0);
    let (_, rooms) = buffer(&view(&monitor, &state, RICH), 80, 24);
    assert_eq!(rooms, [(Panel::Links, 40, 16)]);
    assert!(picture(&view(&monitor, &state, RICH), 80, 24).contains("25-40 of 40"));
}

#[test]
fn without_color_no_cell_has_one() {
    let monitor = monitor();
    let state = State::default();
    let colors = |theme| {
        let (buffer, _) = buffer(&view(&monitor, &state, theme), 160, 48);
        buffer.content().iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert!(colors(RICH));
    assert!(!colors(PLAIN));
}
