//! Files of HPCC's descendants: whatever is accepted becomes a scenario that is TOML, with a row for each flow.
//!
//! The text after the first zero byte is `flow.txt`, that after the second is `config.txt`.

use narrows::document::Document;
use narrows::scenario::Scenario;
use narrows_formats::import::hpcc::{BufferUnit, Flows, Network, Texts, convert};
use narrows_formats::import::source;
use narrows_proto::units::Bytes;

pub fn check(text: &str) {
    let mut parts = text.split('\0');
    let texts = Texts {
        topology: source("topology.txt", parts.next().unwrap_or_default()),
        flows: parts.next().map(|text| source("flow.txt", text)),
        config: parts.next().map(|text| source("config.txt", text)),
        buffer_unit: BufferUnit::Mib,
    };
    match convert(&texts, "fuzz") {
        Ok((imported, _)) => {
            let mut document = Document::parse("scenario.toml", imported.scenario, "").expect("it is TOML");
            Scenario::from_document(&mut document).expect("it is a scenario");
            if let Some(flows) = &texts.flows {
                let network = Network::parse(&texts.topology).expect("it was accepted");
                // Packets of one byte hold whatever larger ones hold.
                let flows =
                    Flows::parse(flows, &network, Bytes::new(1)).expect("they were accepted").flows.len();
                let rows: usize = imported.files.iter().map(|(_, csv)| csv.lines().count() - 1).sum();
                assert_eq!(rows, flows);
            }
        }
        Err(rejection) => drop(rejection.to_string()),
    }
}
