//! Settings of the profile of a network card for RDMA over Ethernet, and those it leaves to Narrows. Firmware is not published: a source
//! is a document of the maker, a measurement, or a setting with the value that cards report; what is neither is called an estimate.

use super::Constant;

/// Keys that mean something else of the same.
const TIMEOUT: &[&str] = &["rdma.rto"];

constants! {
    /// NVIDIA ConnectX-6 Dx with its own settings.
    CONNECTX_6_DX:
    "rdma.recovery" = r#""go_back_n""#: "selective_repeat_forced_en = 0 in the register ROCE_ACCL (NVIDIA, Adaptive Retransmission: Sample Usage)";
    "rdma.ack_timeout" = "10", unless TIMEOUT: "4.2 ms: adaptive retransmission (roce_adp_retrans_en = 1) begins with a few milliseconds where the application's timeout is 14 (Yu et al., SIGCOMM 2023; reported, not checked there)";
    "rdma.doorbell" = r#""1 us""#: "an estimate: a read over PCIe of the payload, as measured with other cards (Neugebauer et al., SIGCOMM 2018); the work request comes with the doorbell";
    "rdma.cnp_interval" = r#""4 us""#: "min_time_between_cnps, 4 as the firmware of these cards reports it; some report 0";
    "rdma.cnp_per" = r#""nic""#: "notifications are spaced by port (Yu et al., SIGCOMM 2023)";
    "rdma.cnp_priority" = "6": "cnp_802p_prio and DSCP 48, as the firmware reports them";
    "rdma.cnp_on_out_of_sequence" = "true": "a NAK comes with a notification while roce_slow_restart_en is set, as it is (Yu et al., SIGCOMM 2023: the checks of their tool Lumina)";
    "cc.dcqcn.variant" = r#""vendor""#: "rules and names of NVIDIA, DCQCN CC Parameters, of ConnectX-4 and later";
    "cc.dcqcn.gain" = "0.0048828125": "dce_tcp_g = 1019: 5/1024";
    "cc.dcqcn.alpha_interval" = r#""1 us""#: "dce_tcp_rtt";
    "cc.dcqcn.cut_interval" = r#""4 us""#: "rate_reduce_monitor_period";
    "cc.dcqcn.timer" = r#""300 us""#: "rpg_time_reset";
    "cc.dcqcn.threshold" = "1": "rpg_threshold";
    "cc.dcqcn.ai_rate" = r#""5 Mb/s""#: "rpg_ai_rate, at any rate of the link";
    "cc.dcqcn.hai_rate" = r#""50 Mb/s""#: "rpg_hai_rate";
    "cc.dcqcn.min_rate" = r#""1 Mb/s""#: "rpg_min_rate";
    "cc.dcqcn.clamp_target" = "false": "clamp_tgt_rate; clamp_tgt_rate_after_time_inc is set";
    alike:
    "packets have 1024 B of payload, the most that fits 1500 B of Ethernet";
    "a queue pair begins at the rate of the link, also after its first notification: rate_to_set_on_first_cnp = 0";
    "a cut is by alpha/2, by half at most: rpg_gd = 11, rpg_min_dec_fac = 50; alpha begins at 1: initial_alpha_value = 1023";
    differs:
    "all timeouts are alike; those of adaptive retransmission are drawn at first and grow up to the application's (NVIDIA, Adaptive Retransmission: Algorithm), 67 ms (14) by default in perftest, 0.5 s (17) and more in rdma_cm (CMA_IBOE_PACKET_LIFETIME, drivers/infiniband/core/cma.c of Linux)";
    "byte stages of DCQCN (rpg_byte_reset = 32767) are left out: the rules that the vendor's variant follows have none";
    "what else roce_slow_restart_en does to the rate after a loss is not published, and left out";
    "how long a card takes to send a notification or a NAK is not published: set cnp_delay if you know it";
    "where a new message joins the others of its host in turn is not published: at the tail";
    "how many messages are outstanding is up to the application: each message has a connection of its own unless queue_pair says otherwise";
}
