//! Settings of connections: congestion control and transport.

use std::fmt::Write;

use narrows_proto::units::{BitRate, Bytes};

use super::super::Note;
use super::base_rtt::Longest;
use super::config::Mode;
use super::{Config, Network};

/// Bytes of a data packet that are not payload, telemetry aside: 14 B link, 20 B IPv4, 8 B UDP, 6 B sequence and group.
const HEADERS: u64 = 48;
/// Bytes that packets under TIMELY have besides: the time they were sent.
const TIMESTAMP: u64 = 8;
/// An acknowledgment is padded to this; with telemetry it is 88 B, of which 42 B are the telemetry.
const ACK: u64 = 60;
const ACK_BESIDE_TELEMETRY: u64 = 46;
const TELEMETRY: u64 = 42;
/// No rate falls below, unless MIN_RATE says otherwise.
const MIN_RATE: BitRate = BitRate::from_mbps(100);

/// A full packet.
pub(super) fn largest_packet(config: &Config) -> Bytes {
    let telemetry = if config.mode.reads_telemetry() { TELEMETRY } else { 0 };
    config.payload + Bytes::new(headers(config) + telemetry)
}

/// Bytes that are neither payload nor telemetry.
fn headers(config: &Config) -> u64 {
    if config.mode == Mode::Timely { HEADERS + TIMESTAMP } else { HEADERS }
}

/// Windows and round-trip times as ns-3 computes them, where the configuration does not say them itself.
pub(super) fn longest(config: &Config, of_network: Longest) -> Longest {
    match config.base_rtt {
        Some(rtt) => Longest { rtt, bdp: of_network.rate * rtt, ..of_network },
        None => of_network,
    }
}

/// `cc` and `rdma` of a traffic group.
pub(super) fn connection(
    network: &Network,
    config: &Config,
    longest: Longest,
    notes: &mut Vec<Note>,
) -> String {
    let control = control(config, longest, notes);
    note_rates(network, config, notes);
    let (mtu, headers) = (config.payload, headers(config));
    let (gap, ack) =
        if config.mode.reads_telemetry() { ("adjusted", ACK_BESIDE_TELEMETRY) } else { ("departure", ACK) };
    let mut rdma = format!("mtu = \"{mtu}\", headers = \"{headers} B\", framing = \"0 B\", gap = \"{gap}\"");
    let _ = write!(rdma, ", ack_size = \"{ack} B\", cnp_size = \"{ACK} B\"");
    let ack_every = config.ack_interval.div_ceil(config.payload.get()).clamp(1, 1000);
    let _ = write!(rdma, ", ack_every = {ack_every}");
    if config.irn {
        rdma.push_str(", recovery = \"selective_repeat\"");
    }
    if let Some(window) = fixed_window(config, longest, notes) {
        let _ = write!(rdma, ", window = \"{}\"", config.payload * packets(config, window));
    }
    if config.mode == Mode::Dctcp {
        // It starts at line rate there, with as much on its way as fits.
        let window = config.fixed_window.unwrap_or(longest.bdp);
        let _ = write!(rdma, ", initial_window = {}", packets(config, window).clamp(1, 1_000_000));
    }
    if let (Mode::Dcqcn, Some(interval)) = (config.mode, config.cnp_interval) {
        let _ = write!(rdma, ", cnp_interval = \"{interval}\"");
    }
    format!("cc = {{ {control} }}\nrdma = {{ {rdma} }}\n")
}

fn control(config: &Config, longest: Longest, notes: &mut Vec<Note>) -> String {
    let mut settings = Settings::default();
    let min_rate = config.min_rate.unwrap_or(MIN_RATE);
    let name = match config.mode {
        Mode::Hpcc | Mode::HpccPint => {
            if config.mode == Mode::HpccPint {
                notes
                    .push(Note::new("CC_MODE 10", "there is no HPCC-PINT: this is HPCC, with all telemetry"));
            }
            settings.number("eta", config.u_target);
            settings.plain("max_stage", config.mi_thresh);
            settings.quantity("base_rtt", Some(longest.rtt));
            settings.quantity("min_rate", Some(min_rate));
            settings.quantity("w_ai", config.rate_ai.map(|rate| (rate * longest.rtt).max(Bytes::new(1))));
            settings.plain("payload_window", true);
            "hpcc"
        }
        Mode::Timely => {
            settings.plain("every_round_trip", true);
            settings.quantity("t_low", config.t_low);
            settings.quantity("t_high", config.t_high);
            if let Some(beta) = config.beta {
                settings.number("beta", beta);
            }
            settings.quantity("min_rate", Some(min_rate));
            settings.quantity("delta", config.rate_ai);
            if let Some((hai, ai)) = config.rate_hai.zip(config.rate_ai) {
                settings.plain("hai_factor", (hai.as_bps() / ai.as_bps().max(1)).clamp(1, 1000));
            }
            // From the sixth increase in a row on, whatever the round-trip time.
            settings.plain("hai_after", 6);
            settings.plain("hai_below_t_low", true);
            settings.quantity("window", window_of_rate(config, longest));
            "timely"
        }
        Mode::Dctcp => {
            notes.push(Note::new("CC_MODE 8", "DCTCP is the window of RFC 8257, in ns-3 it is a rate"));
            settings.number("gain", config.gain);
            let least = packets(config, min_rate * longest.rtt).clamp(1, 1_000_000);
            settings.plain("min_window", least);
            "dctcp"
        }
        Mode::None => {
            settings.quantity("rate", config.max_rate);
            "fixed"
        }
        Mode::Dcqcn => {
            let paper = config.is_ns3_rdma();
            settings.plain("variant", if paper { "\"paper\"" } else { "\"vendor\"" });
            settings.number("gain", config.gain);
            settings.quantity("alpha_interval", Some(config.alpha_interval));
            settings.quantity("cut_interval", (!paper).then_some(config.cut_interval));
            settings.quantity("timer", Some(config.timer));
            settings.quantity("byte_counter", config.byte_counter);
            settings.plain("threshold", config.fast_recovery);
            settings.quantity("min_rate", config.min_rate.or((!paper).then_some(MIN_RATE)));
            settings.plain("clamp_target", config.clamp);
            settings.quantity("ai_rate", config.rate_ai);
            settings.quantity("hai_rate", config.rate_hai);
            if config.cnp_interval.is_none() {
                settings.plain("feedback", "\"acks\"");
            }
            settings.quantity("window", window_of_rate(config, longest));
            "dcqcn"
        }
    };
    format!("{name} = {{{}}}", settings.0)
}

/// Packets that begin within a window: there one may be sent as long as less is on its way.
fn packets(config: &Config, window: Bytes) -> u64 {
    window.get().div_ceil(config.payload.get())
}

/// The most that may be on its way, if anything bounds it.
fn window(config: &Config, longest: Longest) -> Option<Bytes> {
    let has_window = config.window.unwrap_or(!config.is_ns3_rdma());
    has_window.then(|| config.fixed_window.unwrap_or(longest.bdp).max(config.payload))
}

/// The most at line rate, if it is less at lower rates.
fn window_of_rate(config: &Config, longest: Longest) -> Option<Bytes> {
    window(config, longest).filter(|_| config.var_window == Some(true))
}

/// The most at any rate.
fn fixed_window(config: &Config, longest: Longest, notes: &mut Vec<Note>) -> Option<Bytes> {
    let window = window(config, longest);
    let mut note = |what: String, why: &str| notes.push(Note::new(what, why));
    match config.mode {
        // Its own window, B·T times the rate as a part of the line rate, is the one there with VAR_WIN 1.
        Mode::Hpcc | Mode::HpccPint => {
            if window.is_none() {
                note("HAS_WIN 0".into(), "HPCC has its window all the same");
            } else if config.var_window == Some(false) {
                note("VAR_WIN 0".into(), "the window of HPCC follows its rate, as with 1");
            }
            window.filter(|_| config.fixed_window.is_some())
        }
        Mode::Dcqcn | Mode::Timely => window.filter(|_| config.var_window != Some(true)),
        Mode::Dctcp | Mode::None => window,
    }
}

/// MAX_RATE where it would matter.
fn note_rates(network: &Network, config: &Config, notes: &mut Vec<Note>) {
    let Some(most) = config.max_rate.filter(|_| config.mode != Mode::None) else { return };
    let of_host = |link: &&super::Link| !network.is_switch(link.ends.0) || !network.is_switch(link.ends.1);
    let fastest = network.links.iter().filter(of_host).map(|link| link.rate).max();
    if let Some(fastest) = fastest.filter(|fastest| *fastest > most) {
        let why = format!(
            "a flow may be as fast as the link of its host, {fastest}; windows are computed as there"
        );
        notes.push(Note::new(format!("MAX_RATE {most}"), why));
    }
}

/// Settings in one line.
#[derive(Default)]
struct Settings(String);

impl Settings {
    fn plain(&mut self, name: &str, value: impl std::fmt::Display) {
        let comma = if self.0.is_empty() { "" } else { "," };
        // The blank before the closing brace.
        self.0.truncate(self.0.trim_end().len());
        let _ = write!(self.0, "{comma} {name} = {value} ");
    }

    fn number(&mut self, name: &str, value: f64) {
        self.plain(name, format_args!("{value:?}"));
    }

    fn quantity(&mut self, name: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.plain(name, format_args!("\"{value}\""));
        }
    }
}
