//! A scenario as text: parsed with the place of every value, changed by overrides, read into types.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows_proto::cc::custom::Maker;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::diagnostic::{Checked, Code, Diagnostic, Place, Rejection, Source};
use crate::input_file;
use crate::inputs::{Content, Inputs};

/// More mistakes than this are not listed: most of them have one cause.
pub(crate) const MOST_MISTAKES: usize = 100;

/// The most keys in the path of an override. TOML text is read to this depth.
const DEEPEST: usize = 80;

/// A text with its overrides.
///
/// The texts (the file, then one for each override) are thought of as laid end to end, so that one number tells where a
/// value is.
#[derive(Clone, Debug)]
pub struct Document {
    texts: Vec<Arc<Source>>,
    /// By text: the place it was written at, if that is in another text.
    origins: Vec<Option<Place>>,
    /// Paths in the text are relative to this.
    folder: PathBuf,
    /// The files that it names, as far as they have been read; copies share them.
    inputs: Inputs,
    /// Tables that give their values to the elements of arrays.
    inherited: Vec<(&'static str, &'static str)>,
    /// What makes controls that are not built in, by the names the text has for them.
    makers: BTreeMap<String, Arc<dyn Maker>>,
}

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is larger than [`input_file::LARGEST_SCENARIO`], or is not valid TOML.
    pub fn read(path: &Path) -> Checked<Self> {
        let source = input_file::read_text(path, input_file::LARGEST_SCENARIO)?;
        Self::from_source(source, path.parent().map(Path::to_owned).unwrap_or_default())
    }

    /// Parses a text called `name`; paths in it are relative to `folder`.
    ///
    /// # Errors
    /// If it is not valid TOML; all mistakes are reported, up to a hundred.
    pub fn parse(name: &str, text: impl Into<String>, folder: impl Into<PathBuf>) -> Checked<Self> {
        Self::from_source(Arc::new(Source { name: name.to_owned(), text: text.into() }), folder.into())
    }

    fn from_source(source: Arc<Source>, folder: PathBuf) -> Checked<Self> {
        let document = Self {
            texts: vec![source],
            origins: vec![None],
            folder,
            inputs: Inputs::default(),
            inherited: Vec::new(),
            makers: BTreeMap::new(),
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
    /// exist are told by whoever reads the document.
    pub fn set(&mut self, assignment: &str) -> Checked<()> {
        self.set_from("--set", assignment, None)
    }

    /// The same for a text called `name`. If it was made from another text, mistakes are shown there, at `origin`.
    ///
    /// # Errors
    /// As [`Document::set`].
    pub fn set_from(&mut self, name: &str, assignment: &str, origin: Option<Place>) -> Checked<()> {
        let source = Arc::new(Source { name: name.to_owned(), text: assignment.to_owned() });
        self.texts.push(Arc::clone(&source));
        let result = self.build().map(drop);
        if let Err(Rejection(mut diagnostics)) = result {
            self.texts.pop();
            let here = |place: &Place| Arc::ptr_eq(&place.source, &source);
            for diagnostic in &mut diagnostics {
                if origin.is_some() && diagnostic.place.as_ref().is_some_and(here) {
                    diagnostic.place.clone_from(&origin);
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

    /// What makes controls that are not built in, by name.
    pub fn makers(&self) -> &BTreeMap<String, Arc<dyn Maker>> {
        &self.makers
    }

    /// From now on, elements of the array `into` have every value of the table `table` that their own table of this
    /// name lacks.
    pub fn inherit(&mut self, table: &'static str, into: &'static str) {
        self.inherited.push((table, into));
    }

    /// Whether there is a value at the key `key` of the root.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.build().is_ok_and(|root| root.contains_key(key))
    }

    /// Where the value at `path` is: keys, and numbers of array elements. If there is none, its nearest ancestor's.
    pub fn place(&self, path: &str) -> Option<Place> {
        let (span, _) = self.walk(path)?;
        (!span.is_empty()).then(|| self.locate(&span))
    }

    /// Whether it has this value, or leaves it to a default.
    pub(crate) fn says(&self, path: &str) -> bool {
        self.walk(path).is_some_and(|(_, found)| found)
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
        let length = self.texts.iter().map(|source| source.text.len() + 1).sum();
        let root = Spanned::new(0..length, self.build()?);
        T::deserialize(toml::de::Deserializer::from(root)).map_err(|error| self.explain(&error))
    }

    /// The integer at `key` of the root, if it is one.
    pub fn integer(&self, key: &str) -> Option<i64> {
        let root = self.build().ok()?;
        let integer = root.get(key)?.get_ref().as_integer()?;
        i64::from_str_radix(integer.as_str(), integer.radix()).ok()
    }

    fn build(&self) -> Checked<DeTable<'_>> {
        let mut root = parse_table(&self.texts[0])?;
        let mut base = self.texts[0].text.len() + 1;
        for source in &self.texts[1..] {
            apply(&mut root, source, base)?;
            base += source.text.len() + 1;
        }
        for (table, into) in &self.inherited {
            inherit(&mut root, table, into);
        }
        Ok(root)
    }

    /// The place of a span that [`Document::read_into`] has told.
    pub(crate) fn locate(&self, span: &Range<usize>) -> Place {
        let mut start = 0;
        let mut texts = self.texts.iter().zip(&self.origins).peekable();
        while let Some((source, origin)) = texts.next() {
            let next = start + source.text.len() + 1;
            if span.start < next || texts.peek().is_none() {
                if let Some(origin) = origin {
                    return origin.clone();
                }
                let clip = |at: usize| at.saturating_sub(start).min(source.text.len());
                return Place { source: Arc::clone(source), span: clip(span.start)..clip(span.end) };
            }
            start = next;
        }
        unreachable!("there is at least one text")
    }

    /// Turns the error of a deserializer into one of ours.
    fn explain(&self, error: &toml::de::Error) -> Rejection {
        let message = error.message();
        let place = error.span().map(|span| self.locate(&span));
        let quoted: Vec<_> = message.split('`').skip(1).step_by(2).collect();
        let diagnostic = match quoted.first() {
            Some(found) if message.starts_with("unknown field") => {
                let diagnostic = Diagnostic::error(Code::UnknownKey, format!("unknown key \"{found}\""));
                diagnostic.known(found, quoted[1..].iter().copied())
            }
            Some(found) if message.starts_with("unknown variant") => {
                let diagnostic = Diagnostic::error(Code::UnknownName, format!("unknown name \"{found}\""));
                diagnostic.known(found, quoted[1..].iter().copied())
            }
            Some(missing) if message.starts_with("missing field") => {
                Diagnostic::error(Code::WrongType, format!("the key \"{missing}\" is missing"))
            }
            _ => Diagnostic::error(code_of(message), reworded(message)),
        };
        diagnostic.at(place).into()
    }
}

/// A deserializer's message without words only programmers know.
fn reworded(message: &str) -> String {
    let words = [
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number that is not negative"),
        ("expected i64", "expected a whole number"),
        ("expected usize", "expected a whole number that is not negative"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected an array"),
        ("expected a map", "expected a table"),
        ("invalid type: map", "found a table"),
        ("invalid type: sequence", "found an array"),
        ("invalid type: ", "found the "),
        ("invalid value: ", "found the "),
        ("floating point", "number"),
        (
            "wanted exactly 1 element, more",
            "expected one name with its settings, such as { name = {} }, found more",
        ),
        (
            "wanted exactly 1 element, found",
            "expected one name with its settings, such as { name = {} }, found",
        ),
        ("wanted string or table", "expected a name, or a name with its settings, such as { name = {} }"),
    ];
    let mut text = message.to_owned();
    for (from, to) in words {
        text = text.replace(from, to);
    }
    match text.find("expected struct ") {
        Some(at) => text[..at].to_owned() + "expected a table",
        None => text,
    }
}

/// Quantities describe themselves; everything else is about types.
fn code_of(message: &str) -> Code {
    let signs = [
        "unit",
        "is negative",
        "finer than",
        "too large, the largest",
        "a time with",
        "a size with",
        "a rate with",
    ];
    if signs.iter().any(|sign| message.contains(sign)) { Code::Quantity } else { Code::WrongType }
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

/// The first line whose keys may be too many for the parser, which does not say where they are.
fn too_deep(text: &str) -> Option<Range<usize>> {
    let line = text.lines().find(|line| line.matches('.').count() >= DEEPEST - 1)?;
    let start = line.as_ptr() as usize - text.as_ptr() as usize;
    Some(start..start + line.len())
}

/// Index of the element that is named by its number or by its `name`.
fn element(array: &DeArray<'_>, segment: &str) -> Option<usize> {
    if let Ok(index) = segment.parse::<usize>() {
        return (index < array.len()).then_some(index);
    }
    array.iter().position(|element| {
        element.get_ref().get("name").and_then(|name| name.get_ref().as_str()) == Some(segment)
    })
}

/// Applies the override `path=value` of `source`, whose text begins at `base`.
fn apply<'a>(root: &mut DeTable<'a>, source: &'a Arc<Source>, base: usize) -> Checked<()> {
    let text = source.text.as_str();
    let place = |span: Range<usize>| Place { source: Arc::clone(source), span };
    let Some((path, value)) = text.split_once('=') else {
        let message = format!("found \"{text}\", expected path=value");
        return Err(Diagnostic::error(Code::Override, message).at(place(0..text.len())).into());
    };
    let mut new = Some(parse_value(value, base + path.len() + 1));
    let segments: Vec<_> = path.split('.').collect();
    if segments.len() > DEEPEST {
        let message = format!("a path of {} keys, expected at most {DEEPEST}", segments.len());
        return Err(Diagnostic::error(Code::Override, message).at(place(0..path.len())).into());
    }
    let mut at = 0;
    let mut table: Option<&mut DeTable<'a>> = Some(root);
    let mut array: Option<&mut DeArray<'a>> = None;
    for (number, segment) in segments.iter().enumerate() {
        let here = place(at..at + segment.len());
        let name = segment.trim();
        let last = number + 1 == segments.len();
        let next = if let Some(table) = table.take() {
            let span = base + at..base + at + segment.len();
            let key = Spanned::new(span.clone(), Cow::Borrowed(name));
            if last && !name.is_empty() {
                table.remove(name);
                table.insert(key, new.take().expect("there is one last segment"));
                return Ok(());
            }
            // A table that was left out begins empty. Whoever reads the document says if there is no such table.
            if !name.is_empty() && !table.contains_key(name) {
                table.insert(key, Spanned::new(span, DeValue::Table(DeTable::new())));
            }
            table.get_mut(name).filter(|_| !name.is_empty()).ok_or((Vec::new(), "key"))
        } else if let Some(array) = array.take() {
            let names = array.iter().filter_map(|element| element.get_ref().get("name")?.get_ref().as_str());
            let known: Vec<_> = names.map(str::to_owned).collect();
            match element(array, name) {
                Some(index) if last => {
                    *array.get_mut(index).expect("just found") =
                        new.take().expect("there is one last segment");
                    return Ok(());
                }
                Some(index) => Ok(array.get_mut(index).expect("just found")),
                None => Err((known, "element")),
            }
        } else {
            Err((Vec::new(), "key, because what comes before is no table"))
        };
        let next = next.map_err(|(known, what)| {
            Diagnostic::error(Code::Override, format!("\"{name}\" is no {what} here"))
                .known(name, known.iter().map(String::as_str))
                .at(here)
        })?;
        match next.get_mut() {
            DeValue::Table(inner) => table = Some(inner),
            DeValue::Array(inner) => array = Some(inner),
            _ => {}
        }
        at += segment.len() + 1;
    }
    Ok(())
}

/// A TOML value, or a string that lost its quotation marks to a shell.
fn parse_value(text: &str, base: usize) -> Spanned<DeValue<'_>> {
    let base = base + text.len() - text.trim_start().len();
    let text = text.trim();
    let span = base..base + text.len();
    match DeValue::parse(text) {
        Ok(value) => Spanned::new(span, shifted(value.into_inner(), base)),
        Err(_) => Spanned::new(span, DeValue::String(Cow::Borrowed(text))),
    }
}

/// The same value, `by` bytes further on.
fn shifted(value: DeValue<'_>, by: usize) -> DeValue<'_> {
    let moved = |span: Range<usize>| span.start + by..span.end + by;
    match value {
        DeValue::Array(array) => {
            let element =
                |value: Spanned<_>| Spanned::new(moved(value.span()), shifted(value.into_inner(), by));
            DeValue::Array(array.into_iter().map(element).collect())
        }
        DeValue::Table(table) => {
            let entry = |(key, value): (Spanned<_>, Spanned<_>)| {
                let key = Spanned::new(moved(key.span()), key.into_inner());
                (key, Spanned::new(moved(value.span()), shifted(value.into_inner(), by)))
            };
            DeValue::Table(table.into_iter().map(entry).collect())
        }
        scalar => scalar,
    }
}

fn inherit<'a>(root: &mut DeTable<'a>, table: &'static str, into: &str) {
    let Some(DeValue::Table(defaults)) = root.get(table).map(|value| value.get_ref().clone()) else { return };
    let Some(DeValue::Array(elements)) = root.get_mut(into).map(Spanned::get_mut) else { return };
    for element in elements.iter_mut() {
        let span = element.span();
        let DeValue::Table(element) = element.get_mut() else { continue };
        if !element.contains_key(table) {
            let empty = Spanned::new(span.clone(), DeValue::Table(DeTable::new()));
            element.insert(Spanned::new(span, Cow::Borrowed(table)), empty);
        }
        let Some(DeValue::Table(own)) = element.get_mut(table).map(Spanned::get_mut) else { continue };
        for (name, value) in &defaults {
            if !own.contains_key(name.get_ref().as_ref()) {
                own.insert(name.clone(), value.clone());
            }
        }
    }
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
