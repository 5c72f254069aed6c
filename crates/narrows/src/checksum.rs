//! Checksums of content, the same on every machine: BLAKE3, of which 128 bits tell files apart.

/// Of bytes: 32 hexadecimal digits.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    text(&blake3::hash(bytes))
}

/// A hash as 32 hexadecimal digits.
pub(crate) fn text(hash: &blake3::Hash) -> String {
    hash.to_hex()[..32].to_owned()
}
