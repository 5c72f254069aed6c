//! Formulas. Each reads the settings of the scenario, so that nothing stands in two places.

mod controls;
mod links;
mod loss;
mod queues;

use super::settings::{Settings, Value};

/// A formula.
pub(super) struct Theory {
    pub(super) name: &'static str,
    /// As it is written.
    pub(super) text: &'static str,
    pub(super) of: fn(&Settings<'_>) -> Value,
}

const fn theory(name: &'static str, text: &'static str, of: fn(&Settings<'_>) -> Value) -> Theory {
    Theory { name, text, of }
}

/// All formulas.
fn all() -> impl Iterator<Item = &'static Theory> {
    [&links::ALL[..], &queues::ALL, &loss::ALL, &controls::ALL].into_iter().flatten()
}

/// The formula of this name.
///
/// # Panics
/// If there is none.
pub(super) fn find(name: &str) -> &'static Theory {
    all().find(|theory| theory.name == name).unwrap_or_else(|| panic!("no formula is called {name}"))
}

#[cfg(test)]
mod tests {
    use super::super::{Expected, all as comparisons};
    use super::*;

    #[test]
    fn every_formula_is_used_and_no_two_have_one_name() {
        let mut names: Vec<_> = all().map(|theory| theory.name).collect();
        for name in &names {
            let used =
                comparisons().any(|one| matches!(&one.expected, Expected::Theory(theory) if theory == name));
            assert!(used, "nobody uses {name}");
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
