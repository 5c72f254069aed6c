//! Files of a paper: those of a folder, or texts that are part of the program. Nothing outside of the folder is read.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use narrows_proto::units::Bytes;

use crate::diagnostic::{Checked, Code, Diagnostic, Source};
use crate::{input_file, inputs};

/// The largest `paper.toml` or `claims.toml`.
pub(super) const LARGEST: Bytes = Bytes::new(4 << 20);

/// Files of a paper.
#[derive(Debug)]
pub struct Files {
    place: Where,
}

#[derive(Debug)]
enum Where {
    /// Texts by name, and what messages call the folder.
    Texts(String, BTreeMap<String, String>),
    /// As the user named it, and absolute without symbolic links.
    Folder(PathBuf, PathBuf),
}

impl Files {
    /// Those of a folder.
    ///
    /// # Errors
    /// If there is no such folder.
    pub fn folder_at(path: &Path) -> Checked<Self> {
        let root = path.canonicalize().and_then(|root| {
            if root.is_dir() { Ok(root) } else { Err(std::io::ErrorKind::NotADirectory.into()) }
        });
        let root = root.map_err(|error| {
            let message = format!("cannot read the folder of a paper {}: {error}", path.display());
            Diagnostic::error(Code::InputFailed, message).help("narrows repro new NAME starts one")
        })?;
        Ok(Self { place: Where::Folder(path.to_owned(), root) })
    }

    /// Texts by name, of a folder that messages call `name`.
    pub fn of_texts<'a>(name: &str, texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let texts = texts.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        Self { place: Where::Texts(name.to_owned(), texts) }
    }

    /// The folder, absolute and without symbolic links; none of texts.
    pub(super) fn root(&self) -> Option<&Path> {
        match &self.place {
            Where::Texts(..) => None,
            Where::Folder(_, root) => Some(root),
        }
    }

    /// The folder as the user named it.
    pub(super) fn folder(&self) -> PathBuf {
        match &self.place {
            Where::Texts(..) => PathBuf::new(),
            Where::Folder(shown, _) => shown.clone(),
        }
    }

    /// A file of at most this size.
    pub(super) fn read(&self, name: &str, most: Bytes) -> Checked<Arc<Source>> {
        match &self.place {
            Where::Texts(folder, texts) => {
                let text = texts.get(name).ok_or_else(|| {
                    let error =
                        Diagnostic::error(Code::InputFailed, format!("{folder} has no file \"{name}\""));
                    error.known(name, texts.keys().map(String::as_str))
                })?;
                Ok(Arc::new(Source { name: format!("{folder}/{name}"), text: text.clone() }))
            }
            Where::Folder(shown, root) => {
                let path = shown.join(name);
                inputs::keep_within(root, &path)?;
                input_file::read_text(&path, most)
            }
        }
    }
}

/// A file of the folder is named without `..`, and not from the root on.
pub(super) fn check_name(name: &str) -> Result<(), Diagnostic> {
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !name.is_empty() && Path::new(name).components().all(inside) {
        return Ok(());
    }
    let message = format!("\"{name}\" is no file of the folder");
    Err(Diagnostic::error(Code::OutOfRange, message).help("name a file of the folder, without \"..\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_folder_is_named_without_leaving_it() {
        assert!(["a.toml", "./a.toml", "sub/a.toml"].iter().all(|name| check_name(name).is_ok()));
        assert!(
            ["", "../a.toml", "sub/../../a.toml", "/etc/passwd"].iter().all(|name| check_name(name).is_err())
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_does_not_lead_out_of_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("paper");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(place.path().join("secret"), "x").unwrap();
        std::fs::write(folder.join("own"), "x").unwrap();
        for (link, to) in [("out", "../secret"), ("in", "own")] {
            std::os::unix::fs::symlink(to, folder.join(link)).unwrap();
        }
        let files = Files::folder_at(&folder).unwrap();
        assert!(files.read("in", LARGEST).is_ok());
        let error = files.read("out", LARGEST).unwrap_err().to_string();
        assert!(error.contains("outside of the folder"), "{error}");
    }
}
