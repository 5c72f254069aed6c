//! Acknowledgments of simulated runs: connections of the controls of `narrows-proto`, with those of the kernel as their shadow.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use narrows::document::Document;
use narrows::plan::Plan;
use narrows::run;
use narrows_proto::cc::custom::Outside;
use narrows_proto::cc::{
    self, Algorithm, Config, Congestion, Controller, Ecn, Limit, Path, Signal, dctcp, gemini,
};
use narrows_proto::units::{Bytes, Span, Time};

use super::core::{Ack, Dctcp, Gemini};
use super::pair::{Bounded, Event, Pair, SEGMENT};
use crate::Parameters;

/// A control of `narrows-proto` that has a shadow.
trait Shadowed: Algorithm<Params: Clone + PartialEq> + Send + 'static {
    type Core: Bounded + Send;
    /// Settings for the kernel, with the limits of slow start of this path.
    fn for_kernel(params: &Self::Params, path: &Path) -> <Self::Core as super::core::Core>::Params;
    /// Counts steps of all connections.
    fn steps() -> &'static AtomicU64;
}

fn for_kernel(config: &Config, path: &Path) -> Parameters {
    let path = crate::Path { link: Some(path.link), packet: path.packet, scale: 1.0 };
    Parameters::new(config, &path).expect("the kernel has it")
}

/// L, and L after a timeout.
fn limits(path: &Path) -> (u32, u32) {
    (path.merged.max(2) as u32, path.merged as u32)
}

impl Shadowed for gemini::Gemini {
    type Core = Gemini;

    fn for_kernel(params: &gemini::Params, path: &Path) -> crate::GeminiParams {
        let Parameters::Gemini(mut params) = for_kernel(&Config::Gemini(params.clone()), path) else {
            unreachable!("it is GEMINI")
        };
        (params.slow_start_limit, params.limit_after_timeout) = limits(path);
        params
    }

    fn steps() -> &'static AtomicU64 {
        static STEPS: AtomicU64 = AtomicU64::new(0);
        &STEPS
    }
}

impl Shadowed for dctcp::Dctcp {
    type Core = Dctcp;

    fn for_kernel(params: &dctcp::Params, path: &Path) -> crate::DctcpParams {
        let Parameters::Dctcp(mut params) = for_kernel(&Config::Dctcp(params.clone()), path) else {
            unreachable!("it is DCTCP")
        };
        (params.slow_start_limit, params.limit_after_timeout) = limits(path);
        params
    }

    fn steps() -> &'static AtomicU64 {
        static STEPS: AtomicU64 = AtomicU64::new(0);
        &STEPS
    }
}

/// The connection as the simulation has it, and a pair that receives the same in whole segments and microseconds.
struct Shadow<A: Shadowed> {
    control: A,
    pair: Pair<A::Core, A>,
    mss: Bytes,
    tied: bool,
}

impl<A: Shadowed> Shadow<A> {
    fn step(&mut self, now: Time, event: Event) {
        if self.tied {
            return;
        }
        self.tied = !self.pair.step(us(now - Time::ZERO), event);
        A::steps().fetch_add(1, Ordering::Relaxed);
    }

    fn segments(&self, amount: Bytes) -> u32 {
        (amount.get() / self.mss.get()) as u32
    }
}

fn us(span: Span) -> u64 {
    span.as_ps() / 1_000_000
}

impl<A: Shadowed> Controller for Shadow<A> {
    fn on_ack(&mut self, ack: &cc::Ack) {
        self.control.on_ack(ack);
        assert_eq!(ack.acked.get() % self.mss.get(), 0, "flows have no end, so segments are full");
        let event = Event::Ack(Ack {
            now_us: us(ack.now - Time::ZERO),
            rtt_us: ack.rtt.map_or(0, |rtt| us(rtt).max(1) as u32),
            srtt_us: us(ack.srtt) as u32,
            acked: self.segments(ack.acked),
            marked: self.segments(ack.marked),
            round_start: ack.round_start.into(),
            cwnd_limited: ack.cwnd_limited.into(),
            in_recovery: ack.in_recovery.into(),
            unused: [0; 5],
        });
        self.step(ack.now, event);
    }

    fn on_congestion(&mut self, now: Time, event: Congestion) {
        self.control.on_congestion(now, event);
        let event = match event {
            Congestion::Loss { flight_size } | Congestion::Mark { flight_size } => {
                Event::Loss { flight: self.segments(flight_size) }
            }
            Congestion::Timeout { flight_size, repeated } => {
                Event::Timeout { flight: self.segments(flight_size), repeated }
            }
            Congestion::Spurious => Event::Spurious,
        };
        self.step(now, event);
    }

    fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        self.control.on_signal(now, signal);
        if let Signal::Handshake { rtt } = *signal {
            self.step(now, Event::Handshake { rtt_us: us(rtt).max(1) as u32 });
        }
    }

    fn limit(&self) -> Limit {
        self.control.limit()
    }
}

impl<A: Shadowed> Algorithm for Shadow<A> {
    type Params = A::Params;
    const SUMMARY: &'static str = A::SUMMARY;
    const SOURCE: &'static str = A::SOURCE;
    const READS_DELAY: bool = A::READS_DELAY;

    fn new(params: &A::Params, path: &Path) -> Self {
        let wide = Path { mss: Bytes::new(SEGMENT), ..*path };
        let window = path.initial_window.get() / path.mss.get();
        let wide = Path { initial_window: Bytes::new(window * SEGMENT), ..wide };
        let pair = Pair::new(A::for_kernel(params, path), window as u32, A::new(params, &wide));
        Self { control: A::new(params, path), pair, mss: path.mss, tied: false }
    }

    fn ecn(params: &A::Params) -> Ecn {
        A::ecn(params)
    }
}

/// Four flows of 100 Mb/s and 10 ms that marks, drops and delays hold back.
const DUMBBELL: &str = r#"
version = 2
name = "shadow"
stop = { after = "10 s" }

[topology.dumbbell]
hosts = 4
host_rate = "1 Gb/s"
bottleneck_rate = "100 Mb/s"
host_delay = "20 us"
bottleneck_delay = "5 ms"

[switches.default]
buffer = { size = "BUFFER", sharing = "complete" }
MARKING

[[traffic]]
name = "bulk"
pattern = { long_lived = { flows = 4 } }
cc = { custom = { name = "shadow", settings = { SETTINGS } } }
transport = { profile = "PROFILE" }
"#;

fn simulate<A: Shadowed>(buffer: &str, marking: &str, settings: &str)
where
    A::Params: serde::de::DeserializeOwned,
{
    let before = A::steps().load(Ordering::Relaxed);
    let text = DUMBBELL.replace("BUFFER", buffer).replace("MARKING", marking).replace("SETTINGS", settings);
    let text = text.replace("PROFILE", "linux-6.12");
    let mut document = Document::parse("shadow.toml", text, FilePath::new(".")).expect("it is TOML");
    document.attach("shadow", Arc::new(Outside::<Shadow<A>>::new("1")));
    let plan = Arc::new(Plan::new(document).expect("it makes sense"));
    run::run(&plan, run::Options::default(), |_| std::ops::ControlFlow::Continue(())).expect("it runs");
    let steps = A::steps().load(Ordering::Relaxed) - before;
    assert!(steps > 10_000, "{steps} steps");
}

const MARKING: &str = r#"marking = { step = { k = "30 kB" } }"#;
const GEMINI: &str = r#"capacity = "100 Mb/s", marking_threshold = "30 kB""#;

#[test]
fn gemini_has_its_shadow_on_acknowledgments_of_simulated_runs() {
    simulate::<gemini::Gemini>("500 kB", MARKING, GEMINI);
    // No marks: delay alone, and then losses.
    simulate::<gemini::Gemini>("500 kB", "", GEMINI);
    simulate::<gemini::Gemini>("20 kB", "", GEMINI);
}

#[test]
fn dctcp_has_its_shadow_on_acknowledgments_of_simulated_runs() {
    simulate::<dctcp::Dctcp>("500 kB", MARKING, "");
    simulate::<dctcp::Dctcp>("20 kB", "", "");
}
