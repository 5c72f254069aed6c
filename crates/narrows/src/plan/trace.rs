//! Flow traces: start,src,dst,bytes.

use std::collections::BTreeMap;
use std::path::Path;

use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::topology::Topology;
use narrows_sim::traffic::FlowSpec;
use narrows_sim::{GroupId, HostId};

use crate::csv_file::{Field, Table};
use crate::diagnostic::{Checked, Code, Diagnostic};

/// Reads the flows of a trace. Times are relative to `start`.
///
/// # Errors
/// If the file or a row cannot be read, or names a host that does not exist, or there are more than `most` rows.
pub(super) fn read(
    path: &Path,
    topology: &Topology,
    group: GroupId,
    start: Time,
    most: u64,
) -> Checked<Vec<FlowSpec>> {
    from_table(&Table::read(path)?, topology, group, start, most)
}

/// Reads the flows of a trace called `name`, CSV with the columns start,src,dst,bytes, between the hosts of `topology`.
/// Times are relative to `start`.
///
/// # Errors
/// If a row cannot be read, or names a host that does not exist.
pub fn parse_trace(
    name: &str,
    text: String,
    topology: &Topology,
    group: GroupId,
    start: Time,
) -> Checked<Vec<FlowSpec>> {
    from_table(&Table::new(name, text), topology, group, start, u64::MAX)
}

const COLUMNS: [&str; 4] = ["start", "src", "dst", "bytes"];

fn from_table(
    table: &Table,
    topology: &Topology,
    group: GroupId,
    start: Time,
    most: u64,
) -> Checked<Vec<FlowSpec>> {
    let names: BTreeMap<&str, HostId> =
        (0..topology.hosts().len()).map(HostId::from).map(|host| (topology.host_name(host), host)).collect();
    let host = |field: &Field<'_>| {
        let number = field.text.parse::<usize>().ok().filter(|number| *number < topology.hosts().len());
        let host = names.get(field.text).copied().or(number.map(HostId::from));
        host.ok_or_else(|| {
            let unknown = field.error(format!("no host is called \"{}\"", field.text));
            let unknown = Diagnostic { code: Code::UnknownName, ..unknown };
            unknown.known(field.text, names.keys().copied())
        })
    };
    let mut flows = Vec::new();
    for row in table.rows(COLUMNS) {
        let [at, from, to, bytes] = row?;
        let flow = FlowSpec {
            from: host(&from)?,
            to: host(&to)?,
            group,
            start: start + time(&at)?,
            size: size(&bytes)?,
        };
        if flows.len() as u64 >= most {
            return Err(at
                .error(format!("more than {most} flows, which is the most that can be simulated"))
                .into());
        }
        if flow.from == flow.to {
            return Err(to.error(format!("a flow from \"{}\" to itself", to.text)).into());
        }
        flows.push(flow);
    }
    Ok(flows)
}

/// A time with a unit, or a bare number of seconds.
fn time(field: &Field<'_>) -> Checked<Span> {
    let bare = field.text.parse::<f64>().is_ok();
    let text = if bare { format!("{} s", field.text) } else { field.text.to_owned() };
    Ok(text.parse::<Span>().map_err(|error| field.error(error.to_string()))?)
}

/// A size with a unit, or a bare number of bytes.
fn size(field: &Field<'_>) -> Checked<Bytes> {
    let bare = field.text.bytes().all(|byte| byte.is_ascii_digit()) && !field.text.is_empty();
    let text = if bare { format!("{} B", field.text) } else { field.text.to_owned() };
    let size = text.parse::<Bytes>().map_err(|error| field.error(error.to_string()))?;
    if size == Bytes::ZERO || size > super::traffic::ENDLESS {
        return Err(field
            .error(format!("a flow of {size}, expected 1 B to {}", super::traffic::ENDLESS))
            .into());
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::BitRate;
    use narrows_sim::topology::Star;

    use super::*;

    fn parse(text: &str) -> Checked<Vec<FlowSpec>> {
        let mut topology = Topology::default();
        Star { hosts: 3, rate: BitRate::from_gbps(1), delay: Span::from_us(1) }.build(&mut topology, "");
        parse_trace("t.csv", text.into(), &topology, GroupId(0), Time::ZERO)
    }

    #[test]
    fn names_and_numbers_units_and_bare_numbers_are_read() {
        let flows = parse("start,src,dst,bytes\n0.000001,host0,host2,1000\n5 us,0,2,2 kB\n").unwrap();
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

    fn nearest() -> &'static str {
        crate::diagnostic::nearest("host9", ["host0", "host1", "host2"]).unwrap()
    }
}
