//! Fat trees as htsim builds them: from a `.topo`, or the usual one for a number of hosts.

use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic, Source, nearest};
use narrows_proto::units::{BitRate, Bytes, Span};

use super::super::Note;
use super::super::words::{Word, lines, truncated};

/// A tree of two or three levels of switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Hosts.
    pub hosts: u32,
    /// Top-of-rack switches, switches above them, and at the top; none of the last in a tree of two levels.
    pub switches: [u32; 3],
    /// ToR switches and switches above them in a pod.
    pub per_pod: [u32; 2],
    /// Links upwards of each switch: from ToR switches, and from those above.
    pub uplinks: [u32; 2],
    /// Settings of each level, from the ToR switches up.
    pub levels: Vec<Level>,
    /// Parts that are not mapped.
    pub notes: Vec<Note>,
}

/// Settings of a level of switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Rate of links downwards.
    pub rate: BitRate,
    /// Their delay.
    pub delay: Span,
    /// Time to forward a packet.
    pub latency: Span,
    /// Links that go together to each switch below.
    pub bundle: u32,
    /// Queue of each port downwards.
    pub queue_down: Option<Bytes>,
    /// Queue of each port upwards.
    pub queue_up: Option<Bytes>,
    radix_down: u32,
    radix_up: u32,
    oversubscribed: u32,
}

/// Properties of a tree without a `.topo`.
#[derive(Clone, Copy, Debug)]
pub struct Usual {
    /// Levels of switches: 2 or 3.
    pub tiers: u32,
    /// Rate of all links.
    pub rate: BitRate,
    /// Delay of all links.
    pub delay: Span,
    /// Time to forward a packet.
    pub latency: Span,
}

const HEADER: [&str; 4] = ["Nodes", "Tiers", "Podsize", "Tier"];

/// No tree has more links.
const MOST_LINKS: u64 = 4_000_000;

impl Tree {
    /// The tree of k-port switches for so many hosts: k³/4 with three levels, k²/2 with two.
    ///
    /// # Errors
    /// If there is no such tree.
    pub fn usual(hosts: u32, usual: &Usual) -> Checked<Self> {
        let hosts_of = |k: u32| match usual.tiers {
            2 => u64::from(k).pow(2) / 2,
            _ => u64::from(k).pow(3) / 4,
        };
        let k = (2..=4096).step_by(2).find(|k| hosts_of(*k) >= u64::from(hosts)).unwrap_or(4096);
        if hosts_of(k) != u64::from(hosts) {
            let message = format!(
                "no fat tree of {} levels has {hosts} hosts, the nearest have {} and {}",
                usual.tiers,
                hosts_of((k - 2).max(2)),
                hosts_of(k)
            );
            let help = "name a --topology, or use --tiers 2 or --tiers 3";
            return Err(Diagnostic::error(Code::ForeignFile, message).help(help).into());
        }
        let half = k / 2;
        let level = Level {
            rate: usual.rate,
            delay: usual.delay,
            latency: usual.latency,
            bundle: 1,
            radix_down: half,
            radix_up: half,
            oversubscribed: 1,
            ..Level::default()
        };
        let (switches, per_pod) = match usual.tiers {
            2 => ([k, half, 0], [k, half]),
            _ => ([k * half, k * half, half * half], [half, half]),
        };
        Ok(Self {
            hosts,
            switches,
            per_pod,
            uplinks: [half, half],
            levels: vec![level; usual.tiers as usize],
            notes: Vec::new(),
        })
    }

    /// Reads a `.topo`.
    ///
    /// # Errors
    /// At the first word that is not what the format has there, or if numbers do not make a tree.
    pub fn parse(source: &Arc<Source>) -> Checked<Self> {
        let (mut nodes, mut tiers, mut pod) = (None, None, None);
        let mut levels: [Option<Level>; 3] = [None; 3];
        let (mut current, mut unknown_lines, mut notes) = (None, 0, Vec::new());
        for words in lines(source) {
            let [key, values @ ..] = &words[..] else { continue };
            // htsim reads the first value.
            let Some(value) = values.first() else {
                return Err(key.error(format!("{} has no value", key.text)).into());
            };
            let whole = |least: u32, most: u32| value.whole_cut(key.text, least, most);
            match (key.text.to_ascii_lowercase().as_str(), current) {
                ("nodes", _) => nodes = Some(whole(1, 1 << 24)?),
                ("tiers", _) => tiers = Some(whole(2, 3)?),
                ("podsize", _) => pod = Some((*value, whole(1, 1 << 24)?)),
                ("tier", _) => {
                    let tier = whole(0, 2)? as usize;
                    if levels[tier].is_some() {
                        return Err(value.error(format!("tier {tier} for the second time")).into());
                    }
                    levels[tier] = Some(Level { bundle: 1, oversubscribed: 1, ..Level::default() });
                    current = Some(tier);
                }
                (name, Some(tier)) if name.starts_with("asymmetric_") => {
                    let what = format!("{} {} of tier {tier}", key.text, value.text);
                    notes.push(Note::new(what, "links of a tier have one rate"));
                }
                (name, Some(tier)) => {
                    if let Some(level) = &mut levels[tier] {
                        level.set(*key, name, *value)?;
                    }
                }
                (unknown, None) if nearest(unknown, HEADER).is_some() => {
                    let error = key.error(format!("the header has no \"{unknown}\""));
                    return Err(error.known(unknown, HEADER).into());
                }
                (_, None) => unknown_lines += 1,
            }
        }
        if unknown_lines > 0 {
            let why = format!("what htsim does not know is ignored, as there (lines: {unknown_lines})");
            notes.push(Note::new("header of the .topo", why));
        }
        let missing = |what: &str| truncated(source, format!("the file has no {what}"));
        let nodes = nodes.ok_or_else(|| missing("Nodes"))?;
        let tiers = tiers.ok_or_else(|| missing("Tiers"))?;
        let (pod_word, pod) = pod.ok_or_else(|| missing("Podsize"))?;
        let mut all = Vec::new();
        for (tier, level) in levels.into_iter().enumerate().take(tiers as usize) {
            let level = level.ok_or_else(|| missing(&format!("Tier {tier}")))?;
            let lacks = |what: &str| missing(&format!("{what} for tier {tier}"));
            if level.rate == BitRate::ZERO {
                return Err(lacks("Downlink_speed_Gbps"));
            }
            if level.radix_down == 0 {
                return Err(lacks("Radix_Down"));
            }
            all.push(level);
        }
        let tree = Self::assemble(nodes, pod, all).map_err(|message| pod_word.error(message))?;
        Ok(Self { notes, ..tree })
    }

    /// Puts the levels together. The numbers must come out even.
    fn assemble(nodes: u32, pod: u32, levels: Vec<Level>) -> Result<Self, String> {
        let [tor, agg] = [levels[0], levels[1]];
        if tor.bundle != 1 {
            return Err("Bundle of tier 0: hosts have one link".into());
        }
        let even = |what: &str, all: u64, parts: u64| {
            if parts == 0 || !all.is_multiple_of(parts) {
                return Err(format!("the numbers do not make a tree: {what}, {all} / {parts}, is not whole"));
            }
            u32::try_from(all / parts).map_err(|_| format!("{what} is too large"))
        };
        let (nodes_64, pod_64) = (u64::from(nodes), u64::from(pod));
        let pods = if levels.len() == 2 { 1 } else { even("Nodes / Podsize", nodes_64, pod_64)? };
        let pod_64 = if levels.len() == 2 { nodes_64 } else { pod_64 };
        let tors_per_pod =
            even("ToR switches of a pod: Podsize / Radix_Down", pod_64, tor.radix_down.into())?;
        let gbps = |rate: BitRate| rate.as_bps() / 1_000_000_000;
        let up = even(
            "links above ToR switches: Nodes × speed 0 / (speed 1 × Oversubscribed)",
            nodes_64 * gbps(tor.rate),
            gbps(agg.rate) * u64::from(tor.oversubscribed),
        )?;
        let aggs_per_pod =
            even("switches of tier 1 in a pod", up.into(), u64::from(pods) * u64::from(agg.radix_down))?;
        let mut tree = Self {
            hosts: nodes,
            switches: [tors_per_pod * pods, aggs_per_pod * pods, 0],
            per_pod: [tors_per_pod, aggs_per_pod],
            uplinks: [aggs_per_pod, 0],
            levels,
            notes: Vec::new(),
        };
        if let Some(core) = tree.levels.get(2).copied() {
            let agg_up = even(
                "links above tier 1: links below × speed 1 / (speed 2 × Oversubscribed)",
                u64::from(up) * gbps(agg.rate),
                gbps(core.rate) * u64::from(agg.oversubscribed),
            )?;
            tree.switches[2] = even("switches of tier 2", agg_up.into(), core.radix_down.into())?;
            tree.uplinks[1] = even("Radix_Up of tier 1 / Bundle", agg.radix_up.into(), core.bundle.into())?;
            let aggs = u64::from(aggs_per_pod);
            let highest = aggs - 1 + aggs * u64::from(tree.uplinks[1].saturating_sub(1));
            if tree.uplinks[1] == 0 || highest >= u64::from(tree.switches[2]) {
                return Err(format!(
                    "Radix_Up of tier 1 leads to {} switches of tier 2, but there are {}",
                    highest + 1,
                    tree.switches[2]
                ));
            }
        }
        match tree.link_count() {
            links if links > MOST_LINKS => {
                Err(format!("the tree has {links} links, at most {MOST_LINKS} are read"))
            }
            _ => Ok(tree),
        }
    }

    fn link_count(&self) -> u64 {
        let of = |number: u32, each: u32, bundle: u32| {
            u64::from(number).saturating_mul(each.into()).saturating_mul(bundle.into())
        };
        let upper = self.levels.get(2).map_or(0, |core| of(self.switches[1], self.uplinks[1], core.bundle));
        u64::from(self.hosts)
            .saturating_add(of(self.switches[0], self.uplinks[0], self.levels[1].bundle))
            .saturating_add(upper)
    }

    /// Links as (level above, number below, number above), those of a bundle one after the other. Level 0 joins hosts and ToR
    /// switches.
    pub fn links(&self) -> impl Iterator<Item = (usize, u32, u32)> + '_ {
        let per_tor = self.hosts / self.switches[0].max(1);
        let hosts = (0..self.hosts).map(move |host| (0, host, host / per_tor.max(1)));
        let tors = (0..self.switches[0])
            .flat_map(move |tor| (0..self.uplinks[0]).map(move |link| (1, tor, self.above(1, tor, link))));
        let cores = if self.levels.len() == 3 { self.switches[1] } else { 0 };
        let aggs = (0..cores)
            .flat_map(move |agg| (0..self.uplinks[1]).map(move |link| (2, agg, self.above(2, agg, link))));
        let bundle = |(level, below, above): (usize, u32, u32)| {
            std::iter::repeat_n((level, below, above), self.levels[level].bundle as usize)
        };
        hosts.chain(tors).chain(aggs).flat_map(bundle)
    }

    /// The switch of `level` that uplink number `link` of a switch below leads to.
    pub fn above(&self, level: usize, below: u32, link: u32) -> u32 {
        let [tors, aggs] = self.per_pod;
        match level {
            1 => below / tors * aggs + link,
            _ => below % aggs + aggs * link,
        }
    }
}

impl Level {
    fn set(&mut self, key: Word<'_>, name: &str, value: Word<'_>) -> Checked<()> {
        let whole = |least: u32, most: u32| value.whole_cut(key.text, least, most);
        let bytes = || -> Checked<Bytes> { Ok(Bytes::new(value.whole_cut(key.text, 1, 1 << 40)?)) };
        match name {
            "downlink_speed_gbps" => self.rate = BitRate::from_gbps(whole(1, 100_000)?.into()),
            "radix_down" => self.radix_down = whole(1, 32_767)?,
            "radix_up" => self.radix_up = whole(1, 32_767)?,
            "queue_up" => self.queue_up = Some(bytes()?),
            "queue_down" => self.queue_down = Some(bytes()?),
            "oversubscribed" => self.oversubscribed = whole(1, 1_000_000)?,
            "bundle" => self.bundle = whole(1, 32_767)?,
            "switch_latency_ns" => self.latency = Span::from_ns(whole(0, u32::MAX)?.into()),
            "downlink_latency_ns" => self.delay = Span::from_ns(whole(0, u32::MAX)?.into()),
            unknown => {
                let known = [
                    "Downlink_speed_Gbps",
                    "Radix_Down",
                    "Radix_Up",
                    "Queue_Up",
                    "Queue_Down",
                    "Oversubscribed",
                    "Bundle",
                    "Switch_Latency_ns",
                    "Downlink_Latency_ns",
                ];
                return Err(key.error(format!("a tier has no \"{unknown}\"")).known(unknown, known).into());
            }
        }
        Ok(())
    }
}
