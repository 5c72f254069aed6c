//! Controls of Narrows that are loaded into the kernel for a run, because it has none of the name, or as there is to be a near-source loop
//! beside it. Only with the feature `bpf`.

use narrows::diagnostic::Checked;
#[cfg(feature = "bpf")]
use narrows::diagnostic::{Code, Diagnostic};
use narrows_proto::annulus::near_source;
use narrows_proto::cc::Config;
use narrows_proto::units::{BitRate, Bytes};

/// Makes a narrows that has them.
pub const BUILD: &str = "cargo install --path crates/narrows-cli --features bpf";

/// Names of these controls in scenarios.
pub(crate) const CONTROLS: [&str; 2] = ["gemini", "dctcp"];

/// Facts that settings of a control may leave out: the rate of the senders' links, if they have the same, the size of a full segment
/// on the wire, and seconds of the clock for a second of the scenario.
pub(crate) type Path = (Option<BitRate>, Bytes, f64);

/// A near-source loop beside a control: its settings, at senders with links of this rate.
pub(crate) type Near<'a> = (&'a near_source::Params, BitRate);

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
    use narrows_bpf::{Loaded, Lock, NearParams, Parameters};

    use super::*;
    use crate::host::RealHost;

    /// A control to load.
    #[derive(Debug)]
    struct One {
        /// Its name in the kernel.
        name: String,
        parameters: Parameters,
        /// The near-source loop beside it.
        near: Option<NearParams>,
    }

    /// Controls to load.
    #[derive(Debug, Default)]
    pub(crate) struct Own(Vec<One>);

    /// They are in the kernel as long as this lives.
    #[derive(Debug)]
    pub(crate) struct Kept {
        loaded: Vec<Loaded>,
        _lock: Option<Lock>,
    }

    impl Kept {
        /// Messages of switches that come to a host reach the near-source loops of connections under the control of this name.
        pub(crate) fn take_messages_at(&self, host: &RealHost, control: &str) -> Checked<()> {
            let place = self.loaded.iter().position(|loaded| loaded.name() == control);
            let place = place.expect("a control with a near-source loop is loaded");
            let take = |device| self.loaded[place].take_messages_at(device, place as u32);
            let taken = host.inside(take).map_err(|error| error.to_string()).and_then(|taken| taken);
            Ok(taken.map_err(|why| failed(&why))?)
        }
    }

    impl Own {
        /// A control with these settings. Returns its name in the kernel.
        pub(crate) fn add(
            &mut self,
            config: &Config,
            (link, packet, scale): Path,
            near: Option<Near<'_>>,
        ) -> Result<String, String> {
            let path = narrows_bpf::Path { link, packet, scale };
            let near =
                near.map(|(settings, line_rate)| NearParams::new(settings, line_rate, scale)).transpose()?;
            let make = if near.is_some() { Parameters::with_loop } else { Parameters::new };
            let parameters = make(config, &path)?;
            let is_it = |one: &&One| one.parameters == parameters && one.near == near;
            if let Some(one) = self.0.iter().find(is_it) {
                return Ok(one.name.clone());
            }
            let control = parameters.control();
            let number = 1 + self.0.iter().filter(|one| one.parameters.control() == control).count();
            let name = if number == 1 { String::new() } else { number.to_string() };
            let name = format!("narrows_{control}{name}");
            if number > 9 {
                return Err(format!("a run has nine different settings of {control} at most"));
            }
            self.0.push(One { name: name.clone(), parameters, near });
            Ok(name)
        }

        pub(crate) fn is_empty(&self) -> bool {
            self.0.is_empty()
        }

        /// Names in the kernel of those that are not the kernel's own.
        pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
            let ours = self.0.iter().filter(|one| CONTROLS.contains(&one.parameters.control()));
            ours.map(|one| &*one.name)
        }

        /// Loads them.
        pub(crate) fn load(&self) -> Checked<Kept> {
            if self.0.is_empty() {
                return Ok(Kept { loaded: Vec::new(), _lock: None });
            }
            let lock = Lock::take().map_err(|why| failed(&why))?;
            let load = |One { name, parameters, near }: &One| {
                lock.load(parameters, near.as_ref(), name).map_err(|refused| match refused.is_taken {
                    true => failed(&refused.reason).help("narrows kernel unload takes it out"),
                    false => failed(&refused.reason),
                })
            };
            let loaded = self.0.iter().map(load).collect::<Result<_, Diagnostic>>()?;
            Ok(Kept { loaded, _lock: Some(lock) })
        }
    }

    pub(super) fn probe() -> Result<String, String> {
        narrows_bpf::probe().map(|()| "controls may be loaded".to_owned())
    }
}

#[cfg(not(feature = "bpf"))]
mod imp {
    use super::*;
    use crate::host::RealHost;

    /// There are none.
    #[derive(Debug, Default)]
    pub(crate) struct Own {}

    #[derive(Debug)]
    pub(crate) struct Kept {}

    impl Kept {
        pub(crate) fn take_messages_at(&self, _host: &RealHost, _control: &str) -> Checked<()> {
            Ok(())
        }
    }

    impl Own {
        pub(crate) fn add(
            &mut self,
            _config: &Config,
            _path: Path,
            _near: Option<Near<'_>>,
        ) -> Result<String, String> {
            Err(format!("{BUILD} makes a narrows that loads it"))
        }

        pub(crate) fn is_empty(&self) -> bool {
            true
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
