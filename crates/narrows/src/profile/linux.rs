//! What the profiles of Linux set, and what they leave to Narrows. A source is where the kernel has the value: file and symbol, or the
//! system control (sysctl).

use super::Constant;

/// Keys that mean something else of the same: what a profile has of it is not set if the scenario has one of these.
const HYSTART: &[&str] = &["cc.cubic.hystart", "cc.cubic.hystart_params"];
const BUFFER: &[&str] = &["transport.receive_window"];
const WAIT: &[&str] = &["transport.ack_delay"];

/// A list of constants: keys with their values as TOML, what keeps them away if something else does, and their sources; then what is alike, and what differs.
macro_rules! constants {
    (
        $(#[$doc:meta])* $name:ident:
        $($key:literal = $value:literal $(, unless $unless:ident)?: $source:literal;)*
        alike: $($alike:literal;)*
        differs: $($differs:literal;)*
    ) => {
        $(#[$doc])*
        pub(super) const $name: &[Constant] = &[
            $(Constant::Set { key: $key, value: $value, source: $source, unless: &[$($unless)?] },)*
            $(Constant::Alike($alike),)*
            $(Constant::Differs($differs),)*
        ];
    };
}

constants! {
    /// Of all versions.
    COMMON:
    "transport.initial_window" = "10": "TCP_INIT_CWND, include/net/tcp.h";
    "transport.handshake" = "true": "tcp_v4_connect, net/ipv4/tcp_ipv4.c";
    "transport.initial_rto" = r#""1 s""#: "TCP_TIMEOUT_INIT, include/net/tcp.h";
    "transport.min_rto" = r#""200 ms""#: "TCP_RTO_MIN, include/net/tcp.h";
    "transport.max_rto" = r#""120 s""#: "TCP_RTO_MAX, include/net/tcp.h";
    "transport.peak_deviation" = "true": "tcp_rtt_estimator, net/ipv4/tcp_input.c";
    "transport.restart_after_idle" = "true": "sysctl tcp_slow_start_after_idle = 1";
    "transport.halve_after_idle" = "true": "tcp_cwnd_restart, net/ipv4/tcp_output.c";
    "transport.ack_every" = "2": "__tcp_ack_snd_check, net/ipv4/tcp_input.c: more than one full segment";
    "transport.ack_timeout.least" = r#""40 ms""#, unless WAIT: "TCP_ATO_MIN, include/net/tcp.h";
    "transport.ack_timeout.most" = r#""200 ms""#, unless WAIT: "TCP_DELACK_MAX, include/net/tcp.h";
    "transport.quick_acks" = "16": "TCP_MAX_QUICKACKS, include/net/tcp.h; tcp_incr_quickack, net/ipv4/tcp_input.c";
    "transport.pingpong" = "true": "tcp_event_data_sent, net/ipv4/tcp_output.c; inet_csk_in_quickack_mode, net/ipv4/tcp_input.c";
    "transport.tail_loss_probe" = "true": "sysctl tcp_early_retrans = 3";
    "transport.probe_timeout.alone" = r#""200 ms""#: "tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.proportional_rate_reduction" = "true": "tcp_cwnd_reduction, net/ipv4/tcp_input.c";
    "transport.pace_windows" = "false": "sk_pacing_status = SK_PACING_NONE without fq and BBR, include/net/sock.h";
    "transport.pace_by_growth" = "true": "sysctl tcp_pacing_ss_ratio = 200, tcp_pacing_ca_ratio = 120";
    "transport.segmentation.least" = "2": "sysctl tcp_min_tso_segs = 2";
    "transport.segmentation.most" = r#""65536 B""#: "GSO_MAX_SIZE, include/linux/netdevice.h";
    "transport.segmentation.within" = r#""976562500 ps""#: "sk_pacing_shift = 10, tcp_tso_autosize, net/ipv4/tcp_output.c";
    "transport.receive_offload.most" = r#""65536 B""#: "GRO_MAX_SIZE, include/linux/netdevice.h; net/ipv4/tcp_offload.c";
    "transport.receive_offload.within" = r#""20 us""#: "no constant of Linux: a poll of a network card (NAPI), as long as interrupts usually wait";
    "transport.receive_buffer.most" = r#""6291456 B""#, unless BUFFER: "sysctl tcp_rmem, third number, with enough memory";
    "transport.send_buffer" = r#""4194304 B""#: "sysctl tcp_wmem, third number, with enough memory; tcp_sndbuf_expand, net/ipv4/tcp_input.c, keeps it ahead of the window until then";
    "cc.cubic.c" = "0.400390625": "bic_scale = 41 of 1024, net/ipv4/tcp_cubic.c";
    "cc.cubic.beta" = "0.7001953125": "beta = 717 of 1024, net/ipv4/tcp_cubic.c";
    "cc.cubic.fast_convergence" = "true": "fast_convergence = 1, net/ipv4/tcp_cubic.c";
    "cc.cubic.ecn" = "false": "sysctl tcp_ecn = 2: only if the other end asks for it";
    "cc.cubic.slow_start_limit" = "1000000": "tcp_slow_start, net/ipv4/tcp_cong.c: no limit";
    "cc.cubic.linux_hystart.train" = "true", unless HYSTART: "hystart_detect = 3, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.delay" = "true", unless HYSTART: "hystart_detect = 3, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.low_window" = "16", unless HYSTART: "hystart_low_window, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.ack_delta" = r#""2 ms""#, unless HYSTART: "hystart_ack_delta, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.least_rise" = r#""4 ms""#, unless HYSTART: "HYSTART_DELAY_MIN, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.most_rise" = r#""16 ms""#, unless HYSTART: "HYSTART_DELAY_MAX, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.rtt_divisor" = "8", unless HYSTART: "hystart_update, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.samples" = "8", unless HYSTART: "HYSTART_MIN_SAMPLES, net/ipv4/tcp_cubic.c";
    "cc.reno.ecn" = "false": "sysctl tcp_ecn = 2: only if the other end asks for it";
    "cc.reno.slow_start_limit" = "1000000": "tcp_slow_start, net/ipv4/tcp_cong.c: no limit";
    "cc.dctcp.gain" = "0.0625": "dctcp_shift_g = 4, net/ipv4/tcp_dctcp.c";
    "cc.dctcp.initial_alpha" = "1.0": "dctcp_alpha_on_init = 1024, net/ipv4/tcp_dctcp.c";
    "cc.dctcp.min_window" = "2": "dctcp_ssthresh, net/ipv4/tcp_dctcp.c";
    alike:
    "three segments beyond a hole mean loss: sysctl tcp_reordering = 3";
    "a connection has no more than a burst in the network card: sysctl tcp_limit_output_bytes needs no rule here";
    "loss is detected by time (RACK), and spurious retransmissions are undone: sysctl tcp_recovery = 1, tcp_dsack = 1";
    differs:
    "not every constant was checked against the sources of exactly this version";
    "timers are exact; those of Linux go in ticks (HZ)";
    "a repeated SYN neither shrinks the initial window nor raises the first timeout to 3 s (tcp_init_metrics)";
    "what the system adds to payload takes no room in the send buffer (sk_wmem_queued), and the application writes as soon as a segment fits, in Linux when a third is free";
    "the memory of the receive buffer is a constant part of the window (tcp_adv_win_scale, scaling_ratio)";
    "the receiver knows the round-trip time of the handshake, then that of the last window of data, and not from timestamps";
    "of interactive connections (pingpong mode) only servers know, from the second request on; the last segment of a request is acknowledged at once, in Linux with the response";
    "reordering and the smallest round-trip time are kept for the whole connection (tcp_min_rtt_wlen = 300 s)";
    "CUBIC reduces by what is in flight, Linux by the window; there, before the first loss, the window grows by 1/20 a round trip at least";
    "DCTCP, GEMINI and Vegas add at most what receive offload merges for one acknowledgment in slow start";
}

constants! {
    /// Of Linux 6.12 alone.
    LINUX_6_12:
    "transport.host_metrics.ssthresh" = "false": "sysctl tcp_no_metrics_save = 0, tcp_no_ssthresh_metrics_save = 1 (since 5.6)";
    "transport.ack_delay_of_rto" = "0.98": "tcp_delack_max, include/net/tcp.h: one tick below tcp_rto_min, 4 ms at HZ = 250";
    "transport.probe_timeout.several" = r#""2 ms""#: "TCP_TIMEOUT_MIN_US, include/net/tcp.h";
    "transport.probe_timeout.alone_rtts" = "2.0": "tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.probe_timeout.least" = r#""0 s""#: "tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.segmentation.rtt_term" = "true": "sysctl tcp_tso_rtt_log = 9";
    "transport.receive_buffer.initial" = r#""131072 B""#, unless BUFFER: "sysctl tcp_rmem, second number";
    "transport.receive_buffer.first_window" = r#""65535 B""#, unless BUFFER: "tcp_select_initial_window, net/ipv4/tcp_output.c";
    "transport.receive_buffer.part" = "0.5", unless BUFFER: "TCP_DEFAULT_SCALING_RATIO, include/net/tcp.h";
    "transport.receive_buffer.growth" = r#""proportional""#, unless BUFFER: "tcp_rcv_space_adjust, net/ipv4/tcp_input.c";
    "cc.cubic.linux_hystart.all_samples" = "true", unless HYSTART: "hystart_update, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.burst_slack" = "true", unless HYSTART: "hystart_ack_delay, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.rounds_when_limited" = "false", unless HYSTART: "hystart_update, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.clock" = r#""1 us""#, unless HYSTART: "bictcp_clock_us, net/ipv4/tcp_cubic.c";
    alike:
    differs:
    "the first four SYNs are repeated after 1, 2, 4 and 8 s, in Linux after 1 s each (sysctl tcp_syn_linear_timeouts = 4)";
}

constants! {
    /// Of Linux 4.9 alone.
    LINUX_4_9:
    "transport.host_metrics.ssthresh" = "true": "sysctl tcp_no_metrics_save = 0; tcp_update_metrics, net/ipv4/tcp_metrics.c";
    "transport.probe_timeout.several" = r#""0 s""#: "tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.probe_timeout.alone_rtts" = "1.5": "tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.probe_timeout.least" = r#""10 ms""#: "tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.segmentation.rtt_term" = "false": "tcp_tso_autosize, net/ipv4/tcp_output.c";
    "transport.receive_buffer.initial" = r#""376000 B""#, unless BUFFER: "tcp_fixup_rcvbuf, net/ipv4/tcp_input.c: 8·20 segments of some 2350 B, beyond the 87380 of sysctl tcp_rmem";
    "transport.receive_buffer.first_window" = r#""29200 B""#, unless BUFFER: "tcp_default_init_rwnd, net/ipv4/tcp_output.c: 20 segments";
    "transport.receive_buffer.part" = "0.5", unless BUFFER: "sysctl tcp_adv_win_scale = 1";
    "transport.receive_buffer.growth" = r#""steps""#, unless BUFFER: "tcp_rcv_space_adjust, net/ipv4/tcp_input.c";
    "cc.cubic.linux_hystart.all_samples" = "false", unless HYSTART: "hystart_update, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.burst_slack" = "false", unless HYSTART: "hystart_update, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.rounds_when_limited" = "true", unless HYSTART: "bictcp_cong_avoid, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.clock" = r#""1 ms""#, unless HYSTART: "bictcp_clock, net/ipv4/tcp_cubic.c";
    alike:
    differs:
    "loss detection is that of RACK-TLP (RFC 8985); 4.9 has forward acknowledgment (sysctl tcp_fack = 1) beside an early RACK";
}
