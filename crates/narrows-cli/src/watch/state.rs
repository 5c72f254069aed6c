//! Choices of those who watch, and how their keys change them. Knows no terminal.

use std::time::Duration;

use narrows::live::Order;
use narrows_proto::units::Span;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A panel of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Panel {
    Queues,
    Links,
    Traffic,
    Activity,
}

impl Panel {
    pub(super) const ALL: [Self; 4] = [Self::Queues, Self::Links, Self::Traffic, Self::Activity];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Queues => "Queues",
            Self::Links => "Links",
            Self::Traffic => "Traffic",
            Self::Activity => "Activity",
        }
    }

    /// Name of the order in which rows stand.
    pub(super) fn order_name(self, order: Order) -> &'static str {
        match (self, order) {
            (Self::Queues, Order::Now) => "deepest now",
            (Self::Queues, Order::Ever) => "highest peak",
            (Self::Links, Order::Now) => "busiest now",
            (Self::Links, Order::Ever) => "busiest so far",
            (Self::Traffic, Order::Now) => "fastest now",
            (Self::Traffic, Order::Ever) => "most delivered",
            (Self::Activity, Order::Now) => "most of late",
            (Self::Activity, Order::Ever) => "most so far",
            (_, Order::Listed) => "as listed",
        }
    }
}

/// Stage of all runs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Running,
    /// They were asked to end early.
    Stopping,
    /// Results are written.
    Over,
}

/// Speed of runs that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// No more than so much simulated time per second, if there is a limit; those who watch may change it.
    Limit(Option<Span>),
    /// That of the clock, which nobody holds.
    Clock,
}

/// Request of a key besides another picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    None,
    /// Stand still, or go on.
    Pause(bool),
    /// Let so much simulated time pass per second, at most.
    Limit(Option<Span>),
    /// End runs early and keep what there is.
    Stop,
    /// End the program at once.
    GiveUp,
    /// Leave the picture of runs that are over.
    Leave,
    /// Show the next run, or the one before.
    Turn {
        forward: bool,
    },
}

/// Time between pictures, in milliseconds.
const REFRESHES: [u64; 7] = [100, 200, 500, 1000, 2000, 5000, 10_000];

/// Simulated time per second that can be chosen as a limit: 1, 2 and 5 of each power of ten, from 1 us to 1 s.
fn limits() -> impl DoubleEndedIterator<Item = Span> {
    (0..6)
        .flat_map(|power| [1, 2, 5].map(|first| Span::from_us(first * 10_u64.pow(power))))
        .chain([Span::from_secs(1)])
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) panel: Panel,
    pub(super) stage: Stage,
    pub(super) paused: bool,
    pub(super) help: bool,
    pub(super) pace: Pace,
    pub(super) orders: [Order; 4],
    pub(super) scrolls: [usize; 4],
    pub(super) refresh: usize,
}

impl Default for State {
    fn default() -> Self {
        let orders = [Order::Now, Order::Now, Order::Listed, Order::Ever];
        Self {
            panel: Panel::Queues,
            stage: Stage::Running,
            paused: false,
            help: false,
            pace: Pace::Limit(None),
            orders,
            scrolls: [0; 4],
            refresh: 2,
        }
    }
}

impl State {
    pub(super) fn refresh(&self) -> Duration {
        Duration::from_millis(REFRESHES[self.refresh])
    }

    pub(super) fn order(&self, panel: Panel) -> Order {
        self.orders[panel as usize]
    }

    /// The first row of a panel that is shown, if there are `all` and `room` of them can be.
    pub(super) fn first_row(&self, panel: Panel, all: usize, room: usize) -> usize {
        self.scrolls[panel as usize].min(all.saturating_sub(room))
    }

    /// A panel has so many rows, and room for so many: nobody scrolls further than its end.
    pub(super) fn bound(&mut self, panel: Panel, all: usize, room: usize) {
        self.scrolls[panel as usize] = self.first_row(panel, all, room);
    }

    /// A key was pressed while `speed` simulated seconds pass per second.
    pub(super) fn on_key(&mut self, key: KeyEvent, speed: f64) -> Action {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let was_helping = std::mem::take(&mut self.help);
        match key.code {
            KeyCode::Char('c') if control => return self.quit(),
            _ if control => {}
            KeyCode::Char('q') => return self.quit(),
            KeyCode::Esc | KeyCode::Enter if was_helping => {}
            KeyCode::Esc | KeyCode::Enter if self.stage == Stage::Over => return Action::Leave,
            KeyCode::Char(' ' | '<' | ',' | '>' | '.' | 'f') if self.pace == Pace::Clock => {}
            KeyCode::Char(' ') if self.stage == Stage::Running => {
                self.paused = !self.paused;
                return Action::Pause(self.paused);
            }
            KeyCode::Char('?' | 'h') => self.help = !was_helping,
            KeyCode::Char(digit @ '1'..='4') => self.panel = Panel::ALL[digit as usize - '1' as usize],
            KeyCode::Tab | KeyCode::Right => self.turn_panel(1),
            KeyCode::BackTab | KeyCode::Left => self.turn_panel(3),
            KeyCode::Up | KeyCode::Char('k') => self.scroll(|row| row.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.scroll(|row| row.saturating_add(1)),
            KeyCode::PageUp => self.scroll(|row| row.saturating_sub(10)),
            KeyCode::PageDown => self.scroll(|row| row.saturating_add(10)),
            KeyCode::Home => self.scroll(|_| 0),
            KeyCode::End => self.scroll(|_| usize::MAX),
            KeyCode::Char('s') => {
                let order = &mut self.orders[self.panel as usize];
                *order = order.next();
                self.scroll(|_| 0);
            }
            KeyCode::Char('+' | '=') => self.refresh = (self.refresh + 1).min(REFRESHES.len() - 1),
            KeyCode::Char('-') => self.refresh = self.refresh.saturating_sub(1),
            KeyCode::Char('<' | ',') => return self.slower(speed),
            KeyCode::Char('>' | '.') => return self.faster(),
            KeyCode::Char('f') => return self.limit_to(None),
            KeyCode::Char('n') => return Action::Turn { forward: true },
            KeyCode::Char('p') => return Action::Turn { forward: false },
            _ => self.help = was_helping,
        }
        Action::None
    }

    fn quit(&mut self) -> Action {
        self.paused = false;
        match self.stage {
            Stage::Running => {
                self.stage = Stage::Stopping;
                Action::Stop
            }
            Stage::Stopping => Action::GiveUp,
            Stage::Over => Action::Leave,
        }
    }

    fn turn_panel(&mut self, by: usize) {
        self.panel = Panel::ALL[(self.panel as usize + by) % Panel::ALL.len()];
    }

    fn scroll(&mut self, to: impl Fn(usize) -> usize) {
        let row = &mut self.scrolls[self.panel as usize];
        *row = to(*row);
    }

    fn limit(&self) -> Option<Span> {
        match self.pace {
            Pace::Limit(limit) => limit,
            Pace::Clock => None,
        }
    }

    /// The next lower limit. Without one, at most half of how fast it goes.
    fn slower(&mut self, speed: f64) -> Action {
        let next = match self.limit() {
            Some(limit) => limits().rev().find(|lower| *lower < limit).unwrap_or(limit),
            None => {
                let half = Span::from_secs_f64((speed / 2.0).clamp(1e-6, 1.0));
                limits().rev().find(|limit| *limit <= half).unwrap_or(Span::from_us(1))
            }
        };
        self.limit_to(Some(next))
    }

    /// The next higher limit, and after the highest none.
    fn faster(&mut self) -> Action {
        let next = self.limit().and_then(|limit| limits().find(|higher| *higher > limit));
        self.limit_to(next)
    }

    fn limit_to(&mut self, limit: Option<Span>) -> Action {
        self.pace = Pace::Limit(limit);
        Action::Limit(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(state: &mut State, keys: &str) -> Vec<Action> {
        let key = |char| match char {
            '\t' => KeyCode::Tab,
            '\n' => KeyCode::Enter,
            'v' => KeyCode::Down,
            '^' => KeyCode::Up,
            other => KeyCode::Char(other),
        };
        keys.chars().map(|char| state.on_key(KeyEvent::from(key(char)), 0.01)).collect()
    }

    #[test]
    fn space_pauses_and_goes_on() {
        let mut state = State::default();
        assert_eq!(press(&mut state, "  "), [Action::Pause(true), Action::Pause(false)]);
    }

    #[test]
    fn the_first_q_stops_the_second_gives_up() {
        let mut state = State::default();
        assert_eq!(press(&mut state, " qq"), [Action::Pause(true), Action::Stop, Action::GiveUp]);
        assert_eq!((state.stage, state.paused), (Stage::Stopping, false));
    }

    #[test]
    fn control_c_is_q() {
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        let mut state = State::default();
        assert_eq!(state.on_key(control_c, 0.0), Action::Stop);
        assert_eq!(state.on_key(control_c, 0.0), Action::GiveUp);
    }

    #[test]
    fn runs_that_are_over_are_left_without_stopping_anything() {
        for key in ["q", "\n"] {
            let mut state = State { stage: Stage::Over, ..State::default() };
            assert_eq!(press(&mut state, key), [Action::Leave]);
        }
        assert_eq!(press(&mut State::default(), "\n"), [Action::None]);
    }

    #[test]
    fn panels_are_chosen_by_number_and_in_turn() {
        let mut state = State::default();
        for (keys, panel) in
            [("3", Panel::Traffic), ("\t", Panel::Activity), ("\t", Panel::Queues), ("2", Panel::Links)]
        {
            press(&mut state, keys);
            assert_eq!(state.panel, panel);
        }
    }

    #[test]
    fn nobody_scrolls_beyond_the_end() {
        let mut state = State::default();
        press(&mut state, "vvvvv");
        assert_eq!(state.first_row(Panel::Queues, 10, 7), 3);
        state.bound(Panel::Queues, 10, 7);
        press(&mut state, "^");
        assert_eq!(state.first_row(Panel::Queues, 10, 7), 2);
        assert_eq!(state.first_row(Panel::Links, 10, 7), 0, "each panel scrolls for itself");
        press(&mut state, "^^^^^");
        assert_eq!(state.first_row(Panel::Queues, 3, 7), 0);
    }

    #[test]
    fn s_changes_the_order_of_the_panel_that_is_shown() {
        let mut state = State::default();
        press(&mut state, "s");
        assert_eq!((state.order(Panel::Queues), state.order(Panel::Links)), (Order::Ever, Order::Now));
        press(&mut state, "ss");
        assert_eq!(state.order(Panel::Queues), Order::Now);
    }

    #[test]
    fn refreshes_stay_between_a_tenth_of_a_second_and_ten_seconds() {
        let mut state = State::default();
        press(&mut state, "----------");
        assert_eq!(state.refresh(), Duration::from_millis(100));
        press(&mut state, "++++++++++");
        assert_eq!(state.refresh(), Duration::from_secs(10));
    }

    #[test]
    fn the_first_limit_is_below_half_the_speed_and_the_last_step_takes_it_off() {
        let mut state = State::default();
        let limit = |us| Action::Limit(Some(Span::from_us(us)));
        // 10 ms per second.
        assert_eq!(press(&mut state, "<<<"), [limit(5000), limit(2000), limit(1000)]);
        assert_eq!(press(&mut state, ">f"), [limit(2000), Action::Limit(None)]);
        state.pace = Pace::Limit(Some(Span::from_us(1)));
        assert_eq!(press(&mut state, "<"), [limit(1)]);
        state.pace = Pace::Limit(Some(Span::from_ms(500)));
        assert_eq!(press(&mut state, ">>"), [limit(1_000_000), Action::Limit(None)]);
        assert_eq!(state.on_key(KeyEvent::from(KeyCode::Char('<')), 0.0), limit(1), "a speed nobody knows");
    }

    #[test]
    fn nobody_holds_the_clock() {
        let mut state = State { pace: Pace::Clock, ..State::default() };
        assert_eq!(press(&mut state, " <>f,."), [Action::None; 6]);
        assert_eq!((state.pace, state.paused), (Pace::Clock, false));
    }

    #[test]
    fn help_goes_with_the_next_key_that_does_something() {
        let mut state = State::default();
        press(&mut state, "?");
        assert!(state.help);
        press(&mut state, "x");
        assert!(state.help);
        press(&mut state, "\n");
        assert!(!state.help);
        assert_eq!(press(&mut state, "?q")[1], Action::Stop);
    }
}
