//! A paper that exists for tests only.

use super::{Paper, folder};

pub(super) fn paper() -> Paper {
    let (name, files) = files!("tiny" "paper.toml" "claims.toml" "two-flows.toml");
    folder::built_in(name, files)
}
