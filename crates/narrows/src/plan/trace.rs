//! Flow traces: start,src,dst,bytes, and where flows wait for others also id,after.

mod after;

use std::collections::BTreeMap;

use narrows_proto::units::{Span, Time};
use narrows_sim::topology::Topology;
use narrows_sim::traffic::{Dependent, FlowSpec};
use narrows_sim::{GroupId, HostId};

use self::after::Waits;
use crate::csv_file::{Field, Table};
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::inputs::Content;
use crate::sizes::flow_size;

/// The flows of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceFlows {
    /// One for each row.
    pub flows: Vec<FlowSpec>,
    /// Those that wait for others, which they name by their place in `flows`. Their flow starts at [`Time::NEVER`] otherwise.
    pub dependents: Vec<Dependent>,
}

/// Reads the flows of a trace. Times are relative to `start`.
///
/// # Errors
/// If a row cannot be read, or names a host that does not exist, or there are more than `most` rows.
pub(super) fn read(
    content: &Content,
    topology: &Topology,
    group: GroupId,
    start: Time,
    most: u64,
) -> Checked<TraceFlows> {
    from_table(&Table::of(content.source()), topology, group, start, most)
}

/// Reads the flows of a trace called `name`, CSV with the columns start,src,dst,bytes, between the hosts of `topology`.
/// Times are relative to `start`. With two more columns, id and after, flows have names and may wait for others; the start of
/// one that waits is how long after them.
///
/// # Errors
/// If a row cannot be read, or names a host or a flow that does not exist.
pub fn parse_trace(
    name: &str,
    text: String,
    topology: &Topology,
    group: GroupId,
    start: Time,
) -> Checked<TraceFlows> {
    from_table(&Table::new(name, text), topology, group, start, u64::MAX)
}

const COLUMNS: [&str; 4] = ["start", "src", "dst", "bytes"];
const COLUMNS_WITH_AFTER: [&str; 6] = ["start", "src", "dst", "bytes", "id", "after"];

fn from_table(
    table: &Table,
    topology: &Topology,
    group: GroupId,
    start: Time,
    most: u64,
) -> Checked<TraceFlows> {
    let hosts = Hosts::new(topology);
    let mut flows = Vec::new();
    if table.width() != COLUMNS_WITH_AFTER.len() {
        for row in table.rows(COLUMNS) {
            let [at, from, to, bytes] = row?;
            check_room(flows.len(), most, &at)?;
            flows.push(FlowSpec { start: start + time(&at)?, ..hosts.flow(&from, &to, &bytes, group)? });
        }
        return Ok(TraceFlows { flows, dependents: Vec::new() });
    }
    let mut waits = Waits::default();
    for row in table.rows(COLUMNS_WITH_AFTER) {
        let [at, from, to, bytes, id, after] = row?;
        check_room(flows.len(), most, &at)?;
        let (waited, flow) = (time(&at)?, hosts.flow(&from, &to, &bytes, group)?);
        waits.name(flows.len(), id)?;
        let begins = if after.text.is_empty() {
            start + waited
        } else {
            waits.wait(flows.len(), waited, after);
            Time::NEVER
        };
        flows.push(FlowSpec { start: begins, ..flow });
    }
    let dependents = waits.resolve(flows.len())?;
    Ok(TraceFlows { flows, dependents })
}

fn check_room(flows: usize, most: u64, at: &Field<'_>) -> Checked<()> {
    if flows as u64 >= most {
        let message = format!("more than {most} flows, which is the most that can be simulated");
        return Err(at.error(message).into());
    }
    Ok(())
}

/// Hosts by name and number.
struct Hosts<'a> {
    names: BTreeMap<&'a str, HostId>,
    count: usize,
}

impl<'a> Hosts<'a> {
    fn new(topology: &'a Topology) -> Self {
        let count = topology.hosts().len();
        let names = (0..count).map(HostId::from).map(|host| (topology.host_name(host), host)).collect();
        Self { names, count }
    }

    fn find(&self, field: &Field<'_>) -> Checked<HostId> {
        let number = field.text.parse::<usize>().ok().filter(|number| *number < self.count);
        let host = self.names.get(field.text).copied().or(number.map(HostId::from));
        Ok(host.ok_or_else(|| {
            let unknown = field.error(format!("no host is called \"{}\"", field.text));
            let unknown = Diagnostic { code: Code::UnknownName, ..unknown };
            unknown.known(field.text, self.names.keys().copied())
        })?)
    }

    /// A flow, whose start is left open.
    fn flow(&self, from: &Field<'_>, to: &Field<'_>, bytes: &Field<'_>, group: GroupId) -> Checked<FlowSpec> {
        let start = Time::NEVER;
        let flow =
            FlowSpec { from: self.find(from)?, to: self.find(to)?, group, start, size: flow_size(bytes)? };
        if flow.from == flow.to {
            return Err(to.error(format!("a flow from \"{}\" to itself", to.text)).into());
        }
        Ok(flow)
    }
}

/// A time with a unit, or a bare number of seconds.
fn time(field: &Field<'_>) -> Checked<Span> {
    let bare = field.text.parse::<f64>().is_ok();
    let text = if bare { format!("{} s", field.text) } else { field.text.to_owned() };
    Ok(text.parse::<Span>().map_err(|error| field.error(error.to_string()))?)
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::{BitRate, Bytes};
    use narrows_sim::topology::Star;
    use narrows_sim::traffic::Milestone;

    use super::*;

    fn parse(text: &str) -> Checked<TraceFlows> {
        let mut topology = Topology::default();
        Star { hosts: 3, rate: BitRate::from_gbps(1), delay: Span::from_us(1) }.build(&mut topology, "");
        parse_trace("t.csv", text.into(), &topology, GroupId(0), Time::ZERO)
    }

    #[test]
    fn names_and_numbers_units_and_bare_numbers_are_read() {
        let flows = parse("start,src,dst,bytes\n0.000001,host0,host2,1000\n5 us,0,2,2 kB\n").unwrap().flows;
        assert_eq!([flows[0].start, flows[1].start], [1, 5].map(|us| Time::ZERO + Span::from_us(us)));
        assert_eq!((flows[0].from, flows[1].to), (HostId(0), HostId(2)));
        assert_eq!([flows[0].size, flows[1].size], [1000, 2000].map(Bytes::new));
    }

    #[test]
    fn a_bad_row_is_shown_with_line_and_column() {
        let error = |text: &str| parse(text).expect_err("refused").to_string();
        assert_eq!(
            error("0,host0,host1,10\n1,host9,host1,10\n"),
            "t.csv:2:3  no host is called \"host9\"\n  did you mean \"host0\"? known: host0, host1, host2"
                .replace("\"host0\"?", &format!("\"{}\"?", nearest()))
        );
        assert_eq!(error("0,host0,host0,10\n"), "t.csv:1:9  a flow from \"host0\" to itself");
        assert_eq!(error("0,host0,host1,0\n"), "t.csv:1:15  a flow of 0 B, expected 1 B to 1048576 TiB");
        assert!(error("-1,host0,host1,5\n").starts_with("t.csv:1:1  \"-1 s\" is negative"));
        assert!(error("0,host0,host1,5 apples\n").contains("unknown unit \"apples\""));
    }

    #[test]
    fn flows_may_wait_for_all_or_some_of_others_in_any_order() {
        let text = "start,src,dst,bytes,id,after\n0,0,1,10,a,\n1 us,1,2,10,b,a\n0,1,0,10,c,2 of a b d\n\
                    5 us,2,0,10,d,sent:b a\n";
        let TraceFlows { flows, dependents } = parse(text).unwrap();
        assert_eq!(flows[0].start, Time::ZERO);
        assert!(flows[1..].iter().all(|flow| flow.start == Time::NEVER));
        let after = |number: usize| {
            let flows = dependents[number].after.iter().map(|(flow, milestone)| (flow.0, *milestone));
            flows.collect::<Vec<_>>()
        };
        let received = |flow| (flow, Milestone::Received);
        assert_eq!(after(0), [received(0)]);
        assert_eq!(after(1), [received(0), received(1), received(3)]);
        assert_eq!(after(2), [(1, Milestone::Sent), received(0)]);
        assert_eq!(dependents.iter().map(|waits| waits.needs).collect::<Vec<_>>(), [1, 2, 2]);
        assert_eq!(dependents[2].delay, Span::from_us(5));
    }

    #[test]
    fn what_can_never_start_is_refused() {
        let error = |rows: &str| {
            let text = format!("start,src,dst,bytes,id,after\n{rows}");
            parse(&text).expect_err("refused").to_string()
        };
        assert_eq!(
            error("0,0,1,10,ring,\n0,1,2,10,b,rin\n"),
            "t.csv:3:12  no flow has the id \"rin\"\n  did you mean \"ring\"? known: b, ring"
        );
        assert_eq!(error("0,0,1,10,a,\n0,1,2,10,a,\n"), "t.csv:3:10  two flows have the id \"a\"");
        assert_eq!(
            error("0,0,1,10,a,b\n0,1,2,10,b,a\n"),
            "t.csv:2:12  the flow waits for something that never happens: in the end it waits for itself"
        );
        assert_eq!(
            error("0,0,1,10,a,\n0,1,2,10,b,3 of a\n"),
            "t.csv:3:12  3 of 1 can never happen, expected 1 to 1"
        );
        assert_eq!(
            error("0,0,1,10,a,\n0,1,2,10,b,1 of \n"),
            "t.csv:3:12  1 of 0 can never happen, expected the ids of other flows"
        );
        assert!(error("0,0,1,10,a,\n0,1,2,10,b,a a\n").starts_with("t.csv:3:14  \"a\" stands here twice"));
    }

    fn nearest() -> &'static str {
        crate::diagnostic::nearest("host9", ["host0", "host1", "host2"]).unwrap()
    }
}
