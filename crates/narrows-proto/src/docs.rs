//! The documentation of a module as a text, so that what the sources say can be shown at run time.

/// The module documentation (`//!`) at the beginning of a source file, without its marks. The path is relative to the file that
/// calls. Nothing else of the file gets into the program.
#[macro_export]
macro_rules! module_docs {
    ($file:literal) => {{
        const SOURCE: &[u8] = include_bytes!($file);
        const BYTES: [u8; $crate::docs::len(SOURCE)] = $crate::docs::text(SOURCE);
        const TEXT: &str = match core::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => panic!("source files are UTF-8"),
        };
        TEXT
    }};
}

macro_rules! modules {
    ($($name:ident $what:literal $file:literal)+) => {
        $(#[doc = concat!("Documentation of the module of ", $what, ".")] pub const $name: &str = module_docs!($file);)+
    };
}

modules! {
    STREAM "byte streams" "stream/mod.rs"
    RDMA "RDMA" "rdma/mod.rs"
    DATAGRAM "datagrams" "datagram.rs"
    REACTION "reaction points" "reaction/mod.rs"
    REACTION_BCN "BCN's reaction points" "reaction/bcn.rs"
    REACTION_QCN "QCN's reaction points" "reaction/qcn.rs"
    TELEMETRY "telemetry" "telemetry.rs"
    ENTROPY "choice of paths by entropy" "rdma/paths/mod.rs"
    NEAR_SOURCE "near-source loops" "annulus/near_source.rs"
}

/// Length of the documentation of a source file.
pub const fn len(source: &[u8]) -> usize {
    walk::<0>(source).0
}

/// The documentation of a source file, which has `N` bytes.
pub const fn text<const N: usize>(source: &[u8]) -> [u8; N] {
    walk::<N>(source).1
}

/// Copies lines that begin with `//!`, without these and a space after them, until one does not. Counts what does not fit.
const fn walk<const N: usize>(source: &[u8]) -> (usize, [u8; N]) {
    let (mut out, mut written, mut at) = ([0; N], 0, 0);
    while at + 2 < source.len() && source[at] == b'/' && source[at + 1] == b'/' && source[at + 2] == b'!' {
        at += 3;
        if at < source.len() && source[at] == b' ' {
            at += 1;
        }
        let mut ended = false;
        while at < source.len() && !ended {
            ended = source[at] == b'\n';
            if source[at] != b'\r' {
                if written < N {
                    out[written] = source[at];
                }
                written += 1;
            }
            at += 1;
        }
    }
    (written, out)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_documentation_ends_with_the_first_other_line() {
        const SOURCE: &[u8] = b"//! What it is.\r\n//!\n//!     indented\nuse x;\n//! not this\n";
        const TEXT: [u8; super::len(SOURCE)] = super::text(SOURCE);
        assert_eq!(TEXT.as_slice(), b"What it is.\n\n    indented\n");
    }

    #[test]
    fn a_file_without_documentation_has_none() {
        assert_eq!(super::len(b"use x;\n"), 0);
        assert_eq!(super::len(b""), 0);
    }

    #[test]
    fn this_file_is_described_by_its_first_line() {
        assert!(module_docs!("docs.rs").starts_with("The documentation of a module as a text"));
    }
}
