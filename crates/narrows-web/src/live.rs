//! A run while it goes on: the data of `narrows run --watch`.

use narrows::live::{ActivityRow, GroupRow, LinkRow, Monitor, Order, QueueRow, WindowRow};
use serde_json::{Value, json};

/// Rows of each table.
const ROWS: usize = 40;
/// Flows whose windows are shown.
const WINDOWS: usize = 6;

pub(crate) fn view(monitor: &Monitor) -> Value {
    let speed = monitor.speed();
    json!({
        "at_ps": monitor.at().as_ps(),
        "end_ps": monitor.end().as_ps(),
        "done": monitor.done(),
        "speed": { "simulated": speed.simulated, "packets": speed.packets },
        "left_s": monitor.left().map(|left| left.as_secs_f64()),
        "queues": table(monitor.queues(Order::Now, 0..ROWS), queue),
        "links": table(monitor.links(Order::Now, 0..ROWS), link),
        "groups": table(monitor.groups(Order::Listed, 0..ROWS), group),
        "windows": monitor.windows(WINDOWS).into_iter().map(window).collect::<Vec<_>>(),
        "activity": table(monitor.activity(Order::Ever, 0..ROWS), activity),
    })
}

fn table<T>((rows, all): (Vec<T>, usize), row: fn(T) -> Value) -> Value {
    json!({ "all": all, "rows": rows.into_iter().map(row).collect::<Vec<_>>() })
}

fn queue(row: QueueRow) -> Value {
    let QueueRow { name, backlog, most, peak, isolated, isolates, paused, marks, drops, history } = row;
    json!({
        "name": name, "backlog": backlog, "most": most, "peak": peak, "isolated": isolated, "isolates": isolates,
        "paused": paused, "marks": marks, "drops": drops, "history": history,
    })
}

fn link(row: LinkRow) -> Value {
    let LinkRow { name, rate, utilization, mean_utilization, carried, drops, paused } = row;
    json!({
        "name": name, "rate_bps": rate.as_bps(), "utilization": utilization, "mean_utilization": mean_utilization,
        "carried_bytes": carried.get(), "drops": drops, "paused": paused,
    })
}

fn group(row: GroupRow) -> Value {
    let GroupRow { name, control, rate, active, finished, delivered, fct } = row;
    json!({
        "name": name, "control": control, "rate_bps": rate, "active": active, "finished": finished,
        "delivered_bytes": delivered.get(), "fct_ps": fct.map(|(p50, p99)| [p50.as_ps(), p99.as_ps()]),
    })
}

fn window(WindowRow { name, cwnd }: WindowRow) -> Value {
    json!({ "name": name, "cwnd_bytes": cwnd.get() })
}

fn activity(row: ActivityRow) -> Value {
    let ActivityRow { what, times, since } = row;
    json!({ "what": what, "times": times, "since": since })
}
