//! Documentation of the sources as Markdown for readers.

/// Links to items of the code become their names: what stands in brackets stays, where it leads to goes. Addresses of
/// pages stay.
pub(super) fn plain(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = rest.find('[') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        match link(rest) {
            Some((label, len)) => {
                out.push_str(label);
                rest = &rest[len..];
            }
            None => {
                out.push('[');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

/// The label of the link to code that a text begins with, and the length of the link.
fn link(text: &str) -> Option<(&str, usize)> {
    let end = text.find(']')?;
    let label = &text[1..end];
    let Some(target) = text[end + 1..].strip_prefix('(') else {
        let is_code = label.len() > 2 && label.starts_with('`') && label.ends_with('`');
        return is_code.then_some((label, end + 1));
    };
    let close = target.find(')')?;
    let is_code = target[..close].contains("::") || !target[..close].contains(['/', '#', '.']);
    is_code.then_some((label, end + 2 + close + 1))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn links_to_code_become_names() {
        assert_eq!(
            plain("see [`A::b`] and [`C`](super::C), [the control](crate::cc)."),
            "see `A::b` and `C`, the control."
        );
        assert_eq!(plain("[broadcasts](Self::broadcasts)"), "broadcasts");
    }

    #[test]
    fn everything_else_stays() {
        for text in [
            "alpha in [0, 1]",
            "a [page](https://example.org/a)",
            "[one](other.md#x)",
            "open [",
            "[]",
            "n[i]",
        ] {
            assert_eq!(plain(text), text);
        }
    }
}
