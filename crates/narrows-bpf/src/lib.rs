//! Congestion controls of Narrows for the running kernel.
//!
//! Their programs are written in C (`bpf/*.bpf.c`), compiled by `cargo xtask bpf` and kept beside their source, so that whoever
//! builds Narrows needs no compiler for BPF. Their arithmetic (`bpf/*_core.h`) is that of `narrows-proto` in whole numbers: tests
//! compile it for this machine and hold it against the originals, step by step. Near-source loops (Annulus) stand beside them, and beside
//! CUBIC and BBR of the kernel.

#[cfg(all(feature = "load", target_os = "linux"))]
mod loaded;
mod near;
mod parameters;
#[cfg(test)]
mod steps;

#[cfg(all(feature = "load", target_os = "linux"))]
pub use self::loaded::{Loaded, Lock, Refused, pinned, probe, unpin};
pub use self::near::NearParams;
pub use self::parameters::{DctcpParams, GeminiParams, Parameters, Path};
