//! Values that a document may have, as a JSON schema says: what may be left out, and the forms of the rest.

mod forms;
mod off;
mod shapes;

pub(crate) use forms::{forms, missing};
pub(crate) use off::{OFF, is_required, is_text, leave_out};
pub(crate) use shapes::{alternatives, below, entry, inside, reference_of, shapes};
