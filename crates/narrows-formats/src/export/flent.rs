//! Recorded senders as a data file of flent, to be plotted with its commands and laid over measured runs.
//!
//! The file pretends to be a run of flent's test `tcp_nup`: one `TCP upload::N` for each recorded flow, their sum, average and
//! fairness, and a ping. The ping is synthetic: the mean of the smoothed round-trip times of the flows.

use std::collections::BTreeMap;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::results::{Staged, Stored, Table, cannot_write};
use narrows_proto::units::Span;
use serde_json::{Map, Value, json};

use super::Written;

/// The version of the format that flent has had since 1.0.
const FORMAT: u32 = 4;
/// The run is said to have begun then; simulated time has no date.
const BEGAN: &str = "1970-01-01T00:00:00.000000Z";

/// A file has a value for each flow at each moment, and there is no use for more than this: flent reads them all at once.
const MOST_VALUES: u64 = 4_000_000;

/// Writes `NAME.flent.gz`.
///
/// # Errors
/// If no windows were recorded or they are too many, the results cannot be read, or the file cannot be written.
pub fn write(stored: &Stored, out: Option<&Path>, overwrite: bool) -> Checked<Written> {
    let name = stored.text("scenario").unwrap_or("narrows");
    let path = out.map_or_else(|| stored.folder.join(format!("{name}.flent.gz")), Path::to_owned);
    let data = data(stored)?;
    let staged = Staged::file(&path, overwrite)?;
    let write = || {
        let mut compressed = GzEncoder::new(staged.handle()?, Compression::default());
        serde_json::to_writer(&mut compressed, &data)?;
        compressed.finish().map(drop)
    };
    write().map_err(|error: std::io::Error| cannot_write(&path, &error))?;
    staged.finish()?;
    let moments = data["x_values"].as_array().map_or(0, Vec::len);
    let flows = data["raw_values"].as_object().map_or(0, Map::len) - 1;
    Ok(Written { path, what: format!("{flows} flows at {moments} moments") })
}

/// Measurements of a flow in one interval.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    delivered: u64,
    srtt_ps: u64,
    cwnd: u64,
    pacing_bps: Option<u64>,
}

/// The data file before it is compressed.
fn data(stored: &Stored) -> Checked<Value> {
    let Some(table) = stored.table("windows", None)?.filter(|table| table.rows() > 0) else {
        let message = format!("{} has no recorded windows", stored.folder.display());
        let help = "add [record.windows] with interval = \"1 ms\" to the scenario and run it again";
        return Err(Diagnostic::error(Code::NotRecorded, message).help(help).into());
    };
    let recorded = stored.summary.get("recorded").and_then(|recorded| recorded.get("windows_interval_ps"));
    let interval = recorded.and_then(Value::as_u64).filter(|interval| *interval > 0).unwrap_or(1_000_000_000);
    let flows = flows(&table, interval);
    let last = flows.values().filter_map(|(_, steps)| steps.keys().next_back()).max().copied().unwrap_or(0);
    let values = last.saturating_add(1).saturating_mul(flows.len() as u64);
    if values > MOST_VALUES {
        let interval = Span::from_ps(interval);
        let message = format!(
            "{} flows at intervals of {interval} are {values} values, at most {MOST_VALUES} go into a file of flent",
            flows.len()
        );
        let help = "record windows of fewer flows, or at longer intervals";
        return Err(Diagnostic::error(Code::OutOfRange, message).help(help).into());
    }
    let seconds = |step: u64| (step as f64 * interval as f64) / 1e12;
    let x_values: Vec<f64> = (0..=last).map(seconds).collect();

    let (mut results, mut raw_values, mut series) = (Map::new(), Map::new(), Map::new());
    let (mut rates, mut pings) = (Vec::new(), vec![Vec::new(); x_values.len()]);
    for (number, (flow, (group, steps))) in flows.iter().enumerate() {
        let name = format!("TCP upload::{}", number + 1);
        let mut raw = Vec::new();
        let mut before = 0;
        let mut rate = vec![None; x_values.len()];
        for (step, state) in steps {
            let bytes = state.delivered.saturating_sub(before);
            before = state.delivered;
            let megabits = bytes as f64 * 8.0 / seconds(1) / 1e6;
            rate[*step as usize] = Some(megabits);
            pings[*step as usize].extend((state.srtt_ps > 0).then_some(state.srtt_ps as f64 / 1e9));
            let mut values = json!({
                "t": seconds(*step), "dur": seconds(1), "val": megabits,
                "tcp_cwnd": state.cwnd, "tcp_rtt": state.srtt_ps as f64 / 1e9,
                "tcp_delivery_rate": megabits,
            });
            if let (Some(rate), Some(values)) = (state.pacing_bps, values.as_object_mut()) {
                values.insert("tcp_pacing_rate".into(), json!(rate as f64 / 1e6));
            }
            raw.push(values);
        }
        series.insert(
            name.clone(),
            json!({ "UNITS": "Mbits/s", "NARROWS_FLOW": flow, "NARROWS_GROUP": group }),
        );
        results.insert(name.clone(), json!(rate));
        raw_values.insert(name, Value::Array(raw));
        rates.push(rate);
    }
    let at = |step: usize| rates.iter().filter_map(move |rate| rate[step]).collect::<Vec<_>>();
    let over_flows = |value: &dyn Fn(&[f64]) -> f64| -> Value {
        let value = |step| Some(at(step)).filter(|rates| !rates.is_empty()).map(|rates| value(&rates));
        json!((0..x_values.len()).map(value).collect::<Vec<_>>())
    };
    results.insert("TCP upload sum".into(), over_flows(&|rates| rates.iter().sum()));
    results.insert("TCP upload avg".into(), over_flows(&mean));
    results.insert("TCP upload fairness".into(), over_flows(&fairness));
    let ping: Vec<_> = pings.iter().map(|pings| (!pings.is_empty()).then(|| mean(pings))).collect();
    let raw_ping =
        x_values.iter().zip(&ping).filter_map(|(t, ping)| Some(json!({ "t": t, "val": (*ping)? })));
    raw_values.insert("Ping (ms) ICMP".into(), raw_ping.collect());
    results.insert("Ping (ms) ICMP".into(), json!(ping));
    series.insert("Ping (ms) ICMP".into(), json!({ "UNITS": "ms" }));
    Ok(json!({
        "version": FORMAT,
        "metadata": metadata(stored, &series, &x_values, seconds(1), flows.len()),
        "x_values": x_values,
        "results": results,
        "raw_values": raw_values,
    }))
}

/// By flow: its group, and what it did by interval.
fn flows(table: &Table, interval: u64) -> BTreeMap<u64, (String, BTreeMap<u64, Step>)> {
    let (groups, names) = table.names("group");
    let pacing = table.maybe_integers("pacing_bps");
    let mut flows: BTreeMap<u64, (String, BTreeMap<u64, Step>)> = BTreeMap::new();
    for (row, (at, flow)) in table.integers("at_ps").iter().zip(table.integers("flow")).enumerate() {
        let value = |column: &str| table.integers(column).get(row).copied().unwrap_or_default();
        let group = || groups.get(row).and_then(|group| names.get(*group as usize)).cloned();
        let (_, steps) = flows.entry(*flow).or_insert_with(|| (group().unwrap_or_default(), BTreeMap::new()));
        steps.insert(
            at / interval,
            Step {
                delivered: value("delivered_bytes"),
                srtt_ps: value("srtt_ps"),
                cwnd: value("cwnd_bytes"),
                pacing_bps: pacing.get(row).copied().flatten(),
            },
        );
    }
    flows
}

fn metadata(
    stored: &Stored,
    series: &Map<String, Value>,
    x_values: &[f64],
    step: f64,
    flows: usize,
) -> Value {
    json!({
        "NAME": "tcp_nup",
        "TITLE": stored.text("scenario"),
        "NOTE": format!("simulated by narrows {}, seed {}", stored.version(), stored.seed()),
        "DATA_FILENAME": null,
        "TIME": BEGAN,
        "T0": BEGAN,
        "LENGTH": x_values.last(),
        "TOTAL_LENGTH": x_values.last().map(|last| last + step),
        "STEP_SIZE": step,
        "DELAY": 0,
        "HOST": "narrows",
        "HOSTS": ["narrows"],
        "LOCAL_HOST": "narrows",
        "IP_VERSION": 4,
        "TEST_PARAMETERS": { "upload_streams": flows.to_string() },
        "NARROWS_COMPLETE": stored.is_complete(),
        "SERIES_META": series,
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Jain's index; 1 if nobody has anything.
fn fairness(values: &[f64]) -> f64 {
    let (sum, squares): (f64, f64) = (values.iter().sum(), values.iter().map(|value| value * value).sum());
    if squares > 0.0 { sum * sum / (values.len() as f64 * squares) } else { 1.0 }
}
