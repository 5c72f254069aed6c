//! One function for each command.

mod compare;
mod demo;
#[cfg(target_os = "linux")]
mod demo_live;
mod demo_sweep;
mod export;
mod folders;
mod import;
mod information;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod live;
mod new;
mod playground;
mod report;
mod repro;
mod run;
mod runs;
mod sweep;
mod trace;
#[cfg(target_os = "linux")]
mod twin;
mod validate;
mod weakness;

pub(crate) use compare::compare;
pub(crate) use demo::demo;
pub(crate) use export::export;
pub(crate) use import::import;
pub(crate) use information::{check, completions, explain, list, schema};
#[cfg(target_os = "linux")]
pub(crate) use kernel::kernel;
#[cfg(target_os = "linux")]
pub(crate) use live::live;
pub(crate) use new::new;
pub(crate) use playground::playground;
pub use report::make_report;
pub(crate) use report::{open, report};
pub(crate) use repro::repro;
pub(crate) use run::run;
pub(crate) use sweep::{merge, sweep};
pub(crate) use trace::trace;
#[cfg(target_os = "linux")]
pub(crate) use twin::twin;
pub(crate) use validate::validate;
pub(crate) use weakness::break_control;
