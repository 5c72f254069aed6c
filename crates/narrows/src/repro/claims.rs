//! `claims.toml` as it stands in the file: what a claim may say, and what does not fit together.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::claim::{Claim, Class, Expected};
use super::folder::forms::{Entry, Items, Many};
use super::places::Explanation;

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Lists that claims run over.
    #[serde(default)]
    pub(super) lists: BTreeMap<String, Vec<Entry>>,
    pub(super) claim: Vec<Written>,
    #[serde(default)]
    pub(super) note: Vec<Note>,
}

/// The note of several claims.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    /// Their ids; `*` stands for any letters.
    pub(super) of: Many<String>,
    pub(super) text: String,
}

/// A claim, or one for each point of a grid.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    /// The grid, as that of experiments. In all texts `{variable}` and `{variable.field}` stand for what it has.
    #[serde(default, rename = "for")]
    pub(super) grid: Many<BTreeMap<String, Items>>,
    id: String,
    figure: String,
    source: String,
    statement: String,
    quantity: String,
    class: Class,
    /// Divisor of the quantity, where the source has a number for the ratio.
    over: Option<String>,
    /// A value; `inf` for an infinite one.
    reported: Option<f64>,
    /// A ratio.
    times: Option<f64>,
    unit: Option<String>,
    /// A tolerance in this unit, instead of that of the class.
    within: Option<f64>,
    /// It is not less, in this unit.
    at_least: Option<f64>,
    /// It is not more, in this unit.
    at_most: Option<f64>,
    /// A quantity that is less.
    above: Option<String>,
    /// A quantity that is more.
    below: Option<String>,
    #[serde(default)]
    own: bool,
    #[serde(default = "yes")]
    counted: bool,
    because: Option<String>,
    note: Option<String>,
    explained: Option<Explanation>,
}

fn yes() -> bool {
    true
}

/// Claims without grids.
#[cfg(test)]
pub(super) fn read(name: &str, text: &str) -> Vec<Claim> {
    let document = crate::document::Document::parse(&format!("{name}/claims.toml"), text, "");
    let file = document.and_then(|document| document.read_into::<File>());
    let written = file.unwrap_or_else(|rejection| panic!("{rejection}")).claim;
    let claim =
        |written| Claim::try_from(written).unwrap_or_else(|error| panic!("{name}/claims.toml: {error}"));
    written.into_iter().map(claim).collect()
}

impl Written {
    /// The same with other texts: what `fill` makes of each, and of the key it stands at.
    pub(super) fn filled<E>(&self, fill: impl Fn(&str, &str) -> Result<String, E>) -> Result<Self, E> {
        let of = |text: &String, key: &str| fill(text, key);
        let maybe = |text: &Option<String>, key: &str| text.as_ref().map(|text| fill(text, key)).transpose();
        Ok(Self {
            id: of(&self.id, "id")?,
            figure: of(&self.figure, "figure")?,
            source: of(&self.source, "source")?,
            statement: of(&self.statement, "statement")?,
            quantity: of(&self.quantity, "quantity")?,
            over: maybe(&self.over, "over")?,
            above: maybe(&self.above, "above")?,
            below: maybe(&self.below, "below")?,
            unit: maybe(&self.unit, "unit")?,
            because: maybe(&self.because, "because")?,
            note: maybe(&self.note, "note")?,
            ..self.clone()
        })
    }
}

impl TryFrom<Written> for Claim {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let expected = match written.class {
            Class::Exact | Class::Size => value(&written)?,
            Class::Bound => bound(&written)?,
            Class::Order => order(&written)?,
        };
        let Written { id, figure, source, statement, quantity, class, own, note, explained, .. } = written;
        let over = written.over.or(written.above).or(written.below);
        let unit = match (&over, written.unit) {
            (Some(_), None) => "×".to_owned(),
            (None, Some(unit)) => unit,
            (Some(_), Some(_)) => return Err("a ratio has no unit"),
            (None, None) => return Err("what is no ratio needs a unit"),
        };
        let not_counted = match (written.counted, written.because) {
            (true, None) => None,
            (false, Some(because)) => Some(because),
            _ => return Err("`because` says why a claim is not counted: `counted = false`"),
        };
        if explained
            .as_ref()
            .is_some_and(|explained| explained.by.is_empty() || explained.predicts.is_empty())
        {
            return Err("what explains a miss is measured, and predicts another claim");
        }
        Ok(Self {
            id,
            figure,
            source,
            statement,
            quantity,
            over,
            unit,
            expected,
            class,
            own,
            not_counted,
            note,
            explained,
        })
    }
}

/// Expectation of a claim of class exact or size.
fn value(written: &Written) -> Result<Expected, &'static str> {
    let Written { reported, times, at_least, at_most, above, below, over, .. } = written;
    let (Some(reported), None, None, None, None) = (reported.or(*times), at_least, at_most, above, below)
    else {
        return Err(
            "classes exact and size need `reported` and `unit`, or `over` and `times`; they may have `within`",
        );
    };
    if over.is_some() != times.is_some() || written.reported.is_some() && times.is_some() {
        return Err("a value is `reported`, a ratio is so many `times` what it is `over`");
    }
    let tolerance = match (written.within, written.class.tolerance()) {
        (Some(within), _) => within,
        (None, _) if reported == 0.0 => return Err("a reported value of 0 needs `within`"),
        (None, _) if reported.is_infinite() => 0.0,
        (None, part) => reported.abs() * part.unwrap_or(0.0),
    };
    if reported.is_nan() || !tolerance.is_finite() || tolerance < 0.0 {
        return Err("`reported`, `times` or `within` makes no sense");
    }
    Ok(Expected::Value { reported, tolerance, own_tolerance: written.within.is_some() })
}

/// Expectation of a claim of class bound.
fn bound(written: &Written) -> Result<Expected, &'static str> {
    let Written { reported, times, within, above, below, at_least: least, at_most: most, .. } = written;
    if reported.or(*times).or(*within).is_some() || above.is_some() || below.is_some() {
        return Err("class bound has bounds, and a unit or `over`, and nothing else");
    }
    let bounds = [*least, *most];
    if bounds.iter().flatten().any(|bound| !bound.is_finite()) {
        return Err("a bound is a number");
    }
    match bounds {
        [None, None] => Err("class bound needs `at_least` or `at_most`, or both"),
        [Some(least), Some(most)] if least >= most => Err("`at_least` is not below `at_most`"),
        [least, most] => Ok(Expected::Bound { least, most }),
    }
}

/// Expectation of a claim of class order.
fn order(written: &Written) -> Result<Expected, &'static str> {
    let Written { reported, times, within, at_least, at_most, over, .. } = written;
    if reported.or(*times).or(*within).or(*at_least).or(*at_most).is_some() || over.is_some() {
        return Err("class order says only which is larger: `above` or `below`; where there is a number, \
                    give `over` with `times` (class exact or size), or with `at_least` or `at_most` (class bound)");
    }
    match (&written.above, &written.below) {
        (Some(_), None) => Ok(Expected::More),
        (None, Some(_)) => Ok(Expected::Less),
        _ => Err("give one of `above` and `below`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    #[test]
    fn claims_that_make_no_sense_are_refused() {
        let head = "[[claim]]\nid = \"a\"\nfigure = \"Table 1\"\nsource = \"p. 1\"\nstatement = \"s\"\n";
        let wrong = [
            "class = \"exact\"\nreported = 1.0",
            "class = \"exact\"\nunit = \"s\"\nreported = 0.0",
            "class = \"exact\"\nunit = \"s\"\nreported = nan",
            "class = \"exact\"\nunit = \"s\"\nreported = 1.0\nwithin = -1.0",
            "class = \"exact\"\nunit = \"s\"\nreported = 1.0\nfactor = 2.0",
            "class = \"exact\"\nunit = \"s\"\nreported = 1.0\nabove = \"w.b.x\"",
            "class = \"exact\"\nunit = \"s\"\nreported = 1.0\nat_most = 1.0",
            "class = \"exact\"\nunit = \"s\"\ntimes = 1.0",
            "class = \"exact\"\nover = \"w.b.x\"\nreported = 1.0",
            "class = \"exact\"\nover = \"w.b.x\"\ntimes = 1.0\nunit = \"s\"",
            "class = \"exact\"\nabove = \"w.b.x\"",
            "class = \"order\"\nunit = \"s\"\nreported = 1.0",
            "class = \"order\"\nabove = \"w.b.x\"\ntimes = 2.0",
            "class = \"order\"\nabove = \"w.b.x\"\nat_least = 2.0",
            "class = \"order\"\nabove = \"w.b.x\"\nbelow = \"w.c.x\"",
            "class = \"order\"\nover = \"w.b.x\"",
            "class = \"order\"",
            "class = \"bound\"\nunit = \"s\"",
            "class = \"bound\"\nat_most = 1.0",
            "class = \"bound\"\nunit = \"s\"\nat_most = inf",
            "class = \"bound\"\nunit = \"s\"\nat_most = 1.0\nat_least = 1.0",
            "class = \"bound\"\nunit = \"s\"\nat_most = 1.0\nreported = 1.0",
            "class = \"exakt\"\nunit = \"s\"\nreported = 1.0",
            "class = \"exact\"\nunit = \"s\"\nreported = 1.0\nverdict = \"match\"",
            "class = \"exact\"\nunit = \"s\"\nreported = 1.0\ncounted = false",
            "class = \"exact\"\nunit = \"s\"\nreported = 1.0\nbecause = \"it holds\"",
            "class = \"exact\"\nunit = \"s\"\nreported = 1.0\nexplained = { under = \"u\", by = [], found = [], predicts = {} }",
        ];
        for wrong in wrong {
            let text = format!("{head}quantity = \"w.a.x\"\n{wrong}");
            let file = Document::parse("claims.toml", text, "").and_then(|claims| claims.read_into::<File>());
            let refused =
                file.map_or(true, |file| file.claim.into_iter().any(|each| Claim::try_from(each).is_err()));
            assert!(refused, "{wrong}");
        }
    }
}
