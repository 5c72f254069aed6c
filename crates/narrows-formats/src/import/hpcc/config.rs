//! `config.txt`: a key and its values in each line.
//!
//! ns-3 reads word by word and passes over what is no key, so values may be followed by `{comments}` and by anything else.

use std::collections::BTreeMap;
use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic, Source, nearest};
use narrows::plan::LONGEST;
use narrows_proto::units::{BitRate, Bytes, QuantityError, Span};

use super::super::Note;
use super::super::words::{Word, lines};
use super::keys::KEYS;
use super::topology::rate;

/// Settings of a `config.txt`, as far as they are mapped. Defaults are those of HPCC's `third.cc`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `TOPOLOGY_FILE`.
    pub topology_file: Option<String>,
    /// `FLOW_FILE`.
    pub flow_file: Option<String>,
    /// `CC_MODE`.
    pub mode: Mode,
    /// `ENABLE_QCN`: switches mark.
    pub marking: bool,
    /// `ENABLE_PFC` (ConWeave, m3); always on elsewhere.
    pub pfc: bool,
    /// `ENABLE_IRN` (ConWeave): selective repeat.
    pub irn: bool,
    /// `PACKET_PAYLOAD_SIZE`.
    pub payload: Bytes,
    /// `SIMULATOR_STOP_TIME`, or `FLOWGEN_STOP_TIME` (ConWeave); [`Span::MAX`] if nothing lasts that long.
    pub stop: Span,
    /// Time that flows may take to finish after that: 10 s in ConWeave.
    pub drain: Span,
    /// `BUFFER_SIZE`.
    pub buffer: Option<Bytes>,
    /// Thresholds by link rate: `KMIN_MAP`, `KMAX_MAP`, `PMAX_MAP`.
    pub thresholds: BTreeMap<BitRate, Thresholds>,
    /// Thresholds of all ports (ns3-rdma): `KMIN`, `KMAX`, `PMAX`.
    pub all_ports: Thresholds,
    /// `ALPHA_RESUME_INTERVAL`.
    pub alpha_interval: Span,
    /// `RATE_DECREASE_INTERVAL`.
    pub cut_interval: Span,
    /// `RP_TIMER`; third.cc leaves it unset, cards have 300 us.
    pub timer: Span,
    /// `EWMA_GAIN`, or `DCTCP_GAIN` (ns3-rdma).
    pub gain: f64,
    /// `FAST_RECOVERY_TIMES`.
    pub fast_recovery: u32,
    /// `BYTE_COUNTER` (ns3-rdma).
    pub byte_counter: Option<Bytes>,
    /// `CNP_INTERVAL` (ns3-rdma).
    pub cnp_interval: Option<Span>,
    /// `RATE_AI`.
    pub rate_ai: Option<BitRate>,
    /// `RATE_HAI`.
    pub rate_hai: Option<BitRate>,
    /// `MIN_RATE`.
    pub min_rate: Option<BitRate>,
    /// `MAX_RATE` (m3): no flow is faster.
    pub max_rate: Option<BitRate>,
    /// `CLAMP_TARGET_RATE`.
    pub clamp: bool,
    /// `TIMELY_T_LOW` (m3), nanoseconds.
    pub t_low: Option<Span>,
    /// `TIMELY_T_HIGH` (m3), nanoseconds.
    pub t_high: Option<Span>,
    /// `TIMELY_BETA` (m3).
    pub beta: Option<f64>,
    /// `ERROR_RATE_PER_LINK`, for links without one of their own.
    pub error_rate: f64,
    /// `L2_ACK_INTERVAL`, bytes.
    pub ack_interval: u64,
    /// `HAS_WIN`: no more than a bandwidth-delay product is on its way. On if left out, and off in ns3-rdma.
    pub window: Option<bool>,
    /// `VAR_WIN`: the window follows the rate.
    pub var_window: Option<bool>,
    /// `FIXED_WIN` (m3): a window instead of the bandwidth-delay product.
    pub fixed_window: Option<Bytes>,
    /// `BASE_RTT` (m3), nanoseconds, instead of the longest of the topology.
    pub base_rtt: Option<Span>,
    /// `U_TARGET`.
    pub u_target: f64,
    /// `MI_THRESH`.
    pub mi_thresh: u32,
    /// `LINK_DOWN`: after 2 s and so much, this link.
    pub link_down: Option<(Span, u32, u32)>,
    /// Settings that are not mapped.
    pub notes: Vec<Note>,
    /// Keys nobody knows, with the known one most like them, and a buffer of a doubtful size.
    pub warnings: Vec<Diagnostic>,
}

/// Modes of congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// 1.
    Dcqcn,
    /// 3.
    Hpcc,
    /// 7.
    Timely,
    /// 8.
    Dctcp,
    /// 10: HPCC-PINT, read as HPCC.
    HpccPint,
    /// 12 (ASTRA-sim): nothing reacts.
    None,
}

impl Mode {
    const ALL: [Self; 6] = [Self::Dcqcn, Self::Hpcc, Self::Timely, Self::Dctcp, Self::HpccPint, Self::None];

    /// Its number in files.
    pub fn number(self) -> u32 {
        match self {
            Self::Dcqcn => 1,
            Self::Hpcc => 3,
            Self::Timely => 7,
            Self::Dctcp => 8,
            Self::HpccPint => 10,
            Self::None => 12,
        }
    }

    /// It reads marks.
    pub fn reads_marks(self) -> bool {
        matches!(self, Self::Dcqcn | Self::Dctcp)
    }

    /// It reads telemetry.
    pub fn reads_telemetry(self) -> bool {
        matches!(self, Self::Hpcc | Self::HpccPint)
    }
}

/// Marking thresholds of ports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Thresholds {
    /// `KMIN_MAP`.
    pub kmin: Option<Bytes>,
    /// `KMAX_MAP`.
    pub kmax: Option<Bytes>,
    /// `PMAX_MAP`.
    pub pmax: Option<f64>,
}

/// Unit of `BUFFER_SIZE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BufferUnit {
    /// MiB: HPCC, ConWeave, ns3-datacenter, SimAI, ASTRA-sim.
    #[default]
    Mib,
    /// KiB: m3, m4, Hawkeye.
    Kib,
}

impl BufferUnit {
    /// The size of a buffer, and whether no switch has one like it: the largest with memory for all ports on the chip have 256 MiB,
    /// the smallest more than 128 KiB.
    fn size(self, number: u64) -> (Bytes, bool) {
        let size = match self {
            Self::Mib => Bytes::new(number << 20),
            Self::Kib => Bytes::new(number << 10),
        };
        (size, size > Bytes::new(256 << 20) || size < Bytes::new(128 << 10))
    }

    /// As people and as the command line write it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Mib => ("MiB", "mib"),
            Self::Kib => ("KiB", "kib"),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            topology_file: None,
            flow_file: None,
            mode: Mode::Dcqcn,
            marking: true,
            pfc: true,
            irn: false,
            payload: Bytes::new(1000),
            stop: Span::from_ms(3010),
            drain: Span::ZERO,
            buffer: None,
            thresholds: BTreeMap::new(),
            all_ports: Thresholds::default(),
            alpha_interval: Span::from_us(55),
            cut_interval: Span::from_us(4),
            timer: Span::from_us(300),
            gain: 1.0 / 16.0,
            fast_recovery: 5,
            byte_counter: None,
            cnp_interval: None,
            rate_ai: None,
            rate_hai: None,
            min_rate: None,
            max_rate: None,
            clamp: false,
            t_low: None,
            t_high: None,
            beta: None,
            error_rate: 0.0,
            ack_interval: 0,
            window: None,
            var_window: None,
            fixed_window: None,
            base_rtt: None,
            u_target: 0.95,
            mi_thresh: 5,
            link_down: None,
            notes: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// Keys that are mapped.
const MAPPED: [&str; 42] = [
    "TOPOLOGY_FILE",
    "FLOW_FILE",
    "CC_MODE",
    "ENABLE_QCN",
    "ENABLE_PFC",
    "ENABLE_IRN",
    "PACKET_PAYLOAD_SIZE",
    "SIMULATOR_STOP_TIME",
    "FLOWGEN_STOP_TIME",
    "BUFFER_SIZE",
    "KMIN_MAP",
    "KMAX_MAP",
    "PMAX_MAP",
    "KMIN",
    "KMAX",
    "PMAX",
    "ALPHA_RESUME_INTERVAL",
    "RATE_DECREASE_INTERVAL",
    "RP_TIMER",
    "EWMA_GAIN",
    "DCTCP_GAIN",
    "FAST_RECOVERY_TIMES",
    "BYTE_COUNTER",
    "CNP_INTERVAL",
    "RATE_AI",
    "RATE_HAI",
    "MIN_RATE",
    "MAX_RATE",
    "CLAMP_TARGET_RATE",
    "TIMELY_T_LOW",
    "TIMELY_T_HIGH",
    "TIMELY_BETA",
    "ERROR_RATE_PER_LINK",
    "L2_ACK_INTERVAL",
    "HAS_WIN",
    "VAR_WIN",
    "FIXED_WIN",
    "BASE_RTT",
    "U_TARGET",
    "MI_THRESH",
    "LINK_DOWN",
    "L2_BACK_TO_ZERO",
];

/// Units of thresholds: HPCC and its descendants, and ns3-rdma.
const HPCC_UNIT: u64 = 1000;
const RDMA_UNIT: u64 = 1030;

impl Config {
    /// Reads a `config.txt`.
    ///
    /// # Errors
    /// If a value cannot be read.
    pub fn parse(source: &Arc<Source>, unit: BufferUnit) -> Checked<Self> {
        let mut config = Self::default();
        let mut left = Vec::new();
        for words in lines(source) {
            let [key, values @ ..] = &words[..] else { continue };
            let values = values.split(|word| word.text.starts_with('{')).next().unwrap_or_default();
            if !MAPPED.contains(&key.text) {
                left.push((*key, values.first().copied()));
                continue;
            }
            if values.is_empty() {
                return Err(key.error(format!("{} has no value", key.text)).into());
            }
            let read = config.set(*key, values, unit)?;
            if let Some(ignored) = values.get(read).map(|_| values.len() - read) {
                let why = format!("what follows its value is ignored, as there (words: {ignored})");
                config.notes.push(Note::new(key.text, why));
            }
        }
        for (key, value) in left {
            config.leave_out(key, value);
        }
        Ok(config)
    }

    /// Sets what a key stands for, and says how many words it has read.
    fn set(&mut self, key: Word<'_>, values: &[Word<'_>], unit: BufferUnit) -> Checked<usize> {
        let one = values[0];
        let flag = || -> Checked<bool> { Ok(one.whole_cut::<u64>(key.text, 0, u64::MAX)? > 0) };
        let time = |unit: &str| -> Checked<Span> {
            Ok(one.quantity_cut(key.text, &format!("{} {unit}", one.text))?.0)
        };
        let whole_ns =
            || -> Checked<Span> { Ok(Span::from_ns(one.whole_cut(key.text, 1, 1_000_000_000_000)?)) };
        let count = |most: u32| one.whole_cut(key.text, 0, most);
        let bytes = || -> Checked<Bytes> { Ok(Bytes::new(one.whole_cut(key.text, 1, 1 << 40)?)) };
        match key.text {
            "TOPOLOGY_FILE" => self.topology_file = Some(one.text.to_owned()),
            "FLOW_FILE" => self.flow_file = Some(one.text.to_owned()),
            "CC_MODE" => self.mode = mode(one)?,
            "ENABLE_QCN" => self.marking = flag()?,
            "ENABLE_PFC" => self.pfc = flag()?,
            "ENABLE_IRN" => self.irn = flag()?,
            "CLAMP_TARGET_RATE" => self.clamp = flag()?,
            "HAS_WIN" => self.window = Some(flag()?),
            "VAR_WIN" => self.var_window = Some(flag()?),
            "FIXED_WIN" => self.fixed_window = Some(bytes()?),
            "BASE_RTT" => self.base_rtt = Some(whole_ns()?),
            "PACKET_PAYLOAD_SIZE" => self.payload = Bytes::new(one.whole_cut(key.text, 1, 60_000)?),
            "SIMULATOR_STOP_TIME" => self.stop(key, one)?,
            "FLOWGEN_STOP_TIME" => {
                self.stop(key, one)?;
                self.drain = Span::from_secs(10);
            }
            "BUFFER_SIZE" => self.buffer(one, unit)?,
            "ALPHA_RESUME_INTERVAL" => self.alpha_interval = time("us")?,
            "RATE_DECREASE_INTERVAL" => self.cut_interval = time("us")?,
            "RP_TIMER" => self.timer = time("us")?,
            "CNP_INTERVAL" => self.cnp_interval = Some(time("us")?),
            "TIMELY_T_LOW" => self.t_low = Some(whole_ns()?),
            "TIMELY_T_HIGH" => self.t_high = Some(whole_ns()?),
            "TIMELY_BETA" => self.beta = Some(one.number(key.text)?),
            "EWMA_GAIN" | "DCTCP_GAIN" => self.gain = one.number(key.text)?,
            "FAST_RECOVERY_TIMES" => self.fast_recovery = count(1000)?,
            "BYTE_COUNTER" => self.byte_counter = Some(bytes()?),
            "RATE_AI" => self.rate_ai = Some(rate(one)?),
            "RATE_HAI" => self.rate_hai = Some(rate(one)?),
            "MIN_RATE" => self.min_rate = Some(rate(one)?),
            "MAX_RATE" => self.max_rate = Some(rate(one)?),
            "ERROR_RATE_PER_LINK" => {
                self.error_rate = one.number(key.text)?;
                if self.error_rate >= 1.0 {
                    return Err(one.error("an error rate of 1 or more, expected less").into());
                }
            }
            "L2_ACK_INTERVAL" => self.ack_interval = one.whole_cut(key.text, 0, 1_000_000_000)?,
            "L2_BACK_TO_ZERO" => {
                if flag()? {
                    let why = "senders go back to what is missing, not to the start of a chunk";
                    self.notes.push(Note::new("L2_BACK_TO_ZERO 1", why));
                }
            }
            "U_TARGET" => self.u_target = one.number(key.text)?,
            "MI_THRESH" => self.mi_thresh = count(1000)?,
            "LINK_DOWN" => {
                let [_, a, b, ..] = values else {
                    let message = format!("LINK_DOWN has {} values, expected 3", values.len());
                    return Err(key.error(message).into());
                };
                let after = time("us")?;
                let (a, b) = (a.whole("a node", 0, u32::MAX)?, b.whole("a node", 0, u32::MAX)?);
                self.link_down = (after > Span::ZERO).then_some((after, a, b));
                return Ok(3);
            }
            "KMIN" => self.all_ports.kmin = Some(threshold(one, RDMA_UNIT)?),
            "KMAX" => self.all_ports.kmax = Some(threshold(one, RDMA_UNIT)?),
            "PMAX" => self.all_ports.pmax = Some(one.number(key.text)?),
            "KMIN_MAP" => {
                return self.map(values, |own, word| threshold(word, HPCC_UNIT).map(|k| own.kmin = Some(k)));
            }
            "KMAX_MAP" => {
                return self.map(values, |own, word| threshold(word, HPCC_UNIT).map(|k| own.kmax = Some(k)));
            }
            "PMAX_MAP" => {
                return self
                    .map(values, |own, word| word.number("a probability").map(|p| own.pmax = Some(p)));
            }
            unknown => debug_assert!(false, "{unknown} is mapped and not read"),
        }
        Ok(1)
    }

    /// When the run ends; [`Span::MAX`] if it cannot last that long.
    fn stop(&mut self, key: Word<'_>, word: Word<'_>) -> Checked<()> {
        let text = format!("{} s", word.text);
        self.stop = match text.parse::<Span>() {
            Ok(stop) if stop <= LONGEST => stop,
            Ok(_) | Err(QuantityError::TooLarge { .. }) => {
                let why = format!("the run ends when all flows have finished, after {LONGEST} at the latest");
                self.notes.push(Note::new(format!("{} {}", key.text, word.text), why));
                Span::MAX
            }
            Err(_) => word.quantity_cut(key.text, &text)?.0,
        };
        Ok(())
    }

    fn buffer(&mut self, word: Word<'_>, unit: BufferUnit) -> Checked<()> {
        let number = word.whole_cut("BUFFER_SIZE", 1, 1 << 20)?;
        let (size, doubtful) = unit.size(number);
        self.buffer = Some(size);
        if doubtful {
            let other = if unit == BufferUnit::Mib { BufferUnit::Kib } else { BufferUnit::Mib };
            let (shown, option) = other.names();
            let message =
                format!("BUFFER_SIZE {number} is {number} {} of memory in each switch", unit.names().0);
            let help = match other.size(number) {
                (_, false) => format!("with --buffer-unit {option} it is {number} {shown}"),
                (_, true) => format!("it is not plausible in {shown} either"),
            };
            let warning = Diagnostic::warning(Code::DoubtfulUnit, message).at(word.place()).help(help);
            self.warnings.push(warning);
        }
        Ok(())
    }

    /// Notes a key without a counterpart; those with the same reason share a note.
    fn leave_out(&mut self, key: Word<'_>, value: Option<Word<'_>>) {
        let value = value.map_or("", |value| value.text);
        let Some(known) = KEYS.iter().find(|known| known.name == key.text) else {
            let message = format!("the key {} is not known and left out", key.text);
            let warning = Diagnostic::warning(Code::NotMapped, message).at(key.place());
            let known = MAPPED.into_iter().chain(KEYS.iter().map(|key| key.name));
            let warning = match nearest(key.text, known) {
                Some(nearest) => warning.help(format!("did you mean {nearest}?")),
                None => warning,
            };
            self.warnings.push(warning);
            self.notes.push(Note::new(format!("{} {value}", key.text).trim_end(), "the key is not known"));
            return;
        };
        if !known.matters(self.mode.number()) || (!known.same.is_empty() && known.same == value) {
            return;
        }
        let what = if known.same.is_empty() { key.text.to_owned() } else { format!("{} {value}", key.text) };
        match self.notes.iter_mut().find(|note| note.why == known.why) {
            Some(note) => note.what.push_str(&format!(", {what}")),
            None => self.notes.push(Note::new(what, known.why)),
        }
    }

    /// Reads `n (rate value)*`.
    fn map(
        &mut self,
        values: &[Word<'_>],
        set: impl Fn(&mut Thresholds, Word<'_>) -> Checked<()>,
    ) -> Checked<usize> {
        let (count, values) = (values[0], &values[1..]);
        let pairs: usize = count.whole("the number of pairs", 0, 1_000_000)?;
        if values.len() < 2 * pairs {
            let message = format!("{pairs} pairs of rate and value announced, {} words follow", values.len());
            return Err(count.error(message).into());
        }
        for pair in values[..2 * pairs].chunks_exact(2) {
            set(self.thresholds.entry(rate(pair[0])?).or_default(), pair[1])?;
        }
        Ok(1 + 2 * pairs)
    }

    /// It is of ns3-rdma: DCQCN as published, without windows.
    pub fn is_ns3_rdma(&self) -> bool {
        self.byte_counter.is_some() || self.cnp_interval.is_some()
    }
}

fn mode(word: Word<'_>) -> Checked<Mode> {
    let number = word.whole("CC_MODE", 0, u32::MAX)?;
    Mode::ALL.into_iter().find(|mode| mode.number() == number).ok_or_else(|| {
        let help = "1 is DCQCN, 3 HPCC, 7 TIMELY, 8 DCTCP, 10 HPCC-PINT (read as HPCC), 12 none";
        word.error(format!("CC_MODE {number} is not known")).help(help).into()
    })
}

/// A threshold in units of so many bytes.
fn threshold(word: Word<'_>, unit: u64) -> Checked<Bytes> {
    let units: u64 = word.whole_cut(&format!("a threshold in units of {unit} B"), 0, 1 << 40)?;
    Ok(Bytes::new(units * unit))
}
