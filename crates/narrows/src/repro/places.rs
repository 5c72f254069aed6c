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

/// A quantity, `group.row.column`, or the ratio of two, `… / …`; as chosen, or with another value of a parameter:
/// `… | parameter | value`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Place {
    /// Measured quantity.
    pub quantity: String,
    /// Its divisor.
    pub over: Option<String>,
    /// A parameter and its value.
    pub varied: Option<(String, String)>,
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
        let (quantity, over) = match ratio.split_once(" / ") {
            Some((quantity, over)) => (quantity.trim().to_owned(), Some(over.trim().to_owned())),
            None => (ratio, None),
        };
        if [Some(&quantity), over.as_ref()].into_iter().flatten().any(|name| parts(name).is_none()) {
            return Err("a quantity is `group.row.column`");
        }
        Ok(Self { quantity, over, varied })
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
        let plain = Place { quantity: "a.b.c".into(), over: None, varied: None };
        assert_eq!(place("a.b.c"), Ok(plain.clone()));
        let varied = Some(("buffer, per port".to_owned(), "60 kB".to_owned()));
        let ratio = Place { over: Some("d.e.f".into()), varied, ..plain };
        assert_eq!(place("a.b.c / d.e.f | buffer, per port | 60 kB"), Ok(ratio));
        assert!(["a.b", "a.b.c | buffer", "a.b.c / d", ""].iter().all(|text| place(text).is_err()));
    }

    #[test]
    fn quantities_in_braces_are_the_tests_of_a_note() {
        let found = places("With {a.b.c} and {a.b.c / d.e.f}, but {not a quantity}: {");
        assert_eq!(found.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false]);
    }
}
