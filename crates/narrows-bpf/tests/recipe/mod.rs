//! Recipe by which programs for the kernel are made of their sources: for the chore that makes them (`cargo xtask bpf`), and for tests
//! that hold them to it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// The first line that the compiler says of itself.
pub(crate) fn compiler() -> io::Result<String> {
    let output = Command::new("clang").arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Programs, headers and flags, in order; the library for tests (`core.c`) is not among them.
pub(crate) fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut sources = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    sources.retain(|path| {
        let name = name(path);
        name.ends_with(".bpf.c") || name.ends_with(".h") || name == "flags.txt"
    });
    sources.sort();
    Ok(sources)
}

/// One hash of all of them.
pub(crate) fn hash(sources: &[PathBuf]) -> io::Result<String> {
    let mut hash = blake3::Hasher::new();
    for path in sources {
        hash.update(path.file_name().unwrap_or_default().to_string_lossy().as_bytes());
        hash.update(&fs::read(path)?);
    }
    Ok(hash.finalize().to_string())
}

/// Compiles all programs into a folder. Returns the names of their objects.
pub(crate) fn compile(folder: &Path, sources: &[PathBuf], out: &Path) -> io::Result<Vec<String>> {
    let run = |command: &mut Command| {
        let status = command.current_dir(folder).status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?}: {status}"))) }
    };
    let programs = sources.iter().filter(|path| path.extension() == Some(OsStr::new("c")));
    let compile = |source: &PathBuf| {
        let source = source.file_name().unwrap_or_default();
        let name = Path::new(source).with_extension("o").to_string_lossy().into_owned();
        let object = out.join(&name);
        // A name without a folder, and `-fdebug-compilation-dir`: the object does not say where it was compiled.
        run(Command::new("clang").args(["@flags.txt", "-c"]).arg(source).arg("-o").arg(&object))?;
        // Types stay (BTF), what debuggers read goes.
        run(Command::new("llvm-strip").arg("-g").arg(&object))?;
        Ok(name)
    };
    programs.map(compile).collect()
}
