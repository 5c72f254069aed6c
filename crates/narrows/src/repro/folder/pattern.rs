//! Names with `*`, which stands for any letters.

/// Whether a name is what a pattern says.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        // The first place leaves the most for the parts behind it.
        let Some((_, behind)) = left.split_once(part) else { return false };
        left = behind;
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_any_letters_and_nothing_else_does() {
        let all = ["rack0/tor", "rack12/tor", "rack0/host3", "spine0"];
        let of = |pattern: &str| all.map(|name| fits(pattern, name));
        assert_eq!(of("rack*/tor"), [true, true, false, false]);
        assert_eq!(of("*0*"), [true, false, true, true]);
        assert_eq!(of("rack*o*"), [true, true, true, false]);
        assert_eq!(of("*"), [true; 4]);
        assert_eq!(of("rack0"), [false; 4]);
        assert_eq!([fits("a*a", "a"), fits("a*b*a", "abba"), fits("a**a", "aa")], [false, true, true]);
    }
}
