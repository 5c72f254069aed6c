//! Diagnostics: what is wrong with an input, where, and what would be accepted.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::visible::{visible, visible_lines};

/// A mistake or something suspicious in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which kind; `narrows explain` says more.
    pub code: Code,
    /// Whether a run is still possible.
    pub severity: Severity,
    /// Message: what was found, and what is wrong with it.
    pub message: String,
    /// Where; none if it is nowhere in a text.
    pub place: Option<Place>,
    /// Help: what would be accepted.
    pub help: Option<String>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The text.
    pub source: Arc<Source>,
    /// Bytes of it.
    pub span: Range<usize>,
}

/// A text with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Usually a path.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The run is possible and probably not what was meant.
    Warning,
    /// No run.
    Error,
}

/// One or more diagnostics that make a run impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection(pub Vec<Diagnostic>);

/// The result of something that an input may make impossible.
pub type Checked<T> = Result<T, Rejection>;

impl Diagnostic {
    /// An error without a place. Control characters of names in the message are shown as signs, as in [`Diagnostic::help`].
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        let message = visible(&message.into()).into_owned();
        Self { code, severity: Severity::Error, message, place: None, help: None }
    }

    /// A warning without a place.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// The same, at `place`.
    #[must_use]
    pub fn at(self, place: impl Into<Option<Place>>) -> Self {
        Self { place: place.into(), ..self }
    }

    /// The same, with help.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(visible_lines(&help.into()).into_owned()), ..self }
    }

    /// The same, pointing out which of `known` names is nearest to the unknown one.
    #[must_use]
    pub fn known<'a>(self, unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        self.help(help_with(unknown, known))
    }
}

/// Help with a name that is not known: which of those that are is nearest, and all of them.
pub fn help_with<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<_> = known.into_iter().collect();
    let all = format!("known: {}", list(&known));
    match nearest(unknown, known.iter().copied()) {
        Some(nearest) => format!("did you mean \"{nearest}\"? {all}"),
        None => all,
    }
}

/// Up to 24 names, comma separated.
pub(crate) fn list(names: &[&str]) -> String {
    const MOST: usize = 24;
    let shown = names[..names.len().min(MOST)].join(", ");
    if names.len() > MOST { format!("{shown}, … ({} more)", names.len() - MOST) } else { shown }
}

/// The name most like `unknown`, if any is alike.
pub fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| strsim::jaro_winkler(&unknown.to_lowercase(), &name.to_lowercase());
    let best = known.into_iter().map(|name| (likeness(name), name)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.75).then_some(best.1)
}

/// The name that `wanted` is a slip of the keyboard of: less than a third of its letters differ, in any case of letters.
pub(crate) fn meant<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// A slip leaves at least this much of a name.
    const ALIKE: f64 = 0.7;
    let wanted = wanted.to_lowercase();
    let likeness = |name: &str| strsim::normalized_damerau_levenshtein(&wanted, &name.to_lowercase());
    let best = known.into_iter().map(|name| (likeness(name), name)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= ALIKE).then_some(best.1)
}

impl Place {
    /// Line and column of its beginning, counted from 1; columns in characters.
    pub fn line_and_column(&self) -> (usize, usize) {
        let before = &self.source.text[..self.span.start.min(self.source.text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            let (line, column) = place.line_and_column();
            write!(f, "{}:{line}:{column}  ", visible(&place.source.name))?;
        }
        write!(f, "{}", self.message)?;
        match &self.help {
            Some(help) => write!(f, "\n  {help}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Rejection {}

impl From<Diagnostic> for Rejection {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

macro_rules! codes {
    ($($name:ident $number:literal $title:literal $explanation:literal)+) => {
        /// Kinds of diagnostics. Numbers never change their meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $title] $name,)+
        }

        impl Code {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// As it is printed: `N0001`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $number,)+ }
            }

            /// In a few words.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)+ }
            }

            /// Its cause, and what to do.
            pub const fn explanation(self) -> &'static str {
                match self { $(Self::$name => $explanation,)+ }
            }
        }
    };
}

codes! {
    Syntax "N0001" "invalid TOML"
        "Scenarios are written in TOML (https://toml.io). Common slips: a string without quotation marks, a table in several lines inside { }, the same key twice."
    UnknownKey "N0002" "unknown key"
        "Every key is checked, so that a typo cannot be ignored. The message lists the keys that are accepted at this place. `narrows schema` prints a JSON schema that editors use for completion."
    WrongType "N0003" "a value has the wrong type, or a key is missing"
        "The message says what was found and what is accepted. Quantities are strings with a unit: delay = \"5 ms\"."
    Quantity "N0004" "a quantity cannot be read"
        "Quantities are a number and a unit. Times: ps, ns, us, ms, s, min, h. Sizes: B, kB, MB, GB, TB and KiB, MiB, GiB, TiB. Rates: b/s, kb/s, Mb/s, Gb/s, Tb/s (Gbps is read as well). They are exact: what is finer than 1 ps, 1 B or 1 b/s is refused, and so is what does not fit 64 bits."
    UnknownName "N0005" "unknown name"
        "A name refers to something that does not exist: an algorithm, a size distribution, a class of switches, a node, a traffic group, a metric. The message lists what exists and the nearest match. `narrows list` shows what is built in; `narrows check` shows the nodes of a scenario."
    OutOfRange "N0006" "a setting is out of its range"
        "The message gives the range. Where a range comes from a standard or a paper, the documentation of the setting names it."
    Version "N0007" "the scenario is for another version"
        "A scenario states the version of its format. A newer narrows reads older scenarios; an older one refuses newer scenarios, because it would misread keys it does not know."
    Duplicate "N0008" "a name is used twice"
        "Names of nodes and of traffic groups must be unique, because results refer to them."
    NoTraffic "N0009" "there is nothing to simulate"
        "A scenario needs at least one [[traffic]], and at least one flow has to start before the run ends."
    Unreachable "N0010" "no path leads from a sender to a receiver"
        "Every host a flow starts from must have a path to every host it may be sent to. The message names a pair without one. Hosts never forward."
    Threshold "N0011" "a threshold lies above the buffer"
        "A marking threshold that the queue can never reach does nothing. The same holds for set points of congestion points and for PAUSE. With dynamic sharing one queue can hold at most αB/(1 + α) of a buffer B."
    Csv "N0012" "a row of a CSV file cannot be read"
        "Flow traces have the columns start,src,dst,bytes: a time with a unit (or a bare number of seconds), two host names (or numbers), a size in bytes (or with a unit). Size distributions have the columns bytes,cumulative; a file with one column lists sizes, each as likely as the others. Lines that begin with # are comments; a header line is optional."
    Sizes "N0013" "the points are no size distribution"
        "Both columns must never fall, and the last probability must be 1 (or 100, then all are read as percent)."
    Memory "N0014" "the run would need more memory than there is"
        "The estimate counts nodes, links, packets in flight, full buffers, flow records, and all that [record] can keep until the end of stop.drain; of several runs the largest has to fit alone. Of events of isolation, which nothing bounds beforehand, room for 8 388 608 is counted, and a run that records more is ended. Shorten the run or its drain, lower the load, record less or less often, use fewer hosts, or go on with --force."
    OutputExists "N0015" "the output exists"
        "Results are never mixed with older ones. Choose another folder with --out, or replace the old one with --overwrite. A folder is never replaced by a file, nor a file by a folder. The target is checked before the run and once more after it; if something was put there meanwhile, it stays, and the results are kept beside it under another name."
    OutputFailed "N0016" "the output cannot be written"
        "Results are written to a temporary folder beside the target and renamed when complete, so nothing is left half written. Check space and permissions. What is printed may be the output as well: if standard output cannot take it, the command ends with status 2, and files it has written stay."
    InputFailed "N0017" "a file cannot be read"
        "Paths inside a scenario are relative to the scenario's folder. Only regular files are read, no pipes and no devices. A scenario or sweep may have up to 64 MiB, a trace, a distribution or a file of another tool up to 1 GiB, a JSON file of results up to 256 MiB. Texts are UTF-8."
    Topology "N0018" "invalid network"
        "A network needs hosts and links; every host has exactly one link; k of a fat tree is even; numbers of racks, hosts and switches are at least 1. At most 4 million links, 32 767 ports of one switch and 32 766 switches with hosts can be simulated, and routes are found for networks of up to some thousand racks: what is larger is almost always a slip of a unit."
    Conflict "N0019" "two settings contradict each other"
        "The message names both."
    Override "N0020" "an override cannot be applied"
        "--set path=value changes one value of a scenario before it is checked. The path has the keys of the scenario separated by dots; an element of an array is named by its number or by the value of its `name`: --set traffic.web.cc='{ dctcp = {} }' --set seed=7 --set stop.after='\"20 ms\"'."
    NoTerminal "N0060" "no terminal to draw on"
        "narrows run --watch draws queues, rates and activity on standard output during the run, so that has to be a terminal, and one that can place text. Without --watch a run shows its progress on standard error if that is a terminal, prints its summary to standard output, and writes the same results. To see queues, links and windows over time after the run, record them with [record] in the scenario."
    LoadAboveCapacity "N0101" "a link is offered more than it can carry"
        "Open-loop traffic does not slow down its arrivals. Above 100 % the queue and the number of unfinished flows grow until the run ends, and the results depend on how long it lasted."
    NothingMeasured "N0102" "no flow starts in the measured time"
        "Summaries only count flows that start between measure.from and measure.until; of earlier ones they count what is delivered in that time. Flows without an end that are under way then are enough."
    ShortRun "N0103" "the run is short for what it measures"
        "Some flows are so large and start so late that their own link could not send them before the run ends, even on an empty network. They are counted as unfinished, and large flows are missing from the completion times. stop.drain gives flows that have started more time; measure.until leaves late ones out of the summary."
    NeverMarks "N0104" "marking has no effect here"
        "No traffic group uses ECN, so step marking marks nothing. RED with action = \"mark\" drops what cannot be marked."
    SingleSeed "N0105" "one run has no confidence interval"
        "Differences between single runs may be chance, and two are too few to estimate how much runs differ: intervals begin with three. Use --seeds to repeat each cell with several seeds."
    NobodyReacts "N0106" "what switches notify of needs somebody who reacts, and the other way round"
        "Congestion points in switches notify sources how fast to send; reaction points at the edge act on it. One without the other has no effect, except that messages cost bandwidth. [reaction_points] sets up limiters, congestion_point in a table of [switches] what they react to. Switches with themis send CNPs, to which RDMA traffic under DCQCN reacts."
    NotLossless "N0107" "neighbors may be stopped too late"
        "After a switch has sent PAUSE, or has stopped a class of packets (pfc), packets keep arriving until its frame has reached the neighbor and what was in flight has arrived. Each port needs room for that, with pause above xoff, with pfc as headroom of each class: rate × delays of both directions, three packets and the frame itself."
    Deadlock "N0108" "links may form a cyclic buffer dependency"
        "A link that PAUSE or pfc has stopped waits until the next switch has room, and that may wait for another link. If such waits form a cycle (cyclic buffer dependency), traffic can stop for good. Networks in which packets go up and then down, such as leaf-spine networks and fat trees, have no such cycle."
    NeverMarked "N0109" "no switch marks"
        "The traffic uses ECN, but no switch has marking, so its congestion control detects losses and delays only. DCTCP then acts like Reno. `marking` in a table of [switches] says what is marked."
    Assumption "N0110" "a congestion control assumes another network"
        "The settings of some controls describe the network. GEMINI takes marking_threshold, if it is given, for the one of the switches and scales with it what a mark takes of the window; takes delays above delay_threshold for congestion of the wide area, so that queues inside a data center should not last that long; and takes the rate of the sender's link for the capacity of bottlenecks if `capacity` is left out, which differs if senders' links do. The message names what was assumed and what was found."
    DelayedAcks "N0111" "a congestion control takes delayed acknowledgments for congestion"
        "Swift holds the round-trip time at a target of microseconds. An acknowledgment that waits for the next segment, up to transport.ack_delay, looks like a long queue. While ack_every segments are in flight none waits. With fewer, as when many flows meet, all wait: the window falls at each of them, to a thousandth of a segment, and does not recover while ack_delay is above the target. theta-PowerTCP and UnoCC want every segment acknowledged as well. Other controls that read delays, such as GEMINI, Vegas, Copa, Timely and PCC Vivace, take a wait for a queue, or for the wide area, whenever a segment has no other behind it; they are warned of if the wait exceeds transport.min_rto, which was chosen for the network. With transport.ack_delay_of_rto = 0.5 no acknowledgment waits for longer than half of min_rto, and transport.quick_acks acknowledges the first segments of a flow at once. With transport.ack_every = 1, for the traffic group or for all, receivers acknowledge at once. Over RDMA receivers never wait; there a sender requests acknowledgments, with every rdma.ack_every packets and with the last one its window lets out. A window that shrinks while packets are on their way may leave it waiting for an answer that was not requested, until the timeout."
    NoTelemetry "N0112" "switches do not write the telemetry that a congestion control reads"
        "HPCC computes its window from what switches write into its packets: the rate of each link, what was sent over it and what waits there. A switch does so with telemetry = true in its table of [switches], and is unknown to senders without. Where no switch on the way does, flows keep the rate of their own link whatever happens. A packet has room for the records of five switches."
    HeldUp "N0113" "a class of packets stayed stopped for long"
        "Priority-based flow control stopped a class of packets on a link, and packets waited there for longer than pfc.watchdog of the switch that stopped it. Long stops that end are a pause storm: one congested port holds up what shares links with it. Stops that have not ended when the run does may be a deadlock; if the links that are stuck form a cyclic buffer dependency, the message names it hop by hop."
    GivesUp "N0114" "enhanced DVL gives up its queues each time it stops a neighbor"
        "Enhanced DVL gives up the queue for isolated flows of a port when both queues together hold less than `detect`. Its class is stopped at the neighbor until no more than `go` is left, so with `go` at or below `detect` the queue goes whenever the neighbor may go on, and the whole tree of queues behind it has to grow again."
    NoRackAgent "N0115" "subflows of a rack whose switch keeps no state of them"
        "Under rackcc all connections between two racks share a congestion state, which the switch of the source rack keeps and reports to its hosts; the switch of the destination's rack reports to hosts what waits for them. Both switches need rack_agent = {} in their table of [switches]. Hosts that are not behind a switch have no rack."
    NoPhantom "N0116" "a control for phantom queues crosses none"
        "UnoCC rests where phantom queues mark: counters beside the ports of switches that drain more slowly than their links. Where a path has none it reacts to marks of real queues, if there are any, and to round-trip times above its targets, and real queues stand. marking = { phantom = { size = ... } } in a table of [switches] sets one up at each port; Uno has the product of rate and round-trip time between data centers for its size."
    ForeignFile "N0120" "a file of another tool cannot be read"
        "narrows import reads topology.txt, flow.txt and config.txt of ns-3's RDMA simulations (HPCC and its descendants), and connection matrices (.cm) and topologies (.topo) of htsim. The message says what was found and what the format expects there; fewer rows than a file announces are a mistake, and in a .cm more of them as well. docs/guide/coming-from.md says what is read and what becomes of it."
    NotMapped "N0121" "a setting of another tool has no counterpart"
        "narrows import leaves out what Narrows has no setting for, says so, and writes it into the scenario as a comment. With --strict it stops instead."
    NotExported "N0122" "results cannot be written in this format"
        "Some formats have no place for what was simulated: HPCC's addresses hold 65 536 nodes. The message says what does not fit."
    NotOurs "N0123" "a folder has other things in it than results"
        "--overwrite, and commands that replace a folder of their own such as narrows demo, remove a folder only if everything in it is what Narrows writes there: a run, a comparison, a reproduction, a sweep, or a folder of qlog files. The message names the first file or folder that is not, symbolic links and hidden files included. Nothing was touched: move it away, or choose another folder with --out."
    OutputBusy "N0124" "another process is writing to the same place"
        "From the beginning of a run to its end, a lock beside the target (a hidden file .narrows-....lock) keeps others from writing to it. It goes with the process, however that ends. Wait until the other process has ended, or choose another place with --out."
    OtherVersion "N0130" "results of another version"
        "narrows trace simulates a stored run again, and only the version that wrote the results is sure to simulate it in the same way. Run DIR/scenario.toml again with this version, or trace with the one that wrote it."
    TraceLimit "N0131" "too many records to trace"
        "A trace has one record for each packet, acknowledgment or change, and viewers slow down long before the disk is full. The selection is narrowed by --flow (a number, or the name of a traffic group), --port (from->to), --from and --until; --limit allows more."
    NothingTraced "N0132" "the selection is empty"
        "No flow, port or time that was selected has anything to show. narrows check DIR/scenario.toml --nodes lists nodes and links, the table flows.parquet the numbers of flows. Flows of hosts that are silent in the chosen time have no packets, and datagrams have no window."
    NotTheSame "N0133" "a stored run cannot be reproduced"
        "narrows trace simulates the scenario in the results folder once more and compares all flows with those that are stored. They differ, so what was traced would belong to another run, and nothing is written. The scenario, a file it names, or the program has been changed since."
    NotRecorded "N0134" "what is to be exported was not recorded"
        "Some formats of other tools need what a run records on request only. Tables of [record] in a scenario say what is recorded and how often; narrows schema has them all."
    DamagedCells "N0135" "cells of a sweep are damaged"
        "Each cell of a sweep keeps a checksum of every file of its results. Files of the cells that are named do not have theirs: a disk or a copy has changed them, or they were edited. narrows sweep runs such cells again by itself. narrows merge cannot, as it does not know the sweep: restart the sweep in the folder of the shard, which runs damaged cells and no others, then merge."
    InputChanged "N0136" "a file that the scenario of a sweep names has changed"
        "A sweep knows its cells by the content of the files that their scenarios name (traces, distributions of sizes). One of them holds something else than when the sweep was started, so cells that use it are run again, as if the scenario had changed; cells of both are never mixed in one data set. The folder of the sweep keeps the old content in inputs/: restore the file from there to get back to the cells there are. A file that is gone is no problem: the one in inputs/ is used."
    NoResults "N0140" "a folder without results"
        "Commands that read results take the folder that narrows run or narrows compare has written, or a folder inside it: one that holds run.json, or whose folders do, at most two levels down."
    BadResults "N0141" "results that cannot be read"
        "The tables of a results folder are Parquet files, its summary is run.json. One of them is missing, was cut off, or holds something that this version does not write. Run the scenario again: narrows run DIR/scenario.toml gives the same results."
    Pairing "N0142" "hosts cannot be paired like this"
        "pairing = \"in_order\" joins the first host of `from` with the first of `to`, the second with the second, and so on; names count in the order in which they are written, what * stands for in the order of the network (narrows check --nodes). Both sides need as many hosts, none may meet itself, and each pair must be one that `between` allows. pairs = [[\"a\", \"b\"], …] says the pairs themselves, one host on each side. pairing = \"random\" lets senders take turns and draws receivers."
    ManyCells "N0150" "a sweep of very many cells"
        "A grid has a cell for each combination of the values of its axes and each seed, and that is quickly more than was meant. More than 10 000 cells are run on demand only: narrows sweep --yes."
    MissingCells "N0151" "cells of a sweep are missing"
        "The data set of a sweep is written when all its cells are there. A shard runs a part of them; when all shards are done, narrows merge DIR... --out DIR merges them and writes it. Cells that failed are run again when the sweep is restarted."
    OtherSweep "N0152" "folders of different sweeps"
        "narrows merge merges shards of one sweep: the same sweep.toml, the same overrides, the same engine. What a folder is for stands in its sweep.json."
    OtherEngine "N0153" "a cell for another engine"
        "Results depend on the version of the engine. All processes that work on one sweep need the same one; narrows --version and run.json show it, with a fingerprint of its sources."
    BadTask "N0154" "a cell that cannot be run"
        "Cells that are run elsewhere travel as JSON, with the content of the files that their scenario names; results come back as files. Something was left out or changed on the way."
    ControlFailed "N0155" "an attached congestion control has failed"
        "The control that the program attached did not return, so the run was ended, and it has no results. Its own message stands elsewhere: in Python it is the exception."
    ManyThreads "N0156" "more threads than cores"
        "The threads of one run wait for each other many thousand times a second, so that each of them needs a core of its own. With fewer cores a run on several threads takes longer than on one. Counted are the cores that this process may use: those of its affinity (taskset), and as many as the quota of its control group comes to (containers). Results are the same on any number."
    UnknownControl "N0160" "a congestion control that is not attached"
        "cc = { custom = { name = \"mine\" } } is a control that is not built in: the program that runs the scenario attaches what makes it under this name. In Python that is narrows.run(scenario, controllers={\"mine\": Mine}) with a subclass of narrows.Controller, in Rust Document::attach. The command narrows has none to attach, so it can show such a scenario's mistakes but not run it."
    CustomSettings "N0161" "an attached congestion control refuses its settings"
        "What stands in `settings` of cc = { custom = { … } } is handed to the control as it is. The message is the control's own."
    OtherCode "N0162" "an attached congestion control has changed"
        "The scenario in a results folder notes the version of the code of such controls: of a Python class a hash of its source. The one that is attached now has another, so the run may give other results than those stored."
    DoubtfulUnit "N0170" "a number of another tool makes no sense in its unit"
        "BUFFER_SIZE in a config.txt has no unit. HPCC, ConWeave, ns3-datacenter, SimAI and ASTRA-sim take it for MiB of each switch; m3, m4 and Hawkeye, which descend from HPCC, for KiB. The size is far from what switches have if it is read in the one that was chosen. narrows import hpcc --buffer-unit kib or --buffer-unit mib says which it is."
    NoRoom "N0180" "no full packet fits"
        "A packet memory, a part of one or a limiter that holds less than the largest packet of the traffic, headers, framing and tags included, would drop each of them that has to wait, whatever congestion control does. The message names what is enough: for sharing = \"static\" that is a packet for each port, for a dynamic threshold with α below 1 a packet divided by α. The parts that pfc sets apart may be 0 B: then there is none."
    SomeWindows "N0181" "windows are recorded of some flows only"
        "Windows and rates over time make large tables, so of each group the first eight flows are recorded unless the scenario says how many: record.windows.flows. Averages over the table `windows` then are averages over those. The number, whichever it is, turns the warning off."
    Phase "N0182" "equal flows of ideal hosts keep their phase"
        "Ideal hosts act at once and have exact clocks. Packets of two long flows with the same rate then reach a full queue in the same order for ever: the queue drops or marks those of one and never those of the other, and two equal flows may have shares of 8 to 1 (Floyd and Jacobson, \"On Traffic Phase Effects in Packet-Switched Gateways\", 1992). Real networks do not, as the processing time of their hosts varies. In version 2 hosts are real unless hosts = \"ideal\" says otherwise; hosts = { real = {} } gives them to a scenario of version 1."
    Bursts "N0183" "bursts are larger than the queue they meet"
        "With transport.segmentation a sender hands bursts of up to 64 KiB to its network card. Where they come from a fast link to a slow one, a part of each waits, and of what a queue does not hold something is lost every time, even if the burst is alone. Linux bounds bursts by 1 ms at the rate of the connection (segmentation.within); a small buffer may need less. With several senders bursts meet, and more waits than the message says."
    LateMarks "N0190" "DCQCN behind switches that mark packets when they arrive"
        "A packet that is marked when it joins a queue reaches the receiver only after it has waited there, so the mark is old by then. DCQCN is stable while its marks are young: ten flows at 40 Gb/s over links of 1 us keep a queue of 160 kB if packets are marked as they leave, and swing between an empty queue and 220 kB if they are marked as they come. Switches mark as packets leave: marking = { red = { mark_at = \"dequeue\", ... } }, and the same for step. Such ports have a queue for each priority and take somewhat longer to simulate."
    ProfileOfOthers "N0192" "a profile for other traffic"
        "transport.profile gives connections the defaults of a system: linux-6.12 and linux-4.9 are for streams, connectx-6-dx is for traffic over RDMA (rdma). For datagrams there is none. A profile in [transport] is for all groups that it fits; where it fits none, it means nothing."
    CoarseSizes "N0200" "the mean flow size depends on what lies between two points"
        "A distribution of sizes is given by points of its cumulative distribution. Between two points sizes are drawn along a straight line, as ns-3's generators and most publications do. Others take the points for steps: only their sizes occur. Where the two means differ by more than 5 %, loads and completion times of two simulators differ as well. Steps are written as two points, one with the probability before and one with that behind, or as a file with one column that lists all sizes: its mean is kept exactly."
    NoSingleThreshold "N0201" "K of GEMINI cannot be taken from the switches"
        "GEMINI scales what a mark takes of the window with K, the backlog above which switches mark. If marking_threshold is left out, it is the smallest step threshold on all shortest paths between hosts of this traffic, and capacity, if left out as well, the rate of the port that has it. That is possible if every path has a port with a step threshold and none marks in another way: RED has two thresholds, CoDel and sojourn times have none in bytes. Otherwise set marking_threshold, and capacity with it: what bottlenecks mark at, and their rate. For RED the middle between min and max is a start."
    NotSettled "N0202" "the goodput of long-lived flows still trends"
        "The measured time, from the last start of a long-lived flow on, is cut into eight parts. If the goodput of a traffic group of such flows rises or falls from part to part, with one pair of parts out of order at most (Kendall's test: 0.04 % of series without a trend are so ordered), and by more than 10 % of its mean, then averages over this time depend on how long it is. The message says how much longer it may take until 5 % are missing to the limit, if the steps from third to third become smaller; otherwise the end is not in sight, and it is at least as long again. Run longer (stop.after), and measure from where it has settled (measure.from). A group whose flows are still sharing out what they have together may look settled: record.windows shows each flow."
    LeftOut "N0203" "an axis of a sweep sets something that a point does not have"
        "traffic.GROUP.cc.gemini.beta is a setting of GEMINI. Where another axis puts the group under another control, the change is left out, and the value on its axis is empty there. Points that differ in nothing that applies are one point, so the other control runs once and not once for each value. The same holds for a setting of what a point switches off: switches.tor.pfc.quanta where switches.tor.pfc is \"off\"."
    LittleRoom "N0204" "connections whose ends have less room than their path"
        "A sender keeps what is not acknowledged in its send buffer (transport.send_buffer), and a receiver announces a window: transport.receive_window, or the part of receive_buffer that is for payload, up to receive_buffer.most. A connection never has more in flight, so that its rate is at most that over a round trip. The flows without an end of this traffic together cannot fill the bandwidth-delay product of their path, and neither losses nor marks will show it. Profiles of Linux have the kernel's defaults, 4 MB to send and 6 MB to receive, a part of which is for payload: over 20 ms that is about 1.2 Gb/s. Hosts that send over a WAN are tuned (net.ipv4.tcp_wmem and tcp_rmem); set the buffers to at least twice the product."
    IdleClass "N0206" "a lossless priority has no traffic"
        "Priority-based flow control makes the priorities of pfc.priorities lossless, [0] if it is left out, and reserves memory for each of them. Traffic has the priority of its group, 0 if it has none. A priority that no group has is never stopped and wastes headroom; and traffic that was meant to be lossless may have another priority, in which it is dropped. Give the group the priority, or take it out of the list."
    NothingTrimmed "N0207" "switches trim packets of a kind that is not there"
        "Switches with trimming cut off the payload of packets for which they have no room, so that the headers tell the receiver what is missing. Only RDMA that takes packets in any order (rdma.recovery = \"any_order\") can make use of that; packets of all other traffic are dropped as without it. Under flow control by class (pfc) the packet memory is not asked, and nothing is trimmed unless trimming.above says so."
    UnfinishedLeftOut "N0210" "unfinished flows could make a percentile or a mean larger"
        "A percentile of completion times is one of the flows that have ended. If all that have not were slower than every other, the percentile would be the value at a higher rank: the largest that it could be. It is marked with † and warned of where that is more than 5 % above the printed one, and always where the unfinished are so many that it could be anything: of the 99th percentile 1 % of all. A mean of such times is marked where it would be more than 5 % larger if those that have not ended had ended with the run; nothing bounds it from above. Slow flows are those that do not end, so the truth is nearer to the upper end than to the printed one. stop.drain gives flows time to end; measure.until leaves out those that start late. run.json has the bounds under `uncertain`."
    FewValues "N0211" "few flows for a percentile"
        "Fewer than ten flows lie beyond the percentile: a median needs 20, the 95th percentile 200, the 99th 1 000, the 99.9th 10 000. Of ten flows beyond it, the fraction that truly lies beyond is known to about a factor of two (Poisson's 95 % interval of a count of ten is 4.8 to 18.4): what is printed as p99 is one between p98.2 and p99.5. Of fewer it is hardly more than the slowest flow, which grows with their number, so two runs with different numbers of flows cannot be compared by it. Seeds do not help against that, as each has as few. Such percentiles are marked with ‡. Run longer, or read a lower percentile."
    OtherLoad "N0212" "the load that was drawn is not the one asked for"
        "Poisson traffic draws arrivals and sizes, so what a run offers deviates from the load of the scenario. Where a few large flows carry most bytes, most short runs offer less, and a few much more: two standard deviations of the load are 2 √(E[s²] / (E[s]² n)) of it, for n flows of sizes s. The warning comes where the flows that start in the measured time offer 10 % less or more than asked for, and the summary then has a row with the fraction. Of remote procedure calls the responses count; the k of one call come together, so that (E[s²] / E[s]² + k − 1) / k takes the place of E[s²] / E[s]². narrows check says beforehand how near a run is likely to come, and how long it has to be for 10 %. Seeds draw different traffic, so that averages over seeds come nearer to the load; variants with the same seed meet the same traffic, and their ratios do not suffer."
    SeedsApart "N0213" "seeds fall into two groups"
        "The interval of a metric takes its values over seeds for lognormal ones: spread around one center. Where in one of five runs a flow starves, or a queue locks up, there are two kinds of runs, and the interval between them describes neither. Values above zero of five seeds or more are marked with § if the largest gap between two that are neighbors in order of size, as logarithms, is more than a part of their whole range that lognormal samples exceed twice in a thousand times (0.906 for five, 0.647 for ten), and the two sides differ by 25 % or more; counts by four standard deviations of the smaller one as well. Look at the runs one by one (seed-N/): a mechanism that starves flows in some runs is a result by itself. More seeds say how often it happens."
    FewRoundTrips "N0214" "the measured time has few round trips"
        "Long-lived flows have run for fewer than ten base RTTs when the measured time ends, or the measured time, from the last start of such a flow on, is shorter than eight base RTTs. Slow start doubles a window of ten segments once per round trip: ten of them reach 15 MB, which is more than most bandwidth-delay products, and fewer may not. What is measured then is how flows begin, and depends on how long it is. Eight round trips are a gain cycle of BBR, and of fewer it cannot be seen whether the goodput still trends (N0202), since it comes in bursts with gaps of a round trip. Run longer, and measure from where the flows have come to rest (measure.from)."
    NoProbeRtt "N0215" "flows begin behind BBR's queue, and the measured time ends before PROBE_RTT"
        "BBR's flows take the least round-trip time of the last ten seconds (min_rtt_window) for that of the empty path. Flows that begin within a base RTT of each other measure it before their queue has grown, and share alike before and after PROBE_RTT: they are not warned of, nor are flows that share no bottleneck. One that begins later measures the queue of those before it as well, and has another share of it until PROBE_RTT, once in ten seconds, empties the queue for 200 ms. Two flows over 50 Mb/s and 40 ms with a buffer of 250 kB have 24 and 23 Mb/s in the seconds before the first PROBE_RTT if they begin together, and 34 and 13 Mb/s if they begin 100 ms apart; after the second it is 23 and 22 Mb/s either way. Of four flows 100 ms apart in a buffer of 1 MB one has 29 Mb/s and the others 5 to 8, later 16 and 10. Their sum is the same all the time, so that N0202 sees nothing. Run for 30 s or more and measure from the second PROBE_RTT on to compare shares or queues in the long run. Where flows of WANs last for seconds only, what comes before the first PROBE_RTT may be just what matters. With probe_rtt_duration = \"0 s\" there is none, and no warning."
    ShortTarget "N0216" "a queue is to be shorter than two packets"
        "CoDel, PIE and their relatives hold the time that packets wait at a target. Below the time that two packets take on the link, a queue that is no more than the next packet and the rest of the one before it already exceeds the target, so that packets are marked or dropped without congestion and the link runs dry. RFC 8289 and RFC 8290 want at least the time of one packet: 15 ms at 1 Mb/s. Raise the target, and for CoDel the interval with it."
    Polarized "N0217" "flows leave ports unused because switches hash alike (polarization)"
        "Switches choose for each flow by a hash and a salt (ECMP, WCMP). Where two on one path have the same salt, the second sees only flows for which the first has chosen the same: with eight ports at both all of these flows take one port of the second, and seven stay empty, however many flows there are. The message names two such switches. That is what hash_salt = \"same\" is for: to see polarization. Leave hash_salt out to give each switch a salt of its own; with { by_class = { … } } give the classes of switches on one path different ones."
    ShortGap "N0218" "a gap between flowlets is shorter than a packet"
        "A flow that sends at the rate of its host has a packet time between the beginnings of two packets. If the gap that ends a flowlet is not longer than that, every packet begins one, and flowlets are packet spraying: packets are reordered. The gap should exceed the difference of the delays of the paths, queues included; 100 us to 500 us are usual in data centers."
    NotHashed "N0219" "packets have entropy that switches do not hash"
        "A group with rdma.paths writes an entropy value into each packet, and switches with ECMP or WCMP hash it with the flow, so that packets spread over all paths. Under routing rules that choose for each packet or flowlet (spray, flowlets, adaptive) or by the destination (d_mod_k) the value has no effect, and what a sender learns of a value says nothing of a path. Use routing = \"ecmp\", or leave out paths."
    Late "N0220" "packets reached real hosts too late"
        "The fabric between real hosts follows the clock: what is due at a host is delivered then, or later if the machine is busy with something else. One packet in a hundred was delivered later than --bound allows (200 us if it is left out), so that queues, round-trip times and what controls make of them are partly those of the machine. Use a machine that does nothing else, fewer or slower links, or slow everything down by --scale."
    NotLive "N0221" "a live run cannot have this"
        "In a live run the hosts of a traffic group are network namespaces with the TCP of the running kernel, and only the fabric between them is simulated. So a group needs a control that this kernel has (narrows kernel check lists them, cc = { kernel = \"NAME\" } names any), and cannot have what only simulated hosts know: RDMA, datagrams at a rate, controls from outside, JumboFlows, near-source loops. Such groups are simulated beside the real hosts if they have hosts of their own (--simulate GROUP)."
    NoLiveMachine "N0222" "this machine cannot have real hosts"
        "A live run makes network namespaces and TAP devices, which needs Linux, root (CAP_NET_ADMIN and CAP_SYS_ADMIN), /dev/net/tun, and the commands ip and tc of iproute2. narrows kernel check says what is missing, and how to get it."
    NoKernel "N0223" "a control of the kernel in a virtual run"
        "cc = { kernel = \"cubic\" } names a congestion control of the running kernel, which only connections of real hosts can have: narrows live runs such a scenario. In virtual time there are the controls of Narrows. Where one has the name of the kernel's, it is its native twin, and narrows twin compares the two."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_met_with_the_nearest_name() {
        let diagnostic = Diagnostic::error(Code::UnknownName, "unknown congestion control \"cubik\"");
        let help = diagnostic.known("cubik", ["reno", "cubic", "dctcp"]).help;
        assert_eq!(help.as_deref(), Some("did you mean \"cubic\"? known: reno, cubic, dctcp"));
        assert_eq!(nearest("zzz", ["reno", "cubic"]), None);
    }

    #[test]
    fn places_are_counted_as_people_count() {
        let source = Arc::new(Source { name: "a.toml".into(), text: "x = 1\nµ = gemni\n".into() });
        let start = source.text.find("gemni").expect("there");
        let diagnostic = Diagnostic::error(Code::Syntax, "bad").at(Place { source, span: start..start + 5 });
        assert_eq!(diagnostic.to_string(), "a.toml:2:5  bad");
    }

    #[test]
    fn what_a_name_says_to_a_terminal_is_not_obeyed() {
        let source = Arc::new(Source { name: "a\x1b.toml".into(), text: "x".into() });
        let diagnostic = Diagnostic::error(Code::UnknownName, "no \"\x1b[2J\n\"").help("known: \x07\nb");
        let text = diagnostic.at(Place { source, span: 0..1 }).to_string();
        assert_eq!(text, "a␛.toml:1:1  no \"␛[2J␊\"\n  known: ␇\nb");
    }

    #[test]
    fn codes_are_unique_and_explained() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|code| !code.explanation().is_empty()));
    }
}
