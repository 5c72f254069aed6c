//! Sizes of the pages of a Parquet column as their headers state them, before anything is unpacked.
//!
//! Each page begins with a header that says how many bytes it has, packed and unpacked, and room for the latter is made at once.
//! A damaged header may ask for 2 GiB. Headers are Thrift structs in the compact protocol; of their fields only two are read,
//! the rest is skipped.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// Snappy makes at most 64 bytes of 3.
const EXPANSION: u64 = 24;
/// Bytes that are always accepted: short runs, with their headers.
const ALWAYS: u64 = 1 << 16;

/// So many bytes may be what is packed into `packed`.
pub(super) fn is_plausible(whole: u64, packed: u64) -> bool {
    whole <= packed.saturating_mul(EXPANSION).saturating_add(ALWAYS)
}

/// Goes through the pages of a column from `start` on, `length` bytes in all.
///
/// # Errors
/// If a header is damaged, a page leads beyond the end, or says that it unpacks to more than it can.
pub(super) fn check(file: &mut (impl Read + Seek), start: u64, length: u64) -> io::Result<()> {
    let mut file = BufReader::new(file);
    file.seek(SeekFrom::Start(start))?;
    let mut left = length;
    while left > 0 {
        let mut header = Header { bytes: (&mut file).take(left), sizes: [0; 2] };
        header.structure(0)?;
        let [whole, packed] = header.sizes;
        left = header.bytes.limit();
        let (Ok(whole), Ok(packed)) = (u64::try_from(whole), u64::try_from(packed)) else {
            return Err(damaged("a page has less than no bytes"));
        };
        if packed > left {
            return Err(damaged("a page is longer than its column"));
        }
        if !is_plausible(whole, packed) {
            return Err(damaged(&format!("a page of {packed} bytes unpacks to {whole}")));
        }
        left -= packed;
        file.seek_relative(i64::try_from(packed).map_err(io::Error::other)?)?;
    }
    Ok(())
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged: {what}"))
}

/// A header that is being read.
struct Header<R> {
    bytes: R,
    /// Fields 2 and 3: bytes unpacked and packed.
    sizes: [i64; 2],
}

impl<R: BufRead> Header<R> {
    /// Structs within structs deeper than this are in no header.
    const DEEPEST: u32 = 8;

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.bytes.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn unsigned(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for place in 0..10 {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << (7 * place).min(63);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(damaged("a number without end"))
    }

    /// Zigzag: signs are in the lowest bit.
    fn signed(&mut self) -> io::Result<i64> {
        let number = self.unsigned()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn bytes(&mut self, count: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.bytes).take(count), &mut io::sink())?;
        if skipped < count { Err(damaged("a header without end")) } else { Ok(()) }
    }

    /// A struct; of the outermost one the sizes are noted.
    fn structure(&mut self, depth: u32) -> io::Result<()> {
        let mut field = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            field = match head >> 4 {
                0 => self.signed()?,
                more => field + i64::from(more),
            };
            match (depth, field, head & 0xf) {
                (0, 2, 5) => self.sizes[0] = self.signed()?,
                (0, 3, 5) => self.sizes[1] = self.signed()?,
                (_, _, kind) => self.value(kind, depth)?,
            }
        }
    }

    /// Skips a value of this kind.
    fn value(&mut self, kind: u8, depth: u32) -> io::Result<()> {
        match kind {
            // Truths stand in the kind itself.
            1 | 2 => Ok(()),
            3 => self.bytes(1),
            4..=6 => self.signed().map(drop),
            7 => self.bytes(8),
            8 => {
                let count = self.unsigned()?;
                self.bytes(count)
            }
            12 if depth < Self::DEEPEST => self.structure(depth + 1),
            _ => Err(damaged("a header that is none")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A file of pages: the sizes that the header says, and the bytes that follow.
    fn checked(pages: &[(i32, i32, usize)]) -> io::Result<()> {
        let mut bytes = vec![0; 4];
        for (whole, packed, follow) in pages {
            // The kind of the page, both sizes, and a struct with a number and a text.
            bytes.extend([0x15, 0]);
            for size in [*whole, *packed] {
                bytes.push(0x15);
                let mut zigzag = (size << 1 ^ size >> 31) as u32;
                while zigzag >= 0x80 {
                    bytes.push(zigzag as u8 | 0x80);
                    zigzag >>= 7;
                }
                bytes.push(zigzag as u8);
            }
            bytes.extend([0x2c, 0x15, 8, 0x18, 2, b'a', b'b', 0x11, 0, 0]);
            bytes.extend(vec![7; *follow]);
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        check(&mut file, 4, bytes.len() as u64 - 4)
    }

    #[test]
    fn pages_that_hold_what_they_say_pass() {
        checked(&[(100, 40, 40), (65_000, 9, 9), (1_000_000, 100_000, 100_000)]).unwrap();
    }

    #[test]
    fn a_page_that_says_it_unpacks_to_more_than_it_can_is_refused() {
        let error = |pages: &[_]| checked(pages).unwrap_err().to_string();
        assert_eq!(
            error(&[(9, 9, 9), (i32::MAX, 10, 10)]),
            "damaged: a page of 10 bytes unpacks to 2147483647"
        );
        assert_eq!(error(&[(9, 10, 9)]), "damaged: a page is longer than its column");
        assert_eq!(error(&[(-1, 9, 9)]), "damaged: a page has less than no bytes");
    }
}
