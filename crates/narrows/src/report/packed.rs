//! Numbers of a page as bytes: little-endian arrays behind each other, compressed, as text.

use std::io::Write;

use base64::Engine;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

/// Where an array lies among the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Array {
    /// Type of its elements, as JavaScript calls an array of them.
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

/// The elements of an array, as a browser reads them.
#[cfg(test)]
pub(super) fn unpack(text: &str, array: Array) -> Vec<f64> {
    use std::io::Read;
    let text = base64::engine::general_purpose::STANDARD.decode(text).expect("64 characters");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&text[..]).read_to_end(&mut bytes).expect("compressed");
    let size = match array.kind {
        "Uint8Array" => 1,
        "Uint16Array" => 2,
        "Float32Array" => 4,
        _ => 8,
    };
    let element = |bytes: &[u8]| match *bytes {
        [a] => f64::from(a),
        [a, b] => f64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
        _ => f64::from_le_bytes(bytes.try_into().expect("eight bytes")),
    };
    bytes[array.at..][..size * array.length].chunks(size).map(element).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_come_back_where_they_are_said_to_lie() {
        let mut packer = Packer::default();
        let (bytes, doubles) = (packer.bytes(&[1, 2, 255]), packer.doubles([0.5, -3.0].into_iter()));
        let (shorts, singles) = (packer.shorts(&[513]), packer.singles([0.25].into_iter()));
        assert_eq!((bytes.at, doubles.at, shorts.at, singles.at), (0, 8, 24, 32));
        let text = packer.finish();
        assert_eq!(unpack(&text, bytes), [1.0, 2.0, 255.0]);
        assert_eq!(unpack(&text, doubles), [0.5, -3.0]);
        assert_eq!(unpack(&text, shorts), [513.0]);
        assert_eq!(unpack(&text, singles), [0.25]);
    }
}
