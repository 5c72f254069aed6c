//! Runs whose results tests read.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows::diagnostic::Checked;
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::results::{Output, Stored};
use narrows::run::{Options, run};
use narrows_formats::export::Written;
use narrows_formats::export::trace::{Format, Request, Tracing};
use narrows_proto::units::Time;
use tempfile::TempDir;

/// Streams that lose packets at a bottleneck, over a link with errors; node names that need care.
pub(crate) const STREAMS: &str = r#"
version = 1
name = "lossy"
stop = { after = "20 ms", drain = "400 ms" }

[topology.explicit]
hosts = ["say \"hi\"", "semi; colon", "größe/1", "d"]
switches = [{ name = "s0, next" }, { name = "s1" }]
links = [
    { between = ["say \"hi\"", "s0, next"], rate = "1 Gb/s", delay = "5 us" },
    { between = ["semi; colon", "s0, next"], rate = "1 Gb/s", delay = "5 us" },
    { between = ["s0, next", "s1"], rate = "100 Mb/s", delay = "20 us" },
    { between = ["s1", "größe/1"], rate = "1 Gb/s", delay = "5 us", error_rate = 0.01 },
    { between = ["s1", "d"], rate = "1 Gb/s", delay = "5 us" },
]

[switches.default]
buffer = { size = "20 kB", sharing = "complete" }
marking = { step = { k = "10 kB" } }

[transport]
min_rto = "5 ms"

[[traffic]]
name = "reno"
pattern = { long_lived = { flows = 1, from = ["say*"], to = ["größe*"], size = "200 kB" } }
cc = { reno = {} }

[[traffic]]
name = "dctcp"
pattern = { long_lived = { flows = 1, from = ["semi*"], to = ["d"], size = "200 kB" } }
cc = { dctcp = {} }

[record]
windows = { interval = "500 us" }
"#;

/// RDMA with priority-based flow control, and datagrams.
pub(crate) const RDMA: &str = r#"
version = 1
name = "lossless"
stop = { after = "1 ms", drain = "20 ms" }
topology.star = { hosts = 4, rate = "10 Gb/s", delay = "1 us" }

[switches.default]
buffer = { size = "1 MB", sharing = "complete" }
pfc = { xoff = { fixed = "20 kB" } }
marking = { step = { k = "10 kB" } }

[[traffic]]
name = "incast"
rdma = {}
pattern = { incast = { fan_in = 3, size = "100 kB", times = 1, period = "1 ms", to = "host0" } }
cc = { dcqcn = {} }
"#;

/// A scenario, whose files are in `folder`.
pub(crate) fn planned(scenario: &str, folder: &Path) -> Arc<Plan> {
    let document = Document::parse("test.toml", scenario, folder).unwrap();
    Arc::new(Plan::new(document).unwrap_or_else(|error| panic!("{error}")))
}

/// A folder with the results of a scenario; ended early if `hops` is given.
pub(crate) fn stored(scenario: &str, hops: Option<u64>) -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("out");
    let plan = planned(scenario, place.path());
    let results = run(&plan, Options::default(), |progress| match hops {
        Some(hops) if progress.packet_hops >= hops => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .unwrap();
    let output = Output::begin(&folder, false).unwrap();
    output.write(&results, "").unwrap();
    output.finish().unwrap();
    (place, folder)
}

/// Everything at all ports.
pub(crate) fn request(format: Format) -> Request {
    Request {
        format,
        flows: Vec::new(),
        ports: vec!["*".into()],
        from: Time::ZERO,
        until: Time::NEVER,
        limit: 1_000_000,
        out: None,
        overwrite: false,
        files: None,
    }
}

pub(crate) fn trace(folder: &Path, request: &Request) -> Checked<Written> {
    let stored = Stored::open(folder)?;
    let written = Tracing::prepare(&stored, request)?.run(|_| ControlFlow::Continue(()))?;
    Ok(written.expect("nobody interrupts"))
}

/// Names in a folder, in order; hidden ones too.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
