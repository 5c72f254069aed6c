//! Congestion controls of quinn and of Narrows on the same path: what each carries alone, and beside a simulated flow.

mod tls;

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::Arc;

use narrows::document::Document;
use narrows::plan::Plan;
use narrows_net::{Net, QuicEndpoint, Results, Span, Time};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{Connection, ConnectionHandle, Dir, Endpoint, Event, StreamId, TransportConfig};

/// From one data center to the other.
const ENDS: [&str; 2] = ["dc0/rack0/host0", "dc1/rack0/host0"];

/// Settings with the control of quinn that Narrows has under this name.
pub(crate) fn under(name: &str) -> TransportConfig {
    let control: Arc<dyn ControllerFactory + Send + Sync> = match name {
        "cubic" => Arc::new(CubicConfig::default()),
        "reno" => Arc::new(NewRenoConfig::default()),
        _ => Arc::new(BbrConfig::default()),
    };
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(control);
    transport
}

/// A client that sends as much as it can to a server, both of quinn-proto.
pub(crate) struct Transfer {
    net: Net,
    pub(crate) client: QuicEndpoint,
    pub(crate) server: QuicEndpoint,
    handle: ConnectionHandle,
    sends: Option<StreamId>,
    accepted: Option<ConnectionHandle>,
    receives: Option<StreamId>,
    /// Bytes that have arrived in order.
    pub(crate) received: u64,
}

impl Transfer {
    pub(crate) fn new(net: &Net, transport: TransportConfig) -> Result<Self, Box<dyn Error>> {
        let (config, tls) = (Arc::new(tls::endpoint(1)), tls::server(TransportConfig::default()));
        let [client, server] = ENDS.map(|host| net.bind(host, 4433));
        let (client, server) = (client?, server?);
        let to = server.address();
        let server =
            QuicEndpoint::new(server, Endpoint::new(config.clone(), Some(Arc::new(tls)), true, None));
        let mut client = QuicEndpoint::new(client, Endpoint::new(config, None, true, None));
        let handle = client.connect(tls::client(transport), to, tls::NAME)?;
        let net = net.clone();
        Ok(Self { net, client, server, handle, sends: None, accepted: None, receives: None, received: 0 })
    }

    /// The sender's end.
    pub(crate) fn connection(&mut self) -> &mut Connection {
        self.client.connection(self.handle).expect("nobody closes it")
    }

    /// Goes on until `at`.
    pub(crate) fn run(&mut self, at: Time) -> Result<(), narrows_net::Error> {
        while self.net.step(&mut [&mut self.client, &mut self.server], at)? {
            self.serve();
        }
        Ok(())
    }

    /// Does what programs at both ends do between two steps.
    pub(crate) fn serve(&mut self) {
        self.send();
        self.receive();
    }

    /// Writes as much as the stream takes.
    fn send(&mut self) {
        while let Some((_, event)) = self.client.next_event() {
            if matches!(event, Event::Connected) {
                self.sends = self.connection().streams().open(Dir::Uni);
            }
        }
        if let Some(stream) = self.sends {
            let mut stream = self.connection().send_stream(stream);
            while stream.write(&[0; 1 << 14]).is_ok() {}
        }
    }

    /// Reads what there is.
    fn receive(&mut self) {
        while let Some((handle, _)) = self.server.next_event() {
            self.accepted = Some(handle);
        }
        let Some(connection) = self.accepted.and_then(|handle| self.server.connection(handle)) else {
            return;
        };
        self.receives = self.receives.or_else(|| connection.streams().accept(Dir::Uni));
        let Some(stream) = self.receives else { return };
        let mut stream = connection.recv_stream(stream);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.received += chunk.bytes.len() as u64;
        }
        let _ = chunks.finalize();
    }
}

/// The path with a flow under `beside`, or with next to nothing, and one under `ours`, if there is to be one.
pub(crate) fn scenario(beside: Option<&str>, ours: Option<&str>) -> Result<Arc<Plan>, Box<dyn Error>> {
    let mut document = Document::parse("two-dc.toml", include_str!("two-dc.toml"), "")?;
    let flow = |name: &str, rack: u32, cc: &str| {
        let pattern =
            format!("long_lived = {{ from = ['dc0/rack{rack}/host0'], to = ['dc1/rack{rack}/host0'] }}");
        format!("{{ name = '{name}', pattern = {{ {pattern} }}, cc = {{ {cc} = {{}} }} }}")
    };
    let one = "incast = { fan_in = 1, size = '1 kB', times = 1, period = '1 s', from = ['dc0/rack1/host0'], to = 'dc1/rack1/host0' }";
    let nothing = format!("{{ name = 'nothing', pattern = {{ {one} }}, cc = {{ cubic = {{}} }} }}");
    let groups = [beside.map(|cc| flow("beside", 1, cc)), ours.map(|cc| flow("ours", 0, cc))];
    let groups: Vec<_> = groups.into_iter().flatten().collect();
    let groups = if groups.is_empty() { nothing } else { groups.join(", ") };
    document.set(&format!("traffic=[{groups}]"))?;
    document.set("measure={ from = \"2 s\" }")?;
    Ok(Arc::new(Plan::new(document)?))
}

/// Rate of a flow, and all else.
struct Found {
    mbps: f64,
    results: Results,
}

fn of_quinn(name: &str, beside: Option<&str>) -> Result<Found, Box<dyn Error>> {
    let net = Net::new(&scenario(beside, None)?, &ENDS)?;
    let mut transfer = Transfer::new(&net, under(name))?;
    let from = Time::ZERO + Span::from_secs(2);
    transfer.run(from)?;
    let before = transfer.received;
    transfer.run(net.end())?;
    let seconds = (net.end() - from).as_secs_f64();
    let mbps = (transfer.received - before) as f64 * 8e-6 / seconds;
    drop(transfer);
    Ok(Found { mbps, results: net.finish()? })
}

fn of_narrows(name: &str, beside: Option<&str>) -> Result<Found, Box<dyn Error>> {
    let plan = scenario(beside, Some(name))?;
    let results = narrows::run::run(&plan, Default::default(), |_| ControlFlow::Continue(()))?;
    let mbps = results.metric("ours.goodput_gbps").unwrap_or_default() * 1e3;
    Ok(Found { mbps, results })
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("Mb/s from 2 s to 20 s, those of the flow beside it, and packets dropped in 20 s\n");
    println!("| control | beside | quinn | the other | drops | Narrows | the other | drops |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for name in ["cubic", "reno", "bbr"] {
        for beside in [None, Some("cubic"), Some("bbr")] {
            print!("| {name} | {} |", beside.unwrap_or("–"));
            for Found { mbps, results } in [of_quinn(name, beside)?, of_narrows(name, beside)?] {
                let other = results.metric("beside.goodput_gbps");
                let other = other.map_or_else(|| "–".to_owned(), |gbps| format!("{:.1}", gbps * 1e3));
                print!(" {mbps:.1} | {other} | {} |", results.metric("total.drops").unwrap_or_default());
            }
            println!();
        }
    }
    Ok(())
}
