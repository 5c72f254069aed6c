//! Where the parts of an override were written, if it was made of other texts.

use std::ops::Range;

use crate::diagnostic::Place;

/// Parts of a text, in order, and the places they were written at; none if it was written as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin(Vec<(Range<usize>, Place)>);

impl Origin {
    /// A part that was written at a place.
    pub(crate) fn of(part: Range<usize>, place: Place) -> Self {
        Self(vec![(part, place)])
    }

    /// And another, behind.
    pub(crate) fn and(mut self, part: Range<usize>, place: Place) -> Self {
        self.0.push((part, place));
        self
    }

    /// The place of a span of `text`: of this very span where the part reads as it was written, otherwise of the part.
    pub(super) fn locate(&self, text: &str, span: &Range<usize>) -> Option<Place> {
        let behind = |(part, _): &&(Range<usize>, Place)| part.start <= span.start;
        let (part, place) = self.0.iter().rev().find(behind).or(self.0.first())?;
        let written = place.source.text.get(place.span.clone()).unwrap_or_default();
        if text.get(part.clone()) != Some(written) {
            return Some(place.clone());
        }
        let shift = |at: usize| (at.max(part.start) - part.start).min(written.len()) + place.span.start;
        Some(Place { span: shift(span.start)..shift(span.end), ..place.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::diagnostic::Source;

    #[test]
    fn a_span_is_shown_in_the_part_that_it_begins_in() {
        let source = Arc::new(Source { name: "grid".into(), text: "\"a.b\" = [ 1,  { c=2 } ]".into() });
        let place = |span: Range<usize>| Place { source: Arc::clone(&source), span };
        // The path as it was written; the value in another form.
        let text = "a.b={ c = 2 }";
        let origin = Origin::of(0..3, place(1..4)).and(4..13, place(14..21));
        let shown =
            |span: Range<usize>| origin.locate(text, &span).map(|place| source.text[place.span].to_owned());
        assert_eq!(shown(2..3).as_deref(), Some("b"));
        assert_eq!(shown(6..7).as_deref(), Some("{ c=2 }"));
        assert!(Origin::default().locate(text, &(0..1)).is_none());
    }
}
