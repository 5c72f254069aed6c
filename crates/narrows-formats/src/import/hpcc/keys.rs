//! Keys of `config.txt` without a counterpart.

/// A key without a counterpart.
pub(super) struct Key {
    pub(super) name: &'static str,
    /// The value that means nothing, if there is one.
    pub(super) same: &'static str,
    /// The modes of congestion control that read it; all if empty.
    modes: &'static [u32],
    /// Explanation in its note; empty if nothing is worth saying.
    pub(super) why: &'static str,
}

impl Key {
    /// Something should be said of it under this mode.
    pub(super) fn matters(&self, mode: u32) -> bool {
        !self.why.is_empty() && (self.modes.is_empty() || self.modes.contains(&mode))
    }
}

const fn key(name: &'static str, same: &'static str, modes: &'static [u32], why: &'static str) -> Key {
    Key { name, same, modes, why }
}

const OUTPUT: &str = "names of files: [record] and narrows export say what is written";
const MONITOR: &str = "[record] says what is recorded";
/// For keys that come with LB_MODE 9, which has a note of its own.
const CONWEAVE: &str = "";

/// All that are known.
pub(super) const KEYS: [Key; 67] = [
    key("USE_DYNAMIC_PFC_THRESHOLD", "1", &[], "pfc stops above α = 1/8 of what is free, as with 1"),
    key("ACK_HIGH_PRIO", "0", &[], "acknowledgments have the priority of their flow"),
    key("L2_CHUNK_SIZE", "", &[], ""),
    key("L2_WAIT_FOR_ACK", "0", &[], "senders do not wait for each chunk"),
    key("GLOBAL_T", "1", &[], "one base round-trip time and one window hold for the whole network"),
    key("FAST_REACT", "1", &[3, 10], "HPCC reacts to every acknowledgment"),
    key("MULTI_RATE", "0", &[3], "HPCC has one rate, not one for each hop"),
    key("SAMPLE_FEEDBACK", "0", &[3], "HPCC reads all telemetry"),
    key("RATE_BOUND", "1", &[], "rates are bounded, as with 1"),
    key("INT_MULTI", "1", &[3, 10], "telemetry has its own precision"),
    key("PINT_LOG_BASE", "", &[10], "there is no HPCC-PINT"),
    key("PINT_PROB", "", &[10], "there is no HPCC-PINT"),
    key("DCTCP_RATE_AI", "", &[8], "DCTCP adds one packet in each round trip"),
    key("PAUSE_TIME", "", &[], "pfc stops until it says go on"),
    key("pause_time", "", &[], "pfc stops until it says go on"),
    key("NIC_TOTAL_PAUSE_TIME", "0", &[], "network cards do not stop their switch"),
    key("NP_SAMPLING_INTERVAL", "0", &[], "each marked packet counts"),
    key("CLAMP_TARGET_RATE_AFTER_TIMER", "0", &[1], "the timer does not clamp the target rate"),
    key("PACKET_LEVEL_ECMP", "0", &[], "flows keep their path (ECMP)"),
    key("FLOW_LEVEL_ECMP", "1", &[], "flows keep their path (ECMP)"),
    key("SEND_IN_CHUNKS", "0", &[], "a flow is one message"),
    key("APP_START_TIME", "", &[], ""),
    key("APP_STOP_TIME", "", &[], ""),
    key("TCP_FLOW_FILE", "", &[], "flows over TCP are not read; flow.txt is"),
    key("DATA_RATE", "", &[], "links have their rates in topology.txt"),
    key("LINK_DELAY", "", &[], "links have their delays in topology.txt"),
    key("LB_MODE", "0", &[], "flows keep their path (ECMP)"),
    key("NVLS_ENABLE", "0", &[], "switches do not reduce"),
    key("RANDOM_SEED", "", &[], "the scenario has a seed of its own"),
    key("MAX_INFLIGHT_FLOWS", "0", &[], "flows start when flow.txt says, however many there are"),
    key(
        "N_CLIENTS_PER_RACK_FOR_CLOSED_LOOP",
        "1",
        &[],
        "flows start when flow.txt says, however many there are",
    ),
    key("FLOW_ON_PATH_FILE", "", &[], ""),
    key("FLOW_PATH_MAP_FILE", "", &[], ""),
    key("LOAD", "", &[], ""),
    key("FLOWGEN_START_TIME", "", &[], ""),
    key("CONWEAVE_TX_EXPIRY_TIME", "", &[], CONWEAVE),
    key("CONWEAVE_REPLY_TIMEOUT_EXTRA", "", &[], CONWEAVE),
    key("CONWEAVE_PATH_PAUSE_TIME", "", &[], CONWEAVE),
    key("CONWEAVE_EXTRA_VOQ_FLUSH_TIME", "", &[], CONWEAVE),
    key("CONWEAVE_DEFAULT_VOQ_WAITING_TIME", "", &[], CONWEAVE),
    key("TRACE_FILE", "", &[], OUTPUT),
    key("TRACE_OUTPUT_FILE", "", &[], OUTPUT),
    key("FCT_OUTPUT_FILE", "", &[], OUTPUT),
    key("SEND_OUTPUT_FILE", "", &[], OUTPUT),
    key("PFC_OUTPUT_FILE", "", &[], OUTPUT),
    key("CNP_OUTPUT_FILE", "", &[], OUTPUT),
    key("FLOW_INPUT_FILE", "", &[], OUTPUT),
    key("QLEN_MON_FILE", "", &[], OUTPUT),
    key("BW_MON_FILE", "", &[], OUTPUT),
    key("RATE_MON_FILE", "", &[], OUTPUT),
    key("CNP_MON_FILE", "", &[], OUTPUT),
    key("VOQ_MON_FILE", "", &[], OUTPUT),
    key("VOQ_MON_DETAIL_FILE", "", &[], OUTPUT),
    key("UPLINK_MON_FILE", "", &[], OUTPUT),
    key("CONN_MON_FILE", "", &[], OUTPUT),
    key("EST_ERROR_MON_FILE", "", &[], OUTPUT),
    key("ENABLE_TRACE", "0", &[], MONITOR),
    key("TRACE_NODE", "", &[], MONITOR),
    key("QLEN_MON_START", "", &[], MONITOR),
    key("QLEN_MON_END", "", &[], MONITOR),
    key("QLEN_MON_INTERVAL", "", &[], MONITOR),
    key("QLEN_MON_DUMP", "", &[], MONITOR),
    key("SW_MONITORING_INTERVAL", "", &[], MONITOR),
    key("MON_START", "", &[], MONITOR),
    key("MON_END", "", &[], MONITOR),
    key("QP_MON_INTERVAL", "", &[], MONITOR),
    key("BW_MON_INTERVAL", "", &[], MONITOR),
];
