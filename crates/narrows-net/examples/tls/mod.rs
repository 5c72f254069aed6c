//! TLS for both ends: a certificate that is good for nothing but examples, and a clock that stands still.
//!
//! TLS draws keys from the machine, so bytes differ from run to run. Sizes do not: signatures and keys of Ed25519 and X25519 have one length,
//! the certificate is a file, and its validity is not asked of the clock of the machine.

use std::sync::Arc;
use std::time::Duration;

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ClientConfig, EndpointConfig, ServerConfig, TransportConfig};
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::time_provider::TimeProvider;

/// The name in the certificate.
pub(crate) const NAME: &str = "narrows.test";

const CERTIFICATE: CertificateDer<'static> = CertificateDer::from_slice(include_bytes!("cert.der"));
const KEY: &[u8] = include_bytes!("key.der");

/// The first of January 2030.
#[derive(Debug)]
struct StandsStill;

impl TimeProvider for StandsStill {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(1_893_456_000)))
    }
}

/// Settings of an endpoint whose own random numbers, of packets that it skips say, are those of a seed.
pub(crate) fn endpoint(seed: u8) -> EndpointConfig {
    let mut config = EndpointConfig::default();
    config.rng_seed(Some([seed; 32]));
    config
}

/// Settings of a server with the certificate.
pub(crate) fn server(transport: TransportConfig) -> ServerConfig {
    let tls =
        rustls::ServerConfig::builder_with_details(Arc::new(ring::default_provider()), Arc::new(StandsStill));
    let tls = tls.with_protocol_versions(&[&rustls::version::TLS13]).expect("ring has TLS 1.3");
    let tls = tls.with_no_client_auth();
    let tls = tls.with_single_cert(vec![CERTIFICATE], PrivatePkcs8KeyDer::from(KEY).into());
    let tls = QuicServerConfig::try_from(tls.expect("the key is that of the certificate"));
    let mut config = ServerConfig::with_crypto(Arc::new(tls.expect("ring has the first cipher")));
    config.transport_config(Arc::new(transport));
    config
}

/// Settings of a client that trusts the certificate.
pub(crate) fn client(transport: TransportConfig) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CERTIFICATE).expect("it is a certificate");
    let tls =
        rustls::ClientConfig::builder_with_details(Arc::new(ring::default_provider()), Arc::new(StandsStill));
    let tls = tls.with_protocol_versions(&[&rustls::version::TLS13]).expect("ring has TLS 1.3");
    let tls = tls.with_root_certificates(roots).with_no_client_auth();
    let tls = QuicClientConfig::try_from(tls).expect("ring has the first cipher");
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(Arc::new(transport));
    config
}
