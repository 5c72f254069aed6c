//! Warnings of many runs, each kind once.

/// Warnings that differ in their numbers only are one; it says how many there were.
pub(super) fn of_a_kind<'a>(warnings: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let form = |warning: &str| warning.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let mut kinds: Vec<(String, Vec<&str>)> = Vec::new();
    for warning in warnings {
        let own = form(warning);
        match kinds.iter_mut().find(|(known, _)| *known == own) {
            Some((_, same)) if same.contains(&warning) => {}
            Some((_, same)) => same.push(warning),
            None => kinds.push((own, vec![warning])),
        }
    }
    let text = |(_, same): (String, Vec<&str>)| match same.len() {
        1 => same[0].to_owned(),
        several => format!("{} (and {} more with other numbers)", same[0], several - 1),
    };
    kinds.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_that_differ_in_numbers_only_are_shown_once() {
        let warnings = ["1 of 12 flows", "no traffic", "2 of 9 flows", "no traffic"];
        assert_eq!(of_a_kind(warnings), ["1 of 12 flows (and 1 more with other numbers)", "no traffic"]);
    }
}
