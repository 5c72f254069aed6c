//! A scenario as text: parsed with the place of every value, changed by overrides, read into types.

pub(crate) mod accepted;
mod instead;
mod origin;
mod overrides;
mod reader;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows_proto::cc::custom::Maker;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

pub(crate) use self::accepted::OFF;
pub(crate) use self::origin::Origin;
use self::overrides::{DEEPEST, apply, element, inherit};
use self::reader::{Choice, Mistake, Node};

use crate::diagnostic::{Checked, Code, Diagnostic, Place, Rejection, Source};
use crate::input_file;
use crate::inputs::{Content, Inputs};
use crate::profile;

/// More mistakes than this are not listed: most of them have one cause.
pub(crate) const MOST_MISTAKES: usize = 100;

/// A text with its overrides.
///
/// The texts (the file, then one for each override) are thought of as laid end to end, so that one number tells where a
/// value is.
#[derive(Clone, Debug)]
pub struct Document {
    texts: Vec<Arc<Source>>,
    /// By text: where its parts were written, if that is in other texts.
    origins: Vec<Origin>,
    /// Paths in the text are relative to this.
    folder: PathBuf,
    /// The files that it names, as far as they have been read; copies share them.
    inputs: Inputs,
    /// Tables that give their values to the elements of arrays.
    inherited: Vec<(&'static str, &'static str)>,
    /// The JSON schema of the values it may have, if that is known.
    schema: Option<fn() -> &'static Value>,
    /// Settings that are left out have the values of the profiles that are named.
    profiles: bool,
    /// Makers of controls that are not built in, by the names the text has for them.
    makers: BTreeMap<String, Arc<dyn Maker>>,
    /// It may have controls of a kernel.
    kernel: bool,
}

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is larger than [`input_file::LARGEST_SCENARIO`], or is not valid TOML.
    pub fn read(path: &Path) -> Checked<Self> {
        let source = input_file::read_text(path, input_file::LARGEST_SCENARIO);
        let source = source.map_err(|Rejection(errors)| match instead::instead(path) {
            Some(offer) => Rejection(errors.into_iter().map(|error| error.help(offer.clone())).collect()),
            None => Rejection(errors),
        })?;
        Self::of(source, path.parent().map(Path::to_owned).unwrap_or_default(), Inputs::default())
    }

    /// Parses a text called `name`; paths in it are relative to `folder`.
    ///
    /// # Errors
    /// If it is not valid TOML; all mistakes are reported, up to a hundred.
    pub fn parse(name: &str, text: impl Into<String>, folder: impl Into<PathBuf>) -> Checked<Self> {
        let source = Arc::new(Source { name: name.to_owned(), text: text.into() });
        Self::of(source, folder.into(), Inputs::default())
    }

    /// Parses a text called `name` whose files, by the paths that it has for them, are these. Nothing else is read.
    ///
    /// # Errors
    /// As [`Document::parse`].
    pub fn apart(
        name: &str,
        text: impl Into<String>,
        files: impl IntoIterator<Item = (PathBuf, Content)>,
    ) -> Checked<Self> {
        let source = Arc::new(Source { name: name.to_owned(), text: text.into() });
        let document = Self::of(source, PathBuf::new(), Inputs::supplied())?;
        files.into_iter().for_each(|(path, content)| document.supply(&path, content));
        Ok(document)
    }

    /// Parses a text that has been read. Paths in it are relative to `folder`, and their files come from `inputs`.
    pub(crate) fn of(source: Arc<Source>, folder: PathBuf, inputs: Inputs) -> Checked<Self> {
        let document = Self {
            texts: vec![source],
            origins: vec![Origin::default()],
            folder,
            inputs,
            inherited: Vec::new(),
            schema: None,
            profiles: false,
            makers: BTreeMap::new(),
            kernel: false,
        };
        document.build()?;
        Ok(document)
    }

    /// Paths in the text are relative to this folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The content of the file that the text calls `path`. It is read once: this document and its copies see the same.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn input(&self, path: &Path) -> Checked<Content> {
        self.inputs.get(&self.folder.join(path))
    }

    /// The file that the text calls `path` has this content, for this document and its copies, whatever is there.
    pub fn supply(&self, path: &Path, content: Content) {
        self.inputs.supply(self.folder.join(path), content);
    }

    /// The file that the text calls `path` had this hash when results were begun that keep it at `place`.
    pub(crate) fn expect_input(&self, path: &Path, hash: &str, place: PathBuf) {
        self.inputs.expect(self.folder.join(path), hash, place);
    }

    /// Warnings of files that have changed since the results were begun that are continued.
    pub(crate) fn changed_inputs(&self) -> Vec<Diagnostic> {
        self.inputs.changed()
    }

    /// All files that have been read for it or a copy.
    pub(crate) fn inputs(&self) -> Vec<Content> {
        self.inputs.all()
    }

    /// Files that have been read are read again when they are needed.
    pub fn forget_inputs(&mut self) {
        self.inputs = Inputs::default();
    }

    /// Changes one value: `path=value`. The path has keys separated by dots; an element of an array is named by its
    /// number or by its `name`. A value that is not valid TOML is taken for a string without quotation marks.
    ///
    /// # Errors
    /// If the text is not of this form, or the path leads to no element of an array or past a value. Keys that do not
    /// exist are reported by whoever reads the document.
    pub fn set(&mut self, assignment: &str) -> Checked<()> {
        self.set_from("--set", assignment, None)
    }

    /// The same for a text called `name`. If it was made from another text, mistakes are shown there, at `origin`.
    ///
    /// # Errors
    /// As [`Document::set`].
    pub fn set_from(&mut self, name: &str, assignment: &str, origin: Option<Place>) -> Checked<()> {
        self.set_written(
            name,
            assignment,
            origin.map(|place| Origin::of(0..assignment.len(), place)).unwrap_or_default(),
        )
    }

    /// The same for a part of the text `source`, where mistakes are shown: `name=value` in `variant:name=value;…`.
    ///
    /// # Errors
    /// As [`Document::set`].
    pub fn set_part(&mut self, source: &Arc<Source>, part: Range<usize>) -> Checked<()> {
        let assignment = &source.text[part.clone()];
        let place = Place { source: Arc::clone(source), span: part.clone() };
        self.set_written(&source.name, assignment, Origin::of(0..part.len(), place))
    }

    pub(crate) fn set_written(&mut self, name: &str, assignment: &str, origin: Origin) -> Checked<()> {
        let source = Arc::new(Source { name: name.to_owned(), text: assignment.to_owned() });
        self.texts.push(Arc::clone(&source));
        let result = self.build().map(drop);
        if let Err(Rejection(mut diagnostics)) = result {
            self.texts.pop();
            let here = |place: &&mut Place| Arc::ptr_eq(&place.source, &source);
            for place in
                diagnostics.iter_mut().filter_map(|diagnostic| diagnostic.place.as_mut()).filter(here)
            {
                if let Some(origin) = origin.locate(&source.text, &place.span) {
                    *place = origin;
                }
            }
            return Err(Rejection(diagnostics));
        }
        self.origins.push(origin);
        Ok(())
    }

    /// From now on, `cc = { custom = { name = "…" } }` with this name is what `maker` makes.
    pub fn attach(&mut self, name: impl Into<String>, maker: Arc<dyn Maker>) {
        self.makers.insert(name.into(), maker);
    }

    /// From now on, `cc = { kernel = "…" }` is allowed: there will be a kernel.
    pub fn attach_kernel(&mut self) {
        self.kernel = true;
    }

    /// There will be a kernel.
    pub(crate) fn has_kernel(&self) -> bool {
        self.kernel
    }

    /// Makers of controls that are not built in, by name.
    pub fn makers(&self) -> &BTreeMap<String, Arc<dyn Maker>> {
        &self.makers
    }

    /// From now on, elements of the array `into` have every value of the table `table` that their own table of this
    /// name lacks.
    pub fn inherit(&mut self, table: &'static str, into: &'static str) {
        self.inherited.push((table, into));
    }

    /// From now on, what is [`OFF`] is left out before anything else is looked at, and mistakes show what this JSON schema accepts.
    pub(crate) fn follow(&mut self, schema: fn() -> &'static Value) {
        self.schema = Some(schema);
    }

    /// From now on, settings that are left out have the values of the [profiles](crate::profile) that their tables name.
    pub(crate) fn follow_profiles(&mut self) {
        self.profiles = true;
    }

    /// Whether a value was written at each of these keys of the root, be it [`OFF`].
    #[cfg(test)]
    pub(crate) fn has_all(&self, keys: &[&str]) -> bool {
        self.written().is_ok_and(|root| Root(&root).has_all(keys))
    }

    /// Where the value at `path` is: keys, and numbers of array elements. If there is none, its nearest ancestor's.
    pub fn place(&self, path: &str) -> Option<Place> {
        let (span, _) = self.walk(path)?;
        (!span.is_empty()).then(|| self.locate(&span))
    }

    /// Whether it has this value, or leaves it to a default.
    pub fn says(&self, path: &str) -> bool {
        self.walk(path).is_some_and(|(_, found)| found)
    }

    /// The keys of the table at a path; none if there is no table.
    pub(crate) fn keys(&self, path: &str) -> Option<Vec<String>> {
        let root = self.build().ok()?;
        let mut table = Some(&root);
        let mut array = None;
        for segment in path.split('.') {
            let next = match (table, array) {
                (Some(table), _) => table.get(segment)?,
                (None, Some(array)) => element(array, segment).and_then(|index| array.get(index))?,
                (None, None) => return None,
            };
            table = next.get_ref().as_table();
            array = next.get_ref().as_array();
        }
        Some(table?.keys().map(|key| key.get_ref().to_string()).collect())
    }

    /// Follows a path as far as it goes: where that is, and whether it is all of it.
    fn walk(&self, path: &str) -> Option<(Range<usize>, bool)> {
        let root = self.build().ok()?;
        let mut span = 0..0;
        let mut table = Some(&root);
        let mut array = None;
        for segment in path.split('.') {
            let next = match (table, array) {
                (Some(table), _) => table.get(segment),
                (None, Some(array)) => element(array, segment).and_then(|index| array.get(index)),
                (None, None) => None,
            };
            let Some(next) = next else { return Some((span, false)) };
            span = next.span();
            table = next.get_ref().as_table();
            array = next.get_ref().as_array();
        }
        Some((span, true))
    }

    /// Reads the document into a type.
    ///
    /// # Errors
    /// If a key is unknown or missing, a value has the wrong type or is out of its range.
    pub fn read_into<T: DeserializeOwned>(&self) -> Checked<T> {
        self.read_after(|_| Ok(())).map(|(value, ())| value)
    }

    /// The same after a look at what was written, before anything is left out or inherited. The text is parsed once.
    pub(crate) fn read_after<T: DeserializeOwned, L>(
        &self,
        look: impl FnOnce(&Root<'_>) -> Checked<L>,
    ) -> Checked<(T, L)> {
        let written = self.written()?;
        let looked = look(&Root(&written))?;
        let length = self.texts.iter().map(|source| source.text.len() + 1).sum();
        let root = Spanned::new(0..length, DeValue::Table(self.complete(written)));
        let place = |mistake: &Mistake| mistake.span.as_ref().map(|span| self.locate(span));
        let value =
            T::deserialize(Node::Value(root)).map_err(|mistake| self.shown(&mistake).at(place(&mistake)))?;
        Ok((value, looked))
    }

    /// A mistake with what would be accepted in its place, as far as that is known.
    fn shown(&self, mistake: &Mistake) -> Diagnostic {
        let diagnostic = mistake.diagnostic();
        let Some(schema) = self.schema.map(|schema| schema()) else { return diagnostic };
        let help = if let Some(key) = mistake.missing() {
            let root = self.build().ok();
            let path =
                root.as_ref().zip(mistake.span.as_ref()).and_then(|(root, span)| path_of(root, span, key));
            accepted::missing(schema, &path.unwrap_or_default(), key)
        } else {
            mistake.choice().and_then(|(Choice { names, with_settings }, found)| {
                accepted::forms(schema, names, with_settings, found)
            })
        };
        match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }

    /// The integer at `key` of the root, if it is one.
    pub fn integer(&self, key: &str) -> Option<i64> {
        Root(&self.build().ok()?).integer(key)
    }

    /// Its text, and its overrides in order, as they were written.
    pub(crate) fn written_texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|source| source.text.as_str())
    }

    /// The tree of the text and its overrides.
    fn written(&self) -> Checked<DeTable<'_>> {
        let mut root = parse_table(&self.texts[0])?;
        let mut base = self.texts[0].text.len() + 1;
        for source in &self.texts[1..] {
            apply(&mut root, source, base)?;
            base += source.text.len() + 1;
        }
        Ok(root)
    }

    fn build(&self) -> Checked<DeTable<'_>> {
        Ok(self.complete(self.written()?))
    }

    /// Leaves out what is off, and fills in what is inherited, but not what is off.
    fn complete<'a>(&self, mut root: DeTable<'a>) -> DeTable<'a> {
        let schema = self.schema.filter(|_| self.texts.iter().any(|source| source.text.contains(OFF)));
        if let Some(schema) = schema {
            accepted::leave_out(&mut root, schema(), &profile::COMPLETED);
        }
        for (table, into) in &self.inherited {
            inherit(&mut root, table, into);
        }
        if self.profiles {
            profile::complete(&mut root);
        }
        if let Some(schema) = schema {
            accepted::leave_out(&mut root, schema(), &[]);
        }
        root
    }

    /// The place of a span that [`Document::read_into`] has reported.
    pub(crate) fn locate(&self, span: &Range<usize>) -> Place {
        let mut start = 0;
        let mut texts = self.texts.iter().zip(&self.origins).peekable();
        while let Some((source, origin)) = texts.next() {
            let next = start + source.text.len() + 1;
            if span.start < next || texts.peek().is_none() {
                let clip = |at: usize| at.saturating_sub(start).min(source.text.len());
                let span = clip(span.start)..clip(span.end);
                let here = || Place { source: Arc::clone(source), span: span.clone() };
                return origin.locate(&source.text, &span).unwrap_or_else(here);
            }
            start = next;
        }
        unreachable!("there is at least one text")
    }
}

/// The root of a document as it was written.
pub(crate) struct Root<'a>(&'a DeTable<'a>);

impl Root<'_> {
    /// The integer at a key, if it is one.
    pub(crate) fn integer(&self, key: &str) -> Option<i64> {
        let integer = self.0.get(key)?.get_ref().as_integer()?;
        i64::from_str_radix(integer.as_str(), integer.radix()).ok()
    }

    /// There is something at each of these keys, be it [`OFF`].
    pub(crate) fn has_all(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.0.contains_key(*key))
    }
}

fn parse_table(source: &Arc<Source>) -> Checked<DeTable<'_>> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    if errors.is_empty() {
        return Ok(table.into_inner());
    }
    let diagnostic = |error: &toml::de::Error| {
        let span = error.span().or_else(|| too_deep(&source.text));
        let place = span.map(|span| Place { source: Arc::clone(source), span });
        Diagnostic::error(Code::Syntax, error.message().to_owned()).at(place)
    };
    let mut diagnostics: Vec<_> = errors.iter().take(MOST_MISTAKES).map(diagnostic).collect();
    if errors.len() > MOST_MISTAKES {
        diagnostics.push(Diagnostic::error(Code::Syntax, "there are more mistakes than these"));
    }
    Err(Rejection(diagnostics))
}

/// The path of the table at a span that has no such key; empty for the root.
fn path_of(root: &DeTable<'_>, span: &Range<usize>, key: &str) -> Option<String> {
    fn find(value: &Spanned<DeValue<'_>>, span: &Range<usize>, key: &str) -> Option<Vec<String>> {
        let inside: Vec<_> = match value.get_ref() {
            DeValue::Table(table) if value.span() == *span && !table.contains_key(key) => {
                return Some(Vec::new());
            }
            DeValue::Table(table) => {
                table.iter().map(|(name, value)| (name.get_ref().to_string(), value)).collect()
            }
            DeValue::Array(array) => array
                .iter()
                .enumerate()
                .map(|(number, value)| {
                    let name = value.get_ref().get("name").and_then(|name| name.get_ref().as_str());
                    (name.map_or_else(|| number.to_string(), str::to_owned), value)
                })
                .collect(),
            _ => Vec::new(),
        };
        inside.into_iter().find_map(|(name, value)| {
            let mut path = find(value, span, key)?;
            path.push(name);
            Some(path)
        })
    }
    let found = root.iter().find_map(|(name, value)| {
        let mut path = find(value, span, key)?;
        path.push(name.get_ref().to_string());
        Some(path)
    });
    found.map(|path| path.into_iter().rev().collect::<Vec<_>>().join("."))
}

/// The first line whose keys may be too many for the parser, which does not say where they are.
fn too_deep(text: &str) -> Option<Range<usize>> {
    let line = text.lines().find(|line| line.matches('.').count() >= DEEPEST - 1)?;
    let start = line.as_ptr() as usize - text.as_ptr() as usize;
    Some(start..start + line.len())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        seed: u64,
        #[serde(default)]
        items: Vec<Item>,
        #[serde(default)]
        common: BTreeMap<String, i64>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Item {
        name: String,
        #[serde(default)]
        common: BTreeMap<String, i64>,
    }

    const TEXT: &str = "seed = 1\n[common]\na = 1\nb = 2\n[[items]]\nname = \"x\"\n[[items]]\nname = \"y\"\ncommon = { a = 7 }\n";

    fn document() -> Document {
        Document::parse("sample.toml", TEXT, "").expect("TOML")
    }

    fn error(document: &Document) -> String {
        document.read_into::<Sample>().expect_err("refused").to_string()
    }

    #[test]
    fn overrides_reach_values_by_key_number_and_name() {
        let mut document = document();
        document.set("seed=5").unwrap();
        document.set("items.0.name=\"z\"").unwrap();
        document.set("items.y.common.b = 9").unwrap();
        document.set("common.c=-3").unwrap();
        let sample: Sample = document.read_into().unwrap();
        assert_eq!((sample.seed, sample.items[0].name.as_str(), sample.common["c"]), (5, "z", -3));
        assert_eq!(sample.items[1].common["b"], 9);
    }

    #[test]
    fn an_override_without_quotation_marks_is_a_string() {
        let mut document = document();
        document.set("items.x.name=two words").unwrap();
        assert_eq!(document.read_into::<Sample>().unwrap().items[0].name, "two words");
    }

    #[test]
    fn an_override_that_leads_nowhere_is_refused_and_forgotten() {
        let mut document = document();
        let message = |error: Rejection| error.to_string();
        let nowhere = message(document.set("items.q.name=1").expect_err("refused"));
        assert_eq!(nowhere, "--set:1:7  \"q\" is no element here\n  known: x, y");
        let missing = message(document.set("seed").expect_err("refused"));
        assert_eq!(missing, "--set:1:1  found \"seed\", expected path=value");
        assert!(document.set("seed.x.y=1").is_err());
        assert!(document.read_into::<Sample>().is_ok());
    }

    #[test]
    fn an_override_of_nothing_is_refused() {
        let mut document = Document::parse("a.toml", "seed = 1\n\"\" = 1\n", "").unwrap();
        assert!(document.set("=2").is_err());
        assert!(document.set("common.=2").is_err());
        assert!(document.set(&format!("{}=2", vec!["a"; 100_000].join("."))).is_err());
    }

    #[test]
    fn integers_are_read_in_every_base() {
        let document = Document::parse("a.toml", "a = 0x1F\nb = 1_0\nc = -3", "").unwrap();
        assert_eq!(["a", "b", "c"].map(|key| document.integer(key)), [Some(31), Some(10), Some(-3)]);
    }

    #[test]
    fn a_file_that_is_no_scenario_is_refused_soon() {
        let error = Document::parse("a.toml", "no scenario\n".repeat(100_000), "").expect_err("refused");
        assert_eq!(error.0.len(), MOST_MISTAKES + 1);
    }

    #[test]
    fn mistakes_in_overrides_point_at_the_override() {
        let mut document = document();
        document.set("sed=3").unwrap();
        assert_eq!(
            error(&document),
            "--set:1:1  unknown key \"sed\"\n  did you mean \"seed\"? known: seed, items, common"
        );
    }

    #[test]
    fn mistakes_in_overrides_from_another_text_point_at_that_text() {
        let other = Document::parse("other.toml", "a = 1\nb = 2\n", "").unwrap();
        let origin = || other.place("b");
        let mut document = document();
        let nowhere = document.set_from("grid", "items.q.name=1", origin()).expect_err("refused");
        assert!(nowhere.to_string().starts_with("other.toml:2:5  \"q\" is no element here"), "{nowhere}");
        document.set_from("grid", "sed=3", origin()).unwrap();
        assert!(error(&document).starts_with("other.toml:2:5  unknown key \"sed\""), "{}", error(&document));
    }

    #[test]
    fn a_file_has_the_content_that_is_supplied_until_it_is_read_anew() {
        let mut document = Document::parse("a.toml", "", "nowhere").unwrap();
        document.supply(Path::new("a.csv"), Content::new("a.csv", "1,2".into()));
        assert_eq!(document.clone().input(Path::new("a.csv")).unwrap().text(), "1,2");
        document.forget_inputs();
        let error = document.input(Path::new("a.csv")).expect_err("refused").to_string();
        assert!(error.starts_with("cannot read nowhere/a.csv: "), "{error}");
    }

    #[test]
    fn mistakes_in_the_text_point_at_the_text() {
        let document = Document::parse("a.toml", "seed = \"x\"\n", "").unwrap();
        let wrong_type = "a.toml:1:8  found the string \"x\", expected a whole number that is not negative";
        assert_eq!(error(&document), wrong_type);
        let document = Document::parse("a.toml", "\n\nsede = 1\n", "").unwrap();
        assert!(error(&document).starts_with("a.toml:3:1  unknown key \"sede\""), "{}", error(&document));
    }

    #[test]
    fn every_syntax_error_is_reported() {
        let error = Document::parse("a.toml", "a = \nb = [1\nc = 1\nc = 2\n", "").expect_err("refused");
        assert!(error.0.len() >= 2 && error.0.iter().all(|d| d.code == Code::Syntax), "{error}");
    }

    #[test]
    fn elements_inherit_what_they_lack() {
        let mut document = document();
        document.inherit("common", "items");
        let sample: Sample = document.read_into().unwrap();
        assert_eq!(sample.items[0].common, BTreeMap::from([("a".into(), 1), ("b".into(), 2)]));
        assert_eq!(sample.items[1].common, BTreeMap::from([("a".into(), 7), ("b".into(), 2)]));
    }

    #[test]
    fn a_value_is_found_by_its_path() {
        let place = document().place("items.1.common.a").unwrap();
        assert_eq!(&TEXT[place.span.clone()], "7");
        assert_eq!(place.line_and_column(), (9, 16));
        assert_eq!(document().place("items.1.nothing").unwrap().line_and_column().0, 7);
    }
}
