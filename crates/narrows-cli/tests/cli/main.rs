//! The command as its users run it.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod behavior;
mod browser;
mod chromium;
mod commands;
mod hostile;
mod inputs;
mod layout;
#[cfg(target_os = "linux")]
mod live;
mod support;
#[cfg(unix)]
mod sweep;
mod viewers;
#[cfg(unix)]
mod watch;
mod weakness;
