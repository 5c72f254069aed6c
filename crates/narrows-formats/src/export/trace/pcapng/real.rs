//! Captures of live runs: frames as real hosts sent them and as they received them. One interface for each host.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Result, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;

use narrows::plan::Plan;
use narrows_proto::units::Time;
use narrows_sim::HostId;
use pcap_file::pcapng::PcapNgBlock;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};

use super::{Writer, begin, describe, into_io, name, since_start};

/// A capture of frames at real hosts.
pub struct RealFrames {
    plan: Arc<Plan>,
    writer: Writer,
    interfaces: HashMap<HostId, u32>,
}

impl RealFrames {
    /// # Errors
    /// If the file cannot be written.
    pub fn new(plan: Arc<Plan>, file: File) -> Result<Self> {
        let writer = begin(&plan, "live", file)?;
        Ok(Self { plan, writer, interfaces: HashMap::new() })
    }

    /// A frame that `host`, which has this address, received at a time of the scenario, or sent.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(
        &mut self,
        host: HostId,
        address: Ipv4Addr,
        at: Time,
        received: bool,
        frame: &[u8],
    ) -> Result<()> {
        let interface_id = self.interface(host, address)?;
        let direction = if received { 1 } else { 2 };
        let block = EnhancedPacketBlock {
            interface_id,
            timestamp: since_start(at),
            original_len: frame.len() as u32,
            data: Cow::Borrowed(frame),
            options: vec![EnhancedPacketOption::Flags(direction)],
        };
        self.writer.write_block(&block.into_block()).map_err(into_io).map(drop)
    }

    fn interface(&mut self, host: HostId, address: Ipv4Addr) -> Result<u32> {
        if let Some(known) = self.interfaces.get(&host) {
            return Ok(*known);
        }
        let host_name = self.plan.network.topology.host_name(host);
        describe(&mut self.writer, host_name.to_owned(), format!("real host {host_name}"), None)?;
        name(&mut self.writer, vec![(address.octets(), host_name.to_owned())])?;
        let number = self.interfaces.len() as u32;
        self.interfaces.insert(host, number);
        Ok(number)
    }

    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.writer.get_mut().flush()
    }
}
