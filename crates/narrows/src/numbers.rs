//! Numbers for people.

use crate::statistics::Estimate;

/// A number with four significant digits.
pub fn number(value: f64) -> String {
    digits(value, 4)
}

/// A number with so many significant digits; all of them before the point, and none for zeros behind it.
fn digits(value: f64, significant: i32) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".into()
    } else if value.is_infinite() {
        if value > 0.0 { "∞".into() } else { "-∞".into() }
    } else if !(1e-3..1e15).contains(&size) {
        format!("{value:.*e}", significant as usize - 2)
    } else if size >= 1000.0 || value.fract() == 0.0 {
        grouped(value.round() as i64)
    } else {
        let places = (significant - 1 - size.log10().floor() as i32).max(0) as usize;
        let text = format!("{value:.places$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    }
}

/// The value of a text of this module.
fn read(text: &str) -> f64 {
    text.replace(GROUPS, "").replace('∞', "inf").parse().unwrap_or(f64::NAN)
}

/// Between groups of three digits.
const GROUPS: char = ' ';

/// Digits in groups of three.
pub fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(GROUPS);
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

/// A number of things: `1 seed`, `5 seeds`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A central value with its unit, and in brackets its interval: `12.35 [11.9, 12.8]`. Where there is no interval, the
/// smallest and the largest sample: `12.35 (10.1 to 15.1)`.
pub fn with_interval(estimate: Option<&Estimate>, unit: &str) -> String {
    estimate.map_or("–".into(), |estimate| format!("{}{unit}{}", number(estimate.mean), spread(estimate)))
}

/// Text behind a central value: its interval in brackets, or the ends of its range; nothing if all samples are equal.
pub fn spread(estimate: &Estimate) -> String {
    let Estimate { mean, interval, range, .. } = estimate;
    let shown = |(low, high): (f64, f64)| {
        // Three digits, unless the mean would look as if it were outside, or a ratio as if it might be 1. With as many digits as
        // the mean has, it cannot be outside.
        let holds_one = (low..=high).contains(&1.0);
        let three = [low, high].map(|bound| match digits(bound, 3) {
            text if !holds_one && read(&text) == 1.0 => digits(bound, 5),
            text => text,
        });
        let [least, center, most] = [&three[0], &number(*mean), &three[1]].map(|text| read(text));
        if (least..=most).contains(&center) { three } else { [low, high].map(number) }
    };
    match interval {
        Some((low, high)) if low < high => format!(" [{}]", shown((*low, *high)).join(", ")),
        None if range.0 < range.1 => format!(" ({})", shown(*range).join(" to ")),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::estimate;

    #[test]
    fn an_interval_without_one_does_not_look_as_if_it_had_it() {
        let shown = |low, high| {
            spread(&Estimate {
                mean: (low + high) / 2.0,
                interval: Some((low, high)),
                ..estimate(&[1.1; 3]).unwrap()
            })
        };
        assert_eq!(shown(1.0004, 1.03), " [1.0004, 1.03]");
        assert_eq!(shown(0.97, 0.9996), " [0.97, 0.9996]");
        assert_eq!(shown(0.99, 1.001), " [0.99, 1]");
    }

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let shown =
            [0.0, 1.0, 0.001_234_56, 12.345_6, 999.96, 1_234_567.8, -20_000.0, 1.5e-7, 2e18].map(number);
        let expected = ["0", "1", "0.001235", "12.35", "1000", "1 234 568", "-20 000", "1.50e-7", "2.00e18"];
        assert_eq!(shown, expected);
        assert_eq!([f64::INFINITY, f64::NEG_INFINITY].map(number), ["∞", "-∞"]);
    }

    #[test]
    fn an_estimate_shows_its_interval_or_what_was_found() {
        let shown = |values: &[f64]| with_interval(estimate(values).as_ref(), "×");
        let found = [&[][..], &[2.5], &[2.0, 8.0], &[0.0, 3.0, 0.0], &[4.0; 3], &[2.0, 4.0, 8.0]].map(shown);
        let expected = ["–", "2.5×", "4× (2 to 8)", "1× (0 to 3)", "4×", "4× [0.715, 22.4]"];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_narrow_interval_is_written_with_enough_digits_to_hold_its_center() {
        let made =
            |mean, low, high| Estimate { mean, interval: Some((low, high)), range: (low, high), samples: 5 };
        assert_eq!(spread(&made(1.2344, 1.2341, 1.2347)), " [1.234, 1.235]");
        assert_eq!(spread(&made(0.4996, 0.4988, 0.5002)), " [0.499, 0.5]");
        assert_eq!(spread(&made(1.25, 1.231, 1.269)), " [1.23, 1.27]");
        assert_eq!(spread(&made(1.234e-5, 1.224e-5, 1.244e-5)), " [1.22e-5, 1.24e-5]");
    }
}
