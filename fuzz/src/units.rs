//! Quantities: no text panics, and what is printed is read back as the same value.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use narrows_proto::units::{BitRate, Bytes, QuantityError, Span, Time};

pub fn check(text: &str) {
    holds::<Time>(text);
    holds::<Span>(text);
    holds::<Bytes>(text);
    holds::<BitRate>(text);
}

fn holds<T>(text: &str)
where
    T: FromStr<Err = QuantityError> + Display + Debug + PartialEq,
{
    match text.parse::<T>() {
        Ok(value) => {
            assert_eq!(value.to_string().parse::<T>().as_ref(), Ok(&value), "printed from {text:?}");
            let _ = format!("{value:.3} {value:>12}");
        }
        Err(error) => drop(error.to_string()),
    }
}
