//! A message between page and engine: a JSON value, and files that it refers to by their numbers.
//!
//! A number of parts, the length of each, then all parts: numbers have 32 bits, little-endian. The first part is the JSON value.

use std::collections::BTreeMap;

use bytes::{Buf, Bytes};
use serde::Deserialize;

/// Puts parts together.
pub fn pack(parts: &[Bytes]) -> Vec<u8> {
    let length = |bytes: usize| u32::try_from(bytes).expect("memory has 32 bits").to_le_bytes();
    let mut message = Vec::with_capacity(4 + parts.iter().map(|part| 4 + part.len()).sum::<usize>());
    message.extend(length(parts.len()));
    parts.iter().for_each(|part| message.extend(length(part.len())));
    parts.iter().for_each(|part| message.extend_from_slice(part));
    message
}

/// Takes a message apart; none if it is none.
pub fn unpack(mut message: Bytes) -> Option<Vec<Bytes>> {
    let count = message.try_get_u32_le().ok()? as usize;
    if count > message.len() / 4 {
        return None;
    }
    let lengths: Vec<_> = (0..count).map(|_| message.get_u32_le() as usize).collect();
    let part = |length: usize| (length <= message.len()).then(|| message.split_to(length));
    lengths.into_iter().map(part).collect()
}

/// Files of a message: names, and the numbers of their parts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Files(BTreeMap<String, usize>);

impl Files {
    /// The files with their content, which is in `parts`.
    pub(crate) fn of<'a>(&'a self, parts: &'a [Bytes]) -> impl Iterator<Item = (&'a str, Bytes)> {
        let content = |part: &usize| parts.get(*part).cloned().unwrap_or_default();
        self.0.iter().map(move |(name, part)| (name.as_str(), content(part)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_as_they_were() {
        let parts = ["{}", "", "abc"].map(|part| Bytes::from_static(part.as_bytes()));
        assert_eq!(unpack(pack(&parts).into()).unwrap(), parts);
    }

    #[test]
    fn a_message_that_is_cut_off_is_none() {
        let whole = pack(&[Bytes::from_static(b"{}"), Bytes::from_static(b"abc")]);
        for length in 0..whole.len() {
            assert_eq!(unpack(whole[..length].to_vec().into()), None, "{length}");
        }
        assert_eq!(unpack(Bytes::from_static(&[255; 8])), None);
    }
}
