//! Which functions executed how many instructions, as callgrind reports.
//!
//! The compiler inlines most of the packet path into a few functions. Debug information tells, for each instruction, which
//! functions it was inlined from; it counts for the type to which the innermost one belongs that handles something (see
//! [`HELPERS`]). So counts stay where they are when the compiler inlines more or less, or moves work between functions of
//! one type.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::REST;

/// Sources of small functions that are used everywhere and count for their callers.
const HELPERS: [&str; 6] = ["ring.rs", "packet.rs", "prefetch.rs", "ids.rs", "random.rs", "units/"];

/// Parts of the library that are large enough to be inlined here and called there; they count for themselves.
const LARGE: [(&str, &str); 2] =
    [("core/src/slice/sort/", "core::slice::sort"), ("alloc/src/collections/", "alloc::collections")];

/// Instructions executed.
#[derive(Debug, Default)]
pub(super) struct Profile {
    /// By address, in the program itself.
    addresses: BTreeMap<u64, u64>,
    /// By name, in libraries it was linked with.
    libraries: BTreeMap<String, u64>,
}

impl Profile {
    /// Reads a profile with positions "instr line", without compression.
    pub(super) fn parse(text: &str, program: &Path) -> Result<Self> {
        ensure!(text.lines().any(|line| line == "positions: instr line"), "a profile of another kind");
        let mut profile = Self::default();
        let mut object = "";
        // The line behind one about calls has what was executed inside them, which is listed elsewhere, too.
        let mut calls = false;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("ob=") {
                object = name;
            } else if line.starts_with("calls=") {
                calls = true;
            } else if let Some(position) = line.strip_prefix("0x")
                && !std::mem::take(&mut calls)
            {
                profile.add(object, position, program).with_context(|| format!("odd line: {line}"))?;
            }
        }
        Ok(profile)
    }

    /// `position` is "address line count".
    fn add(&mut self, object: &str, position: &str, program: &Path) -> Option<()> {
        let (address, rest) = position.split_once(' ')?;
        let count: u64 = rest.split_once(' ')?.1.parse().ok()?;
        if Path::new(object) == program {
            *self.addresses.entry(u64::from_str_radix(address, 16).ok()?).or_default() += count;
        } else {
            let name = object.rsplit('/').next()?.split(".so").next()?;
            *self.libraries.entry(name.to_owned()).or_default() += count;
        }
        Some(())
    }

    pub(super) fn sum(&self) -> u64 {
        self.addresses.values().chain(self.libraries.values()).sum()
    }

    pub(super) fn handlers(&self, program: &Path) -> Result<BTreeMap<String, u64>> {
        let names = handlers_at(program, self.addresses.keys().copied())?;
        let mut handlers = self.libraries.clone();
        for (address, count) in &self.addresses {
            let name = names.get(address).with_context(|| format!("addr2line left out {address:#x}"))?;
            *handlers.entry(name.clone()).or_default() += count;
        }
        Ok(handlers)
    }
}

/// The handler each of these addresses belongs to.
fn handlers_at(program: &Path, addresses: impl Iterator<Item = u64>) -> Result<HashMap<u64, String>> {
    let mut command = Command::new("addr2line");
    command.arg("--exe").arg(program).args(["--addresses", "--functions", "--inlines", "--demangle"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().context("the pipe was asked for")?;
    let addresses: String = addresses.map(|address| format!("{address:#x}\n")).collect();
    // It answers while it reads: without a second thread, both would wait for the other to read.
    let writer = std::thread::spawn(move || input.write_all(addresses.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().expect("writing does not panic")?;
    ensure!(output.status.success(), "addr2line failed");
    Ok(parse_frames(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads blocks of an address, then function and place of each frame, the innermost first.
fn parse_frames(text: &str) -> HashMap<u64, String> {
    let mut handlers = HashMap::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let address = line.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let mut frames = Vec::new();
        while let Some(function) = lines.next_if(|line| !line.starts_with("0x")) {
            frames.push((function, lines.next().unwrap_or_default()));
        }
        if let Some(address) = address {
            handlers.insert(address, handler(&frames));
        }
    }
    handlers
}

/// Owner of the innermost function that is neither of a library nor a helper; if there is none, of the outermost.
fn handler(frames: &[(&str, &str)]) -> String {
    let handles = |place: &str| {
        let ours = ["crates/narrows-sim/src/", "crates/narrows-proto/src/"];
        let ours = ours.iter().find_map(|folder| Some(place.split_once(folder)?.1));
        ours.is_some_and(|file| !HELPERS.iter().any(|helper| file.starts_with(helper)))
    };
    for (function, place) in frames {
        if let Some((_, name)) = LARGE.iter().find(|(source, _)| place.contains(source)) {
            return (*name).to_owned();
        }
        if handles(place) {
            return owner(function);
        }
    }
    frames.last().map_or(REST.to_owned(), |(function, _)| owner(function))
}

/// The type or module of a function, without crate, type parameters and closures; a method of a trait belongs to its type.
fn owner(function: &str) -> String {
    let function = function.split("::{{closure}}").next().unwrap_or_default();
    let function = match function.strip_prefix('<').and_then(|function| function.rsplit_once(">::")) {
        Some((of, method)) => format!("{}::{method}", of.split(" as ").next().unwrap_or_default()),
        None => function.to_owned(),
    };
    let mut depth = 0;
    let outside = function.chars().filter(|&letter| {
        depth += i32::from(letter == '<');
        let outside = depth == 0;
        depth -= i32::from(letter == '>');
        outside
    });
    let name: String = outside.collect();
    let ours = ["narrows_sim::", "narrows_proto::"].iter().find_map(|of_crate| name.strip_prefix(of_crate));
    let name = ours.unwrap_or(&name);
    name.rsplit_once("::").map_or(name, |(owner, _)| owner).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_not_counted_twice() {
        let text = "positions: instr line\nob=/a/engine\nfn=f\n0x10 5 7\ncalls=1 0x20 6\n0x12 5 100\n0x12 5 1\nob=/lib/libc.so.6\n0x10 0 3\n";
        let profile = Profile::parse(text, Path::new("/a/engine")).expect("a profile");
        assert_eq!(profile.addresses, BTreeMap::from([(0x10, 7), (0x12, 1)]));
        assert_eq!(profile.libraries, BTreeMap::from([("libc".to_owned(), 3)]));
        assert_eq!(profile.sum(), 11);
    }

    #[test]
    fn an_instruction_counts_for_the_innermost_function_that_is_no_helper() {
        let text = "0x0010\ncore::mem::take\n/rustc/library/core/src/mem/mod.rs:1\n\
            narrows_sim::ring::Ring<T>::take\n/work/crates/narrows-sim/src/ring.rs:9\n\
            narrows_sim::switch::Switch::collect::{{closure}}\n/work/crates/narrows-sim/src/switch/mod.rs:3\n\
            narrows_sim::engine::shard::Shard<O>::run_window\n/work/crates/narrows-sim/src/engine/shard.rs:3\n\
            0x0020\ncore::slice::sort::insert\n/rustc/library/core/src/slice/sort/shared/smallsort.rs:1\n\
            narrows_sim::switch::Switch::advance\n/work/crates/narrows-sim/src/switch/mod.rs:3\n\
            0x0030\nnarrows_sim::ring::Ring<T>::grow\n/work/crates/narrows-sim/src/ring.rs:9\n\
            0x0040\n??\n??:0\n";
        let handlers = parse_frames(text);
        let at = |address: u64| handlers[&address].as_str();
        assert_eq!([at(0x10), at(0x20), at(0x30)], ["switch::Switch", "core::slice::sort", "ring::Ring"]);
        assert_eq!(at(0x40), "??");
    }

    #[test]
    fn functions_belong_to_types_and_modules() {
        assert_eq!(owner("narrows_sim::engine::world::World<O>::receive"), "engine::world::World");
        let method = "<narrows_proto::cc::dctcp::Dctcp as narrows_proto::cc::Controller>::on_ack";
        assert_eq!(owner(method), "cc::dctcp::Dctcp");
        assert_eq!(owner("<std::time::Instant>::now"), "std::time::Instant");
        assert_eq!(owner("<narrows_sim::engine::World<()>>::carry"), "engine::World");
        assert_eq!(owner("narrows_sim::host::push_ack"), "host");
    }
}
