//! `config.txt`: a key and its values in each line.

use std::collections::BTreeMap;
use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic, Source, nearest};
use narrows_proto::units::{BitRate, Bytes, Span};

use super::super::Note;
use super::super::words::{Word, lines, truncated};
use super::topology::rate;

/// What a `config.txt` says, as far as it is mapped. Defaults are those of HPCC's `third.cc`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `TOPOLOGY_FILE`.
    pub topology_file: Option<String>,
    /// `FLOW_FILE`.
    pub flow_file: Option<String>,
    /// `CC_MODE`.
    pub cc_mode: u32,
    /// `ENABLE_QCN`: switches mark.
    pub marking: bool,
    /// `ENABLE_PFC` (ConWeave); always on elsewhere.
    pub pfc: bool,
    /// `ENABLE_IRN` (ConWeave): selective repeat.
    pub irn: bool,
    /// `PACKET_PAYLOAD_SIZE`.
    pub payload: Bytes,
    /// `SIMULATOR_STOP_TIME`.
    pub stop: Span,
    /// `BUFFER_SIZE`, converted from MiB.
    pub buffer: Bytes,
    /// Thresholds by link rate: `KMIN_MAP`, `KMAX_MAP`, `PMAX_MAP`.
    pub thresholds: BTreeMap<BitRate, Thresholds>,
    /// `ALPHA_RESUME_INTERVAL`.
    pub alpha_interval: Span,
    /// `RATE_DECREASE_INTERVAL`.
    pub cut_interval: Span,
    /// `RP_TIMER`; third.cc leaves it unset, cards have 300 us.
    pub timer: Span,
    /// `EWMA_GAIN`.
    pub gain: f64,
    /// `FAST_RECOVERY_TIMES`.
    pub fast_recovery: u32,
    /// `RATE_AI`.
    pub rate_ai: Option<BitRate>,
    /// `RATE_HAI`.
    pub rate_hai: Option<BitRate>,
    /// `MIN_RATE`.
    pub min_rate: BitRate,
    /// `CLAMP_TARGET_RATE`.
    pub clamp: bool,
    /// `ERROR_RATE_PER_LINK`, for links without one of their own.
    pub error_rate: f64,
    /// `L2_ACK_INTERVAL`, bytes.
    pub ack_interval: u64,
    /// `HAS_WIN`: no more than a bandwidth-delay product is on its way.
    pub window: bool,
    /// `U_TARGET`.
    pub u_target: f64,
    /// `MI_THRESH`.
    pub mi_thresh: u32,
    /// `LINK_DOWN`: after 2 s and so much, this link.
    pub link_down: Option<(Span, u32, u32)>,
    /// What is not mapped.
    pub notes: Vec<Note>,
    /// Keys nobody knows, with the known one most like them.
    pub unknown: Vec<Diagnostic>,
}

/// Marking thresholds of ports of one rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Thresholds {
    /// `KMIN_MAP`.
    pub kmin: Option<Bytes>,
    /// `KMAX_MAP`.
    pub kmax: Option<Bytes>,
    /// `PMAX_MAP`.
    pub pmax: Option<f64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            topology_file: None,
            flow_file: None,
            cc_mode: 1,
            marking: true,
            pfc: true,
            irn: false,
            payload: Bytes::new(1000),
            stop: Span::from_ms(3010),
            buffer: Bytes::new(16 << 20),
            thresholds: BTreeMap::new(),
            alpha_interval: Span::from_us(55),
            cut_interval: Span::from_us(4),
            timer: Span::from_us(300),
            gain: 1.0 / 16.0,
            fast_recovery: 5,
            rate_ai: None,
            rate_hai: None,
            min_rate: BitRate::from_mbps(100),
            clamp: false,
            error_rate: 0.0,
            ack_interval: 0,
            window: true,
            u_target: 0.95,
            mi_thresh: 5,
            link_down: None,
            notes: Vec::new(),
            unknown: Vec::new(),
        }
    }
}

/// Keys that are mapped.
const MAPPED: [&str; 28] = [
    "TOPOLOGY_FILE",
    "FLOW_FILE",
    "CC_MODE",
    "ENABLE_QCN",
    "ENABLE_PFC",
    "ENABLE_IRN",
    "PACKET_PAYLOAD_SIZE",
    "SIMULATOR_STOP_TIME",
    "BUFFER_SIZE",
    "KMIN_MAP",
    "KMAX_MAP",
    "PMAX_MAP",
    "ALPHA_RESUME_INTERVAL",
    "RATE_DECREASE_INTERVAL",
    "RP_TIMER",
    "EWMA_GAIN",
    "FAST_RECOVERY_TIMES",
    "RATE_AI",
    "RATE_HAI",
    "MIN_RATE",
    "CLAMP_TARGET_RATE",
    "ERROR_RATE_PER_LINK",
    "L2_ACK_INTERVAL",
    "HAS_WIN",
    "U_TARGET",
    "MI_THRESH",
    "LINK_DOWN",
    "L2_BACK_TO_ZERO",
];

/// Keys that are known and have no counterpart: the value that means nothing (any if empty), and what Narrows does.
const NOT_MAPPED: [(&str, &str, &str); 27] = [
    ("USE_DYNAMIC_PFC_THRESHOLD", "1", "pfc stops above α = 1/8 of what is free, as with 1"),
    ("ACK_HIGH_PRIO", "0", "acknowledgements have the priority of their flow"),
    ("L2_CHUNK_SIZE", "", "only L2_BACK_TO_ZERO uses it"),
    ("GLOBAL_T", "1", "one base round-trip time holds for the whole network"),
    ("VAR_WIN", "0", "the window of DCQCN and TIMELY does not follow the rate"),
    ("FAST_REACT", "1", "HPCC reacts to every acknowledgement"),
    ("MULTI_RATE", "0", "HPCC has one rate, not one for each hop"),
    ("SAMPLE_FEEDBACK", "0", "HPCC reads all telemetry"),
    ("RATE_BOUND", "1", "rates are bounded, as with 1"),
    ("INT_MULTI", "1", "telemetry has its own precision"),
    ("PINT_LOG_BASE", "", "there is no HPCC-PINT"),
    ("PINT_PROB", "", "there is no HPCC-PINT"),
    ("DCTCP_RATE_AI", "", "DCTCP is the window of RFC 8257, not a rate"),
    ("PAUSE_TIME", "", "pfc stops until it says go on"),
    ("DATA_RATE", "", "links have their rates in topology.txt"),
    ("LINK_DELAY", "", "links have their delays in topology.txt"),
    ("ENABLE_TRACE", "0", "[record] says what is recorded"),
    ("TRACE_FILE", "", "[record] says what is recorded"),
    ("TRACE_OUTPUT_FILE", "", "[record] says what is recorded"),
    ("FCT_OUTPUT_FILE", "", "narrows export fct writes it"),
    ("PFC_OUTPUT_FILE", "", "results have a table of their own"),
    ("QLEN_MON_FILE", "", "[record] says what is recorded"),
    ("QLEN_MON_START", "", "[record] says what is recorded"),
    ("QLEN_MON_END", "", "[record] says what is recorded"),
    ("LB_MODE", "0", "flows keep their path (ECMP)"),
    ("NVLS_ENABLE", "0", "switches do not reduce"),
    ("RANDOM_SEED", "", "the scenario has a seed of its own"),
];

impl Config {
    /// Reads a `config.txt`.
    ///
    /// # Errors
    /// If a value cannot be read.
    pub fn parse(source: &Arc<Source>) -> Checked<Self> {
        let mut config = Self::default();
        for words in lines(source) {
            let [key, values @ ..] = &words[..] else { continue };
            if values.is_empty() && MAPPED.contains(&key.text) {
                return Err(key.error(format!("{} has no value", key.text)).into());
            }
            config.set(*key, values, source)?;
        }
        Ok(config)
    }

    fn set(&mut self, key: Word<'_>, values: &[Word<'_>], source: &Arc<Source>) -> Checked<()> {
        let one = || values[0];
        let flag = || -> Checked<bool> { Ok(values[0].whole::<u32>(key.text, 0, 1)? == 1) };
        let micros = || -> Checked<Span> { values[0].quantity(key.text, &format!("{} us", values[0].text)) };
        match key.text {
            "TOPOLOGY_FILE" => self.topology_file = Some(one().text.to_owned()),
            "FLOW_FILE" => self.flow_file = Some(one().text.to_owned()),
            "CC_MODE" => {
                self.cc_mode = one().whole(key.text, 0, u32::MAX)?;
                if ![1, 3, 7, 8, 10].contains(&self.cc_mode) {
                    let message = format!("CC_MODE {} is not known", self.cc_mode);
                    let help = "1 is DCQCN, 3 HPCC, 7 TIMELY, 8 DCTCP, 10 HPCC-PINT (read as HPCC)";
                    return Err(one().error(message).help(help).into());
                }
            }
            "ENABLE_QCN" => self.marking = flag()?,
            "ENABLE_PFC" => self.pfc = flag()?,
            "ENABLE_IRN" => self.irn = flag()?,
            "CLAMP_TARGET_RATE" => self.clamp = flag()?,
            "HAS_WIN" => self.window = flag()?,
            "PACKET_PAYLOAD_SIZE" => self.payload = Bytes::new(one().whole(key.text, 1, 60_000)?),
            "SIMULATOR_STOP_TIME" => {
                self.stop = one().quantity(key.text, &format!("{} s", one().text))?;
            }
            "BUFFER_SIZE" => self.buffer = Bytes::new(one().whole::<u64>(key.text, 1, 1 << 20)? << 20),
            "ALPHA_RESUME_INTERVAL" => self.alpha_interval = micros()?,
            "RATE_DECREASE_INTERVAL" => self.cut_interval = micros()?,
            "RP_TIMER" => self.timer = micros()?,
            "EWMA_GAIN" => self.gain = one().number(key.text)?,
            "FAST_RECOVERY_TIMES" => self.fast_recovery = one().whole(key.text, 0, 1000)?,
            "RATE_AI" => self.rate_ai = Some(rate(one())?),
            "RATE_HAI" => self.rate_hai = Some(rate(one())?),
            "MIN_RATE" => self.min_rate = rate(one())?,
            "ERROR_RATE_PER_LINK" => {
                self.error_rate = one().number(key.text)?;
                if self.error_rate >= 1.0 {
                    return Err(one().error("an error rate of 1 or more, expected less").into());
                }
            }
            "L2_ACK_INTERVAL" => self.ack_interval = one().whole(key.text, 0, 1_000_000_000)?,
            "L2_BACK_TO_ZERO" => {
                if flag()? {
                    self.note(key, values, "senders go back to what is missing, not to the start of a chunk");
                }
            }
            "U_TARGET" => self.u_target = one().number(key.text)?,
            "MI_THRESH" => self.mi_thresh = one().whole(key.text, 0, 1000)?,
            "LINK_DOWN" => {
                let [_, a, b] = exactly(key, values)?;
                let after = micros()?;
                let (a, b) = (a.whole("a node", 0, u32::MAX)?, b.whole("a node", 0, u32::MAX)?);
                self.link_down = (after > Span::ZERO).then_some((after, a, b));
            }
            "KMIN_MAP" => self.map(key, values, source, |own, word| {
                own.kmin = Some(kilobytes(word)?);
                Ok(())
            })?,
            "KMAX_MAP" => self.map(key, values, source, |own, word| {
                own.kmax = Some(kilobytes(word)?);
                Ok(())
            })?,
            "PMAX_MAP" => self.map(key, values, source, |own, word| {
                own.pmax = Some(word.number("a probability")?);
                Ok(())
            })?,
            _ => self.leave_out(key, values),
        }
        Ok(())
    }

    fn note(&mut self, key: Word<'_>, values: &[Word<'_>], why: &str) {
        let mut what = key.text.to_owned();
        for value in values.iter().take(4) {
            what.push(' ');
            what.push_str(value.text);
        }
        self.notes.push(Note::new(what, why));
    }

    fn leave_out(&mut self, key: Word<'_>, values: &[Word<'_>]) {
        if let Some((_, same, why)) = NOT_MAPPED.iter().find(|(name, ..)| *name == key.text) {
            if same.is_empty() || values.first().is_none_or(|value| value.text != *same) {
                self.note(key, values, why);
            }
            return;
        }
        let message = format!("the key {} is not known and left out", key.text);
        let diagnostic = Diagnostic::warning(Code::NotMapped, message).at(key.place());
        let known = MAPPED.into_iter().chain(NOT_MAPPED.map(|(name, ..)| name));
        let diagnostic = match nearest(key.text, known) {
            Some(nearest) => diagnostic.help(format!("did you mean {nearest}?")),
            None => diagnostic,
        };
        self.unknown.push(diagnostic);
        self.note(key, values, "the key is not known");
    }

    /// Reads `n (rate value)*`.
    fn map(
        &mut self,
        key: Word<'_>,
        values: &[Word<'_>],
        source: &Arc<Source>,
        set: impl Fn(&mut Thresholds, Word<'_>) -> Checked<()>,
    ) -> Checked<()> {
        let [count, values @ ..] = values else {
            return Err(truncated(source, format!("{} has no value", key.text)));
        };
        let pairs: usize = count.whole("the number of pairs", 0, 1_000_000)?;
        if values.len() != 2 * pairs {
            let message = format!("{pairs} pairs of rate and value announced, {} words follow", values.len());
            return Err(count.error(message).into());
        }
        for pair in values.chunks_exact(2) {
            set(self.thresholds.entry(rate(pair[0])?).or_default(), pair[1])?;
        }
        Ok(())
    }
}

/// So many values, no more and no less.
fn exactly<'a, const N: usize>(key: Word<'_>, values: &[Word<'a>]) -> Checked<[Word<'a>; N]> {
    let found = values.len();
    values.try_into().map_err(|_| key.error(format!("{} has {found} values, expected {N}", key.text)).into())
}

/// Thresholds are in units of 1000 B.
fn kilobytes(word: Word<'_>) -> Checked<Bytes> {
    let kilobytes: u64 = word.whole("a threshold in units of 1000 B", 0, 1 << 40)?;
    Ok(Bytes::new(kilobytes * 1000))
}
