//! The running kernel: what it allows, and controls of Narrows in it.

use narrows::diagnostic::Checked;
use narrows_live::Part;
use serde_json::json;

use crate::{Status, args};

/// Has to do with the running kernel.
pub(crate) fn kernel(arguments: &args::Kernel) -> Checked<Status> {
    match arguments {
        args::Kernel::Check { json } => Ok(check(*json)),
        args::Kernel::Load { controls, pin } => loaded::load(controls, *pin),
        args::Kernel::List => loaded::list(),
        args::Kernel::Unload { controls } => loaded::unload(controls),
    }
}

/// Checks the machine for live runs.
fn check(json: bool) -> Status {
    narrows_live::take_rights();
    let parts = narrows_live::parts();
    if json {
        let part = |part: &Part| {
            let (there, text) = match &part.found {
                Ok(found) => (true, found),
                Err(missing) => (false, missing),
            };
            json!({ "name": part.name, "required": part.required, "there": there, "text": text })
        };
        say!(
            "{}",
            serde_json::to_string_pretty(&parts.iter().map(part).collect::<Vec<_>>()).unwrap_or_default()
        );
    } else {
        for Part { name, found, required } in &parts {
            let (sign, text) = match found {
                Ok(text) => ("ok", text),
                Err(text) if *required => ("missing", text),
                Err(text) => ("better with it", text),
            };
            say!("  {name:<20}{sign:<16}{text}");
        }
    }
    let missing = parts.iter().any(|part| part.required && part.found.is_err());
    if missing { Status::Broken } else { Status::Done }
}

#[cfg(feature = "bpf")]
mod loaded {
    use std::thread;

    use narrows::diagnostic::{Code, Diagnostic};
    use narrows_bpf::{Lock, Parameters, Path, pinned, unpin};
    use narrows_proto::cc::{Config, Ranges};

    use super::*;

    fn failed(why: impl std::fmt::Display) -> Diagnostic {
        Diagnostic::error(Code::NoLiveMachine, format!("{why}"))
            .help("narrows kernel check says what this machine lacks")
    }

    /// A control as it is written: its name, or what follows `cc =` in a scenario.
    fn read(text: &str) -> Result<Parameters, Diagnostic> {
        #[derive(serde::Deserialize)]
        struct Written {
            cc: Config,
        }
        let refuse = |why: &dyn std::fmt::Display| {
            let known = Parameters::CONTROLS.join(", ");
            let help = format!(
                "known: {known}; with settings as in a scenario: \'{{ gemini = {{ capacity = \"1 Gb/s\" }} }}\'"
            );
            Diagnostic::error(Code::OutOfRange, format!("{text}: {why}")).help(help)
        };
        let table =
            if text.trim_start().starts_with('{') { text.to_owned() } else { format!("{{ {text} = {{}} }}") };
        let written: Written =
            toml::from_str(&format!("cc = {table}")).map_err(|error| refuse(&error.message()))?;
        written.cc.check(&mut Ranges::default()).map_err(|error| refuse(&error))?;
        Parameters::new(&written.cc, &Path::default()).map_err(|why| refuse(&why))
    }

    pub(super) fn load(controls: &[String], pin: bool) -> Checked<Status> {
        let parameters = controls.iter().map(|text| read(text)).collect::<Result<Vec<_>, _>>()?;
        let lock = Lock::take().map_err(failed)?;
        let mut kept = Vec::new();
        for parameters in &parameters {
            let name = format!("narrows_{}", parameters.control());
            kept.push(lock.load(parameters, None, &name).map_err(|refused| failed(refused.reason))?);
        }
        if pin {
            for control in &mut kept {
                let path = control.pin().map_err(failed)?;
                say!("{} is loaded and pinned: {}", control.name(), path.display());
            }
            return Ok(Status::Done);
        }
        for control in &kept {
            say!("{} is loaded until this command ends", control.name());
        }
        // It goes with this process, whatever ends it.
        loop {
            thread::park();
        }
    }

    pub(super) fn list() -> Checked<Status> {
        let pinned = pinned();
        for name in narrows_live::available_controls() {
            if pinned.contains(&name) {
                say!("  {name:<20}pinned");
            } else if name.starts_with("narrows_") {
                say!("  {name:<20}until the command that loaded it ends");
            }
        }
        Ok(Status::Done)
    }

    pub(super) fn unload(controls: &[String]) -> Checked<Status> {
        let name = |control: &String| match control.strip_prefix("narrows_") {
            Some(_) => control.clone(),
            None => format!("narrows_{control}"),
        };
        let (wanted, pinned) = (controls.iter().map(name).collect::<Vec<_>>(), pinned());
        if let Some(missing) = wanted.iter().find(|name| !pinned.contains(name)) {
            let help = match &pinned[..] {
                [] => "nothing is pinned".to_owned(),
                pinned => format!("pinned: {}", pinned.join(", ")),
            };
            let message = format!("{missing} is not pinned");
            return Err(Diagnostic::error(Code::UnknownName, message).help(help).into());
        }
        for name in if wanted.is_empty() { pinned } else { wanted } {
            unpin(&name).map_err(failed)?;
            say!("{name} is unloaded");
        }
        Ok(Status::Done)
    }
}

#[cfg(not(feature = "bpf"))]
mod loaded {
    use narrows::diagnostic::{Code, Diagnostic};

    use super::*;

    fn missing() -> Checked<Status> {
        let message = format!(
            "this narrows loads no controls: {} makes one that does",
            narrows_live::BUILD_WITH_CONTROLS
        );
        Err(Diagnostic::error(Code::NoLiveMachine, message)
            .help("libelf, zlib and make are needed to build it")
            .into())
    }

    pub(super) fn load(_controls: &[String], _pin: bool) -> Checked<Status> {
        missing()
    }

    pub(super) fn list() -> Checked<Status> {
        missing()
    }

    pub(super) fn unload(_controls: &[String]) -> Checked<Status> {
        missing()
    }
}
