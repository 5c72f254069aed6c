//! Calls of the kernel that have no safe wrapper.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use narrows_proto::units::Span;
use rustix::process::{PidfdFlags, getpid, pidfd_open};

/// Makes a TAP device of this name in the network namespace of this thread. Frames come and go without a header before them, or, if they
/// may be of several segments, with what is offloaded before them; where there are none, reading does not wait.
pub(crate) fn make_tap(name: &str, of_segments: bool) -> io::Result<File> {
    // Opened here, as it is the one who opens it whose namespace counts.
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    // SAFETY: all zeros is an `ifreq`: numbers and bytes.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    assert!(name.len() < request.ifr_name.len(), "names of devices are short");
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let header = if of_segments { libc::IFF_VNET_HDR } else { 0 };
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | header) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which lives until the call returns.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })?;
    if of_segments {
        let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO_ECN;
        // SAFETY: TUNSETOFFLOAD takes a number.
        checked(unsafe {
            libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(offloads))
        })?;
    }
    Ok(file)
}

/// Does `work` on a thread of its own, which it may change for good.
pub(crate) fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Gives this thread a network namespace of its own. It lives as long as a thread, a device or an open file of it does.
pub(crate) fn leave_network() -> io::Result<()> {
    // SAFETY: this changes the namespace of the calling thread and no memory.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET) })
}

/// Gives this process a user namespace of its own, in which it has all rights. It must have one thread.
pub(crate) fn leave_users() -> io::Result<()> {
    // SAFETY: this changes the namespace of the process and no memory.
    checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) })
}

/// Gives this thread a view of the file systems of its own, and processes that it starts a space of their own, which ends with the first of
/// them.
pub(crate) fn leave_processes() -> io::Result<()> {
    // SAFETY: this changes namespaces of the calling thread, and of its children, and no memory.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWPID) })
}

/// Lets a program end when the thread that starts it does, and see the processes of its space alone.
pub(crate) fn end_with_us(command: &mut Command) -> io::Result<()> {
    let us = pidfd_open(getpid(), PidfdFlags::empty())?;
    let prepare = move || {
        let mut ours = libc::pollfd { fd: us.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: all are calls of the kernel, as a child of a process with threads may do before it becomes the program. They take
        // numbers, and memory that outlives them.
        unsafe {
            checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            // Who has ended before that sends no signal.
            if libc::poll(&raw mut ours, 1, 0) != 0 {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            let proc = c"proc".as_ptr();
            checked(libc::mount(proc, c"/proc".as_ptr(), proc, 0, std::ptr::null()))
        }
    };
    // SAFETY: see there.
    unsafe { command.pre_exec(prepare) };
    Ok(())
}

/// A process that is not in front at its terminal may change the terminal from now on.
pub(crate) fn ignore_terminal_stops() {
    // SAFETY: no function of ours is called.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
}

/// Lets this thread go before all others, and wakes it on time. Not allowed everywhere.
pub(crate) fn go_first() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 10 };
    // SAFETY: the first call takes numbers, the second reads `parameters`, which outlives it. Zero is the calling thread.
    unsafe {
        checked(libc::prctl(libc::PR_SET_TIMERSLACK, 1))?;
        checked(libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters))
    }
}

/// Lets this thread run where nothing else does (`SCHED_IDLE`).
pub(crate) fn go_last() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: it reads `parameters`, which outlives it. Zero is the calling thread.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) })
}

/// Lets this thread go before ordinary ones. Not allowed everywhere. A higher priority among them (`nice`) does not do: the twin
/// `cubic-shallow` lost as many packets with -20 as without.
pub(crate) fn go_early() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: it reads `parameters`, which outlives it. Zero is the calling thread.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) })
}

/// Time for which this thread has had a processor.
pub(crate) fn own_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one `timespec`.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert!(result == 0, "each thread has such a clock");
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// State of a connection, as the kernel reports it (`struct tcp_info` of `linux/tcp.h`).
#[derive(Clone, Copy)]
pub(crate) struct TcpInfo([u8; 248]);

impl TcpInfo {
    pub(crate) fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut info = [0; 248];
        let mut length = info.len() as libc::socklen_t;
        let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INFO);
        // SAFETY: the kernel writes at most `length` bytes to `info`, and how many to `length`.
        let result = unsafe {
            libc::getsockopt(socket.as_raw_fd(), level, name, info.as_mut_ptr().cast(), &raw mut length)
        };
        checked(result).map(|()| Self(info))
    }

    fn u32(&self, at: usize) -> u64 {
        let bytes = self.0[at..at + 4].try_into().expect("four bytes");
        u64::from(u32::from_ne_bytes(bytes))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.0[at..at + 8].try_into().expect("eight bytes"))
    }

    /// Both ends use ECN (`TCPI_OPT_ECN`).
    pub(crate) fn has_ecn(&self) -> bool {
        self.0[5] & 8 != 0
    }

    /// Size of a full segment, payload.
    pub(crate) fn segment(&self) -> u64 {
        self.u32(16)
    }

    /// Segments on their way.
    pub(crate) fn in_flight(&self) -> u64 {
        let [unacked, sacked, lost, retransmitted] = [24, 28, 32, 36].map(|at| self.u32(at));
        (unacked + retransmitted).saturating_sub(sacked + lost)
    }

    /// Smoothed round-trip time, in the time of a run that is slowed down so much.
    pub(crate) fn rtt(&self, scale: f64) -> Span {
        Span::from_secs_f64(self.u32(68) as f64 * 1e-6 / scale)
    }

    /// Congestion window, segments.
    pub(crate) fn window(&self) -> u64 {
        self.u32(80)
    }

    /// Segments retransmitted.
    pub(crate) fn retransmissions(&self) -> u64 {
        self.u32(100)
    }

    /// Pacing rate, bytes per second; all ones if there is none.
    pub(crate) fn pacing(&self) -> u64 {
        self.u64(104)
    }

    /// Payload acknowledged, and a byte each for SYN and FIN.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.u64(120)
    }

    /// Segments that have arrived, acknowledgments among them.
    pub(crate) fn segments_received(&self) -> u64 {
        self.u32(140)
    }

    /// Segments delivered with a mark.
    pub(crate) fn marked(&self) -> u64 {
        self.u32(196)
    }

    /// Payload retransmitted.
    pub(crate) fn retransmitted(&self) -> u64 {
        self.u64(208)
    }

    /// Expiries of the retransmission timer; 0 before Linux 6.7.
    pub(crate) fn timeouts(&self) -> u64 {
        self.u32(240) & 0xffff
    }
}

/// Number of a device in the network namespace of this thread.
#[cfg(feature = "bpf")]
pub(crate) fn number_of(device: &str) -> io::Result<i32> {
    let name = std::ffi::CString::new(device)?;
    // SAFETY: it reads a text that ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        number => Ok(number.cast_signed()),
    }
}

/// The kernel has a congestion control of this name, in a module perhaps, which it loads then.
pub(crate) fn has_control(name: &str) -> bool {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    socket.and_then(|socket| socket.set_tcp_congestion(name.as_bytes())).is_ok()
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
