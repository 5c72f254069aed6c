//! The compiled programs belong to their sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf")
}

/// The compiler, and the hash of the sources, of which `cargo xtask bpf` has made the programs.
fn made() -> (String, String) {
    let text = fs::read_to_string(folder().join("made.txt")).expect("it is there");
    let (compiler, sources) = text.trim().split_once('\n').expect("two lines");
    (compiler.to_owned(), sources.to_owned())
}

fn sources() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("it is there").flatten().map(|entry| entry.path());
    let is_source = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy();
        name.ends_with(".bpf.c") || name.ends_with(".h") || name == "flags.txt"
    };
    let mut sources: Vec<_> = entries.filter(is_source).collect();
    sources.sort();
    sources
}

#[test]
fn programs_were_made_of_these_sources() {
    let mut hash = blake3::Hasher::new();
    for path in sources() {
        let name = path.file_name().expect("a name").to_string_lossy();
        hash.update(name.as_bytes()).update(&fs::read(&path).expect("it can be read"));
    }
    assert_eq!(hash.finalize().to_string(), made().1, "cargo xtask bpf makes them anew");
}

#[test]
fn the_same_compiler_makes_the_same_programs() {
    let version = Command::new("clang").arg("--version").output();
    let version =
        version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let can_strip = Command::new("llvm-strip").arg("--version").output().is_ok();
    if version.lines().next() != Some(&*made().0) || !can_strip {
        eprintln!("skipped: no {} here, or no llvm-strip", made().0);
        return;
    }
    let out = tempfile::tempdir().expect("a folder");
    for source in sources().iter().filter(|path| path.extension() == Some("c".as_ref())) {
        let name = source.file_name().expect("a name").to_string_lossy().replace(".bpf.c", ".bpf.o");
        let object = out.path().join(&name);
        let run = |command: &mut Command| {
            assert!(command.current_dir(folder()).status().expect("it starts").success());
        };
        let source = source.file_name().expect("a name");
        run(Command::new("clang").args(["@flags.txt", "-c"]).arg(source).arg("-o").arg(&object));
        run(Command::new("llvm-strip").arg("-g").arg(&object));
        let [new, stored] =
            [object, folder().join(&name)].map(|path| fs::read(path).expect("it can be read"));
        assert!(new == stored, "cargo xtask bpf makes {name} anew");
    }
}
