//! The files that a scenario names, with names that results have for them.

use std::path::Path;

use crate::diagnostic::Checked;
use crate::document::Document;
use crate::inputs::{Content, Input};
use crate::scenario::Scenario;

/// The files that a scenario names, with names that are unique, which the scenario has for them from now on.
///
/// # Errors
/// If one cannot be read.
pub(crate) fn collect(scenario: &mut Scenario, document: &Document) -> Checked<Vec<Input>> {
    let mut inputs: Vec<Input> = Vec::new();
    for file in scenario.files_mut() {
        let content = document.input(file)?;
        let name = free_name(file, &content, &inputs);
        let input = Input { file: file.clone(), name, content };
        *file = input.path();
        if inputs.iter().all(|other| other.name != input.name) {
            inputs.push(input);
        }
    }
    Ok(inputs)
}

/// The name of a file without its folder; with a number if another file has that. Not all file systems tell small letters
/// from capitals.
fn free_name(file: &Path, content: &Content, taken: &[Input]) -> String {
    let name = file.file_name().map_or_else(|| "file".into(), |name| name.to_string_lossy().into_owned());
    let (stem, kind) = name.rsplit_once('.').map_or((name.as_str(), None), |(stem, kind)| (stem, Some(kind)));
    let numbered = |number: u32| match kind {
        Some(kind) => format!("{stem}-{number}.{kind}"),
        None => format!("{stem}-{number}"),
    };
    let is_free = |name: &String| {
        let same = |other: &&Input| other.name.to_lowercase() == name.to_lowercase();
        taken.iter().filter(same).all(|other| other.name == *name && other.content.hash() == content.hash())
    };
    std::iter::once(name.clone()).chain((2..).map(numbered)).find(is_free).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(file: &str, text: &str, taken: &[Input]) -> Input {
        let content = Content::new(file, text.into());
        let name = free_name(Path::new(file), &content, taken);
        Input { file: file.into(), name, content }
    }

    #[test]
    fn files_of_one_name_are_numbered_and_equal_ones_are_one() {
        let mut taken = Vec::new();
        for (file, text, expected) in [
            ("a/web.csv", "1", "web.csv"),
            ("b/web.csv", "2", "web-2.csv"),
            ("c/web.csv", "1", "web.csv"),
            ("c/Web.csv", "1", "Web-3.csv"),
            ("d/web-2.csv", "3", "web-2-2.csv"),
            ("sizes", "4", "sizes"),
            ("e/sizes", "5", "sizes-2"),
        ] {
            let input = input(file, text, &taken);
            assert_eq!(input.name, expected, "{file}");
            taken.push(input);
        }
    }
}
