//! Folders compared byte for byte.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// All files below a folder, by path; folders that are empty as none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tree(BTreeMap<PathBuf, Option<Vec<u8>>>);

/// A page of memory or disk.
const PAGE: u64 = 4096;

impl Tree {
    /// Reads a folder, or a file; empty if there is neither. What disappears meanwhile is left out.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.enter(folder, Path::new(""))?;
        Ok(tree)
    }

    fn enter(&mut self, path: &Path, name: &Path) -> Result<()> {
        if !path.is_dir() {
            if path.exists() {
                self.0.insert(name.to_owned(), Some(std::fs::read(path)?));
            }
            return Ok(());
        }
        let mut is_empty = true;
        for entry in std::fs::read_dir(path)? {
            let entry = entry?.file_name();
            is_empty = false;
            self.enter(&path.join(&entry), &name.join(&entry))?;
        }
        if is_empty {
            self.0.insert(name.to_owned(), None);
        }
        Ok(())
    }

    /// Number of files.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has this file.
    pub(super) fn has(&self, file: &str) -> bool {
        self.0.contains_key(Path::new(file))
    }

    /// Without what is below this name.
    pub(super) fn without(&self, name: &str) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(path, _)| !path.starts_with(name))
                .map(|(p, c)| (p.clone(), c.clone()))
                .collect(),
        )
    }

    /// The part below this name.
    pub(super) fn below(&self, name: &str) -> Self {
        let inner = |(path, content): (&PathBuf, &Option<Vec<u8>>)| {
            Some((path.strip_prefix(name).ok()?.to_owned(), content.clone()))
        };
        Self(self.0.iter().filter_map(inner).collect())
    }

    /// The first difference; none if they are the same.
    pub(super) fn difference(&self, expected: &Self) -> Option<String> {
        if let Some(path) = expected.0.keys().find(|path| !self.0.contains_key(*path)) {
            return Some(format!("{} is missing", path.display()));
        }
        self.0.iter().find_map(|(path, content)| match expected.0.get(path) {
            None => Some(format!("{} should not be there", path.display())),
            Some(other) if other != content => Some(format!("{} differs", path.display())),
            Some(_) => None,
        })
    }

    /// First change to this tree, which is a part of another now; none if all of it is there.
    pub(super) fn difference_of_part(&self, now: &Self) -> Option<String> {
        self.0.iter().find_map(|(path, content)| match now.0.get(path) {
            None => Some(format!("{} is gone", path.display())),
            Some(other) if other != content => Some(format!("{} has changed", path.display())),
            Some(_) => None,
        })
    }

    /// Something temporary that was left.
    pub(super) fn litter(&self) -> Option<String> {
        let is_hidden =
            |path: &&PathBuf| path.iter().any(|part| part.to_string_lossy().starts_with(".narrows-"));
        self.0.keys().find(is_hidden).map(|path| format!("{} is left", path.display()))
    }

    /// Room that it takes on a disk.
    pub(super) fn pages(&self) -> u64 {
        self.0.values().flatten().map(|content| (content.len() as u64).div_ceil(PAGE)).sum::<u64>() * PAGE
    }

    /// The size of the largest file.
    pub(super) fn largest(&self) -> u64 {
        self.0.values().flatten().map(|content| content.len() as u64).max().unwrap_or(0)
    }

    /// Writes it to a folder.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        for (path, content) in &self.0 {
            let path = folder.join(path);
            match content {
                None => std::fs::create_dir_all(path)?,
                Some(content) => {
                    std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
                    std::fs::write(path, content)?;
                }
            }
        }
        Ok(())
    }
}

/// Number of files and folders below a folder.
pub(super) fn count(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| 1 + if entry.path().is_dir() { count(&entry.path()) } else { 0 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        Tree(files.iter().map(|(path, text)| (path.into(), Some(text.as_bytes().to_vec()))).collect())
    }

    #[test]
    fn a_tree_is_written_as_it_was_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut tree = tree(&[("a", "1"), ("b/c", "2")]);
        tree.0.insert("b/empty".into(), None);
        tree.write(folder.path()).expect("room");
        assert_eq!(Tree::read(folder.path()).expect("it is there"), tree);
        assert_eq!(count(folder.path()), 4);
    }

    #[test]
    fn the_first_difference_is_named() {
        let expected = tree(&[("a", "1"), ("b/c", "2")]);
        assert_eq!(expected.difference(&expected), None);
        let difference = |files| tree(files).difference(&expected).expect("they differ");
        assert_eq!(difference(&[("a", "1")]), "b/c is missing");
        assert_eq!(difference(&[("a", "2"), ("b/c", "2")]), "a differs");
        assert_eq!(difference(&[("a", "1"), ("b/c", "2"), ("d", "")]), "d should not be there");
    }

    #[test]
    fn what_is_temporary_is_litter() {
        assert_eq!(tree(&[("out/run.json", "")]).litter(), None);
        assert_eq!(tree(&[("out/.narrows-x/a", "")]).litter().as_deref(), Some("out/.narrows-x/a is left"));
    }

    #[test]
    fn room_is_counted_in_pages() {
        let tree = tree(&[("a", "1"), ("b", &"x".repeat(5000))]);
        assert_eq!((tree.pages(), tree.largest()), (3 * 4096, 5000));
        assert_eq!(tree.without("a").below("b").pages(), 2 * 4096);
    }
}
