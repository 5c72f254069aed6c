//! Numbers of a page as bytes: little-endian arrays behind each other, compressed, as text.

use std::io::Write;

use base64::Engine;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

/// Where an array lies among the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Array {
    /// What its elements are, as JavaScript calls an array of them.
    kind: &'static str,
    /// First byte.
    at: usize,
    /// Number of elements.
    length: usize,
}

/// Collects arrays.
#[derive(Debug, Default)]
pub(super) struct Packer {
    bytes: Vec<u8>,
}

impl Packer {
    fn add(
        &mut self,
        kind: &'static str,
        size: usize,
        elements: impl ExactSizeIterator<Item = [u8; 8]>,
    ) -> Array {
        // Arrays of a browser begin at multiples of the size of their elements.
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let array = Array { kind, at: self.bytes.len(), length: elements.len() };
        self.bytes.reserve(size * elements.len());
        elements.for_each(|element| self.bytes.extend_from_slice(&element[..size]));
        array
    }

    pub(super) fn bytes(&mut self, values: &[u8]) -> Array {
        self.add("Uint8Array", 1, values.iter().map(|value| u64::from(*value).to_le_bytes()))
    }

    pub(super) fn shorts(&mut self, values: &[u16]) -> Array {
        self.add("Uint16Array", 2, values.iter().map(|value| u64::from(*value).to_le_bytes()))
    }

    pub(super) fn singles(&mut self, values: impl ExactSizeIterator<Item = f32>) -> Array {
        self.add("Float32Array", 4, values.map(|value| u64::from(value.to_bits()).to_le_bytes()))
    }

    pub(super) fn doubles(&mut self, values: impl ExactSizeIterator<Item = f64>) -> Array {
        self.add("Float64Array", 8, values.map(f64::to_le_bytes))
    }

    /// All arrays, compressed (gzip) and written with 64 characters.
    pub(super) fn finish(self) -> String {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        // Writing to memory does not fail.
        let _ = encoder.write_all(&self.bytes);
        base64::engine::general_purpose::STANDARD.encode(encoder.finish().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn arrays_come_back_where_they_are_said_to_lie() {
        let mut packer = Packer::default();
        let (bytes, doubles) = (packer.bytes(&[1, 2, 255]), packer.doubles([0.5, -3.0].into_iter()));
        let shorts = packer.shorts(&[513]);
        assert_eq!((bytes.at, doubles.at, shorts.at), (0, 8, 24));
        let text = base64::engine::general_purpose::STANDARD.decode(packer.finish()).unwrap();
        let mut found = Vec::new();
        flate2::read::GzDecoder::new(&text[..]).read_to_end(&mut found).unwrap();
        assert_eq!(found[..3], [1, 2, 255]);
        assert_eq!(found[8..16], 0.5_f64.to_le_bytes());
        assert_eq!(found[24..], [1, 2]);
    }
}
