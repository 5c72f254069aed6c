//! Names in folders of results.

use std::path::Path;

/// The name, or the first of `name-2`, `name-3`, … that is free.
pub(super) fn numbered(name: &str, free: impl Fn(&str) -> bool) -> String {
    let names = (2_u64..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(names);
    names.find(|name| free(name)).unwrap_or_default()
}

/// Names of the files in a results folder, for the last line; hidden ones are none.
pub(super) fn files(folder: &Path) -> String {
    let Ok(entries) = std::fs::read_dir(folder) else { return String::new() };
    let mut names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_taken_get_the_next_free_number() {
        let mut taken: Vec<String> = Vec::new();
        for _ in 0..3 {
            let name = numbered("a", |name| taken.iter().all(|other| other != name));
            taken.push(name);
        }
        assert_eq!(taken, ["a", "a-2", "a-3"]);
    }
}
