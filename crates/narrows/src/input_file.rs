//! Files that a user names, opened and read within bounds.
//!
//! Only regular files are read: a pipe may never end, and a device may have no end. No text is larger than what its kind may
//! be, so that a slip of a path costs a message and not the memory of the machine. A text that is not UTF-8 is refused with
//! the place of the first byte that is not.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use narrows_proto::units::Bytes;

use crate::diagnostic::{Checked, Code, Diagnostic, Place, Source};

/// The largest scenario, or sweep: an explicit network has about 70 bytes per link, and the parsed text takes many times as much.
pub const LARGEST_SCENARIO: Bytes = Bytes::new(64 << 20);
/// The largest table of numbers (a trace, a distribution) and the largest file of another tool.
pub const LARGEST_TABLE: Bytes = Bytes::new(1024 << 20);
/// The largest JSON file of a results folder or sweep: half a million cells.
pub const LARGEST_SUMMARY: Bytes = Bytes::new(256 << 20);

/// Opens a file for reading, if it is a regular one.
///
/// # Errors
/// If it is something else, or the system refuses.
pub fn open(path: &Path) -> io::Result<File> {
    // Opening a pipe waits for somebody who writes, so look before.
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        let message = "not a regular file (pipes and devices are not read; write it to a file first)";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    File::open(path)
}

/// Reads a file of at most `most`.
///
/// # Errors
/// As [`open`], and if it is larger.
pub fn read_bytes(path: &Path, most: Bytes) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let too_large = |found: String| {
        let message = format!("{found}, and at most {most} are read");
        io::Error::new(io::ErrorKind::FileTooLarge, message)
    };
    let size = Bytes::new(file.metadata()?.len());
    if size > most {
        return Err(too_large(format!("it has {size}")));
    }
    // Some files are longer than they say, such as those of /proc.
    let mut bytes = Vec::with_capacity(size.get() as usize);
    file.take(most.get() + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most.get() { Err(too_large("it is longer".into())) } else { Ok(bytes) }
}

/// Reads a text of at most `most`.
///
/// # Errors
/// If it cannot be read, is no regular file, is larger, or is not UTF-8; with the place of the first such byte.
pub fn read_text(path: &Path, most: Bytes) -> Checked<Arc<Source>> {
    let name = path.display().to_string();
    let unreadable =
        |error: io::Error| Diagnostic::error(Code::InputFailed, format!("cannot read {name}: {error}"));
    let bytes = read_bytes(path, most).map_err(unreadable)?;
    Ok(text(name, bytes)?)
}

/// The bytes as a text called `name`.
///
/// # Errors
/// If they are not UTF-8.
pub fn text(name: String, bytes: Vec<u8>) -> Result<Arc<Source>, Diagnostic> {
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(Arc::new(Source { name, text })),
        Err(error) => error,
    };
    let at = error.utf8_error().valid_up_to();
    let mut bytes = error.into_bytes();
    let message =
        format!("cannot read {name}: byte {at} is 0x{:02x}, which is not UTF-8 at this place", bytes[at]);
    bytes.truncate(at);
    let mut text = String::from_utf8(bytes).unwrap_or_default();
    text.push(char::REPLACEMENT_CHARACTER);
    let place = Place { span: at..text.len(), source: Arc::new(Source { name, text }) };
    Err(Diagnostic::error(Code::InputFailed, message).at(place).help("save the file as UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Bytes = Bytes::new(10);

    fn message(path: &Path) -> String {
        read_text(path, MOST).expect_err("refused").to_string()
    }

    #[test]
    fn a_text_of_the_largest_size_is_read_and_one_byte_more_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_text(&path, MOST).unwrap().text, "0123456789");
        std::fs::write(&path, "0123456789a").unwrap();
        assert!(message(&path).ends_with("a: it has 11 B, and at most 10 B are read"), "{}", message(&path));
    }

    #[test]
    fn a_byte_that_is_not_utf_8_is_shown_with_line_column_and_offset() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        std::fs::write(&path, b"a = 1\nb\xff").unwrap();
        let message = message(&path);
        assert!(message.contains("a:2:2  cannot read "), "{message}");
        assert!(message.contains("byte 7 is 0xff, which is not UTF-8 at this place"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_folders_are_refused() {
        assert!(message(Path::new("/dev/zero")).contains("not a regular file"));
        assert!(message(Path::new("/")).contains("is a directory"));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused_without_waiting_for_a_writer() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert!(message(&path).contains("not a regular file"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_longer_than_it_says_is_refused() {
        assert!(message(Path::new("/proc/self/maps")).contains("it is longer, and at most 10 B are read"));
    }
}
