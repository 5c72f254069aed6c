//! Settings of the profiles of Linux, and those they leave to Narrows. A source is where the kernel has the value: file and symbol, or the
//! system control (sysctl), whose default stands in tcp_sk_init of net/ipv4/tcp_ipv4.c (6.12), or at its name (4.9).
//!
//! Read in 6.12.117, as Debian has it, and in 4.9.227 and 4.9.112, as makers of telephones publish them (references.md), where their own
//! additions are not. Long-term versions change: what differs between them is said where it is known.

use super::Constant;

/// Keys that mean something else of the same: what a profile has of it is not set if the scenario has one of these.
const HYSTART: &[&str] = &["cc.cubic.hystart", "cc.cubic.hystart_params"];
const BUFFER: &[&str] = &["transport.receive_window"];
const WAIT: &[&str] = &["transport.ack_delay"];

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
    "transport.halve_after_idle" = "true": "tcp_cwnd_restart, net/ipv4/tcp_output.c; ssthresh then is 3/4 of the window at least, tcp_current_ssthresh, include/net/tcp.h";
    "transport.ack_every" = "2": "__tcp_ack_snd_check, net/ipv4/tcp_input.c: more than one full segment";
    "transport.ack_timeout.least" = r#""40 ms""#, unless WAIT: "TCP_ATO_MIN and TCP_DELACK_MIN, include/net/tcp.h; tcp_event_data_recv, net/ipv4/tcp_input.c; beyond it no longer than the round trip: tcp_send_delayed_ack, net/ipv4/tcp_output.c";
    "transport.ack_timeout.most" = r#""200 ms""#, unless WAIT: "TCP_DELACK_MAX, include/net/tcp.h";
    "transport.quick_acks" = "16": "TCP_MAX_QUICKACKS, include/net/tcp.h; tcp_incr_quickack, net/ipv4/tcp_input.c";
    "transport.pingpong" = "true": "tcp_event_data_sent, net/ipv4/tcp_output.c; tcp_in_quickack_mode, net/ipv4/tcp_input.c; tcp_delack_timer_handler, net/ipv4/tcp_timer.c";
    "transport.mark_acks" = "2": "__tcp_ecn_check_ce, net/ipv4/tcp_input.c (4.9.227); a change of marks: dctcp_ece_ack_update, net/ipv4/tcp_dctcp.h of 6.12, not looked up in 4.9";
    "transport.tail_loss_probe" = "true": "sysctl tcp_early_retrans = 3";
    "transport.proportional_rate_reduction" = "true": "tcp_cwnd_reduction, net/ipv4/tcp_input.c";
    "transport.spread_marks" = "true": "tcp_enter_cwr and tcp_cwnd_reduction, net/ipv4/tcp_input.c: the same for CWR as for a recovery";
    "transport.reduce_window" = "true": "tcp_reno_ssthresh, net/ipv4/tcp_cong.c, bictcp_recalc_ssthresh, net/ipv4/tcp_cubic.c, and prior_cwnd, tcp_init_cwnd_reduction, net/ipv4/tcp_input.c";
    "transport.pace_windows" = "false": "sk_pacing_status = SK_PACING_NONE without fq and BBR, include/net/sock.h";
    "transport.pace_by_growth" = "true": "sysctl tcp_pacing_ss_ratio = 200, tcp_pacing_ca_ratio = 120";
    "transport.pace_from" = "10": "tcp_update_skb_after_send, net/ipv4/tcp_output.c: data_segs_out >= 10; sch_fq of 4.9 has initial_quantum";
    "transport.segmentation.least" = "2": "sysctl tcp_min_tso_segs = 2";
    "transport.segmentation.most" = r#""65215 B""#: "gso_max_size of a device (65536), include/linux/netdevice.h, less MAX_TCP_HEADER, include/net/tcp.h (320 with wireless links and tunnels), and 1";
    "transport.segmentation.within" = r#""976562500 ps""#: "sk_pacing_shift = 10, tcp_tso_autosize, net/ipv4/tcp_output.c";
    "transport.receive_offload.most" = r#""65536 B""#: "GRO_MAX_SIZE of 4.9 and GRO_LEGACY_MAX_SIZE of 6.12, include/linux/netdevice.h; skb_gro_receive";
    "transport.receive_offload.within" = r#""20 us""#: "no constant of Linux: a poll of a network card (NAPI), as long as interrupts usually wait";
    "transport.receive_buffer.most" = r#""6291456 B""#, unless BUFFER: "sysctl tcp_rmem, third number, with enough memory: tcp_init, net/ipv4/tcp.c";
    "transport.send_buffer" = r#""4194304 B""#: "sysctl tcp_wmem, third number, with enough memory: tcp_init, net/ipv4/tcp.c";
    "cc.cubic.c" = "0.400390625": "bic_scale = 41 of 1024, net/ipv4/tcp_cubic.c";
    "cc.cubic.beta" = "0.7001953125": "beta = 717 of 1024, net/ipv4/tcp_cubic.c";
    "cc.cubic.fast_convergence" = "true": "fast_convergence = 1, net/ipv4/tcp_cubic.c";
    "cc.cubic.least_growth" = "0.05": "cnt = 20 at most while last_max_cwnd = 0: bictcp_update, net/ipv4/tcp_cubic.c";
    "cc.cubic.full_reno_growth" = "false": "tcp_cwnd grows by one for each delta of acknowledgments always: bictcp_update, net/ipv4/tcp_cubic.c";
    "cc.cubic.ecn" = "false": "sysctl tcp_ecn = 2: only if the other end asks for it; tcp_ecn_send_syn, net/ipv4/tcp_output.c";
    "cc.cubic.slow_start_limit" = "1000000": "tcp_slow_start, net/ipv4/tcp_cong.c: no limit";
    "cc.cubic.linux_growth.tick" = r#""4 ms""#: "HZ = 250, as Debian has it; bictcp_update, net/ipv4/tcp_cubic.c, and tcp_cong_avoid_ai, net/ipv4/tcp_cong.c";
    "cc.cubic.linux_hystart.train" = "true", unless HYSTART: "hystart_detect = 3, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.delay" = "true", unless HYSTART: "hystart_detect = 3, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.low_window" = "16", unless HYSTART: "hystart_low_window, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.ack_delta" = r#""2 ms""#, unless HYSTART: "hystart_ack_delta_us of 6.12 and hystart_ack_delta of 4.9, net/ipv4/tcp_cubic.c";
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
    "a connection has no more than a burst in the network card; hosts.real.small_queues has what waits before it: tcp_small_queue_check, net/ipv4/tcp_output.c, with sysctl tcp_limit_output_bytes (4 MiB, 256 KiB in 4.9)";
    "spurious retransmissions that the receiver reports are undone: sysctl tcp_dsack = 1";
    "a timeout is undone, and what it took for lost is not, when the first acknowledgment after it echoes an earlier timestamp: tcp_try_undo_loss and tcp_packet_delayed, net/ipv4/tcp_input.c, with sysctl tcp_timestamps = 1";
    "small writes are not held back for more: sysctl tcp_autocorking = 1 changes nothing for an application that writes all of a flow at once";
    "the send buffer follows the window (tcp_sndbuf_expand, net/ipv4/tcp_input.c) and limits nothing before its largest size: for each segment of twice the window it has room for a power of two of bytes that segment, headers and 320 B fit into, so for two windows of payload at least, for six of 1448 B segments; a third of it may be waiting to be written";
    differs:
    "timers are exact; those of Linux go in ticks (HZ), up to one tick later";
    "a repeated SYN neither shrinks the initial window nor raises the first timeout to 3 s (tcp_init_metrics, TCP_TIMEOUT_FALLBACK)";
    "after a timeout what was lost is sent before new data: none of it waits to find out whether the timeout was spurious (F-RTO, sysctl tcp_frto = 2)";
    "a window that application or receiver keeps from being used for a timeout does not shrink (tcp_cwnd_application_limited)";
    "what the system adds to payload takes no room in the send buffer (sk_wmem_queued), and the application writes as soon as a segment fits, in Linux when a third is free: a connection that the largest size limits has up to a third less under way there";
    "the memory of the receive buffer is a constant part of the window (tcp_adv_win_scale, scaling_ratio); 6.12 measures it with the first segment, and may open the window then";
    "the receiver knows round-trip times exactly, one in a round trip; Linux has them from timestamps in milliseconds, 4.9 in ticks, and smooths them (tcp_rcv_rtt_measure_ts)";
    "the last segment of a flow is acknowledged at once; in Linux that of a request waits for the response on an interactive connection, and any other is acknowledged when the application has read it";
    "reordering and the smallest round-trip time are kept for the whole connection (tcp_min_rtt_wlen = 300 s)";
    "DCTCP's alpha is a real number; that of Linux counts in 1/1024 and falls from below 1/64 to 0 (dctcp_update_alpha)";
    "DCTCP, GEMINI and Vegas add at most what receive offload merges for one acknowledgment in slow start";
}

constants! {
    /// Of Linux 6.12 alone.
    LINUX_6_12:
    "transport.host_metrics.ssthresh" = "false": "sysctl tcp_no_metrics_save = 0, tcp_no_ssthresh_metrics_save = 1 (since 5.6)";
    "transport.ack_delay_of_rto" = "0.98": "tcp_delack_max, include/net/tcp.h: one tick below tcp_rto_min, 4 ms at HZ = 250";
    "transport.probe_timeout.several" = r#""2 ms""#: "TCP_TIMEOUT_MIN_US, include/net/tcp.h; tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.probe_timeout.alone_is_min_rto" = "true": "tcp_rto_min_us in tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.probe_timeout.alone_rtts" = "2.0": "tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.probe_timeout.least" = r#""0 s""#: "tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.reordering_slack" = r#""2 ms""#: "TCP_TIMEOUT_MIN_US in tcp_rack_mark_lost, net/ipv4/tcp_recovery.c";
    "transport.segmentation.rtt_term" = "true": "sysctl tcp_tso_rtt_log = 9; tcp_tso_autosize, net/ipv4/tcp_output.c";
    "transport.pacing_credit" = "0.5": "tcp_update_skb_after_send, net/ipv4/tcp_output.c: no more than len_ns / 2";
    "transport.push_bursts" = "true": "__tcp_transmit_skb, net/ipv4/tcp_output.c (since 5.4); tcp_measure_rcv_mss, net/ipv4/tcp_input.c, and __tcp_cleanup_rbuf, net/ipv4/tcp.c (since 6.6, and in long-term versions of late 2023)";
    "transport.ack_cwr" = "true": "tcp_ecn_accept_cwr, net/ipv4/tcp_input.c";
    "transport.segmentation.socket_buffers" = r#""joined""#: "tcp_xmit_size_goal, net/ipv4/tcp.c; tcp_grow_skb and tcp_write_xmit, net/ipv4/tcp_output.c (since 6.10)";
    "transport.segmentation.ack_within" = r#""1 ms""#: "tcp_tso_should_defer, net/ipv4/tcp_output.c";
    "transport.receive_buffer.initial" = r#""131072 B""#, unless BUFFER: "sysctl tcp_rmem, second number";
    "transport.receive_buffer.first_window" = r#""65535 B""#, unless BUFFER: "tcp_select_initial_window, net/ipv4/tcp_output.c: half of the buffer, in full segments, as far as 16 bits go";
    "transport.receive_buffer.part" = "0.5", unless BUFFER: "TCP_DEFAULT_SCALING_RATIO, include/net/tcp.h";
    "transport.receive_buffer.growth" = r#""proportional""#, unless BUFFER: "tcp_rcv_space_adjust, net/ipv4/tcp_input.c";
    "cc.cubic.linux_hystart.all_samples" = "true", unless HYSTART: "hystart_update, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.burst_slack" = "true", unless HYSTART: "hystart_ack_delay, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.rounds_when_limited" = "false", unless HYSTART: "hystart_update, net/ipv4/tcp_cubic.c, which begins rounds; earlier versions did so in cubictcp_cong_avoid";
    "cc.cubic.linux_hystart.clock" = r#""1 us""#, unless HYSTART: "bictcp_clock_us, net/ipv4/tcp_cubic.c";
    alike:
    "loss is detected by time (RACK), with a reordering window of a quarter of the smallest round trip for each needless repair, none before reordering was seen: sysctl tcp_recovery = 1, tcp_rack_reo_wnd, net/ipv4/tcp_recovery.c";
    "the repair of a window doubles like slow start only on acknowledgments that move on and report no loss: tcp_cwnd_reduction, net/ipv4/tcp_input.c, is RFC 9937";
    differs:
    "acknowledgments of segments beyond a hole are sent for each of them, in Linux after three for 1 ms or 1/20 of the round trip together (sysctl tcp_comp_sack_delay_ns, tcp_comp_sack_nr = 44)";
    "of segments that arrive alone none says PSH; in Linux the last of what the application writes at once does, and is acknowledged when it has been read (tcp_push, net/ipv4/tcp.c)";
    "the first four SYNs are repeated after 1, 2, 4 and 8 s, in Linux after 1 s each (sysctl tcp_syn_linear_timeouts = 4)";
}

constants! {
    /// Of Linux 4.9 alone.
    LINUX_4_9:
    "transport.host_metrics.ssthresh" = "true": "sysctl tcp_no_metrics_save = 0; tcp_update_metrics, net/ipv4/tcp_metrics.c";
    "transport.probe_timeout.several" = r#""0 s""#: "tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.probe_timeout.alone" = r#""200 ms""#: "TCP_DELACK_MAX, include/net/tcp.h; tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.probe_timeout.alone_rtts" = "1.5": "tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.probe_timeout.least" = r#""10 ms""#: "tcp_schedule_loss_probe, net/ipv4/tcp_output.c";
    "transport.reordering_slack" = r#""2 ms""#: "tcp_pause_early_retransmit, net/ipv4/tcp_input.c: a flight of less than four segments waits for a quarter of the round trip, 2 ms at least, here for both";
    "transport.segmentation.rtt_term" = "false": "tcp_tso_autosize, net/ipv4/tcp_output.c";
    "transport.segmentation.socket_buffers" = r#""apart""#: "tcp_xmit_size_goal, net/ipv4/tcp.c; tcp_write_xmit and tso_fragment, net/ipv4/tcp_output.c";
    "transport.segmentation.ack_within" = r#""60 s""#: "tcp_tso_should_defer, net/ipv4/tcp_output.c: half of the round trip alone";
    "transport.receive_buffer.initial" = r#""376960 B""#, unless BUFFER: "tcp_fixup_rcvbuf, net/ipv4/tcp_input.c: 8·20 segments of 1460 + 320 + 576 B (SKB_TRUESIZE), beyond the 87380 of sysctl tcp_rmem";
    "transport.receive_buffer.first_window" = r#""29200 B""#, unless BUFFER: "tcp_default_init_rwnd and tcp_select_initial_window, net/ipv4/tcp_output.c: 20 segments";
    "transport.receive_buffer.part" = "0.5", unless BUFFER: "sysctl tcp_adv_win_scale = 1";
    "transport.receive_buffer.growth" = r#""steps""#, unless BUFFER: "tcp_rcv_space_adjust, net/ipv4/tcp_input.c";
    "cc.cubic.linux_hystart.all_samples" = "false", unless HYSTART: "hystart_update, net/ipv4/tcp_cubic.c; late long-term versions have all samples";
    "cc.cubic.linux_hystart.burst_slack" = "false", unless HYSTART: "hystart_update, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.rounds_when_limited" = "true", unless HYSTART: "bictcp_cong_avoid, net/ipv4/tcp_cubic.c";
    "cc.cubic.linux_hystart.clock" = r#""1 ms""#, unless HYSTART: "bictcp_clock, net/ipv4/tcp_cubic.c";
    alike:
    differs:
    "loss detection is that of RACK-TLP (RFC 8985); 4.9 has forward acknowledgment (sysctl tcp_fack = 1), and RACK only for what is lost during a repair, with a reordering window of 1 ms at least and no timer (tcp_rack_mark_lost, net/ipv4/tcp_recovery.c)";
    "tail loss probes are sent after a reduction for marks, too, and while more could be sent (tcp_schedule_loss_probe)";
    "the repair of a window doubles like slow start on acknowledgments that move on and report no loss, in 4.9 on those of a retransmission (tcp_cwnd_reduction, net/ipv4/tcp_input.c)";
    "HyStart looks at exact round-trip times, that of 4.9 at eighths of a millisecond";
}
