//! The simulator in a page: everything that it can be asked there, as JSON and bytes.
//!
//! The module that this crate becomes imports nothing. It has no clock, no threads and no files: the page says how much time has
//! passed, cuts runs into slices ([`Steps`](narrows::run::Steps)), and hands over the content of files. A result is the files of
//! its folder. So nothing in the crates below knows that it runs in a page. `web/API.md` describes the calls, `web/engine.js` makes
//! them.

mod boundary;
mod check;
mod diagnostics;
mod engine;
mod frame;
mod import;
mod library;
mod live;
mod question;
mod results;
mod runs;

pub use self::engine::Engine;
pub use self::frame::{Files, pack, unpack};
pub use self::library::{folded, library};
