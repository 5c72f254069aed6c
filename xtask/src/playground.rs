//! The page that runs scenarios by itself: a folder of static files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use xshell::{PushEnv, Shell, cmd};

use crate::installed::is_installed;
use crate::{environment, target};

/// The machine that browsers are.
const TARGET: &str = "wasm32-unknown-unknown";
/// Section of the module with what the page knows without running it; `engine.js` reads it.
const SECTION: &str = "narrows-library";
/// The module has at most so many bytes when it is compressed with gzip, as most servers send it: two seconds at 8 Mb/s.
const MOST_COMPRESSED: usize = 2_000_000;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Hold the page against the command and try it under node
    #[arg(long)]
    check: bool,
    /// Build in less time what is larger and as fast: for tests
    #[arg(long)]
    quick: bool,
    /// Measure the speed of the demo in a page beside that of the command
    #[arg(long)]
    speed: bool,
    /// Where the page goes [default: playground in the target folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Builds and tests the page. Passes with a remark where node is not installed.
pub(crate) fn checked(shell: &Shell) -> Result<()> {
    if is_installed(shell, "node") {
        return run(shell, &Arguments { check: true, quick: true, speed: false, out: None });
    }
    eprintln!("skipped: the page is built with node 20.10 or newer (https://nodejs.org)");
    Ok(())
}

/// Fetches and compiles what takes long.
pub(crate) fn ahead(shell: &Shell) -> Result<()> {
    if is_installed(shell, "node") {
        install_target(shell)?;
        let _web = shell.push_dir("web");
        install_packages(shell)?;
        let _quick = quick(shell);
        compile(shell)?;
    }
    Ok(())
}

/// Builds the page. Returns its folder.
pub(crate) fn page(shell: &Shell) -> Result<PathBuf> {
    let arguments = Arguments { check: false, quick: false, speed: false, out: None };
    run(shell, &arguments)?;
    Ok(target::folder(shell)?.join("playground"))
}

/// Builds the page.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    ensure!(is_installed(shell, "node"), "the page is built with node 20.10 or newer (https://nodejs.org)");
    install_target(shell)?;
    let target = target::folder(shell)?;
    let out = arguments.out.clone().unwrap_or_else(|| target.join("playground"));
    {
        let _web = shell.push_dir("web");
        install_packages(shell)?;
    }
    let engine = {
        let _quick = arguments.quick.then(|| quick(shell));
        engine(shell, &target)?
    };
    let _web = shell.push_dir("web");
    cmd!(shell, "node build.mjs --engine {engine} --out {out}").run()?;
    if !arguments.quick {
        report_size(&engine)?;
    }
    if arguments.check {
        check(shell, &engine, &out)?;
    }
    if arguments.speed {
        speed(shell, &engine)?;
    }
    println!("the page is in {}; cargo run -- playground {0} serves it", out.display());
    Ok(())
}

/// Installs what programs for browsers are compiled with, if it is missing.
fn install_target(shell: &Shell) -> Result<()> {
    let folder = cmd!(shell, "rustc --print target-libdir --target {TARGET}").quiet().read()?;
    if Path::new(&folder).is_dir() {
        return Ok(());
    }
    if !is_installed(shell, "rustup") {
        bail!(
            "the target {TARGET} is not installed; rustup target add {TARGET} installs it, or a package of your system"
        );
    }
    Ok(cmd!(shell, "rustup target add {TARGET}").run()?)
}

/// To optimize across crates takes longer than all else, and saves a third of the size; to optimize for size takes longer than not to.
fn quick(shell: &Shell) -> [PushEnv<'_>; 3] {
    let settings = [("LTO", "off"), ("CODEGEN_UNITS", "16"), ("OPT_LEVEL", "1")];
    settings.map(|(key, value)| shell.push_env(format!("CARGO_PROFILE_WEB_{key}"), value))
}

fn compile(shell: &Shell) -> Result<()> {
    Ok(cmd!(shell, "cargo build --profile web --target {TARGET} --package narrows-web --quiet").run()?)
}

/// Compiles the engine. Returns the module.
fn engine(shell: &Shell, target: &Path) -> Result<PathBuf> {
    compile(shell)?;
    let folder = target.join(TARGET).join("web");
    let (compiled, packed, engine) =
        (folder.join("narrows_web.wasm"), folder.join("packed.wasm"), folder.join("engine.wasm"));
    let optimizer = shell.current_dir().join("web/node_modules/.bin/wasm-opt");
    // Similar functions have similar names. Beside each other they are compressed better, by a thirteenth of the whole; other passes
    // take minutes and make what is compressed larger.
    let passes = [
        "--duplicate-function-elimination",
        "--reorder-functions-by-name",
        "--strip-debug",
        "--strip-producers",
    ];
    cmd!(shell, "{optimizer} {compiled} --all-features {passes...} --output {packed}").quiet().run()?;
    let library = target::example(shell, "library")?;
    let library = cmd!(shell, "{library}").quiet().read()?;
    let mut module = std::fs::read(packed)?;
    add_section(&mut module, SECTION, library.as_bytes())?;
    std::fs::write(&engine, module)?;
    Ok(engine)
}

/// Adds a section that browsers hand out and do not run.
fn add_section(module: &mut Vec<u8>, name: &str, content: &[u8]) -> Result<()> {
    let mut section = leb128(u32::try_from(name.len())?);
    section.extend_from_slice(name.as_bytes());
    section.extend_from_slice(content);
    module.push(0);
    module.extend(leb128(u32::try_from(section.len())?));
    module.extend(section);
    Ok(())
}

/// A number as modules have it: seven bits in each byte, the lowest first.
fn leb128(mut number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Installs the packages that the page is built with, in the versions of the lock file, if they are not there.
fn install_packages(shell: &Shell) -> Result<()> {
    let _alone = environment::alone(&target::folder(shell)?.join("web"))?;
    let changed =
        |path: &str| std::fs::metadata(shell.current_dir().join(path)).and_then(|file| file.modified());
    let installed = changed("node_modules/.package-lock.json");
    if installed.is_ok_and(|installed| changed("package-lock.json").is_ok_and(|wanted| wanted <= installed)) {
        return Ok(());
    }
    Ok(cmd!(shell, "npm ci --ignore-scripts --no-audit --no-fund").quiet().run()?)
}

/// Says how large the module is, and refuses one that is too large.
fn report_size(engine: &Path) -> Result<()> {
    let module = std::fs::read(engine)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    std::io::Write::write_all(&mut encoder, &module)?;
    let compressed = encoder.finish()?.len();
    println!("the engine has {} bytes, {compressed} compressed", module.len());
    ensure!(
        compressed <= MOST_COMPRESSED,
        "the engine has {compressed} bytes compressed, at most {MOST_COMPRESSED} are wanted"
    );
    Ok(())
}

/// Tests the page under node.
fn check(shell: &Shell, engine: &Path, out: &Path) -> Result<()> {
    let command = {
        let _root = shell.push_dir("..");
        target::tested(shell)?
    };
    let _variables = [
        shell.push_env("NARROWS_ENGINE", engine),
        shell.push_env("NARROWS_PLAYGROUND", out),
        shell.push_env("NARROWS_COMMAND", command),
    ];
    cmd!(shell, "npm run --silent check").run()?;
    cmd!(shell, "npm run --silent test").run().context("the page fails its tests")
}

/// Runs the demo in a page and with the command.
fn speed(shell: &Shell, engine: &Path) -> Result<()> {
    let command = {
        let _root = shell.push_dir("..");
        target::narrows(shell, &["--release"])?
    };
    let _variables = [shell.push_env("NARROWS_ENGINE", engine), shell.push_env("NARROWS_COMMAND", command)];
    Ok(cmd!(shell, "node speed.mjs").run()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_of_modules_does() {
        assert_eq!(
            [leb128(0), leb128(127), leb128(128), leb128(624_485)],
            [vec![0], vec![127], vec![128, 1], vec![0xe5, 0x8e, 0x26]]
        );
    }
}
