//! The file of one rank: messages, each after its length.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use narrows::diagnostic::{Checked, Code, Diagnostic, Rejection};
use narrows_proto::units::Bytes;
use prost::Message;

use super::proto::Node;

/// The nodes of a rank, and where they stand.
#[derive(Debug)]
pub struct RankFile {
    name: String,
    size: Bytes,
    pub(super) all: Vec<Node>,
    offsets: Vec<usize>,
}

const GZIP: [u8; 2] = [0x1f, 0x8b];

impl RankFile {
    /// Reads the bytes of a file called `name`, unpacked if they are packed by gzip, at most `most` of them.
    ///
    /// # Errors
    /// If they are not what they should be, with the place.
    pub fn new(name: &str, bytes: Vec<u8>, most: Bytes) -> Checked<Self> {
        let bytes = if bytes.starts_with(&GZIP) { unpacked(name, &bytes, most)? } else { bytes };
        let mut file = Self {
            name: name.to_owned(),
            size: Bytes::new(bytes.len() as u64),
            all: Vec::new(),
            offsets: Vec::new(),
        };
        let mut place = 0;
        let mut is_metadata = true;
        while place < bytes.len() {
            let (start, end) = file.message(&bytes, place)?;
            if !std::mem::take(&mut is_metadata) {
                let node =
                    Node::decode(&bytes[start..end]).map_err(|error| file.at(place, &error.to_string()))?;
                file.all.push(node);
                file.offsets.push(place);
            }
            place = end;
        }
        if is_metadata {
            return Err(file.at(0, "the file is empty, expected metadata and nodes"));
        }
        Ok(file)
    }

    /// Where the message whose length stands at `place` begins and ends.
    fn message(&self, bytes: &[u8], place: usize) -> Checked<(usize, usize)> {
        let mut rest = &bytes[place..];
        let len = prost::encoding::decode_varint(&mut rest)
            .map_err(|_| self.at(place, "found no length of a message (varint)"))?;
        if len > rest.len() as u64 {
            let message = format!("a message of {len} bytes, but the file has {} more", rest.len());
            return Err(self.at(place, &message));
        }
        let start = bytes.len() - rest.len();
        Ok((start, start + len as usize))
    }

    /// Number of its nodes.
    pub fn nodes(&self) -> usize {
        self.all.len()
    }

    /// Its size, unpacked.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// An error about a node.
    pub(super) fn error(&self, node: usize, message: &str) -> Rejection {
        let (id, name) = (self.all[node].id, self.all[node].name.escape_debug().take(64).collect::<String>());
        self.at(self.offsets[node], &format!("node {id} (\"{name}\"): {message}"))
    }

    fn at(&self, byte: usize, message: &str) -> Rejection {
        Diagnostic::error(Code::ForeignFile, format!("{}, byte {byte}: {message}", self.name)).into()
    }
}

fn unpacked(name: &str, bytes: &[u8], most: Bytes) -> Checked<Vec<u8>> {
    let mut all = Vec::new();
    let mut reader = MultiGzDecoder::new(bytes).take(most.get().saturating_add(1));
    let failed = |why: String| Diagnostic::error(Code::ForeignFile, format!("cannot unpack {name}: {why}"));
    reader.read_to_end(&mut all).map_err(|error| failed(error.to_string()))?;
    if all.len() as u64 > most.get() {
        return Err(failed(format!("it has more than {most}")).into());
    }
    Ok(all)
}
