//! Values that a document's tree gets beyond its first text: by overrides, and from tables that elements of arrays share.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde_spanned::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::accepted::OFF;
use crate::diagnostic::{Checked, Code, Diagnostic, Place, Source};

/// The most keys in the path of an override. TOML text is read to this depth.
pub(super) const DEEPEST: usize = 80;

/// Index of the element that is named by its number or by its `name`.
pub(super) fn element(array: &DeArray<'_>, segment: &str) -> Option<usize> {
    if let Ok(index) = segment.parse::<usize>() {
        return (index < array.len()).then_some(index);
    }
    array.iter().position(|element| {
        element.get_ref().get("name").and_then(|name| name.get_ref().as_str()) == Some(segment)
    })
}

/// Applies the override `path=value` of `source`, whose text begins at `base`.
pub(super) fn apply<'a>(root: &mut DeTable<'a>, source: &'a Arc<Source>, base: usize) -> Checked<()> {
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
        // What is off is as if it was left out.
        if next.get_ref().as_str() == Some(OFF) {
            *next.get_mut() = DeValue::Table(DeTable::new());
        }
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

/// Gives every value of the table `table` to the elements of `into` whose table of this name lacks it.
pub(super) fn inherit<'a>(root: &mut DeTable<'a>, table: &'static str, into: &str) {
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
