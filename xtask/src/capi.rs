//! The C library as programs link with it: a folder with headers and libraries.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::target;

/// Builds the library in release and puts it into `target/capi`.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    cmd!(shell, "cargo build --release --package narrows-c --lib").run()?;
    let target = target::folder(shell)?;
    let (built, folder) = (target.join("release"), target.join("capi"));
    let source = shell.current_dir().join("crates/narrows-c/include");
    let mut written = Vec::new();
    for (from, to) in [
        (source.join("narrows.h"), "include/narrows.h"),
        (source.join("narrows/astra.hpp"), "include/narrows/astra.hpp"),
        (built.join("libnarrows_c.so"), "lib/libnarrows.so"),
        (built.join("libnarrows_c.a"), "lib/libnarrows.a"),
    ] {
        // Not every platform has both kinds of library.
        if from.exists() {
            shell.copy_file(from, folder.join(to))?;
            written.push(to);
        }
    }
    println!("wrote {}: {}", folder.display(), written.join(", "));
    Ok(())
}
