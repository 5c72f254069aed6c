//! The C library as programs link with it: a folder with headers and libraries.

use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;
use xshell::{Shell, cmd};

use crate::bench::table;
use crate::target;

#[derive(Debug, Default, Args)]
pub(crate) struct Arguments {
    /// Compare the speed of a ring all-reduce of 100 MB over 1024 ranks: as a pattern, from C, and through astra.hpp
    #[arg(long)]
    speed: bool,
    /// Alternating runs of each
    #[arg(long, default_value_t = 3, requires = "speed")]
    repetitions: usize,
}

/// Builds the library in release and puts it into `target/capi`.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
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
            let place = folder.join(to);
            shell.create_dir(place.parent().context("a file is in a folder")?)?;
            shell.copy_file(from, place)?;
            written.push(to);
        }
    }
    println!("wrote {}: {}", folder.display(), written.join(", "));
    if arguments.speed { speed(shell, &folder, &built, arguments.repetitions) } else { Ok(()) }
}

const SCENARIO: &str = r#"
version = 2
name = "ring"
hosts = "ideal"
stop = { after = "10 s" }
topology.fat_tree = { k = 16, rate = "100 Gb/s", delay = "1 us" }
switches.default.buffer.size = "16 MB"
[[traffic]]
name = "ranks"
rdma = { mtu = "4096 B", ack_every = 4 }
cc = { dcqcn = {} }
"#;

/// Packet-hops per second of programs that send the messages of a ring, by those of the pattern.
fn speed(shell: &Shell, folder: &Path, built: &Path, repetitions: usize) -> Result<()> {
    cmd!(shell, "cargo build --release --package narrows-c --example native").run()?;
    let (include, library) = (folder.join("include"), folder.join("lib"));
    let examples = shell.current_dir().join("crates/narrows-c/examples");
    let [c, cpp] = ["ring", "ring_all_reduce"].map(|name| folder.join(name));
    for (compiler, source, program) in [("gcc", "ring.c", &c), ("g++", "ring_all_reduce.cpp", &cpp)] {
        let (source, path) = (examples.join(source), format!("-Wl,-rpath,{}", library.display()));
        cmd!(shell, "{compiler} -O2 -I {include} {source} -o {program} -L {library} -lnarrows {path}")
            .run()?;
    }
    let scenario = |name: &str, pattern: &str| -> Result<_> {
        let path = folder.join(name);
        shell.write_file(&path, format!("{SCENARIO}pattern = {{ {pattern} }}\n"))?;
        Ok(path)
    };
    let pattern = scenario("pattern.toml", r#"collective = { kind = "ring_all_reduce", size = "100 MB" }"#)?;
    let attached = scenario("attached.toml", "attached = {}")?;
    let native = built.join("examples/native");
    let mut sums = [0.0; 3];
    for _ in 0..repetitions {
        let ring = ["ranks", "1024", "100000000"];
        let printed = [
            cmd!(shell, "{native} {pattern}").read()?,
            cmd!(shell, "{c} {attached} {ring...}").read()?,
            cmd!(shell, "{cpp} {attached} {ring...}").read()?,
        ];
        for (sum, text) in sums.iter_mut().zip(printed) {
            let field = |name: &str| -> Result<f64> {
                let found = text.split_whitespace().find_map(|word| word.strip_prefix(name));
                Ok(found.with_context(|| format!("no {name} in {text}"))?.parse()?)
            };
            *sum += (field("packet_hops=")? / field("wall_s=")?).ln();
        }
    }
    let mean = sums.map(|sum| (sum / repetitions as f64).exp());
    let rows = ["the pattern", "C (ring.c)", "C++ (astra.hpp)"].into_iter().zip(mean).map(|(who, speed)| {
        vec![who.to_owned(), format!("{:.2}", speed / 1e6), format!("{:.2}", speed / mean[0])]
    });
    println!(
        "{}",
        table(&["ring sent by", "million packet-hops per second", "by the pattern's"], rows, 1..3)
    );
    Ok(())
}
