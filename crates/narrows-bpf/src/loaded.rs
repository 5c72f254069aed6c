//! Controls in the kernel: loaded, registered, kept by a pin, given back.
//!
//! A control is registered by a link, which goes with the process that made it, whatever ends that process, unless it is pinned.
//! Connections that use a control keep it after that.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use libbpf_rs::{
    ErrorKind, Link, MapCore as _, Object, ObjectBuilder, OpenMapMut, OpenObject, PrintLevel, TC_INGRESS,
    TcHookBuilder, set_print,
};

use narrows_proto::cc::Config;

use crate::{NearParams, Parameters, Path};

/// Names are shorter than this in the kernel (`TCP_CA_NAME_MAX`).
const NAME: usize = 16;

/// `TCP_CONG_NEEDS_ECN`.
const NEEDS_ECN: u32 = 2;

/// Who loads a control holds this file: registration is global.
const LOCK: &str = "/run/narrows-kernel.lock";

/// Where the file system of BPF belongs.
const FILE_SYSTEM: &str = "/sys/fs/bpf";

/// A control was not loaded.
#[derive(Debug)]
pub struct Refused {
    /// The reason, as one line without a full stop.
    pub reason: String,
    /// Another has the name.
    pub is_taken: bool,
}

/// The right to load controls. It ends with the process.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes it, if nobody has it.
    ///
    /// # Errors
    /// Says who has it.
    pub fn take() -> Result<Self, String> {
        let failed = |error| format!("{LOCK}: {error}");
        let options = fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(LOCK);
        let mut file = options.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut process = String::new();
                let _ = file.read_to_string(&mut process);
                return Err(format!(
                    "process {process} has loaded some already, and there is one kernel for all"
                ));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{}", std::process::id())
        };
        write(&mut file).map_err(failed)?;
        Ok(Self { _file: file })
    }

    /// Loads a control, with a near-source loop beside it perhaps, and registers it under a name.
    ///
    /// # Errors
    /// With what the kernel says.
    pub fn load(
        &self,
        parameters: &Parameters,
        near: Option<&NearParams>,
        name: &str,
    ) -> Result<Loaded, Refused> {
        register(parameters, near, name)
    }
}

fn register(parameters: &Parameters, near: Option<&NearParams>, name: &str) -> Result<Loaded, Refused> {
    assert!(name.len() < NAME, "a name has less than {NAME} letters: {name}");
    let (result, said) = listen(|| load(parameters, near, name));
    result.map_err(|error| {
        let said = said.lines().map(str::trim).rfind(|line| line.starts_with("libbpf:"));
        let is_taken = error.kind() == ErrorKind::AlreadyExists;
        let reason = match said {
            _ if is_taken => format!("the kernel has a control of the name {name} already"),
            Some(said) => format!("{error}: {}", said.replacen("libbpf: ", "", 1)),
            None => error.to_string(),
        };
        Refused { reason, is_taken }
    })
}

/// A control of the kernel, as long as this lives or its pin does.
#[derive(Debug)]
pub struct Loaded {
    name: String,
    link: Link,
    /// The kernel keeps what the link needs; this keeps our view of it.
    object: Object,
}

impl Loaded {
    /// Its name in the kernel.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// From now on messages of switches that come to a device, by its number in the network namespace of this thread, reach
    /// the near-source loops of its connections. That ends with the device. Each control has a `place` of its own there.
    ///
    /// # Errors
    /// With what the kernel says.
    pub fn take_messages_at(&self, device: i32, place: u32) -> Result<(), String> {
        let notice =
            self.object.progs().find(|program| program.name() == "notice").expect("our objects have it");
        let attach = || {
            let mut hook = TcHookBuilder::new(notice.as_fd());
            let mut hook = hook.ifindex(device).replace(true).handle(1).priority(place + 1).hook(TC_INGRESS);
            hook.create()?.attach().map(drop)
        };
        listen(attach).0.map_err(|error| error.to_string())
    }

    /// Keeps it in the kernel after this process, until it is [unpinned](unpin).
    ///
    /// # Errors
    /// If there is no file system of BPF, and it cannot be mounted.
    pub fn pin(&mut self) -> Result<PathBuf, String> {
        mount()?;
        fs::create_dir_all(pins()).map_err(|error| format!("{}: {error}", pins().display()))?;
        let path = pins().join(&self.name);
        self.link.pin(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}

/// Mounts the file system of BPF, if nobody has.
fn mount() -> Result<(), String> {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    if mounts.lines().any(|line| line.split_whitespace().skip(1).take(2).eq([FILE_SYSTEM, "bpf"])) {
        return Ok(());
    }
    let output = Command::new("mount").args(["-t", "bpf", "bpf", FILE_SYSTEM]).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(format!("mount: {error}")),
    }
}

/// Loads a control, registers it for a moment under a name of its own, and gives it back.
///
/// # Errors
/// With what the kernel says.
pub fn probe() -> Result<(), String> {
    let parameters = Parameters::new(&Config::Dctcp(Default::default()), &Path::default())?;
    let name = format!("probe_{}", std::process::id());
    register(&parameters, None, &name[..name.len().min(NAME - 1)]).map(drop).map_err(|refused| refused.reason)
}

fn pins() -> PathBuf {
    PathBuf::from(FILE_SYSTEM).join("narrows")
}

/// Names of pinned controls.
pub fn pinned() -> Vec<String> {
    let entries = fs::read_dir(pins()).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Takes a pinned control out of the kernel.
///
/// # Errors
/// If there is none of this name.
pub fn unpin(name: &str) -> Result<(), String> {
    let path = pins().join(name);
    fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    // Others may be there.
    let _ = fs::remove_dir(pins());
    Ok(())
}

/// Objects as `cargo xtask bpf` has compiled them.
fn object(parameters: &Parameters) -> &'static [u8] {
    match parameters {
        Parameters::Gemini(_) => include_bytes!("../bpf/gemini.bpf.o"),
        Parameters::Dctcp(_) => include_bytes!("../bpf/dctcp.bpf.o"),
        Parameters::Cubic => include_bytes!("../bpf/cubic.bpf.o"),
        Parameters::Bbr => include_bytes!("../bpf/bbr.bpf.o"),
    }
}

fn load(parameters: &Parameters, near: Option<&NearParams>, name: &str) -> libbpf_rs::Result<Loaded> {
    let mut open = ObjectBuilder::default().open_memory(object(parameters))?;
    if let Some(bytes) = parameters.bytes() {
        map(&mut open, ".data.params").set_initial_value(&bytes)?;
    }
    if let Some(near) = near {
        map(&mut open, ".data.near").set_initial_value(&near.bytes())?;
    }
    let mut control = map(&mut open, "control");
    let value = control.initial_value_mut().expect("a struct_ops map has a value");
    // Name and flags come first: `struct tcp_congestion_ops` of bpf/kernel.h.
    value[..NAME].fill(0);
    value[..name.len()].copy_from_slice(name.as_bytes());
    let flags = u32::from_ne_bytes(value[NAME..][..4].try_into().expect("four bytes"));
    let flags = if parameters.uses_marks() { flags } else { flags & !NEEDS_ECN };
    value[NAME..][..4].copy_from_slice(&flags.to_ne_bytes());
    let mut object = open.load()?;
    let mut control = object.maps_mut().find(|map| map.name() == "control").expect("it was there");
    let link = control.attach_struct_ops()?;
    Ok(Loaded { name: name.to_owned(), link, object })
}

fn map<'a>(open: &'a mut OpenObject, name: &str) -> OpenMapMut<'a> {
    open.maps_mut().find(|map| map.name() == name).expect("our objects have it")
}

/// Warnings of libbpf, which has one listener.
static SAID: Mutex<String> = Mutex::new(String::new());

/// Does `work`. Returns what libbpf says of it, too.
fn listen<T>(work: impl FnOnce() -> T) -> (T, String) {
    let said = || SAID.lock().unwrap_or_else(PoisonError::into_inner);
    said().clear();
    let before = set_print(Some((PrintLevel::Warn, |_, line| {
        SAID.lock().unwrap_or_else(PoisonError::into_inner).push_str(&line);
    })));
    let result = work();
    set_print(before);
    let text = std::mem::take(&mut *said());
    (result, text)
}
