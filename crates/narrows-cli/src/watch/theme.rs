//! Capabilities of a terminal: colors and characters.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Theme {
    color: bool,
    unicode: bool,
}

impl Theme {
    /// From the environment: `NO_COLOR` and the character set of the locale.
    pub(super) fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(given);
        let locale = locale.unwrap_or_default().to_ascii_lowercase();
        let unicode = cfg!(windows) || locale.contains("utf-8") || locale.contains("utf8");
        Self { color: given("NO_COLOR").is_none(), unicode }
    }

    fn colored(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    pub(super) fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Text that explains the rest.
    pub(super) fn quiet(self) -> Style {
        if self.color { Style::new().fg(Color::DarkGray) } else { Style::new() }
    }

    pub(super) fn bar(self) -> Style {
        self.colored(Color::Cyan)
    }

    pub(super) fn good(self) -> Style {
        self.colored(Color::Green)
    }

    pub(super) fn notable(self) -> Style {
        self.colored(Color::Yellow)
    }

    pub(super) fn alarm(self) -> Style {
        self.colored(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn borders(self) -> border::Set<'static> {
        if self.unicode { border::PLAIN } else { PLAIN_BORDERS }
    }

    /// The name of a link, with a short arrow if there is one.
    pub(super) fn link(self, name: &str) -> String {
        name.replace(" -> ", if self.unicode { "→" } else { ">" })
    }

    pub(super) fn none(self) -> &'static str {
        if self.unicode { "–" } else { "-" }
    }

    /// In place of what is left out.
    pub(super) fn dots(self) -> &'static str {
        if self.unicode { "…" } else { "~" }
    }

    pub(super) fn dot(self) -> &'static str {
        if self.unicode { " · " } else { " | " }
    }

    pub(super) fn up_down(self) -> &'static str {
        if self.unicode { "↑↓" } else { "up/down" }
    }

    /// A bar of `width` characters of which `fraction` is full. What is more than nothing is seen.
    pub(super) fn meter(self, fraction: f64, width: usize) -> String {
        let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
        let steps = if self.unicode { EIGHTHS.len() } else { 1 };
        let full = (fraction * (width * steps) as f64).round() as usize;
        let full = if fraction > 0.0 { full.max(1) } else { 0 };
        let (whole, rest) = (full / steps, full % steps);
        let mut text = if self.unicode { "█" } else { "#" }.repeat(whole);
        if rest > 0 {
            text.push(EIGHTHS[rest]);
        }
        let empty = width.saturating_sub(whole + usize::from(rest > 0));
        text.push_str(&if self.unicode { " " } else { "." }.repeat(empty));
        text
    }

    /// The last `width` values as a line of characters, `most` the highest.
    pub(super) fn sparkline(self, values: &[u32], most: u64, width: usize) -> String {
        let levels: &[char] = if self.unicode { &LEVELS } else { &PLAIN_LEVELS };
        let top = levels.len() - 1;
        let level = |value: &u32| match (f64::from(*value) / most.max(1) as f64 * top as f64).round() as usize
        {
            0 if *value > 0 => levels[1],
            level => levels[level.min(top)],
        };
        values[values.len().saturating_sub(width)..].iter().map(level).collect()
    }
}

const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const PLAIN_LEVELS: [char; 6] = [' ', '.', ':', '+', '*', '#'];

const PLAIN_BORDERS: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Colors and all characters.
    pub(in super::super) const RICH: Theme = Theme { color: true, unicode: true };
    /// Neither.
    pub(in super::super) const PLAIN: Theme = Theme { color: false, unicode: false };

    fn theme(variables: &[(&str, &str)]) -> Theme {
        Theme::of(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn no_color_takes_colors_away_unless_it_is_empty() {
        assert!(theme(&[]).color);
        assert!(theme(&[("NO_COLOR", "")]).color);
        assert!(!theme(&[("NO_COLOR", "1")]).color);
        assert_eq!(PLAIN.bar(), Style::new());
    }

    #[cfg(not(windows))]
    #[test]
    fn the_first_locale_that_is_set_decides_over_characters() {
        assert!(theme(&[("LANG", "de_DE.UTF-8")]).unicode);
        assert!(theme(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]).unicode);
        assert!(!theme(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]).unicode);
        assert!(!theme(&[]).unicode);
    }

    #[test]
    fn meters_are_as_wide_as_asked_and_show_the_smallest_part() {
        let meters = [0.0, 0.001, 0.5, 1.0, 7.0].map(|fraction| RICH.meter(fraction, 4));
        assert_eq!(meters, ["    ", "▏   ", "██  ", "████", "████"]);
        assert_eq!(
            [0.0, 0.001, 1.0, f64::NAN].map(|part| PLAIN.meter(part, 3)),
            ["...", "#..", "###", "..."]
        );
    }

    #[test]
    fn sparklines_end_with_the_newest_value() {
        assert_eq!(RICH.sparkline(&[9, 0, 1, 400, 800], 800, 4), " ▁▄█");
        assert_eq!(PLAIN.sparkline(&[0, 1, 800], 800, 9), " .#");
    }
}
