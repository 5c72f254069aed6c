use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One name, or several; `*` stands for any characters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged, expecting = "expected a name, or an array of names")]
pub enum Names {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Names {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::One(name) => std::slice::from_ref(name).iter(),
            Self::Several(names) => names.iter(),
        }
        .map(String::as_str)
    }
}

/// Whether `name` has the form of `pattern`, in which `*` stands for any characters.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let yes = [
            ("dc0/*", "dc0/rack1/host2"),
            ("*", ""),
            ("*tor", "rack0/tor"),
            ("dc*/host1", "dc1/rack1/host1"),
            ("a", "a"),
        ];
        assert!(yes.iter().all(|(pattern, name)| matches(pattern, name)));
        let no = [("dc0/*", "dc1/host"), ("a", "ab"), ("*tor", "tor0"), ("a*b*c", "acb"), ("", "x")];
        assert!(no.iter().all(|(pattern, name)| !matches(pattern, name)));
    }
}
