//! The command as its users run it.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod behavior;
mod browser;
mod chromium;
mod commands;
mod hostile;
mod layout;
mod support;
#[cfg(unix)]
mod sweep;
mod viewers;
#[cfg(unix)]
mod watch;
