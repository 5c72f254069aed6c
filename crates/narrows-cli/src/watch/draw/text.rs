//! Numbers that stand below each other.

use narrows_proto::units::Span;
use ratatui::style::Style;
use ratatui::text::Line;

/// A number at the right end of its column.
pub(super) fn right(text: impl Into<String>) -> Line<'static> {
    Line::from(text.into()).right_aligned()
}

pub(super) fn styled(text: impl Into<String>, style: Style) -> Line<'static> {
    Line::styled(text.into(), style)
}

/// Thousands of bytes.
pub(super) fn kilobytes(bytes: u64) -> String {
    match bytes {
        0 => "0".into(),
        1..100_000 => format!("{:.1}", bytes as f64 / 1e3),
        _ => narrows::numbers::grouped((bytes / 1000) as i64),
    }
}

/// Three digits and a prefix: 1.25 M.
pub(super) fn prefixed(value: f64) -> String {
    let scaled =
        [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")];
    let Some((size, prefix)) = scaled.into_iter().find(|(size, _)| value >= *size * 0.9995) else {
        return "0 ".into();
    };
    let value = value / size;
    let places = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    let (value, places) = if size == 1.0 && value.fract() == 0.0 { (value, 0) } else { (value, places) };
    format!("{value:.places$} {prefix}")
}

/// A length of time with three digits.
pub(super) fn seconds(span: Span) -> String {
    format!("{}s", prefixed(span.as_secs_f64()))
}

/// Wall time: 59 s, 1:02, 3:04:05.
pub(super) fn clock(seconds: u64) -> String {
    let (minutes, hours) = (seconds / 60 % 60, seconds / 3600);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes}:{:02}", seconds % 60),
        _ => format!("{hours}:{minutes:02}:{:02}", seconds % 60),
    }
}

/// The end of a name that is too long: there it differs from others.
pub(super) fn shorten(name: &str, width: usize, dots: &str) -> String {
    let len = name.chars().count();
    if len <= width {
        return name.to_owned();
    }
    dots.chars().chain(name.chars().skip(len + 1 - width.max(1))).take(width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_prefix() {
        let values = [0.0, 0.001_234, 5.0, 12.34, 999.4, 999.9, 1_250_000.0, 4e15].map(prefixed);
        assert_eq!(values, ["0 ", "1.23 m", "5 ", "12.3 ", "999 ", "1.00 k", "1.25 M", "4000 T"]);
        assert_eq!(seconds(Span::from_us(1500)), "1.50 ms");
    }

    #[test]
    fn bytes_are_thousands_of_them() {
        assert_eq!(
            [0, 60, 99_999, 100_000, 12_345_678].map(kilobytes),
            ["0", "0.1", "100.0", "100", "12 345"]
        );
    }

    #[test]
    fn times_on_the_wall_are_read_like_a_clock() {
        assert_eq!([0, 59, 62, 11_045].map(clock), ["0 s", "59 s", "1:02", "3:04:05"]);
    }

    #[test]
    fn long_names_keep_their_end() {
        assert_eq!(shorten("dc0/rack0/tor", 9, "…"), "…ack0/tor");
        assert_eq!(shorten("dc0/rack0/tor", 9, "~"), "~ack0/tor");
        assert_eq!([0, 1, 3, 4].map(|width| shorten("tor0", width, "~")), ["", "~", "~r0", "tor0"]);
    }
}
