//! A scenario for both simulators: one description, a scenario of Narrows and arguments of dumbbell.cc.

use std::fmt::Write;

use fastrand::Rng;

/// A full packet with all framing on the wire, and one in ns-3, whose links have PPP.
const PACKET: u64 = 1538;
const NS3_PACKET: u64 = 1502;

/// A scenario.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) control: Control,
    pub(super) place: Place,
    pub(super) queue: Queue,
    pub(super) traffic: Traffic,
    /// Segments for an acknowledgment.
    pub(super) ack_every: u32,
    /// Causes of what differs, if known.
    pub(super) tried: &'static str,
}

/// A congestion control.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    /// On the page.
    pub(super) name: &'static str,
    /// In scenarios.
    pub(super) key: &'static str,
    /// Its `TypeId` in ns-3.
    pub(super) type_id: &'static str,
}

/// Two switches, and hosts at both. Rates in Mb/s, delays and times in us.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) rate: u64,
    pub(super) host_rate: u64,
    pub(super) delay: u64,
    pub(super) host_delay: u64,
    pub(super) min_rto: u64,
    /// Between starts of flows without an end.
    pub(super) apart: f64,
    pub(super) from: u64,
    pub(super) until: u64,
}

/// The queue in front of the narrow link, with its room in packets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Queue {
    DropTail(u64),
    /// Marks above so many packets.
    Step(u64, u64),
    Codel,
    Pie,
    FqCodel,
}

/// A queue in both.
struct Rules {
    about: String,
    room: u64,
    /// It marks above so many packets, if it marks.
    above: Option<u64>,
    /// In scenarios, how it marks or drops before it is full.
    settings: String,
    /// For dumbbell.cc.
    discipline: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Traffic {
    /// So many flows without an end.
    Long(u32),
    /// Flows of three sizes that come at random and load the link to so many percent.
    Short(u64),
    /// So many flows of 64 kB at once.
    Incast(u32),
}

/// Bytes of short flows, and how many of a hundred have them.
pub(super) const SIZES: [(u64, u64); 3] = [(3_000, 50), (30_000, 35), (300_000, 15)];
const SHORT_FLOWS: u32 = 1_500;
const SHORT_HOSTS: u32 = 8;
const INCAST: u64 = 64_000;
/// The first flow that ends starts then, us: the handshakes of both are over the same empty network.
const FIRST: f64 = 10_000.0;
/// Starts of runs differ by these factors.
const APART: [f64; 5] = [1.0, 1.03, 1.07, 1.11, 1.17];

/// A flow that ends.
#[derive(Clone, Copy, Debug)]
struct Flow {
    host: u32,
    bytes: u64,
    start_ns: u64,
}

impl Queue {
    fn rules(self) -> Rules {
        let rules = |about: &str, settings: &str, discipline| {
            let (about, settings) = (about.to_owned(), settings.to_owned());
            Rules { about, room: 1000, above: None, settings, discipline }
        };
        match self {
            Self::DropTail(room) => {
                Rules { room, ..rules(&format!("a queue of {room} packets"), "", "fifo") }
            }
            Self::Step(room, above) => {
                let about = format!("a queue of {room} packets that marks above {above}");
                let settings = format!("marking.step.k = \"{} B\"\n", above * PACKET);
                Rules { room, above: Some(above), ..rules(&about, &settings, "step") }
            }
            Self::Codel => rules("CoDel", "marking.codel = {}\n", "CoDelQueueDisc"),
            Self::Pie => rules("PIE", "marking.pie = {}\n", "PieQueueDisc"),
            Self::FqCodel => rules("FQ-CoDel", "fq_codel = {}\n", "FqCoDelQueueDisc"),
        }
    }
}

impl Case {
    /// Number of runs: with one flow all are alike.
    pub(super) fn runs(&self) -> usize {
        if matches!(self.traffic, Traffic::Long(1)) { 1 } else { APART.len() }
    }

    /// Its queue can mark packets.
    pub(super) fn has_marks(&self) -> bool {
        self.queue.rules().above.is_some()
    }

    fn hosts(&self) -> u32 {
        match self.traffic {
            Traffic::Long(flows) | Traffic::Incast(flows) => flows,
            Traffic::Short(_) => SHORT_HOSTS,
        }
    }

    /// Groups of traffic: their names and the bytes of a flow; none have an end if there are none.
    pub(super) fn sizes(&self) -> Vec<(String, u64)> {
        let sizes = match self.traffic {
            Traffic::Long(_) => vec![],
            Traffic::Short(_) => SIZES.map(|(bytes, _)| bytes).to_vec(),
            Traffic::Incast(_) => vec![INCAST],
        };
        sizes.into_iter().map(|bytes| (format!("{}kB", bytes / 1000), bytes)).collect()
    }

    /// Time between starts of flows without an end, in us.
    fn start_every(&self, run: usize) -> u64 {
        (self.place.apart * APART[run]) as u64
    }

    fn flows(&self, run: usize) -> Vec<Flow> {
        let mut start = FIRST;
        match self.traffic {
            Traffic::Long(_) => vec![],
            Traffic::Incast(flows) => {
                let start_ns = |host: u32| ((FIRST + f64::from(host) * APART[run]) * 1e3) as u64;
                (0..flows).map(|host| Flow { host, bytes: INCAST, start_ns: start_ns(host) }).collect()
            }
            Traffic::Short(load) => {
                let mut random = Rng::with_seed(run as u64);
                let mean =
                    SIZES.iter().map(|(bytes, of_hundred)| bytes * of_hundred).sum::<u64>() as f64 / 100.0;
                let apart = mean * 8.0 / (self.place.rate as f64 * load as f64 / 100.0);
                let mut flow = || {
                    start -= apart * (1.0 - random.f64()).ln();
                    let (host, mut drawn) = (random.u32(..SHORT_HOSTS), random.u64(..100));
                    let size = SIZES.iter().find(|(_, of_hundred)| {
                        let is_it = drawn < *of_hundred;
                        drawn = drawn.saturating_sub(*of_hundred);
                        is_it
                    });
                    Flow { host, bytes: size.map_or(0, |(bytes, _)| *bytes), start_ns: (start * 1e3) as u64 }
                };
                (0..SHORT_FLOWS).map(|_| flow()).collect()
            }
        }
    }

    /// Its description on the page.
    pub(super) fn about(&self) -> String {
        let Place { rate, delay, host_delay, .. } = self.place;
        let (name, queue) = (self.control.name, self.queue.rules().about);
        let traffic = match self.traffic {
            Traffic::Long(1) => format!("One flow of {name}"),
            Traffic::Long(flows) => format!("{flows} flows of {name}"),
            Traffic::Short(load) => format!("{SHORT_FLOWS} flows of {name} at {load} % load"),
            Traffic::Incast(flows) => format!("{flows} flows of {name} at once, 64 kB each"),
        };
        let away = 2 * (delay + 2 * host_delay);
        let away = if away < 1000 { format!("{away} us") } else { format!("{} ms", away as f64 / 1e3) };
        let acked = if self.ack_every == 1 { ", an acknowledgment for each segment" } else { "" };
        format!("{traffic}, {rate} Mb/s, {away}, {queue}{acked}.")
    }

    /// The scenario of a run, or of what comes before its measured time, and files that it names.
    pub(super) fn scenario(&self, run: usize, is_whole: bool) -> (String, Vec<(String, String)>) {
        let Place { rate, host_rate, delay, host_delay, min_rto, from, until, .. } = self.place;
        let Rules { room, settings, .. } = self.queue.rules();
        let (hosts, flows) = (self.hosts(), self.flows(run));
        let (from, until) = if is_whole { (from, until) } else { (0, from) };
        let mut text = format!(
            "version = 2\nname = \"{}\"\nhosts = \"ideal\"\nstop = {{ after = \"{until} us\" }}\nmeasure = {{ from = \"{from} us\", until = \"{until} us\" }}\n\
             record = {{ queues = {{ interval = \"10 ms\", of = \"left/switch\" }} }}\n\n\
             [topology.dumbbell]\nhosts = {hosts}\nhost_rate = \"{host_rate} Mb/s\"\nbottleneck_rate = \"{rate} Mb/s\"\nhost_delay = \"{host_delay} us\"\nbottleneck_delay = \"{delay} us\"\n\n\
             [switches.default]\nbuffer = {{ size = \"{} B\", sharing = \"per_port\" }}\n{settings}\n\
             [transport]\nmin_rto = \"{min_rto} us\"\nack_every = {}\n",
            self.name,
            room * PACKET,
            self.ack_every
        );
        let control = format!("cc = {{ {} = {{}} }}\n", self.control.key);
        let mut files = Vec::new();
        // Writing to a string cannot fail.
        if let Traffic::Long(flows) = self.traffic {
            let every = self.start_every(run);
            let _ = write!(
                text,
                "\n[[traffic]]\nname = \"long\"\n{control}pattern.long_lived = {{ flows = {flows}, from = \"left/*\", to = \"right/*\", pairing = \"in_order\", start_every = \"{every} us\" }}\n"
            );
        }
        for (name, size) in self.sizes() {
            let mut table = "start,src,dst,bytes\n".to_owned();
            for Flow { host, bytes, start_ns } in flows.iter().filter(|flow| flow.bytes == size) {
                let _ = writeln!(table, "{start_ns} ns,left/host{host},right/host{host},{bytes} B");
            }
            let _ = write!(
                text,
                "\n[[traffic]]\nname = \"{name}\"\n{control}pattern.trace.file = \"{name}.csv\"\n"
            );
            files.push((format!("{name}.csv"), table));
        }
        (text, files)
    }

    /// Arguments of dumbbell.cc, and the lines of its file of flows. Its links are slower by what its frames are shorter.
    pub(super) fn arguments(&self, run: usize) -> (Vec<String>, String) {
        let Place { rate, host_rate, delay, host_delay, min_rto, from, until, .. } = self.place;
        let slower = |mbps: u64| mbps * 1_000_000 * NS3_PACKET / PACKET;
        let seconds = |us: u64| us as f64 / 1e6;
        let Rules { room, above, discipline, .. } = self.queue.rules();
        let mut lines = String::new();
        for Flow { host, bytes, start_ns } in self.flows(run) {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{host} {bytes} {:.9}", start_ns as f64 / 1e9);
        }
        let arguments = vec![
            format!("--control={}", self.control.type_id),
            format!("--discipline={discipline}"),
            format!("--hosts={}", self.hosts()),
            format!("--queue={room}"),
            format!("--mark-above={}", above.unwrap_or(0)),
            format!("--ack-every={}", self.ack_every),
            format!("--rate={}", slower(rate)),
            format!("--host-rate={}", slower(host_rate)),
            format!("--delay={}", seconds(delay)),
            format!("--host-delay={}", seconds(host_delay)),
            format!("--min-rto={}", seconds(min_rto)),
            format!("--start-every={}", seconds(self.start_every(run))),
            format!("--from={}", seconds(from)),
            format!("--until={}", seconds(until)),
        ];
        (arguments, lines)
    }
}
