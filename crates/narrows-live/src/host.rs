//! A real host: a network namespace without a name, and a TAP device in it whose other end is ours. Both go with the process.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::thread;

use narrows::addresses::{NETWORK, address_of};
use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::{HostId, SmallQueues};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::frames::{WIRE, hardware_of};
use crate::processors;
use crate::sys;

/// Name of the device inside a host.
const DEVICE: &str = "eth0";

/// Settings of the kernel of a host.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// Rate of its link.
    pub(crate) rate: BitRate,
    /// Seconds of the clock for a second of the scenario.
    pub(crate) scale: f64,
    /// Most segments in a packet that leaves at once.
    pub(crate) segments: u32,
    /// Largest network-layer packet.
    pub(crate) mtu: Bytes,
    /// Connections use ECN.
    pub(crate) ecn: bool,
    /// Segments that may be sent before the first acknowledgment.
    pub(crate) initial_window: u64,
    /// Least retransmission timeout.
    pub(crate) min_rto: Span,
    /// A window shrinks when a connection was idle.
    pub(crate) restart_after_idle: bool,
    /// Lost tails are probed for.
    pub(crate) tail_loss_probe: bool,
    /// Control of connections that ask for none, if the kernel allows; none is that of the machine.
    pub(crate) control: Option<String>,
}

#[derive(Debug)]
pub(crate) struct RealHost {
    pub(crate) id: HostId,
    pub(crate) address: Ipv4Addr,
    /// Rate of its link.
    pub(crate) rate: BitRate,
    network: File,
    /// Frames that leave the host are read here, those for it are written.
    pub(crate) tap: File,
}

impl RealHost {
    /// `steered`: processors that are not the fabric's do what arrivals make the host do.
    pub(crate) fn create(id: HostId, settings: &Settings, steered: bool) -> Checked<Self> {
        let work = || Self::create_here(id, settings, steered);
        let made = thread::scope(|scope| scope.spawn(work).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        made.map_err(|(what, error)| failed(what, &error).into())
    }

    /// The namespace becomes that of this thread.
    fn create_here(
        id: HostId,
        settings: &Settings,
        steered: bool,
    ) -> Result<Self, (&'static str, io::Error)> {
        let name = |what| move |error| (what, error);
        sys::leave_network().map_err(name("make a network namespace"))?;
        let network = File::open("/proc/thread-self/ns/net").map_err(name("open the network namespace"))?;
        if steered {
            // Where that is refused the fabric has more to do, as its lateness says.
            let _ = processors::steer_arrivals();
        }
        let tap = sys::make_tap(DEVICE, settings.segments > 1).map_err(name("make a TAP device"))?;
        settings.write_switches().map_err(name("set up the TCP of a host"))?;
        let commands = settings.commands(id);
        feed("ip", &commands.network).map_err(name("set up the device of a host (ip)"))?;
        feed("tc", &commands.queue).map_err(name("set up the queue of a host (tc)"))?;
        Ok(Self { id, address: address_of(id.0), rate: settings.rate, network, tap })
    }

    /// Does something in the host, with the number of its device there.
    #[cfg(feature = "bpf")]
    pub(crate) fn inside<T: Send>(&self, work: impl FnOnce(i32) -> T + Send) -> io::Result<T> {
        let work = || {
            self.enter()?;
            sys::number_of(DEVICE).map(work)
        };
        thread::scope(|scope| scope.spawn(work).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Moves this thread into the host.
    pub(crate) fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.network.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}

fn failed(what: &str, error: &io::Error) -> Diagnostic {
    let message = format!("cannot {what}: {error}");
    Diagnostic::error(Code::NoLiveMachine, message).help("narrows kernel check says what this machine lacks")
}

/// Starts `ip` or `tc` in the namespace of this thread, and feeds it lines.
pub(crate) fn feed(program: &str, input: &str) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    child.stdin.take().expect("it has one").write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Lines for `ip` and for `tc`.
struct Commands {
    network: String,
    queue: String,
}

impl Settings {
    /// Its queue, as a simulated host has it.
    pub(crate) fn queue(&self) -> SmallQueues {
        // Devices that take no segments get packets that the kernel has copied: a block of a power of two with headers and what else belongs
        // to a packet, and its description. `ss -m` says 2280 B for each of 1514 B (Linux 6.18); others were not looked at.
        const BESIDES: u64 = 524;
        const DESCRIPTION: u64 = 232;
        let packet = Bytes::new((self.mtu.get() + BESIDES).next_power_of_two() + DESCRIPTION);
        let packet_memory = (self.segments == 1).then_some(packet);
        let SmallQueues { within, .. } = SmallQueues::default();
        // Of the scenario; of the kernel it is on the clock.
        let within = Span::from_secs_f64(within.as_secs_f64() / self.scale);
        SmallQueues { within, packet_memory, ..SmallQueues::default() }
    }

    fn commands(&self, id: HostId) -> Commands {
        let hardware = hardware_of(id.0).map(|byte| format!("{byte:02x}")).join(":");
        let (address, [a, b]) = (address_of(id.0), NETWORK);
        let Self { mtu, initial_window, min_rto, segments, .. } = self;
        let rto = (min_rto.as_ps() / 1_000_000_000).max(1);
        let most = if *segments > 1 { format!("gso_max_segs {segments} ") } else { String::new() };
        let network = format!(
            "link set dev lo up\n\
             link set dev {DEVICE} address {hardware} mtu {} txqueuelen 10000 {most}up\n\
             addr add {address}/16 dev {DEVICE} noprefixroute\n\
             route add {a}.{b}.0.0/16 dev {DEVICE} src {address} initcwnd {initial_window} rto_min {rto}ms\n",
            mtu.get()
        );
        // Packets wait here, where TCP knows of them (TSQ), and not in the device, where it does not. What leaves at once is as much
        // as passes while a timer is late.
        const LATE: Span = Span::from_us(250);
        // So much slower than the link, so that what waits in the device after a moment in which nobody read it does not stay there.
        const SLOWER: f64 = 0.995;
        // The queue knows of the framing of a packet, not of that of each of its segments.
        let (segments, frame, wire) = (u64::from(*segments), mtu.get() + 14, WIRE as u64);
        let known = (segments * frame + wire) as f64 / (segments * (frame + wire)) as f64;
        let rate = self.rate.scaled(known * SLOWER / self.scale);
        let burst = ((rate.as_f64() * LATE.as_secs_f64() / 8.0) as u64).max((segments + 1) * frame);
        let queue = format!(
            "qdisc replace dev {DEVICE} root tbf rate {}bit burst {burst} limit {} overhead {WIRE}\n",
            rate.as_bps(),
            10_000 * frame
        );
        Commands { network, queue }
    }

    /// Writes switches of the kernel that belong to a namespace.
    fn write_switches(&self) -> io::Result<()> {
        let digit = |on: bool| if on { "1" } else { "0" };
        const LARGEST: &str = "4096 131072 67108864";
        for (name, value) in [
            ("ipv4/tcp_ecn", digit(self.ecn)),
            ("ipv4/tcp_slow_start_after_idle", digit(self.restart_after_idle)),
            ("ipv4/tcp_early_retrans", if self.tail_loss_probe { "3" } else { "0" }),
            ("ipv4/tcp_no_metrics_save", "1"),
            ("ipv4/tcp_rmem", LARGEST),
            ("ipv4/tcp_wmem", LARGEST),
        ] {
            fs::write(format!("/proc/sys/net/{name}"), value)
                .map_err(|error| io::Error::new(error.kind(), format!("net/{name}: {error}")))?;
        }
        if let Some(control) = &self.control {
            // Only controls that anybody may use can be the one of a namespace; those of Narrows can.
            let _ = fs::write("/proc/sys/net/ipv4/tcp_congestion_control", control);
        }
        // A kernel without IPv6 has nothing to switch off.
        let _ = fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            rate: BitRate::from_gbps(1),
            scale: 10.0,
            segments: 1,
            mtu: Bytes::new(1500),
            ecn: true,
            initial_window: 10,
            min_rto: Span::from_ms(200),
            restart_after_idle: true,
            tail_loss_probe: true,
            control: None,
        }
    }

    #[test]
    fn the_queue_of_a_host_is_a_little_slower_than_its_link_on_the_wire() {
        let Commands { network, queue } = settings().commands(HostId(2));
        assert!(network.contains("addr add 10.77.0.3/16"), "{network}");
        assert!(network.contains("initcwnd 10 rto_min 200ms"), "{network}");
        assert!(queue.contains("rate 99500000bit burst 3109 ") && queue.contains("overhead 24"), "{queue}");
    }

    #[test]
    fn packets_in_the_queue_of_a_host_count_with_the_memory_that_they_take() {
        let packet = |mtu| Settings { mtu: Bytes::new(mtu), ..settings() }.queue().packet_memory;
        assert_eq!([500, 1500, 9000].map(packet), [1256, 2280, 16_616].map(|bytes| Some(Bytes::new(bytes))));
        let whole = Settings { segments: 16, ..settings() }.queue();
        assert_eq!(whole.packet_memory, None, "bursts are not cut there");
        // On a clock that is ten times slower a millisecond of the kernel is a tenth of one.
        assert_eq!(whole.within, Span::from_us(100));
    }
}
