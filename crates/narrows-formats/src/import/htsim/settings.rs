//! Settings that stand on htsim's command line.

use narrows_proto::units::{BitRate, Bytes, Span};

/// Settings from htsim's command line.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The program that reads the files.
    pub program: Program,
    /// Levels of the fat tree, without a `.topo`.
    pub tiers: u32,
    /// `-linkspeed`, without a `.topo`.
    pub rate: BitRate,
    /// `-hop_latency`, without a `.topo`.
    pub delay: Span,
    /// `-switch_latency`, without a `.topo`.
    pub latency: Span,
    /// `-q`: queue of each port, where a `.topo` has none. That of the program if left out.
    pub queue: Option<Queue>,
    /// `-mtu`: the largest packet. That of the program if left out.
    pub mtu: Option<Bytes>,
    /// `-end`.
    pub end: Span,
}

/// A length of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// So many packets of the largest size.
    Packets(u64),
    /// So much.
    Bytes(Bytes),
}

impl Default for Settings {
    /// Those of htsim: 100 Gb/s, 1 us, no latency of switches; and 1 s.
    fn default() -> Self {
        Self {
            program: Program::default(),
            tiers: 3,
            rate: BitRate::from_gbps(100),
            delay: Span::from_us(1),
            latency: Span::ZERO,
            queue: None,
            mtu: None,
            end: Span::from_secs(1),
        }
    }
}

impl Queue {
    pub(super) fn bytes(self, mtu: Bytes) -> Bytes {
        match self {
            Self::Packets(packets) => mtu.saturating_mul(packets),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl std::str::FromStr for Queue {
    type Err = String;

    /// `15packets` or `135kB`. A bare number is refused: htsim counts packets, its `.topo` bytes.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix("packets").or_else(|| text.strip_suffix("pkts"));
        match number.map(str::trim) {
            Some(number) => match number.parse() {
                Ok(packets @ 1..=1_000_000_000) => Ok(Self::Packets(packets)),
                _ => Err(format!("\"{text}\", expected a number of packets such as 15packets")),
            },
            None => text.parse().map(Self::Bytes).map_err(|_| {
                format!("\"{text}\", expected packets or bytes with their unit: 15packets (htsim's -q 15) or 135kB")
            }),
        }
    }
}

/// Programs of htsim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Program {
    /// `htsim_dctcp`, also for others that have no counterpart.
    #[default]
    Dctcp,
    /// `htsim_uec` with sender-based control: NSCC over trimming switches.
    Uec,
}

impl Program {
    const NAMES: [(&'static str, Self); 2] = [("dctcp", Self::Dctcp), ("uec", Self::Uec)];
}

impl std::str::FromStr for Program {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, program)| *program).ok_or_else(|| format!("\"{text}\", expected dctcp or uec"))
    }
}
