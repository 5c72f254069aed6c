//! Checksums of content, the same on every machine: BLAKE3, of which 128 bits tell files apart.

/// Of bytes: 32 hexadecimal digits.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..32].to_owned()
}
