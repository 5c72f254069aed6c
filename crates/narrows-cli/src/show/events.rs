//! Events of runs: how often they happened, who was paused, which flows have not finished.

use narrows::numbers::{counted, grouped, number};
use narrows::report::{Cell, PausedPort, Pauses, Root};
use narrows::results::Activity;
use narrows_proto::units::{Bytes, Span};

/// All of it.
pub fn events(cells: &[Cell]) -> String {
    activity(cells) + &pauses(cells) + &unfinished(cells)
}

/// Events of each cell, and those that never happened.
fn activity(cells: &[Cell]) -> String {
    let mut text = String::new();
    let sums: Vec<_> = cells.iter().map(Cell::activity).collect();
    for (cell, sums) in cells.iter().zip(&sums) {
        let happened = sums.iter().filter(|activity| activity.times > 0);
        let happened: Vec<_> =
            happened.map(|Activity { what, times }| format!("{what} {}", grouped(*times as i64))).collect();
        let name = if cells.len() > 1 { format!("  active, {}: ", cell.name) } else { "  active: ".into() };
        let happened = if happened.is_empty() { "nothing on the list".into() } else { happened.join(" · ") };
        text.push_str(&format!("{name}{happened}\n"));
    }
    let happened = |what: &str| sums.iter().flatten().any(|sum| sum.what == what && sum.times > 0);
    let mut never: Vec<&str> = Vec::new();
    for sum in sums.iter().flatten().filter(|sum| !happened(&sum.what)) {
        if !never.contains(&sum.what.as_ref()) {
            never.push(&sum.what);
        }
    }
    if !never.is_empty() {
        text.push_str(&format!("  never happened: {}\n", never.join(", ")));
    }
    text
}

/// More paused ports or roots than this are not shown.
const PAUSED: usize = 4;

/// Ports that were paused in each cell with its first seed, and the queues that this began with; nothing if there are none.
fn pauses(cells: &[Cell]) -> String {
    let mut text = String::new();
    for cell in cells {
        let run = &cell.runs[0];
        let Pauses { ports, roots } = &run.pauses;
        let seed = if cell.runs.len() > 1 { format!(", seed {}", run.seed) } else { String::new() };
        let of = if cells.len() > 1 { format!(", {}", cell.name) } else { String::new() };
        let mut line = |what: &str, all: usize, shown: Vec<String>| {
            if all > 0 {
                let more =
                    if all > PAUSED { format!(" · and {} more", all - PAUSED) } else { String::new() };
                text.push_str(&format!("  {what}{of}{seed}: {}{more}\n", shown.join(" · ")));
            }
        };
        let port = |port: &PausedPort| {
            let (paused, share) =
                (Span::from_ps(port.paused_ps), number((port.share * 1000.0).round() / 10.0));
            format!("{} by {} for {paused:.1} ({share} %)", port.from, port.to)
        };
        line("paused", ports.len(), ports.iter().take(PAUSED).map(port).collect());
        let root = |root: &Root| {
            let queue = Bytes::new(root.max_backlog_bytes);
            let pauses = counted(root.pauses as usize, "pause");
            format!("{}, which sent {pauses}: its queue to {} had up to {queue:.1}", root.from, root.to)
        };
        line("pauses begin at", roots.len(), roots.iter().take(PAUSED).map(root).collect());
    }
    text
}

/// Numbers of unfinished flows, and of remote procedure calls if there are any: `0 of 3 200`, by cell.
fn unfinished(cells: &[Cell]) -> String {
    let sum = |cell: &Cell, name: &str| -> Option<f64> { cell.runs.iter().map(|run| run.metric(name)).sum() };
    let line = |what: &str, left: &str, all: &str| {
        let each = |cell: &Cell| {
            let (left, all) = sum(cell, left).zip(sum(cell, all))?;
            Some(format!("{} of {}", grouped(left as i64), grouped(all as i64)))
        };
        let each: Vec<_> = cells.iter().map(|cell| each(cell).unwrap_or_else(|| "none".into())).collect();
        format!("  unfinished {what}: {}\n", each.join(" · "))
    };
    let mut text = line("flows", "total.unfinished", "total.flows");
    if cells.iter().any(|cell| sum(cell, "total.rpcs").is_some()) {
        text.push_str(&line("RPCs", "total.unfinished_rpcs", "total.rpcs"));
    }
    text
}
