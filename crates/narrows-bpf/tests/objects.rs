//! The compiled programs belong to their sources.

mod recipe;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use recipe::{compile, compiler, hash, sources};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf")
}

/// The compiler, and the hash of the sources, of which `cargo xtask bpf` has made the programs.
fn made() -> (String, String) {
    let text = fs::read_to_string(folder().join("made.txt")).expect("it is there");
    let (compiler, sources) = text.trim().split_once('\n').expect("two lines");
    (compiler.to_owned(), sources.to_owned())
}

#[test]
fn programs_were_made_of_these_sources() {
    let sources = sources(&folder()).expect("they are there");
    assert_eq!(hash(&sources).expect("they can be read"), made().1, "cargo xtask bpf makes them anew");
}

#[test]
fn the_same_compiler_makes_the_same_programs() {
    let can_strip = Command::new("llvm-strip").arg("--version").output().is_ok();
    if compiler().ok().as_ref() != Some(&made().0) || !can_strip {
        eprintln!("skipped: no {} here, or no llvm-strip", made().0);
        return;
    }
    let out = tempfile::tempdir().expect("a folder");
    let sources = sources(&folder()).expect("they are there");
    let names = compile(&folder(), &sources, out.path()).expect("they compile");
    assert!(!names.is_empty());
    for name in names {
        let [new, stored] =
            [out.path(), &folder()].map(|place| fs::read(place.join(&name)).expect("it is there"));
        assert!(new == stored, "cargo xtask bpf makes {name} anew");
    }
}
