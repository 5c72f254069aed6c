//! Claims over grids of lists, and notes of several claims.

use super::super::Claim;
use super::super::claims::{File, Note};
use super::ground::Ground;
use super::scope::{Grid, Scope};
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::scenario::matches;

/// A paper with more claims is refused.
const MOST: usize = 10_000;

/// Claims, and for each the number of the `[[claim]]` that made it.
pub(super) struct Claims {
    pub(super) all: Vec<Claim>,
    pub(super) written: Vec<usize>,
}

impl Claims {
    /// Those of a file.
    ///
    /// # Errors
    /// If a claim makes no sense, a name is unknown, or there are too many claims.
    pub(super) fn of(ground: &Ground) -> Checked<Self> {
        let File { lists, claim, note } = ground.document.read_into()?;
        let mut claims = Self { all: Vec::new(), written: Vec::new() };
        for (number, written) in claim.into_iter().enumerate() {
            let path = format!("claim.{number}");
            let refused = |code, message: String| ground.at(&path, Diagnostic::error(code, message));
            let made = |written| {
                Claim::try_from(written).map_err(|error: &str| refused(Code::Conflict, error.into()))
            };
            if written.grid.0.is_empty() {
                claims.all.push(made(written)?);
            } else {
                let grid = Grid::of(&written.grid, &lists, ground, &path)?;
                let points = grid.points(&Scope::default(), claims.all.len(), MOST).map_err(|count| {
                    refused(Code::OutOfRange, format!("{count} claims, expected at most {MOST}"))
                })?;
                for point in points {
                    let fill = |text: &str, key: &str| {
                        point.fill(text).map_err(|error| ground.at(&format!("{path}.{key}"), error))
                    };
                    claims.all.push(made(written.filled(fill)?)?);
                }
            }
            claims.written.resize(claims.all.len(), number);
        }
        for (number, note) in note.iter().enumerate() {
            claims.add(note, &format!("note.{number}"), ground)?;
        }
        Ok(claims)
    }

    /// Adds a note to every claim that it is of.
    fn add(&mut self, note: &Note, path: &str, ground: &Ground) -> Checked<()> {
        let refused = |error: Diagnostic| Err(ground.at(&format!("{path}.of"), error));
        let is_meant = |pattern: &String| self.all.iter().any(|claim| matches(pattern, &claim.id));
        if let Some(unknown) = note.of.0.iter().find(|pattern| !is_meant(pattern)) {
            let error = Diagnostic::error(Code::UnknownName, format!("no claim is called \"{unknown}\""));
            return refused(error.known(unknown, self.all.iter().map(|claim| claim.id.as_str())));
        }
        let of = |claim: &&mut Claim| note.of.0.iter().any(|pattern| matches(pattern, &claim.id));
        for claim in self.all.iter_mut().filter(of) {
            if claim.note.is_some() {
                let message = format!("the claim \"{}\" has a note already", claim.id);
                return refused(Diagnostic::error(Code::Duplicate, message));
            }
            claim.note = Some(note.text.clone());
        }
        Ok(())
    }
}
