//! Tables of results: columns of numbers and names. Units stand in the names of columns; what they mean, in `columns.rs`.

use std::borrow::Cow;
use std::collections::HashMap;

use narrows_proto::units::{BitRate, Span, Time};
use narrows_sim::observe::{AdvertisedRow, IsolationRow, JumboFlowRow, LimiterRow, PortRow, WindowRow};
use narrows_sim::switch::IsolationEvent;
use narrows_sim::traffic::Transport;
use narrows_sim::{DropCause, LinkId, PortCounters};

use super::Results;
use super::columns::{ColumnInfo, ColumnKind, TABLES, TableInfo};
use crate::plan::Segment;

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name, and that of its file.
    pub name: &'static str,
    /// Its columns, all of one length.
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its values.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Integers(Vec<u64>),
    /// Whole numbers, some of which are missing.
    MaybeIntegers(Vec<Option<u64>>),
    /// Real numbers.
    Reals(Vec<f64>),
    /// Real numbers, some of which are missing.
    MaybeReals(Vec<Option<f64>>),
    /// Truth.
    Flags(Vec<bool>),
    /// Few different names: for each row the index of one.
    Names(Vec<u32>, Vec<String>),
    /// The same, some of which are missing.
    MaybeNames(Vec<Option<u32>>, Vec<String>),
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// The first column of `wanted` (all that are described if none) that is missing, though not for some results only, or is of
    /// another kind than `columns.rs` says.
    pub(super) fn misfit(&self, wanted: Option<&[&str]>) -> Option<&'static str> {
        let described = TableInfo::find(self.name).map_or(&[][..], |table| table.columns);
        let wanted = |info: &&ColumnInfo| wanted.is_none_or(|wanted| wanted.contains(&info.name));
        let fits = |info: &&ColumnInfo| {
            self.column(info.name).map_or(!info.present.is_empty(), |values| values.fit(info))
        };
        described.iter().filter(wanted).find(|info| !fits(info)).map(|info| info.name)
    }

    /// The values of a column, if there is one of this name.
    pub fn column(&self, name: &str) -> Option<&Values> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.values)
    }

    /// The whole numbers of a column, none of which is missing; empty if there is no such column.
    pub fn integers(&self, name: &str) -> &[u64] {
        match self.column(name) {
            Some(Values::Integers(values)) => values,
            _ => &[],
        }
    }

    /// The whole numbers of a column, some of which may be missing; empty if there is no such column.
    pub fn maybe_integers(&self, name: &str) -> &[Option<u64>] {
        match self.column(name) {
            Some(Values::MaybeIntegers(values)) => values,
            _ => &[],
        }
    }

    /// The names of a column: for each row the index of one, and the names; empty if there is no such column.
    pub fn names(&self, name: &str) -> (&[u32], &[String]) {
        match self.column(name) {
            Some(Values::Names(values, names)) => (values, names),
            _ => (&[], &[]),
        }
    }

    /// Truths of a column; empty if there is no such column.
    pub fn flags(&self, name: &str) -> &[bool] {
        match self.column(name) {
            Some(Values::Flags(values)) => values,
            _ => &[],
        }
    }
}

/// Adds those of `their` names that are new to ours. For each of theirs: its index among ours.
fn enter(names: &mut Vec<String>, their: Vec<String>) -> Vec<u32> {
    if names.is_empty() {
        *names = their;
        return (0..names.len() as u32).collect();
    }
    let mut known: HashMap<String, u32> = names.iter().cloned().zip(0..).collect();
    let number = |name: String| {
        let next = names.len() as u32;
        *known.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            next
        })
    };
    their.into_iter().map(number).collect()
}

impl Values {
    /// Adds more of the same kind behind; false if it is of another kind. Where some of ours may be missing, none of the others
    /// need to be.
    pub(crate) fn append(&mut self, more: Self) -> bool {
        match (self, more) {
            (Self::Integers(values), Self::Integers(mut more)) => values.append(&mut more),
            (Self::MaybeIntegers(values), Self::MaybeIntegers(mut more)) => values.append(&mut more),
            (Self::Reals(values), Self::Reals(mut more)) => values.append(&mut more),
            (Self::MaybeIntegers(values), Self::Integers(more)) => values.extend(more.into_iter().map(Some)),
            (Self::MaybeReals(values), Self::MaybeReals(mut more)) => values.append(&mut more),
            (Self::MaybeReals(values), Self::Reals(more)) => values.extend(more.into_iter().map(Some)),
            (Self::Flags(values), Self::Flags(mut more)) => values.append(&mut more),
            (Self::Names(values, names), Self::Names(more, their)) => {
                let ours = enter(names, their);
                values.extend(more.into_iter().map(|index| ours[index as usize]));
            }
            (Self::MaybeNames(values, names), Self::Names(more, their)) => {
                let ours = enter(names, their);
                values.extend(more.into_iter().map(|index| Some(ours[index as usize])));
            }
            (Self::MaybeNames(values, names), Self::MaybeNames(more, their)) => {
                let ours = enter(names, their);
                values.extend(more.into_iter().map(|index| index.map(|index| ours[index as usize])));
            }
            _ => return false,
        }
        true
    }

    /// Adds so many missing values behind; false if none may be missing.
    pub(crate) fn append_nothing(&mut self, count: usize) -> bool {
        match self {
            Self::MaybeIntegers(values) => values.resize(values.len() + count, None),
            Self::MaybeReals(values) => values.resize(values.len() + count, None),
            Self::MaybeNames(values, _) => values.resize(values.len() + count, None),
            _ => return count == 0,
        }
        true
    }

    /// The same without values, where some may be missing. Truths are never missing.
    pub(crate) fn maybe(self) -> Self {
        match self {
            Self::Integers(_) => Self::MaybeIntegers(Vec::new()),
            Self::Reals(_) => Self::MaybeReals(Vec::new()),
            Self::Names(..) => Self::MaybeNames(Vec::new(), Vec::new()),
            other => other,
        }
    }

    /// Forgets all values.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Integers(values) => values.clear(),
            Self::MaybeIntegers(values) => values.clear(),
            Self::Reals(values) => values.clear(),
            Self::MaybeReals(values) => values.clear(),
            Self::Flags(values) => values.clear(),
            Self::Names(values, names) => {
                values.clear();
                names.clear();
            }
            Self::MaybeNames(values, names) => {
                values.clear();
                names.clear();
            }
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::MaybeIntegers(values) => values.len(),
            Self::Reals(values) => values.len(),
            Self::MaybeReals(values) => values.len(),
            Self::Flags(values) => values.len(),
            Self::Names(values, _) => values.len(),
            Self::MaybeNames(values, _) => values.len(),
        }
    }

    /// Some may be missing.
    pub fn is_optional(&self) -> bool {
        matches!(self, Self::MaybeIntegers(_) | Self::MaybeReals(_) | Self::MaybeNames(..))
    }

    /// They are of the kind that is described.
    fn fit(&self, info: &ColumnInfo) -> bool {
        let (kind, optional) = match self {
            Self::Integers(_) => (ColumnKind::Integer, false),
            Self::MaybeIntegers(_) => (ColumnKind::Integer, true),
            Self::Reals(_) => (ColumnKind::Real, false),
            Self::MaybeReals(_) => (ColumnKind::Real, true),
            Self::Flags(_) => (ColumnKind::Flag, false),
            Self::Names(..) => (ColumnKind::Name, false),
            Self::MaybeNames(..) => (ColumnKind::Name, true),
        };
        info.kind == kind && info.optional == optional
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Collects the columns of a table.
struct Columns<'a, R> {
    rows: &'a [R],
    columns: Vec<Column>,
}

impl<'a, R> Columns<'a, R> {
    fn of(rows: &'a [R]) -> Self {
        Self { rows, columns: Vec::new() }
    }

    fn add(mut self, name: &'static str, values: Values) -> Self {
        self.columns.push(Column { name: name.into(), values });
        self
    }

    fn integers(self, name: &'static str, value: impl Fn(&R) -> u64) -> Self {
        let values = self.rows.iter().map(value).collect();
        self.add(name, Values::Integers(values))
    }

    /// A column that only some results have.
    fn integers_if(self, has: bool, name: &'static str, value: impl Fn(&R) -> u64) -> Self {
        if has { self.integers(name, value) } else { self }
    }

    fn maybe_integers(self, name: &'static str, value: impl Fn(&R) -> Option<u64>) -> Self {
        let values = self.rows.iter().map(value).collect();
        self.add(name, Values::MaybeIntegers(values))
    }

    fn reals(self, name: &'static str, value: impl Fn(&R) -> f64) -> Self {
        let values = self.rows.iter().map(value).collect();
        self.add(name, Values::Reals(values))
    }

    fn maybe_reals(self, name: &'static str, value: impl Fn(&R) -> Option<f64>) -> Self {
        let values = self.rows.iter().map(value).collect();
        self.add(name, Values::MaybeReals(values))
    }

    fn flags(self, name: &'static str, value: impl Fn(&R) -> bool) -> Self {
        let values = self.rows.iter().map(value).collect();
        self.add(name, Values::Flags(values))
    }

    fn names(self, name: &'static str, names: Vec<String>, index: impl Fn(&R) -> u32) -> Self {
        let values = self.rows.iter().map(index).collect();
        self.add(name, Values::Names(values, names))
    }

    /// The segment of a link, in networks that have segments.
    fn segments(self, segments: Option<&Vec<Segment>>, link: impl Fn(&R) -> LinkId) -> Self {
        let Some(segments) = segments else { return self };
        let names = Segment::ALL.map(|segment| segment.name().to_owned()).to_vec();
        self.names("segment", names, |row| segments[link(row).index()] as u32)
    }

    /// The table of this name, which has to be as it is described: all columns that are not for some results only, of the same
    /// kinds, in the same order.
    fn table(self, name: &'static str) -> Table {
        let described = TableInfo::find(name).map_or(&[][..], |table| table.columns);
        let mut columns = self.columns.iter().peekable();
        for info in described {
            let found = columns.next_if(|column| column.name == info.name);
            let fits = found.map_or(!info.present.is_empty(), |column| column.values.fit(info));
            assert!(fits, "{name}.{} is not what columns.rs says", info.name);
        }
        assert!(columns.peek().is_none(), "{name} has a column that columns.rs does not describe here");
        Table { name, columns: self.columns }
    }
}

/// Causes of drops at ports and on links. Packets without a route came to no port.
const DROPS: [(DropCause, &str); 6] = [
    (DropCause::BufferFull, "drops_buffer_full"),
    (DropCause::QueueLimit, "drops_queue_limit"),
    (DropCause::Red, "drops_red"),
    (DropCause::LinkError, "drops_link_error"),
    (DropCause::LinkDown, "drops_link_down"),
    (DropCause::Limiter, "drops_limiter"),
];

impl Results {
    /// All tables that there are: `flows` and `ports` always, `queues`, `links`, `windows`, `limiters`, `isolation`,
    /// `jumboflows` and `advertised` if they were recorded, `rpcs` and `datagrams` if there are any.
    pub fn tables(&self) -> Vec<Table> {
        TABLES.iter().filter_map(|info| self.table(info.name)).collect()
    }

    /// One table, if there is one of this name.
    pub fn table(&self, name: &str) -> Option<Table> {
        let rpcs = || self.plan.groups.iter().any(|group| group.rpcs.is_some());
        match name {
            "flows" => Some(self.flows_table()),
            "ports" => Some(self.ports_table()),
            "queues" => self.queues.as_ref().map(|rows| self.queues_table(rows)),
            "links" => self.links.as_ref().map(|rows| self.links_table(rows)),
            "windows" => self.windows.as_ref().map(|rows| self.windows_table(rows)),
            "limiters" => self.limiters.as_ref().map(|rows| self.limiters_table(rows)),
            "isolation" => self.isolation.as_ref().map(|rows| self.isolation_table(rows)),
            "jumboflows" => self.racks.as_ref().map(|(rows, _)| self.jumboflows_table(rows)),
            "advertised" => self.racks.as_ref().map(|(_, rows)| self.advertised_table(rows)),
            "rpcs" => rpcs().then(|| self.rpcs_table()),
            "datagrams" => (!self.datagrams.is_empty()).then(|| self.datagrams_table()),
            _ => None,
        }
    }

    fn group_names(&self) -> Vec<String> {
        self.plan.groups.iter().map(|group| group.name.clone()).collect()
    }

    fn host_names(&self) -> Vec<String> {
        let topology = &self.plan.network.topology;
        topology.hosts().iter().map(|host| topology.node(*host).name.clone()).collect()
    }

    /// Names of the two ends of links.
    fn ends(&self) -> Vec<String> {
        self.plan.network.topology.nodes().iter().map(|node| node.name.clone()).collect()
    }

    fn flows_table(&self) -> Table {
        let controls = self.plan.groups.iter().map(|group| group.control.clone()).collect();
        let hosts = self.host_names();
        let groups = &self.plan.traffic.groups;
        let rdma = groups.iter().any(|group| matches!(group.transport, Transport::Rdma { .. }));
        Columns::of(&self.flows)
            .integers("flow", |row| row.flow.0.into())
            .integers("turn", |row| row.turn)
            .names("group", self.group_names(), |row| row.group)
            .names("control", controls, |row| row.group)
            .names("src", hosts.clone(), |row| row.from.0)
            .names("dst", hosts, |row| row.to.0)
            .maybe_integers("size_bytes", |row| (!row.is_endless()).then_some(row.size.get()))
            .integers("start_ps", |row| row.start.as_ps())
            .maybe_integers("end_ps", |row| row.end.map(Time::as_ps))
            .maybe_integers("injected_ps", |row| row.stats.injected.map(Time::as_ps))
            .maybe_integers("fct_ps", |row| row.fct().map(|fct| fct.as_ps()))
            .maybe_integers("ideal_fct_ps", |row| (!row.is_endless()).then_some(row.ideal.as_ps()))
            .maybe_reals("slowdown", |row| row.slowdown())
            .integers("delivered_bytes", |row| row.delivered.get())
            .integers("delivered_measured_bytes", |row| row.delivered_measured.get())
            .integers("retransmissions", |row| row.stats.retransmissions)
            .integers("retransmitted_bytes", |row| row.stats.retransmitted.get())
            .integers("timeouts", |row| row.stats.timeouts)
            .integers("recoveries", |row| row.stats.recoveries)
            .integers("spurious", |row| row.stats.spurious)
            .integers("probes", |row| row.stats.probes)
            .integers("marked_bytes", |row| row.stats.marked.get())
            .integers_if(rdma, "cnps", |row| row.stats.cnps)
            .flags("measured", |row| row.measured)
            .table("flows")
    }

    /// Every directed link and the port it leaves from: what it is, and what it did in the whole run.
    fn ports_table(&self) -> Table {
        let topology = &self.plan.network.topology;
        let rows: Vec<_> =
            (0..self.ports.len()).map(|link| (LinkId::from(link), &self.ports[link])).collect();
        let link = |row: &(LinkId, &PortCounters)| topology.link(row.0);
        let is_host = |node| topology.as_host(node).is_some();
        let mut table = Columns::of(&rows)
            .integers("link", |row| row.0.0.into())
            .names("from", self.ends(), |row| link(row).from.0)
            .names("to", self.ends(), |row| link(row).to.0)
            .flags("from_host", |row| is_host(link(row).from))
            .flags("to_host", |row| is_host(link(row).to))
            .segments(self.plan.segments.as_ref(), |row| row.0)
            .integers("rate_bps", |row| link(row).wire.rate.as_bps())
            .integers("delay_ps", |row| link(row).wire.delay.as_ps())
            .integers("packets", |row| row.1.packets)
            .integers("bytes", |row| row.1.bytes)
            .integers("measured_bytes", |row| row.1.measured_bytes)
            .integers("max_backlog_bytes", |row| row.1.max_backlog)
            .integers("marks", |row| row.1.marks)
            .integers("drops", |row| row.1.dropped());
        for (cause, name) in DROPS {
            table = table.integers(name, |row| row.1.drops[cause as usize]);
        }
        table
            .integers("messages", |row| row.1.messages())
            .integers("pauses", |row| row.1.pauses)
            .integers("longest_stop_ps", |row| row.1.longest_stop.as_ps())
            .integers("isolated_flows", |row| row.1.isolated_flows)
            .integers("max_isolated_bytes", |row| row.1.max_isolated)
            .table("ports")
    }

    fn queues_table(&self, rows: &[PortRow]) -> Table {
        let topology = &self.plan.network.topology;
        let isolates = self.plan.network.switches.iter().flatten().any(|switch| switch.isolation.is_some());
        Columns::of(rows)
            .integers("start_ps", |row| row.start.as_ps())
            .names("node", self.ends(), |row| topology.link(row.link).from.0)
            .names("to", self.ends(), |row| topology.link(row.link).to.0)
            .integers("link", |row| row.link.0.into())
            .segments(self.plan.segments.as_ref(), |row| row.link)
            .integers("max_backlog_bytes", |row| row.max_backlog)
            .integers_if(isolates, "max_isolated_bytes", |row| row.max_isolated)
            .reals("mean_backlog_bytes", |row| row.mean_backlog)
            .integers("bytes", |row| row.bytes)
            .integers("marks", |row| row.marks)
            .integers("drops", |row| row.drops)
            .integers("messages", |row| row.messages)
            .integers("paused_ps", |row| row.paused.as_ps())
            .table("queues")
    }

    fn links_table(&self, rows: &[PortRow]) -> Table {
        let topology = &self.plan.network.topology;
        let interval = self.plan.record.links.as_ref().map_or(0.0, |(interval, _)| interval.as_secs_f64());
        let utilisation =
            |row: &PortRow| row.bytes as f64 * 8.0 / (topology.link(row.link).wire.rate.as_f64() * interval);
        Columns::of(rows)
            .integers("start_ps", |row| row.start.as_ps())
            .names("from", self.ends(), |row| topology.link(row.link).from.0)
            .names("to", self.ends(), |row| topology.link(row.link).to.0)
            .integers("link", |row| row.link.0.into())
            .segments(self.plan.segments.as_ref(), |row| row.link)
            .integers("packets", |row| row.packets)
            .integers("bytes", |row| row.bytes)
            .reals("utilisation", utilisation)
            .integers("drops", |row| row.drops)
            .table("links")
    }

    fn windows_table(&self, rows: &[WindowRow]) -> Table {
        let group = |row: &WindowRow| self.plan.traffic.flows[row.flow.index()].group.0;
        Columns::of(rows)
            .integers("at_ps", |row| row.at.as_ps())
            .integers("flow", |row| row.flow.0.into())
            .names("group", self.group_names(), group)
            .integers("cwnd_bytes", |row| row.cwnd.get())
            .maybe_integers("pacing_bps", |row| row.pacing.map(BitRate::as_bps))
            .integers("inflight_bytes", |row| row.inflight.get())
            .integers("srtt_ps", |row| row.srtt.as_ps())
            .integers("delivered_bytes", |row| row.delivered.get())
            .integers("retransmitted_bytes", |row| row.retransmitted.get())
            .integers("marked_bytes", |row| row.marked.get())
            .integers("timeouts", |row| row.timeouts)
            .integers("cnps", |row| row.cnps)
            .integers("messages", |row| row.messages)
            .table("windows")
    }

    fn limiters_table(&self, rows: &[LimiterRow]) -> Table {
        Columns::of(rows)
            .integers("at_ps", |row| row.at.as_ps())
            .names("node", self.ends(), |row| row.node.0)
            .integers("limiter", |row| row.limiter.into())
            .integers("rate_bps", |row| row.rate.as_bps())
            .integers("waiting_bytes", |row| row.waiting.get())
            .table("limiters")
    }

    fn isolation_table(&self, rows: &[IsolationRow]) -> Table {
        let links =
            (0..self.ports.len()).map(|link| self.plan.network.topology.link_name(LinkId::from(link)));
        let events = IsolationEvent::NAMES.map(str::to_owned).to_vec();
        Columns::of(rows)
            .integers("at_ps", |row| row.at.as_ps())
            .names("node", self.ends(), |row| row.node.0)
            .names("link", links.collect(), |row| row.link.0)
            .names("event", events, |row| row.event.number() as u32)
            .maybe_integers("flow", |row| row.event.flow().map(|flow| flow.0.into()))
            .table("isolation")
    }

    fn jumboflows_table(&self, rows: &[JumboFlowRow]) -> Table {
        let picoseconds = |span: Span| (span < Span::MAX).then_some(span.as_ps());
        Columns::of(rows)
            .integers("at_ps", |row| row.at.as_ps())
            .names("node", self.ends(), |row| row.node.0)
            .names("to", self.racks_by_number(), |row| row.rack)
            .integers("number", |row| row.number.into())
            .reals("alpha", |row| row.told.alpha)
            .integers("joined", |row| row.told.joined.into())
            .integers("subflows", |row| row.told.subflows.into())
            .integers("throughput_bps", |row| row.told.throughput.as_bps())
            .integers("marked_bytes", |row| row.told.marked)
            .integers("rtt_ps", |row| row.told.rtt.as_ps())
            .maybe_integers("base_rtt_ps", |row| picoseconds(row.told.base_rtt))
            .flags("quiet", |row| row.told.quiet)
            .table("jumboflows")
    }

    /// Names of switches with hosts, in the order that their racks are numbered in.
    fn racks_by_number(&self) -> Vec<String> {
        let topology = &self.plan.network.topology;
        topology.racks().into_iter().map(|node| topology.node(node).name.clone()).collect()
    }

    fn advertised_table(&self, rows: &[AdvertisedRow]) -> Table {
        Columns::of(rows)
            .integers("at_ps", |row| row.at.as_ps())
            .names("node", self.ends(), |row| row.node.0)
            .integers("rate_bps", |row| row.rate.as_bps())
            .integers("queue_bytes", |row| row.queue)
            .table("advertised")
    }

    fn rpcs_table(&self) -> Table {
        Columns::of(&self.rpcs)
            .integers("rpc", |row| row.rpc)
            .names("group", self.group_names(), |row| row.group)
            .names("client", self.host_names(), |row| row.client.0)
            .integers("first_flow", |row| row.first.0.into())
            .integers("fan_out", |row| row.fan_out.into())
            .integers("request_bytes", |row| row.requests.get())
            .integers("response_bytes", |row| row.responses.get())
            .integers("start_ps", |row| row.start.as_ps())
            .maybe_integers("end_ps", |row| row.end.map(Time::as_ps))
            .maybe_integers("time_ps", |row| row.time().map(|time| time.as_ps()))
            .integers("ideal_time_ps", |row| row.ideal.as_ps())
            .maybe_reals("slowdown", |row| row.slowdown())
            .flags("measured", |row| row.measured)
            .table("rpcs")
    }

    fn datagrams_table(&self) -> Table {
        let spec = |flow: narrows_sim::FlowId| &self.plan.traffic.flows[flow.index()];
        let hosts = self.host_names();
        Columns::of(&self.datagrams)
            .integers("flow", |row| row.flow.0.into())
            .names("group", self.group_names(), |row| spec(row.flow).group.0)
            .names("src", hosts.clone(), |row| spec(row.flow).from.0)
            .names("dst", hosts, |row| spec(row.flow).to.0)
            .integers("sent", |row| row.sent)
            .integers("dropped_at_source", |row| row.dropped_at_source)
            .integers("received", |row| row.received)
            .integers("received_bytes", |row| row.received_bytes.get())
            .table("datagrams")
    }
}
