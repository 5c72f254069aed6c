//! quinn as it is, in virtual time: a client sends for 20 s from one data center to the other, beside simulated flows.

mod tls;

use std::error::Error;
use std::sync::{Arc, Mutex};

use narrows_net::{Executor, Net, Results, Span, Time};
use quinn::{Endpoint, ServerConfig, TransportConfig};

pub(crate) const SCENARIO: &str = include_str!("two-dc.toml");

/// An end of the connection at a host of the scenario.
fn endpoint(
    executor: &Executor,
    host: &str,
    server: Option<ServerConfig>,
) -> Result<Endpoint, Box<dyn Error>> {
    let socket = Arc::new(executor.net().bind(host, 4433)?);
    let runtime = Arc::new(executor.clone());
    Ok(Endpoint::new_with_abstract_socket(tls::endpoint(1), server, socket, runtime)?)
}

/// Sends as much as it can.
async fn send(client: Endpoint, to: std::net::SocketAddr) -> Result<(), Box<dyn Error + Send + Sync>> {
    let connection = client.connect_with(tls::client(TransportConfig::default()), to, tls::NAME)?.await?;
    let mut stream = connection.open_uni().await?;
    loop {
        stream.write_all(&[0; 1 << 16]).await?;
    }
}

/// When data arrived, and how much.
type Arrivals = Vec<(Time, usize)>;

/// Notes what arrives in order.
async fn receive(
    server: Endpoint,
    net: Net,
    arrivals: Arc<Mutex<Arrivals>>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let connection = server.accept().await.ok_or("the endpoint is closed")?.await?;
    let mut stream = connection.accept_uni().await?;
    while let Some(chunk) = stream.read_chunk(usize::MAX, true).await? {
        arrivals.lock().map_err(|_| "somebody panicked")?.push((net.now(), chunk.bytes.len()));
    }
    Ok(())
}

/// Runs it. Returns what arrived, and the results of the simulation.
pub(crate) fn transfer(scenario: &str) -> Result<(Arrivals, Results), Box<dyn Error>> {
    let net = Net::from_text(scenario, &["dc0/rack0/host0", "dc1/rack0/host0"])?;
    let executor = Executor::new(&net);
    let server = endpoint(&executor, "dc1/rack0/host0", Some(tls::server(TransportConfig::default())))?;
    let client = endpoint(&executor, "dc0/rack0/host0", None)?;
    let arrivals = Arc::new(Mutex::new(Vec::new()));
    let to = server.local_addr()?;
    let _sender = executor.spawn(send(client, to));
    let _receiver = executor.spawn(receive(server, net.clone(), Arc::clone(&arrivals)));
    executor.run(net.timer(net.end()))?;
    let arrivals = std::mem::take(&mut *arrivals.lock().map_err(|_| "somebody panicked")?);
    Ok((arrivals, net.finish()?))
}

/// Bytes that had arrived at some moments, a line each.
pub(crate) fn report(arrivals: &Arrivals, results: &Results) -> Vec<String> {
    let over_quic = [1, 5, 10, 15, 20].map(|second| {
        let until = Time::ZERO + Span::from_secs(second);
        let bytes: usize = arrivals.iter().take_while(|(at, _)| *at <= until).map(|(_, bytes)| bytes).sum();
        format!("{second:2} s: {bytes} B over QUIC")
    });
    let beside = results.flows.iter().map(|flow| format!("20 s: {} B under BBR", flow.delivered.get()));
    over_quic.into_iter().chain(beside).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let (arrivals, results) = transfer(SCENARIO)?;
    for line in report(&arrivals, &results) {
        println!("{line}");
    }
    Ok(())
}
