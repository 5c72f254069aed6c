//! Changes to scenarios that keep most of them scenarios: a text with a few random bytes rarely is one.

use std::sync::LazyLock;

use narrows::scenario::Scenario;
use serde_json::Value;

/// The names of keys and choices, from the schema: what is new is tried without being listed here.
static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut names = Vec::new();
    collect_names(Scenario::schema(), &mut names);
    names.sort();
    names.dedup();
    names
});

fn collect_names(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            let keys = object.get("properties").and_then(Value::as_object);
            names.extend(keys.into_iter().flat_map(|keys| keys.keys().cloned()));
            let choices = object.get("enum").and_then(Value::as_array).into_iter().flatten();
            names.extend(choices.chain(object.get("const")).filter_map(Value::as_str).map(str::to_owned));
            object.values().for_each(|inner| collect_names(inner, names));
        }
        Value::Array(array) => array.iter().for_each(|inner| collect_names(inner, names)),
        _ => {}
    }
}

/// Values to insert: both ends of ranges, and those that are easily forgotten.
const VALUES: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "8",
    "64",
    "1000",
    "32768",
    "65536",
    "4294967294",
    "4294967295",
    "9223372036854775807",
    "18446744073709551615",
    "-1",
    "0.0",
    "0.5",
    "1.0",
    "100.0",
    "1e-300",
    "1e300",
    "inf",
    "nan",
    "true",
    "false",
    "[]",
    "{}",
    "\"\"",
    "\"*\"",
    "\"0 s\"",
    "\"1 ps\"",
    "\"2 ps\"",
    "\"1 us\"",
    "\"1 s\"",
    "\"1 h\"",
    "\"720 h\"",
    "\"18446744073709551615 ps\"",
    "\"1 kb/s\"",
    "\"1 Gb/s\"",
    "\"100 Tb/s\"",
    "\"18446744073709551615 b/s\"",
    "\"0 B\"",
    "\"1 B\"",
    "\"65535 B\"",
    "\"1 MB\"",
    "\"1024 PB\"",
    "\"18446744073709551615 B\"",
];

/// The kind of a value.
#[derive(PartialEq)]
enum Kind {
    Number,
    Time,
    Size,
    Rate,
    Other,
}

impl Kind {
    fn of(value: &str) -> Self {
        let is_number = |text: &str| text.parse::<f64>().is_ok();
        let quantity = value.trim_matches('"').split_once(' ').filter(|(number, _)| is_number(number));
        match quantity {
            Some((_, unit)) if unit.ends_with("/s") => Self::Rate,
            Some((_, unit)) if unit.ends_with('B') => Self::Size,
            Some(_) => Self::Time,
            None if is_number(value) => Self::Number,
            None => Self::Other,
        }
    }
}

/// A mutator for scenarios: half of the time a value, a name or a line is changed. None leaves the change to libFuzzer.
pub fn scenario(data: &mut [u8], size: usize, seed: u32) -> Option<usize> {
    let mut random = Random(u64::from(seed));
    let text = std::str::from_utf8(&data[..size]).ok().filter(|text| !text.is_empty())?;
    let changed = (random.below(2) == 0).then(|| changed(text, &mut random))?;
    data.get_mut(..changed.len())?.copy_from_slice(changed.as_bytes());
    Some(changed.len())
}

/// One change to a text that is not empty.
fn changed(text: &str, random: &mut Random) -> String {
    match random.below(10) {
        0 => {
            let mut lines: Vec<_> = text.split_inclusive('\n').collect();
            let line = lines.remove(random.below(lines.len()));
            if random.below(2) == 0 {
                lines.insert(random.below(lines.len() + 1), line);
            }
            lines.concat()
        }
        1 => {
            let lines: Vec<_> = text.split_inclusive('\n').collect();
            let line = lines[random.below(lines.len())];
            text.replacen(line, &format!("{line}{line}"), 1)
        }
        2 => {
            // Another setting beside one that is there.
            let names = words(text);
            let Some(&(start, _)) = random.one_of(&names) else { return text.to_owned() };
            let (name, value) = (&NAMES[random.below(NAMES.len())], VALUES[random.below(VALUES.len())]);
            format!("{}{name} = {value}, {}", &text[..start], &text[start..])
        }
        3 => {
            let names = words(text);
            let Some(&(start, end)) = random.one_of(&names) else { return text.to_owned() };
            [&text[..start], &NAMES[random.below(NAMES.len())], &text[end..]].concat()
        }
        _ => {
            let values = values(text);
            let Some(&(start, end)) = random.one_of(&values) else { return text.to_owned() };
            let old = &text[start..end];
            let known = VALUES.iter().copied().chain(values.iter().map(|&(start, end)| &text[start..end]));
            // Mostly one of its kind, so that what comes later is reached as well.
            let any = random.below(8) == 0;
            let fitting: Vec<_> = known.filter(|value| any || Kind::of(value) == Kind::of(old)).collect();
            [&text[..start], random.one_of(&fitting).unwrap_or(&old), &text[end..]].concat()
        }
    }
}

/// Where words are.
fn words(text: &str) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        let start = text.len() - rest.len() + at;
        let word = &text[start..];
        let len = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(word.len());
        words.push((start, start + len));
        rest = &word[len..];
    }
    words
}

/// Where values are: what follows `=`, as far as strings and brackets go.
fn values(text: &str) -> Vec<(usize, usize)> {
    let mut values = Vec::new();
    for (at, _) in text.match_indices('=') {
        let value = text[at + 1..].trim_start_matches(' ');
        let start = text.len() - value.len();
        let (mut depth, mut quoted) = (0, false);
        let ends = |(_, c): &(usize, char)| {
            match c {
                '"' => quoted = !quoted,
                '[' | '{' if !quoted => depth += 1,
                ']' | '}' if !quoted => depth -= 1,
                _ => {}
            }
            depth < 0 || (depth == 0 && !quoted && matches!(c, ',' | '\n' | '\0'))
        };
        let len = value.char_indices().find(ends).map_or(value.len(), |(end, _)| end);
        values.push((start, start + value[..len].trim_end().len()));
    }
    values
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % bound as u64) as usize
    }

    fn one_of<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        (!items.is_empty()).then(|| &items[self.below(items.len())])
    }
}
