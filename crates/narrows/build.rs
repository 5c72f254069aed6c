//! Gives the sources a fingerprint, so that results of different engines can be distinguished (`narrows::ENGINE`).

use std::io;
use std::path::{Path, PathBuf};

/// Crates whose sources decide what comes out of a run. A package from a registry has only its own; there the version
/// stands for those of the others.
const CRATES: [&str; 3] = ["narrows-proto", "narrows-sim", "narrows"];

/// Folders of a crate that are looked at.
const FOLDERS: [&str; 2] = ["src", "data"];

fn main() -> io::Result<()> {
    let own = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?);
    let mut files = Vec::new();
    for name in CRATES {
        let sibling = own.parent().map(|parent| parent.join(name)).filter(|path| path.is_dir());
        let Some(folder) = (if name == "narrows" { Some(own.clone()) } else { sibling }) else { continue };
        for inside in FOLDERS.map(|inside| folder.join(inside)).into_iter().filter(|inside| inside.is_dir()) {
            println!("cargo::rerun-if-changed={}", inside.display());
            collect(&inside, &folder, name, &mut files)?;
        }
    }
    files.sort();
    let mut hasher = blake3::Hasher::new();
    for (name, path) in files {
        // Checked out on another system, lines may end in another way.
        let content: Vec<u8> = std::fs::read(path)?.into_iter().filter(|byte| *byte != b'\r').collect();
        hasher.update(format!("{name}\n{}\n", content.len()).as_bytes());
        hasher.update(&content);
    }
    println!("cargo::rustc-env=NARROWS_FINGERPRINT={}", &hasher.finalize().to_hex()[..8]);
    Ok(())
}

/// Adds the files below `folder`, each with a name that is the same on every machine.
fn collect(folder: &Path, root: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, root, name, files)?;
        } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "csv") {
            let within = path.strip_prefix(root).map_err(io::Error::other)?;
            let parts: Vec<_> = within.iter().map(|part| part.to_string_lossy()).collect();
            files.push((format!("{name}/{}", parts.join("/")), path));
        }
    }
    Ok(())
}
