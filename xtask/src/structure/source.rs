//! Contents of one file of Rust, tests apart.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, UseTree, Visibility};

/// The place of a module: the names from the root of its crate on.
pub(super) type Place = Vec<String>;

/// A module, in a file of its own or not.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Names that stand for something in another module, and its path.
    pub(super) reexports: BTreeMap<String, Path>,
    /// Modules of which everything is passed on.
    pub(super) globs: Vec<Path>,
    /// Names defined here.
    pub(super) defined: BTreeSet<String>,
    /// Paths it names in other modules.
    pub(super) named: Vec<Path>,
}

/// A path as it is written.
pub(super) type Path = Vec<String>;

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) lines: usize,
}

/// A file.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) modules: BTreeMap<Place, Module>,
    pub(super) functions: Vec<Function>,
    /// Without those of tests.
    pub(super) lines: usize,
    /// Modules of tests in files of their own.
    pub(super) tests: Vec<Place>,
}

impl Source {
    /// Reads the text of the module at `place`.
    pub(super) fn read(text: &str, place: &Place) -> Result<Self> {
        let file = syn::parse_file(text)?;
        let mut reader = Reader { place: place.clone(), source: Self::default(), idents: BTreeSet::new() };
        reader.source.lines = text.lines().count();
        reader.source.modules.entry(place.clone()).or_default();
        reader.visit_file(&file);
        let Reader { mut source, idents, .. } = reader;
        // What is passed on is no import, unless the file needs it, too.
        for module in source.modules.values_mut() {
            let needed = module.reexports.iter().filter(|(name, _)| idents.contains(*name));
            module.named.extend(needed.map(|(_, path)| path.clone()));
        }
        Ok(source)
    }
}

struct Reader {
    place: Place,
    source: Source,
    /// All names outside of `use` lines.
    idents: BTreeSet<String>,
}

fn lines(span: Span) -> usize {
    span.end().line + 1 - span.start().line
}

fn is_test(attributes: &[Attribute]) -> bool {
    let is = |attribute: &Attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Ident>().is_ok_and(|what| what == "test")
    };
    attributes.iter().any(is)
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}

impl Reader {
    fn module(&mut self) -> &mut Module {
        self.source.modules.entry(self.place.clone()).or_default()
    }

    fn read_use(&mut self, tree: &UseTree, before: &Path, passed_on: bool) {
        let with = |name: String| before.iter().cloned().chain([name]).collect::<Path>();
        let (path, name) = match tree {
            UseTree::Path(path) => {
                return self.read_use(&path.tree, &with(path.ident.to_string()), passed_on);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.read_use(tree, before, passed_on));
            }
            UseTree::Glob(_) => {
                if passed_on {
                    self.module().globs.push(before.clone());
                }
                return self.module().named.push(before.clone());
            }
            // `use place::{self}` names the place.
            UseTree::Name(name) if name.ident == "self" => (before.clone(), before.last().cloned()),
            UseTree::Name(name) => (with(name.ident.to_string()), Some(name.ident.to_string())),
            UseTree::Rename(name) => (with(name.ident.to_string()), Some(name.rename.to_string())),
        };
        match name.filter(|_| passed_on) {
            Some(name) => drop(self.module().reexports.insert(name, path)),
            None => self.module().named.push(path),
        }
    }

    fn note_function(&mut self, name: &syn::Ident, whole: Span) {
        self.source.functions.push(Function { name: name.to_string(), lines: lines(whole) });
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_test(attributes(item)) {
            self.source.lines -= lines(item.span());
            if let Item::Mod(ItemMod { content: None, ident, .. }) = item {
                self.source.tests.push(self.place.iter().cloned().chain([ident.to_string()]).collect());
            }
            return;
        }
        self.module().defined.extend(name(item));
        match item {
            Item::Use(item) => {
                let passed_on = !matches!(item.vis, Visibility::Inherited);
                self.read_use(&item.tree, &Path::new(), passed_on);
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_some() {
            self.place.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.place.pop();
        }
    }

    /// Who may see it is no import.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note_function(&item.sig.ident, item.span());
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note_function(&item.sig.ident, item.span());
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if item.default.is_some() {
            self.note_function(&item.sig.ident, item.span());
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Path = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 && ["crate", "super", "self"].contains(&names[0].as_str()) {
            self.module().named.push(names);
        }
        visit::visit_path(self, path);
    }

    fn visit_ident(&mut self, ident: &'ast syn::Ident) {
        self.idents.insert(ident.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Source {
        Source::read(text, &vec!["here".to_owned()]).unwrap()
    }

    fn path(text: &str) -> Path {
        text.split("::").map(str::to_owned).collect()
    }

    #[test]
    fn imports_are_read_from_all_kinds_of_use_lines_and_from_paths() {
        let source = read(
            "use crate::a::{self, B, c::D as E};\nuse super::f::*;\nfn g() { crate::h::i(); self.j(); std::k(); }\n",
        );
        let named: BTreeSet<_> = source.modules[&path("here")].named.iter().cloned().collect();
        let expected = ["crate::a", "crate::a::B", "crate::a::c::D", "super::f", "crate::h::i"];
        assert_eq!(named, expected.map(path).into_iter().collect());
    }

    #[test]
    fn what_is_passed_on_is_an_import_only_if_the_file_needs_it() {
        let source = read("pub use self::a::A;\npub(crate) use self::b::B;\nstruct C(B);\n");
        let here = &source.modules[&path("here")];
        assert_eq!(here.named, [path("self::b::B")]);
        assert_eq!(here.reexports["A"], path("self::a::A"));
    }

    #[test]
    fn who_may_see_something_is_no_import() {
        let source = read("pub(in crate::a) struct B { pub(in crate::a) c: u8 }\n");
        assert!(source.modules[&path("here")].named.is_empty());
    }

    #[test]
    fn modules_of_tests_in_files_of_their_own_are_known() {
        assert_eq!(read("#[cfg(test)]\nmod tests;\nmod other;\n").tests, [path("here::tests")]);
    }

    #[test]
    fn tests_do_not_count() {
        let source = read(
            "fn a() {\n}\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n    #[test]\n    fn c() {}\n}\n",
        );
        assert_eq!(source.lines, 2);
        assert_eq!(source.functions, [Function { name: "a".into(), lines: 2 }]);
        assert!(source.modules[&path("here")].named.is_empty());
    }
}
