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

/// Digits in groups of three.
pub fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

/// A mean, its unit, and its interval if it has one.
pub fn with_interval(estimate: Option<&Estimate>, unit: &str) -> String {
    match estimate {
        None => "–".into(),
        Some(Estimate { mean, interval: Some((low, high)), .. }) if low < high => {
            format!("{}{unit} [{}, {}]", number(*mean), digits(*low, 3), digits(*high, 3))
        }
        Some(Estimate { mean, .. }) => format!("{}{unit}", number(*mean)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let shown =
            [0.0, 1.0, 0.001_234_56, 12.345_6, 999.96, 1_234_567.8, -20_000.0, 1.5e-7, 2e18].map(number);
        let expected = ["0", "1", "0.001235", "12.35", "1000", "1 234 568", "-20 000", "1.50e-7", "2.00e18"];
        assert_eq!(shown, expected);
        assert_eq!([f64::INFINITY, f64::NEG_INFINITY].map(number), ["∞", "-∞"]);
    }
}
