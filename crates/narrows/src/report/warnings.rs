//! Warnings of many runs, each kind once.

/// Warnings of one kind: the first of them, how many others differ in their numbers, and the places where they are, each once.
pub(super) struct Kind<'a, P> {
    first: &'a str,
    others: Vec<&'a str>,
    places: Vec<P>,
}

/// Warnings that differ in their numbers only are of one kind. Codes stay apart.
pub(super) fn of_a_kind<'a, P: PartialEq>(
    warnings: impl IntoIterator<Item = (P, &'a str)>,
) -> Vec<Kind<'a, P>> {
    let form = |warning: &str| {
        let (code, rest) = warning.split_once(": ").unwrap_or(("", warning));
        format!("{code}: {}", rest.chars().filter(|c| !c.is_ascii_digit()).collect::<String>())
    };
    let mut kinds: Vec<(String, Kind<'a, P>)> = Vec::new();
    for (place, warning) in warnings {
        let own = form(warning);
        let index = kinds.iter().position(|(known, _)| *known == own).unwrap_or_else(|| {
            kinds.push((own, Kind { first: warning, others: Vec::new(), places: Vec::new() }));
            kinds.len() - 1
        });
        let kind = &mut kinds[index].1;
        if kind.first != warning && !kind.others.contains(&warning) {
            kind.others.push(warning);
        }
        if !kind.places.contains(&place) {
            kind.places.push(place);
        }
    }
    kinds.into_iter().map(|(_, kind)| kind).collect()
}

impl<P> Kind<'_, P> {
    /// In words. There are `all` places, called `what`: where a warning is in all of them, none is named.
    pub(super) fn text(&self, all: usize, what: &str, name: impl Fn(&P) -> String) -> String {
        let mut text = self.first.to_owned();
        if !self.others.is_empty() {
            text += &format!(" (and {} more with other numbers)", self.others.len());
        }
        let more = self.places.len().saturating_sub(NAMED);
        let named: Vec<_> = self.places.iter().take(NAMED).map(name).collect();
        match (all, self.places.len()) {
            (1, _) => text,
            (_, there) if there == all => text + &format!(" (all {all} {what})"),
            _ if more > 0 => text + &format!(" (in {}; and {more} more of {all} {what})", named.join("; ")),
            _ => text + &format!(" (in {})", named.join("; ")),
        }
    }
}

/// More places than this are counted.
const NAMED: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(warnings: &[(usize, &str)], all: usize) -> Vec<String> {
        let kinds = of_a_kind(warnings.iter().copied());
        kinds.iter().map(|kind| kind.text(all, "points", |place| format!("k = {place}"))).collect()
    }

    #[test]
    fn warnings_that_differ_in_numbers_only_are_shown_once() {
        let warnings = [(0, "1 of 12 flows"), (0, "no traffic"), (0, "2 of 9 flows"), (0, "no traffic")];
        assert_eq!(texts(&warnings, 1), ["1 of 12 flows (and 1 more with other numbers)", "no traffic"]);
    }

    #[test]
    fn warnings_with_other_codes_are_others() {
        assert_eq!(texts(&[(0, "N0101: no"), (0, "N0102: no")], 1), ["N0101: no", "N0102: no"]);
    }

    #[test]
    fn a_warning_says_where_it_is_unless_it_is_everywhere() {
        let warnings = [
            (0, "all"),
            (1, "all"),
            (2, "all"),
            (3, "all"),
            (1, "one"),
            (0, "some"),
            (1, "some"),
            (3, "some"),
        ];
        assert_eq!(
            texts(&warnings, 4),
            ["all (all 4 points)", "one (in k = 1)", "some (in k = 0; k = 1; and 1 more of 4 points)"]
        );
    }
}
