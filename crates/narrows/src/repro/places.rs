//! Tests of notes and explanations: quantities, ratios, also with other values of parameters.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::name::parts;

/// Another set-up under which a claim holds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// Difference of the set-up, and why it is plausible.
    pub under: String,
    /// Quantities measured there; all of them have to be what the claim expects.
    pub by: Vec<Place>,
    /// Claims whose numbers were used to find that set-up.
    pub found: Vec<String>,
    /// Other claims about numbers, and what was measured for them there; one of them has to hold.
    pub predicts: BTreeMap<String, Place>,
}

impl Explanation {
    /// All that is measured under it.
    pub(super) fn tests(&self) -> impl Iterator<Item = &Place> {
        self.by.iter().chain(self.predicts.values())
    }
}

/// A quantity, or the ratio of two, `… / …`; as chosen, or with another value of a parameter: `… | parameter | value`. In
/// `… / … | parameter | value` it is that of both, in `… | parameter | value / …` of the first alone.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Place {
    /// The quantity that is measured.
    pub term: Term,
    /// Its divisor.
    pub over: Option<Term>,
}

/// A quantity, as chosen or with another value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// `group.row.column`.
    pub quantity: String,
    /// A parameter and its value.
    pub varied: Option<(String, String)>,
}

impl Place {
    /// Its quantity and the divisor.
    pub(super) fn terms(&self) -> impl Iterator<Item = &Term> {
        std::iter::once(&self.term).chain(&self.over)
    }

    pub(super) fn into_terms(self) -> impl Iterator<Item = Term> {
        std::iter::once(self.term).chain(self.over)
    }
}

impl TryFrom<String> for Place {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut pieces = text.split(" | ").map(|piece| piece.trim().to_owned());
        let ratio = pieces.next().unwrap_or_default();
        let varied = match (pieces.next(), pieces.next(), pieces.next()) {
            (None, ..) => None,
            (Some(parameter), Some(value), None) => Some((parameter, value)),
            _ => {
                return Err(
                    "after a quantity stand a parameter and its value: `quantity | parameter | value`",
                );
            }
        };
        let term = |quantity: &str, varied| Term { quantity: quantity.trim().to_owned(), varied };
        let behind_value = |(parameter, value): &(String, String)| {
            let (value, over) = value.rsplit_once(" / ")?;
            parts(over.trim())?;
            Some(((parameter.clone(), value.trim().to_owned()), over.to_owned()))
        };
        let place = match (ratio.split_once(" / "), varied.as_ref().and_then(behind_value)) {
            (Some((quantity, over)), _) => {
                Self { term: term(quantity, varied.clone()), over: Some(term(over, varied)) }
            }
            (None, Some((varied, over))) => {
                Self { term: term(&ratio, Some(varied)), over: Some(term(&over, None)) }
            }
            (None, None) => Self { term: term(&ratio, varied), over: None },
        };
        if place.terms().any(|term| parts(&term.quantity).is_none()) {
            return Err("a quantity is `group.row.column`");
        }
        Ok(place)
    }
}

/// The quantities that stand in braces in a note, in their order.
pub(super) fn places(note: &str) -> Vec<Result<Place, &'static str>> {
    let inside = note.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    inside.map(|text| Place::try_from(text.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_quantity_or_a_ratio_as_chosen_or_varied() {
        let place = |text: &str| Place::try_from(text.to_owned());
        let chosen = |quantity: &str| Term { quantity: quantity.into(), varied: None };
        let varied = |quantity: &str| {
            let varied = Some(("buffer, per port".to_owned(), "60 kB / s".to_owned()));
            Term { varied, ..chosen(quantity) }
        };
        assert_eq!(place("a.b.c"), Ok(Place { term: chosen("a.b.c"), over: None }));
        let [first, both] = [chosen("d.e.f"), varied("d.e.f")]
            .map(|over| Ok(Place { term: varied("a.b.c"), over: Some(over) }));
        assert_eq!(place("a.b.c / d.e.f | buffer, per port | 60 kB / s"), both);
        assert_eq!(place("a.b.c | buffer, per port | 60 kB / s / d.e.f"), first);
        let alone = Place { term: varied("a.b.c"), over: None };
        assert_eq!(place("a.b.c | buffer, per port | 60 kB / s"), Ok(alone));
        assert!(["a.b", "a.b.c | buffer", "a.b.c / d", ""].iter().all(|text| place(text).is_err()));
    }

    #[test]
    fn quantities_in_braces_are_the_tests_of_a_note() {
        let found = places("With {a.b.c} and {a.b.c / d.e.f}, but {not a quantity}: {");
        assert_eq!(found.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false]);
    }
}
