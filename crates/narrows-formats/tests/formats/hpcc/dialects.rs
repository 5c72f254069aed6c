//! Dialects of the simulators' files, a fact in each test.

use std::collections::BTreeSet;

use narrows_formats::import::Imported;
use narrows_formats::import::hpcc::{BufferUnit, Dialect, Network, Texts, convert};
use narrows_formats::import::source;
use narrows_proto::units::{BitRate, Bytes, Span, Time};

use super::{SMALL, error, import, links_of, plan, texts, topology};

/// Of a network of two hosts, with a flow.
fn configured(config: &str) -> Imported {
    import(&texts(SMALL, Some("1\n0 1 3 100 5000 2\n"), Some(config)))
}

/// Asserts that these texts stand in a scenario, which has to make a plan.
fn has(imported: &Imported, expected: &[&str]) {
    plan(imported);
    for expected in expected {
        assert!(imported.scenario.contains(expected), "{expected} in\n{}", imported.scenario);
    }
}

fn why<'a>(imported: &'a Imported, what: &str) -> Option<&'a str> {
    imported.notes.iter().find(|note| note.what == what).map(|note| note.why.as_str())
}

#[test]
fn rows_and_text_after_the_announced_links_are_ignored_and_counted() {
    let text =
        format!("{SMALL}0 7 25Gbps 1us 0\n\nthe first line has counts,\nthe second the ids of switches\n");
    let imported = import(&texts(&text, None, None));
    assert_eq!(plan(&imported).network.topology.links().len(), 2 * 3);
    let ignored = "what follows the announced links is ignored, as there (rows: 1, other lines: 2)";
    assert_eq!(why(&imported, "topology.txt"), Some(ignored));
}

#[test]
fn rows_and_text_after_the_announced_flows_are_ignored_and_counted() {
    let flows = "1\n0 1 3 100 5000 2\n1 0 3 100 5000 2\n1 0 3 100 1 1\n\nsrc dst pg port size start\n";
    let imported = import(&texts(SMALL, Some(flows), None));
    assert_eq!(plan(&imported).traffic.flows.len(), 1);
    let ignored = "what follows the announced flows is ignored, as there (rows: 2, other lines: 1)";
    assert_eq!(why(&imported, "flow.txt"), Some(ignored));
}

#[test]
fn links_of_four_columns_have_no_errors() {
    let text = "3 1 2\n0\n0 1 40Gbps 0.0001ms\n0 2 40Gbps 0.0001ms\n\nsrc dst rate delay\n";
    let plan = plan(&import(&texts(text, None, None)));
    assert_eq!(links_of(&plan), BTreeSet::from([(BitRate::from_gbps(40), Span::from_ns(100))]));
    assert!(plan.network.topology.links().iter().all(|link| link.wire.error_rate == 0.0));
}

#[test]
fn six_fields_that_end_in_a_rate_are_reverie() {
    let text = "4 2 1 3 25000000000 100000000000\n2 3 \n0 2 25000000000 2us 0\n1 3 25000000000 2us 0\n2 3 100000000000 2us 0\n";
    let network = Network::parse(&source("topology.txt", text)).unwrap();
    assert_eq!((network.dialect, network.switches.len(), network.links.len()), (Dialect::Reverie, 2, 3));
    plan(&import(&texts(text, None, None)));
}

#[test]
fn comments_in_braces_may_follow_values() {
    let config = "CC_MODE 3 {1: DCQCN, 3: HPCC}\nU_TARGET 0.9 {eta}\nLINK_DOWN 100 2 3 {at, from, to}\nRP_TIMER 900  {us}\n\
                  KMAX_MAP 2 25000000000 400 100000000000 1600 {by rate}\nKMIN_MAP 2 25000000000 100 100000000000 400 {by rate}\n\
                  PMAX_MAP 2 25000000000 0.2 100000000000 0.2 {by rate}\n";
    let imported = configured(config);
    has(&imported, &["eta = 0.9,", "from = \"2.0001 s\"", "max = \"1.6 MB\""]);
    assert_eq!((why(&imported, "CC_MODE"), why(&imported, "KMAX_MAP")), (None, None));
}

#[test]
fn words_after_a_value_are_ignored_and_counted() {
    let config = "RP_TIMER 900 microseconds\nKMAX_MAP 2 25000000000 400 100000000000 1600 200000000000 3200\n\
                  KMIN_MAP 2 25000000000 100 100000000000 400\nPMAX_MAP 2 25000000000 0.2 100000000000 0.2\n";
    let imported = configured(config);
    has(&imported, &["timer = \"900 us\""]);
    assert_eq!(why(&imported, "RP_TIMER"), Some("what follows its value is ignored, as there (words: 1)"));
    assert_eq!(why(&imported, "KMAX_MAP"), Some("what follows its value is ignored, as there (words: 2)"));
}

#[test]
fn a_stop_in_a_million_years_is_when_all_flows_have_finished() {
    let imported = configured("SIMULATOR_STOP_TIME 40000000000000.00\n");
    let stop = plan(&imported).scenario.stop;
    assert_eq!((stop.after, stop.after + stop.drain), (Span::from_ms(2001), narrows::plan::LONGEST));
    assert!(why(&imported, "SIMULATOR_STOP_TIME 40000000000000.00").is_some());
}

#[test]
fn headroom_comes_on_top_of_memory_that_would_not_hold_it() {
    let text = "3 1 2\n2\n0 2 400Gbps 30ms 0\n1 2 400Gbps 1us 0\n";
    let imported = import(&texts(text, None, Some("BUFFER_SIZE 32\n")));
    plan(&imported);
    assert!(why(&imported, "BUFFER_SIZE").expect("a note").starts_with("32 MiB would not hold the headroom"));
    assert_eq!(why(&configured("BUFFER_SIZE 32\n"), "BUFFER_SIZE"), None);
}

#[test]
fn numbers_are_what_python_writes_of_them() {
    let config = "CC_MODE 1\nBUFFER_SIZE 32.0\nRATE_AI 26.666666666666668Mb/s\nRATE_HAI 1e8b/s\nALPHA_RESUME_INTERVAL 3.3333333333333335\n\
                  INT_MULTI 4.0\nSIMULATOR_STOP_TIME 2.1234567890123456\nHAS_WIN 1.0\n";
    let flows = "2\n0 1 3 100 5000 1.2345678901234567e-05\n0 1 3 100 5000 2.000000123456789\n";
    let imported = import(&texts(SMALL, Some(flows), Some(config)));
    has(
        &imported,
        &[
            "size = \"32 MiB\"",
            "ai_rate = \"26.666666 Mb/s\"",
            "hai_rate = \"100 Mb/s\"",
            "alpha_interval = \"3.333333 us\"",
            "after = \"2.123456789012 s\"",
        ],
    );
    let starts: Vec<_> = plan(&imported).traffic.flows.iter().map(|flow| flow.start).collect();
    assert_eq!(starts, [Time::from_ps(12_345_678), Time::from_ps(2_000_000_123_456)]);
    assert_eq!(why(&imported, "starts"), Some("cut to picoseconds (flows: 2)"));
}

#[test]
fn flows_of_conweave_have_no_port() {
    let imported = import(&texts(SMALL, Some("2\n0 1 3 5000 2.000000001\n1 0 3 7000 2.5\n"), None));
    let flows: Vec<_> = plan(&imported).traffic.flows.iter().map(|flow| (flow.size, flow.start)).collect();
    let at = |ns| Time::ZERO + Span::from_ns(ns);
    assert_eq!(flows, [(Bytes::new(5000), at(2_000_000_001)), (Bytes::new(7000), at(2_500_000_000))]);
    assert!(imported.scenario.contains("name = \"flows\""), "{}", imported.scenario);
}

#[test]
fn flows_of_ns3_rdma_are_packets_with_an_end_in_any_order() {
    let flows = "2\n0 1 3 10000000 2.5 9.5\n1 0 3 70 2.0 2.6\n";
    let imported = import(&texts(SMALL, Some(flows), Some("PACKET_PAYLOAD_SIZE 500\n")));
    let flows: Vec<_> = plan(&imported).traffic.flows.iter().map(|flow| flow.size).collect();
    assert_eq!(flows, [Bytes::new(35_000), Bytes::new(5_000_000_000)]);
    assert!(why(&imported, "stop").expect("a note").contains("there the first ends at 2.6 s"));
    assert_eq!(
        error(&texts(SMALL, Some("1\n0 1 3 4611686018427387904 2.5 9.5\n"), None)),
        "flow.txt:2:7  the size is 4611686018427387904, expected 1 to 1152921504606846"
    );
}

#[test]
fn flows_of_m3_begin_with_an_id() {
    let imported = import(&texts(SMALL, Some("1\n17 0 1 3 100 5000 0\n"), None));
    assert_eq!(plan(&imported).traffic.flows[0].size, Bytes::new(5000));
    assert!(imported.read[1].contains("(id src dst pg dport size start)"), "{:?}", imported.read);
}

#[test]
fn an_empty_flow_file_has_no_flows() {
    let imported = import(&texts(SMALL, Some("\n"), None));
    assert!(plan(&imported).traffic.flows.iter().all(|flow| flow.size == Bytes::new(1_000_000)));
    assert!(why(&imported, "flow.txt").is_some());
}

#[test]
fn thresholds_may_be_missing_under_controls_that_read_no_marks() {
    let thresholds = "KMAX_MAP 1 25000000000 400\nKMIN_MAP 1 25000000000 100\nPMAX_MAP 1 25000000000 0.2\n";
    for mode in [3, 7, 12] {
        let imported = configured(&format!("CC_MODE {mode}\n{thresholds}"));
        has(&imported, &["max = \"400 kB\""]);
        let why = why(&imported, "thresholds of links of 100 Gb/s").expect("a note");
        assert_eq!(why, format!("have none, and CC_MODE {mode} reads no marks"));
    }
    for mode in [1, 8] {
        let config = format!("CC_MODE {mode}\n{thresholds}");
        assert!(error(&texts(SMALL, None, Some(&config))).starts_with("links of 100 Gb/s have no entry"));
    }
}

#[test]
fn thresholds_above_all_memory_mark_as_far_as_it_goes() {
    let config = |kmin| {
        format!(
            "CC_MODE 1\nBUFFER_SIZE 1\nKMAX_MAP 2 25000000000 2000 100000000000 2000\n\
             KMIN_MAP 2 25000000000 {kmin} 100000000000 {kmin}\nPMAX_MAP 2 25000000000 0.2 100000000000 0.2\n"
        )
    };
    // 0.2 × (1 MiB − 1 B − 500 kB) / 1.5 MB.
    has(&configured(&config(500)), &["min = \"500 kB\", max = \"1.048575 MB\", max_p = 0.07314333"]);
    has(&configured(&config(1900)), &["min = \"1.048574 MB\", max = \"1.048575 MB\", max_p = 1e-9"]);
}

#[test]
fn nvswitches_need_no_thresholds() {
    let links = [
        (0, 2, "2400Gbps", "25ns"),
        (1, 2, "2400Gbps", "25ns"),
        (0, 3, "100Gbps", "500ns"),
        (1, 3, "100Gbps", "500ns"),
    ];
    let text = topology("4 2 1 1 4 A100", &[2, 3], &links);
    let config =
        "CC_MODE 1\nKMAX_MAP 1 100000000000 1600\nKMIN_MAP 1 100000000000 400\nPMAX_MAP 1 100000000000 0.2\n";
    has(&import(&texts(&text, None, Some(config))), &["max = \"1.6 MB\""]);
}

#[test]
fn windows_and_base_round_trip_times_of_the_file_are_kept() {
    // 6.72 us at 25 Gb/s.
    has(&configured("CC_MODE 1\nHAS_WIN 1\n"), &["window = \"21 kB\""]);
    has(&configured("CC_MODE 1\nFIXED_WIN 18000.0\nHAS_WIN 1\n"), &["window = \"18 kB\""]);
    has(&configured("CC_MODE 7\nBASE_RTT 14400\n"), &["window = \"45 kB\""]);
    has(&configured("CC_MODE 3\nBASE_RTT 14400\n"), &["base_rtt = \"14.4 us\""]);
    has(&configured("CC_MODE 3\nFIXED_WIN 18000\n"), &["window = \"18 kB\""]);
    assert!(!configured("CC_MODE 1\nHAS_WIN 0\nFIXED_WIN 18000\n").scenario.contains("window"));
}

#[test]
fn windows_that_follow_the_rate_are_settings_of_the_control() {
    for mode in [1, 7] {
        let imported = configured(&format!("CC_MODE {mode}\nVAR_WIN 1\n"));
        has(&imported, &["window = \"21 kB\" } }\nrdma"]);
        assert!(!imported.scenario.contains("ack_every = 1, window"), "{}", imported.scenario);
    }
    assert!(!configured("CC_MODE 1\nHAS_WIN 0\nVAR_WIN 1\n").scenario.contains("window"));
}

#[test]
fn a_packet_that_begins_within_the_window_may_be_sent() {
    has(&configured("CC_MODE 1\nFIXED_WIN 18001\n"), &["window = \"19 kB\""]);
    has(&configured("CC_MODE 3\n"), &["payload_window = true"]);
}

/// `SwitchNotifyDequeue` in `switch-node.cc`: when the packet has left the queue.
#[test]
fn packets_are_marked_when_they_leave() {
    let imported = configured(
        "CC_MODE 1\nKMAX_MAP 2 25000000000 400 100000000000 1600\nKMIN_MAP 2 25000000000 100 100000000000 400\n\
         PMAX_MAP 2 25000000000 0.2 100000000000 0.2\n",
    );
    has(&imported, &["action = \"mark_only\", mark_at = \"dequeue\""]);
}

#[test]
fn acknowledgments_report_marks_except_in_ns3_rdma() {
    has(&configured("CC_MODE 1\n"), &["feedback = \"acks\""]);
    assert!(!configured("CNP_INTERVAL 50\n").scenario.contains("feedback"));
}

#[test]
fn packets_under_timely_have_the_time_they_were_sent() {
    has(&configured("CC_MODE 7\n"), &["headers = \"56 B\"", "hai_after = 6, hai_below_t_low = true"]);
    has(&configured("CC_MODE 1\n"), &["headers = \"48 B\""]);
}

#[test]
fn dctcp_starts_with_the_window_of_the_file() {
    has(&configured("CC_MODE 8\n"), &["initial_window = 21", "window = \"21 kB\"", "min_window = 1 "]);
    has(
        &configured("CC_MODE 8\nFIXED_WIN 18000\nMIN_RATE 3Gb/s\n"),
        &["initial_window = 18", "min_window = 3 "],
    );
    has(&configured("CC_MODE 8\nPACKET_PAYLOAD_SIZE 500\n"), &["initial_window = 40"]);
}

#[test]
fn thresholds_of_timely_are_kept() {
    let config = "CC_MODE 7\nTIMELY_T_LOW 50897\nTIMELY_T_HIGH 121182.86097190353\nTIMELY_BETA 0.7\n";
    has(&configured(config), &["t_low = \"50.897 us\"", "t_high = \"121.182 us\"", "beta = 0.7"]);
}

#[test]
fn windows_know_the_fastest_a_flow_may_be() {
    let imported = configured("CC_MODE 1\nMAX_RATE 10000Mb/s\n");
    // 8.4 packets.
    has(&imported, &["window = \"9 kB\""]);
    assert!(why(&imported, "MAX_RATE 10 Gb/s").expect("a note").contains("25 Gb/s"));
    assert_eq!(why(&configured("CC_MODE 1\nMAX_RATE 25Gb/s\n"), "MAX_RATE 25 Gb/s"), None);
}

#[test]
fn mode_12_reacts_to_nothing_and_has_a_window() {
    has(&configured("CC_MODE 12\n"), &["cc = { fixed = {} }", "window = \"21 kB\""]);
    has(&configured("CC_MODE 12\nMAX_RATE 10Gb/s\n"), &["fixed = { rate = \"10 Gb/s\" }"]);
}

#[test]
fn settings_of_ns3_rdma_are_those_of_the_paper() {
    let config = "CNP_INTERVAL 50\nALPHA_RESUME_INTERVAL 55\nRP_TIMER 60\nBYTE_COUNTER 300000\nDCTCP_GAIN 0.00390625\n\
                  KMAX 1000\nKMIN 40\nPMAX 1.0\nCLAMP_TARGET_RATE 1\nPACKET_LEVEL_ECMP 0\nAPP_STOP_TIME 10.0\n";
    let imported = configured(config);
    has(
        &imported,
        &[
            "variant = \"paper\"",
            "byte_counter = \"300 kB\"",
            "gain = 0.00390625",
            "cnp_interval = \"50 us\"",
            "min = \"41.2 kB\", max = \"1.03 MB\", max_p = 1.0",
            "clamp_target = true",
        ],
    );
    assert!(!imported.scenario.contains("window = "), "{}", imported.scenario);
}

#[test]
fn flows_of_conweave_may_finish_for_ten_seconds() {
    has(
        &configured("FLOWGEN_START_TIME 2.0\nFLOWGEN_STOP_TIME 2.1\n"),
        &["after = \"2.1 s\"\ndrain = \"10 s\""],
    );
}

#[test]
fn buffers_are_mebibytes_or_kibibytes_and_doubtful_ones_are_told() {
    let buffer = |number: u32, unit| {
        let config = format!("BUFFER_SIZE {number}\n");
        let texts = Texts { buffer_unit: unit, ..texts(SMALL, None, Some(&config)) };
        let (imported, warnings) = convert(&texts, "imported").unwrap();
        let size = imported.scenario.split_once("size = \"").unwrap().1.split('"').next().unwrap().to_owned();
        (size, warnings.first().map(ToString::to_string))
    };
    assert_eq!(buffer(32, BufferUnit::Mib), ("32 MiB".into(), None));
    assert_eq!(buffer(364, BufferUnit::Kib), ("364 KiB".into(), None));
    let (size, warning) = buffer(3000, BufferUnit::Mib);
    assert_eq!(size, "3.145728 GB");
    assert_eq!(
        warning.unwrap(),
        "config.txt:1:13  BUFFER_SIZE 3000 is 3000 MiB of memory in each switch\n  with --buffer-unit kib it is 3000 KiB"
    );
    let (_, warning) = buffer(32, BufferUnit::Kib);
    assert!(warning.unwrap().contains("with --buffer-unit mib it is 32 MiB"));
}

#[test]
fn keys_for_the_same_reason_share_a_note() {
    let config = "TRACE_FILE trace.txt\nFCT_OUTPUT_FILE fct.txt\nPFC_OUTPUT_FILE pfc.txt\nL2_CHUNK_SIZE 4000\nPINT_PROB 1.0\n";
    let imported = configured(config);
    assert!(why(&imported, "TRACE_FILE, FCT_OUTPUT_FILE, PFC_OUTPUT_FILE").is_some(), "{:?}", imported.notes);
    // Only go-back-0 reads the one, only HPCC-PINT the other.
    assert!(!imported.notes.iter().any(|note| note.what.contains("L2_CHUNK") || note.what.contains("PINT")));
}

#[test]
fn digits_beyond_any_binary_fraction_are_left_out() {
    let long = "3".repeat(100_000);
    let flows = format!("2\n0 1 3 100 5000 2.{long}\n0 1 3 100 5000 3.{}\n", "0".repeat(50));
    let imported = import(&texts(SMALL, Some(&flows), None));
    let starts: Vec<_> = plan(&imported).traffic.flows.iter().map(|flow| flow.start).collect();
    assert_eq!(starts, [Time::from_ps(2_333_333_333_333), Time::from_ps(3_000_000_000_000)]);
    assert!(
        error(&texts(SMALL, Some(&format!("1\n0 1 3 100 5000 {long}\n")), None)).contains("is too large")
    );
}
