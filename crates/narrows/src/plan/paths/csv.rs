//! Steps in CSV files: time,rate, and if wanted delay and loss.

use std::sync::Arc;

use narrows_proto::units::{BitRate, Span};

use super::mistake::{delay_mistake, rate_mistake};
use super::{Listed, MOST_STEPS};
use crate::csv_file::{Field, Table};
use crate::diagnostic::{Checked, Code, Diagnostic, Source};

/// Steps of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct CsvSteps {
    /// Rates.
    pub rate: Listed<BitRate>,
    /// Propagation delays, if the file has them.
    pub delay: Option<Listed<Span>>,
    /// Probabilities that a packet is lost, if the file has them.
    pub loss: Option<Listed<f64>>,
}

const COLUMNS: [&str; 4] = ["time", "rate", "delay", "loss"];

/// Reads the steps in a text called `name`. With `repeat`, everything begins again at the time of the last row.
///
/// # Errors
/// If a row cannot be read, times do not increase, there are none, or more than [`MOST_STEPS`].
pub fn parse_csv(name: &str, text: String, repeat: bool) -> Checked<CsvSteps> {
    read(Arc::new(Source { name: name.to_owned(), text }), repeat)
}

pub(super) fn read(source: Arc<Source>, repeat: bool) -> Checked<CsvSteps> {
    let table = Table::of(source);
    let mut rows = Rows::default();
    match table.width() {
        4 => table.rows(COLUMNS).try_for_each(|row| rows.take(&row?))?,
        3 => table.rows([COLUMNS[0], COLUMNS[1], COLUMNS[2]]).try_for_each(|row| rows.take(&row?))?,
        _ => table.rows([COLUMNS[0], COLUMNS[1]]).try_for_each(|row| rows.take(&row?))?,
    }
    rows.finish(table.name(), repeat)
}

#[derive(Default)]
struct Rows {
    times: Vec<Span>,
    rates: Vec<BitRate>,
    delays: Vec<Span>,
    losses: Vec<f64>,
}

impl Rows {
    fn take(&mut self, row: &[Field<'_>]) -> Checked<()> {
        let [at, rate, others @ ..] = row else { return Ok(()) };
        if self.times.len() >= MOST_STEPS {
            let message = format!("more than {MOST_STEPS} rows, which is the most that a link may have");
            return Err(at.error(message).into());
        }
        let time: Span = quantity(at, "s")?;
        if let Some(before) = self.times.last().filter(|before| **before >= time) {
            let message = format!("{time} after {before}, expected times that increase");
            return Err(at.error(message).into());
        }
        self.times.push(time);
        self.rates.push(checked(rate, quantity(rate, "b/s")?, rate_mistake)?);
        if let Some(delay) = others.first() {
            self.delays.push(checked(delay, quantity(delay, "s")?, delay_mistake)?);
        }
        if let Some(field) = others.get(1) {
            let loss = field.text.parse::<f64>().ok().filter(|loss| (0.0..1.0).contains(loss));
            let message = || format!("\"{}\", expected a probability of at least 0, less than 1", field.text);
            self.losses.push(loss.ok_or_else(|| field.error(message()))?);
        }
        Ok(())
    }

    /// The steps, if there are some.
    fn finish(mut self, name: &str, repeat: bool) -> Checked<CsvSteps> {
        let least = if repeat { 2 } else { 1 };
        if self.times.len() < least {
            let message =
                format!("{name} has {} rows with steps, expected at least {least}", self.times.len());
            let error = Diagnostic::error(Code::Csv, message);
            let help = "the last row is where everything begins again";
            return Err(if repeat { error.help(help).into() } else { error.into() });
        }
        let period = if repeat { self.times.pop() } else { None };
        Ok(CsvSteps {
            delay: (!self.delays.is_empty()).then(|| listed(&self.times, self.delays, period)),
            loss: (!self.losses.is_empty()).then(|| listed(&self.times, self.losses, period)),
            rate: listed(&self.times, self.rates, period),
        })
    }
}

fn listed<T>(times: &[Span], values: Vec<T>, period: Option<Span>) -> Listed<T> {
    Listed { steps: times.iter().copied().zip(values).collect(), period }
}

/// A quantity with a unit, or a bare number of this one.
fn quantity<T: std::str::FromStr<Err: std::fmt::Display>>(field: &Field<'_>, unit: &str) -> Checked<T> {
    let bare = field.text.parse::<f64>().is_ok();
    let text = if bare { format!("{} {unit}", field.text) } else { field.text.to_owned() };
    Ok(text.parse().map_err(|error: T::Err| field.error(error.to_string()))?)
}

fn checked<T: Copy>(field: &Field<'_>, value: T, mistake: impl Fn(T) -> Option<String>) -> Checked<T> {
    mistake(value).map_or(Ok(value), |message| Err(field.error(message).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, repeat: bool) -> Result<CsvSteps, String> {
        parse_csv("a.csv", text.to_owned(), repeat).map_err(|error| error.to_string())
    }

    #[test]
    fn units_may_stand_in_the_file_or_be_left_out() {
        let steps = parse("time,rate\n0,5e6\n0.5,10 Mb/s\n2000 ms,0\n3,1e6\n", false).unwrap();
        let expected = [(0, 5), (500, 10), (2_000, 0), (3_000, 1)];
        let expected = expected.map(|(at, mbps)| (Span::from_ms(at), BitRate::from_mbps(mbps)));
        assert_eq!(steps.rate, Listed { steps: expected.to_vec(), period: None });
        assert_eq!((steps.delay, steps.loss), (None, None));
    }

    #[test]
    fn the_last_row_is_where_a_file_repeats() {
        let steps = parse("0 5Mb/s 10ms 0.01\n1 6Mb/s 20ms 0\n4 6Mb/s 20ms 0\n", true).unwrap();
        let second = Some(Span::from_secs(4));
        let delays = [(0, 10), (1, 20)].map(|(at, delay)| (Span::from_secs(at), Span::from_ms(delay)));
        assert_eq!(steps.delay, Some(Listed { steps: delays.to_vec(), period: second }));
        let losses = [(Span::ZERO, 0.01), (Span::from_secs(1), 0.0)];
        assert_eq!(steps.loss, Some(Listed { steps: losses.to_vec(), period: second }));
        assert_eq!((steps.rate.steps.len(), steps.rate.period), (2, second));
    }

    #[test]
    fn what_is_wrong_is_shown_at_its_place() {
        for (text, repeat, expected) in [
            ("", false, "a.csv has 0 rows with steps, expected at least 1"),
            ("# nothing\n", false, "a.csv has 0 rows with steps, expected at least 1"),
            ("0,1e6\n", true, "a.csv has 1 rows with steps, expected at least 2"),
            ("0,1e6\n1,1e6\n1,2e6\n", false, "a.csv:3:1  1 s after 1 s, expected times that increase"),
            ("0,1e6\n1,5\n", false, "a.csv:2:3  5 b/s, expected 0 b/s, or 1 kb/s to 100 Tb/s"),
            ("0,1e6\n1\n", false, "a.csv:2:1  a row with 1 fields, expected 2: time,rate"),
            ("0,1e6,0,1\n", false, "a.csv:1:9  \"1\", expected a probability of at least 0, less than 1"),
            ("0,1e6,2h\n", false, "a.csv:1:7  7200 s, expected at most 3600 s"),
            ("0,-1\n", false, "a.csv:1:3  "),
        ] {
            let error = parse(text, repeat).expect_err(text);
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }
}
