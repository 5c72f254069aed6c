//! State of a controller besides its limit, for observers.

/// A value that a controller reports of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Inside {
    /// A number, in the unit that ends its name (`_bytes`, `_bps`, `_ps`) or without one. Infinite if nothing bounds it, as the
    /// slow-start threshold before the first loss.
    Number(f64),
    /// One of a few words, such as a mode.
    Word(&'static str),
}

impl Inside {
    /// The number, if it is one.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Word(_) => None,
        }
    }

    /// The word, if it is one.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Number(_) => None,
            Self::Word(word) => Some(word),
        }
    }
}

impl From<f64> for Inside {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&'static str> for Inside {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}

/// Takes what a controller reports: a name and its value.
pub type Reporter<'a> = dyn FnMut(&'static str, Inside) + 'a;

/// The names that an algorithm reports, each with its meaning.
pub type Described = &'static [(&'static str, &'static str)];

/// The meaning of `ssthresh_bytes`, which many have.
pub(super) const SSTHRESH: (&str, &str) =
    ("ssthresh_bytes", "The slow-start threshold; no row before it is first set.");
