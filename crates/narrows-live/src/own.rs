//! Controls of Narrows that are loaded into the kernel for a run, because it has none of the name. Only with the feature `bpf`.

use narrows::diagnostic::Checked;
#[cfg(feature = "bpf")]
use narrows::diagnostic::{Code, Diagnostic};
use narrows_proto::cc::Config;
use narrows_proto::units::{BitRate, Bytes};

/// Makes a narrows that has them.
pub const BUILD: &str = "cargo install --path crates/narrows-cli --features bpf";

/// Names of these controls in scenarios.
pub(crate) const CONTROLS: [&str; 2] = ["gemini", "dctcp"];

/// Facts that settings of a control may leave out: the rate of the senders' links, if they have the same, the size of a full segment
/// on the wire, and seconds of the clock for a second of the scenario.
pub(crate) type Path = (Option<BitRate>, Bytes, f64);

pub(crate) use imp::Own;

/// Whether they can be loaded: a state of the machine, or a reason.
pub(crate) fn struct_ops() -> Result<String, String> {
    imp::probe()
}

#[cfg(feature = "bpf")]
fn failed(why: &str) -> Diagnostic {
    Diagnostic::error(Code::NoLiveMachine, format!("no control can be loaded into the kernel: {why}"))
        .help("narrows kernel check says what this machine lacks")
}

#[cfg(feature = "bpf")]
mod imp {
    use narrows_bpf::{Loaded, Lock, Parameters};

    use super::*;

    /// Controls to load, by their names in the kernel.
    #[derive(Debug, Default)]
    pub(crate) struct Own(Vec<(String, Parameters)>);

    /// They are in the kernel as long as this lives.
    #[derive(Debug)]
    pub(crate) struct Kept {
        _loaded: Vec<Loaded>,
        _lock: Option<Lock>,
    }

    impl Own {
        /// A control with these settings. Returns its name in the kernel.
        pub(crate) fn add(&mut self, config: &Config, (link, packet, scale): Path) -> Result<String, String> {
            let parameters = Parameters::new(config, &narrows_bpf::Path { link, packet, scale })?;
            if let Some((name, _)) = self.0.iter().find(|(_, known)| *known == parameters) {
                return Ok(name.clone());
            }
            let control = parameters.control();
            let number = 1 + self.0.iter().filter(|(_, known)| known.control() == control).count();
            let name = if number == 1 { String::new() } else { number.to_string() };
            let name = format!("narrows_{control}{name}");
            if number > 9 {
                return Err(format!("a run has nine different settings of {control} at most"));
            }
            self.0.push((name.clone(), parameters));
            Ok(name)
        }

        /// Names in the kernel.
        pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
            self.0.iter().map(|(name, _)| &**name)
        }

        /// Loads them.
        pub(crate) fn load(&self) -> Checked<Kept> {
            if self.0.is_empty() {
                return Ok(Kept { _loaded: Vec::new(), _lock: None });
            }
            let lock = Lock::take().map_err(|why| failed(&why))?;
            let load = |(name, parameters): &(String, Parameters)| {
                lock.load(parameters, name).map_err(|refused| match refused.is_taken {
                    true => failed(&refused.reason).help("narrows kernel unload takes it out"),
                    false => failed(&refused.reason),
                })
            };
            let loaded = self.0.iter().map(load).collect::<Result<_, Diagnostic>>()?;
            Ok(Kept { _loaded: loaded, _lock: Some(lock) })
        }
    }

    pub(super) fn probe() -> Result<String, String> {
        narrows_bpf::probe().map(|()| "controls may be loaded".to_owned())
    }
}

#[cfg(not(feature = "bpf"))]
mod imp {
    use super::*;

    /// There are none.
    #[derive(Debug, Default)]
    pub(crate) struct Own {}

    #[derive(Debug)]
    pub(crate) struct Kept {}

    impl Own {
        pub(crate) fn add(&mut self, _config: &Config, _path: Path) -> Result<String, String> {
            Err(format!("{BUILD} makes a narrows that loads it"))
        }

        pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
            std::iter::empty()
        }

        pub(crate) fn load(&self) -> Checked<Kept> {
            Ok(Kept {})
        }
    }

    pub(super) fn probe() -> Result<String, String> {
        Err(format!("{BUILD} makes a narrows that loads gemini and dctcp"))
    }
}
