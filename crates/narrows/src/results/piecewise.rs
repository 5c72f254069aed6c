//! Files of results in the making.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::checksum::{self, Sum};

/// Bytes that are written at once.
const PIECE: usize = 1 << 16;

/// Writes a file of this name into a folder. Who does not have the folder flushed to the disk later asks for its sum, to compare it with
/// the file.
pub(super) fn write_file(
    folder: &Path,
    name: &str,
    sums: Option<&mut Vec<(String, Sum)>>,
    content: impl FnOnce(&mut Piecewise) -> io::Result<()>,
) -> Result<(), (String, io::Error)> {
    let write = || {
        let hasher = sums.is_some().then(blake3::Hasher::new);
        let mut file =
            Piecewise { file: File::create(folder.join(name))?, piece: Vec::new(), hasher, size: 0 };
        content(&mut file)?;
        file.write_piece()?;
        if let (Some(sums), Some(sum)) = (sums, file.sum()) {
            sums.push((name.to_owned(), sum));
        }
        Ok(())
    };
    write().map_err(|error| (name.to_owned(), error))
}

/// A file that is written in large pieces, however often somebody flushes it on the way.
pub(super) struct Piecewise {
    file: File,
    piece: Vec<u8>,
    /// Of what has been written; none if nobody wants to know.
    hasher: Option<blake3::Hasher>,
    size: u64,
}

impl Piecewise {
    fn write_piece(&mut self) -> io::Result<()> {
        self.file.write_all(&self.piece)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&self.piece);
        }
        self.size += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }

    fn sum(&self) -> Option<Sum> {
        let blake3 = checksum::text(&self.hasher.as_ref()?.finalize());
        Some(Sum { size: self.size, blake3 })
    }
}

impl Write for Piecewise {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.piece.len() + bytes.len() > PIECE {
            self.write_piece()?;
        }
        self.piece.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
