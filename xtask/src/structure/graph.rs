//! Which files of a crate import which, and where they do so in a circle.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::source::{Module, Path, Place, Source};

/// All files of a crate by name, with what they consist of.
pub(super) type Sources = BTreeMap<String, Source>;

/// All modules of a crate, and the file each is in.
struct Modules<'a>(BTreeMap<&'a Place, (&'a str, &'a Module)>);

impl<'a> Modules<'a> {
    fn of(sources: &'a Sources) -> Self {
        let of_file = |(file, source): (&'a String, &'a Source)| {
            source.modules.iter().map(|(place, module)| (place, (file.as_str(), module)))
        };
        Self(sources.iter().flat_map(of_file).collect())
    }

    /// The file in which what a path names is defined; none if it is in another crate. `from` is where the path is written.
    fn file(&self, from: &Place, path: &[String]) -> Option<&'a str> {
        self.resolve(from, path, &mut BTreeSet::new())
    }

    fn resolve(&self, from: &Place, path: &[String], seen: &mut BTreeSet<(Place, Path)>) -> Option<&'a str> {
        if !seen.insert((from.clone(), path.to_vec())) {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Place::new(),
            "self" => from.clone(),
            "super" => from[..from.len().checked_sub(1)?].to_vec(),
            name => {
                let child = child(from, name);
                self.0.contains_key(&child).then_some(child)?
            }
        };
        while let Some((name, more)) = rest.split_first() {
            let next = match name.as_str() {
                "super" => at[..at.len().checked_sub(1)?].to_vec(),
                name => child(&at, name),
            };
            if !self.0.contains_key(&next) {
                break;
            }
            (at, rest) = (next, more);
        }
        let (file, module) = self.0.get(&at)?;
        let Some((name, more)) = rest.split_first() else { return Some(file) };
        let with = |path: &Path| path.iter().chain(more).cloned().collect::<Path>();
        if let Some(path) = module.reexports.get(name) {
            return self.resolve(&at, &with(path), seen).or(Some(file));
        }
        if module.defined.contains(name) {
            return Some(file);
        }
        let passed_on = |path: &Path| {
            let path: Path = path.iter().chain(rest).cloned().collect();
            self.resolve(&at, &path, seen)
        };
        module.globs.iter().find_map(passed_on).or(Some(file))
    }
}

fn child(of: &Place, name: &str) -> Place {
    of.iter().cloned().chain([name.to_owned()]).collect()
}

/// Which file imports which.
pub(super) fn imports(sources: &Sources) -> BTreeSet<(&str, &str)> {
    let modules = Modules::of(sources);
    let of_module = |(place, (file, module)): (&&Place, &(&'_ str, &Module))| -> Vec<(String, String)> {
        let named = module.named.iter().filter_map(|path| modules.file(place, path));
        named.map(|to| ((*file).to_owned(), to.to_owned())).collect()
    };
    let all: BTreeSet<_> = modules.0.iter().flat_map(of_module).filter(|(from, to)| from != to).collect();
    let name = |name: &str| sources.get_key_value(name).map_or("", |(name, _)| name.as_str());
    all.iter().map(|(from, to)| (name(from), name(to))).collect()
}

/// Files that import each other in a circle, the largest circle first.
pub(super) fn circles(sources: &Sources) -> Vec<Vec<&str>> {
    let mut graph = DiGraph::<&str, ()>::new();
    let nodes: BTreeMap<&str, NodeIndex> =
        sources.keys().map(|name| (name.as_str(), graph.add_node(name))).collect();
    for (from, to) in imports(sources) {
        graph.add_edge(nodes[from], nodes[to], ());
    }
    let circle = |nodes: Vec<NodeIndex>| {
        let mut files: Vec<_> = nodes.into_iter().map(|node| graph[node]).collect();
        files.sort_unstable();
        (files.len() > 1).then_some(files)
    };
    let mut circles: Vec<_> = tarjan_scc(&graph).into_iter().filter_map(circle).collect();
    circles.sort_by_key(|files| (std::cmp::Reverse(files.len()), files[0]));
    circles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        let read = |(name, text): &(&str, &str)| {
            let place = crate::structure::place(name);
            ((*name).to_owned(), Source::read(text, &place).unwrap())
        };
        files.iter().map(read).collect()
    }

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let sources = sources(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use super::c; pub struct B;"),
            ("c.rs", "fn c() { crate::a::A; }"),
        ]);
        assert_eq!(circles(&sources), [["a.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn what_a_module_passes_on_is_imported_from_where_it_is_defined() {
        let sources = sources(&[
            ("a/mod.rs", "mod b; mod c; pub use self::b::B; use self::c::C; fn x(_: C) {}"),
            ("a/b.rs", "pub struct B;"),
            ("a/c.rs", "use super::B; pub struct C;"),
        ]);
        assert_eq!(imports(&sources), BTreeSet::from([("a/mod.rs", "a/c.rs"), ("a/c.rs", "a/b.rs")]));
        assert!(circles(&sources).is_empty());
    }

    #[test]
    fn other_crates_do_not_count() {
        let sources = sources(&[("a.rs", "use std::b::B; use b::B;"), ("b.rs", "use crate::a::A;")]);
        assert!(circles(&sources).is_empty());
    }
}
