//! `"off"` in place of what may be left out: a key that is not required, a table of a list, or an entry of a table whose names the
//! document gives. It means that nothing was written there, and that nothing is filled in; where a setting is true or false, it
//! means false. Names and other texts may be "off" as any other.

use serde_json::Value;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::{entry, inside, shapes};

/// The word that switches off.
pub(crate) const OFF: &str = "off";

/// Takes what is `"off"` out of a scenario, but not out of tables with these names.
pub(crate) fn leave_out(table: &mut DeTable<'_>, root: &'static Value, but: &[&str]) {
    leave_out_of_table(table, root, &shapes(root, root), but);
}

fn leave_out_of_table(
    table: &mut DeTable<'_>,
    root: &'static Value,
    shapes_of_it: &[&'static Value],
    but: &[&str],
) {
    let off: Vec<_> = table
        .iter()
        .filter(|(key, value)| is_off(value) && may_be_off(root, shapes_of_it, key.get_ref()))
        .map(|(key, _)| key.get_ref().clone())
        .collect();
    for key in off {
        if is_either(root, shapes_of_it, &key) {
            let value = table.get_mut(key.as_ref()).expect("it is there");
            *value.get_mut() = DeValue::Boolean(false);
        } else {
            table.remove(key.as_ref());
        }
    }
    for (key, value) in table.iter_mut() {
        let key = key.get_ref().as_ref();
        if !but.contains(&key) {
            let schemas = shapes_of_it.iter().filter_map(|shape| inside(shape, key));
            leave_out_of_value(value.get_mut(), root, schemas, but);
        }
    }
}

fn leave_out_of_value(
    value: &mut DeValue<'_>,
    root: &'static Value,
    schemas: impl Iterator<Item = &'static Value>,
    but: &[&str],
) {
    let all = || schemas.flat_map(|value| shapes(root, value)).collect::<Vec<_>>();
    match value {
        DeValue::Table(table) => leave_out_of_table(table, root, &all(), but),
        DeValue::Array(array) => {
            let elements: Vec<_> =
                all().into_iter().filter_map(entry).flat_map(|value| shapes(root, value)).collect();
            let has_tables = elements.iter().any(|shape| shape["properties"].is_object());
            if has_tables && array.iter().any(is_off) {
                *array = array.iter().filter(|element| !is_off(element)).cloned().collect();
            }
            for element in array.iter_mut() {
                if let DeValue::Table(table) = element.get_mut() {
                    leave_out_of_table(table, root, &elements, but);
                }
            }
        }
        _ => {}
    }
}

fn is_off(value: &Spanned<DeValue<'_>>) -> bool {
    value.get_ref().as_str() == Some(OFF)
}

/// Whether a table of one of these shapes may have `"off"` at a key, where it is no value of its own.
fn may_be_off(root: &'static Value, shapes_of_it: &[&'static Value], key: &str) -> bool {
    let mut with_it = shapes_of_it.iter().filter(|shape| shape["properties"].get(key).is_some()).peekable();
    if with_it.peek().is_some() {
        return with_it.all(|shape| !is_required(shape, key) && !is_text(root, &shape["properties"][key]));
    }
    shapes_of_it.iter().filter_map(|shape| entry(shape)).any(|entry| !is_text(root, entry))
}

/// Whether a key takes true or false in all of these shapes that have it.
fn is_either(root: &'static Value, shapes_of_it: &[&'static Value], key: &str) -> bool {
    let mut with_it = shapes_of_it.iter().filter_map(|shape| shape["properties"].get(key)).peekable();
    with_it.peek().is_some()
        && with_it.all(|value| shapes(root, value).iter().any(|shape| shape["type"] == "boolean"))
}

pub(crate) fn is_required(shape: &Value, key: &str) -> bool {
    shape["required"].as_array().is_some_and(|required| required.iter().any(|other| other == key))
}

/// Whether `"off"` is a value of its own here, or any text is.
pub(crate) fn is_text(root: &'static Value, value: &'static Value) -> bool {
    let takes = |shape: &&'static Value| {
        let is_string = shape["type"] == "string"
            || shape["type"].as_array().is_some_and(|types| types.iter().any(|one| one == "string"));
        let is_any = is_string && ["const", "enum", "pattern"].iter().all(|key| shape.get(key).is_none());
        let is_choice = shape["enum"].as_array().is_some_and(|all| all.iter().any(|one| one == OFF));
        is_any || is_choice || shape["const"] == OFF
    };
    shapes(root, value).iter().any(takes)
}
