//! Traces of stored runs, read back by readers that know nothing of the writers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Cursor;
use std::path::Path;

use crate::support::{RDMA, STREAMS, names, planned, request, stored, trace};
use etherparse::{LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TransportSlice};
use narrows::results::Stored;
use narrows_formats::export::trace::{Format, RealFrames};
use narrows_proto::units::{Span, Time};
use narrows_sim::HostId;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Block, OptionCode, PcapBlockOwned, PcapError, PcapNGReader};
use serde_json::Value;

/// A packet of a capture.
struct Captured {
    at_ns: u64,
    interface: u32,
    data: Vec<u8>,
    original: u32,
    comment: String,
}

/// A capture: names and resolutions of its interfaces, names of hosts, packets.
#[derive(Default)]
struct Capture {
    interfaces: Vec<(String, u8)>,
    hosts: BTreeMap<[u8; 4], String>,
    packets: Vec<Captured>,
}

fn capture(path: &Path) -> Capture {
    let bytes = std::fs::read(path).unwrap();
    let mut reader = PcapNGReader::new(1 << 16, Cursor::new(bytes)).unwrap();
    let mut capture = Capture::default();
    let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
    loop {
        match reader.next() {
            Ok((offset, PcapBlockOwned::NG(block))) => {
                match block {
                    Block::InterfaceDescription(block) => {
                        let name = block.options.iter().find(|option| option.code == OptionCode(2)).unwrap();
                        capture.interfaces.push((text(name.as_bytes().unwrap()), block.if_tsresol));
                    }
                    Block::NameResolution(block) => {
                        // The last record says that there are no more.
                        for record in block.nr.iter().filter(|record| !record.record_value.is_empty()) {
                            let (ip, name) = record.record_value.split_at(4);
                            let end = name.iter().position(|byte| *byte == 0).unwrap();
                            capture.hosts.insert(ip.try_into().unwrap(), text(&name[..end]));
                        }
                    }
                    Block::EnhancedPacket(block) => {
                        let comment = block.options.iter().find(|option| option.code == OptionCode::Comment);
                        capture.packets.push(Captured {
                            at_ns: u64::from(block.ts_high) << 32 | u64::from(block.ts_low),
                            interface: block.if_id,
                            data: block.data[..block.caplen as usize].to_vec(),
                            original: block.origlen,
                            comment: comment.map_or_else(String::new, |it| text(it.as_bytes().unwrap())),
                        });
                    }
                    _ => {}
                }
                reader.consume(offset);
            }
            Ok((offset, _)) => reader.consume(offset),
            Err(PcapError::Eof) => return capture,
            Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// The sum of a column of a table.
fn sum(folder: &Path, table: &'static str, column: &str) -> u64 {
    let table = Stored::open(folder).unwrap().table(table, None).unwrap().unwrap();
    table.integers(column).iter().sum()
}

#[test]
fn a_capture_has_every_packet_that_ports_have_sent_or_dropped() {
    let (_place, folder) = stored(STREAMS, None);
    let written = trace(&folder, &request(Format::Pcapng)).unwrap();
    let capture = capture(&written.path);
    let dropped = dropped(&capture);
    let lost = capture.packets.iter().filter(|packet| packet.comment.contains("lost=link_error")).count();
    assert_eq!(capture.packets.len() as u64 - dropped, sum(&folder, "ports", "packets"));
    assert_eq!(dropped + lost as u64, sum(&folder, "ports", "drops"));
    assert!(dropped > 0 && lost > 0, "{dropped} dropped, {lost} lost");
    let marked = capture.packets.iter().filter(|packet| packet.comment.contains("marked_here")).count();
    assert_eq!(marked as u64, sum(&folder, "ports", "marks"));
    assert!(marked > 0);
    assert!(capture.packets.is_sorted_by_key(|packet| packet.at_ns));
    assert!(capture.interfaces.iter().all(|(_, resolution)| *resolution == 9));
}

#[test]
fn a_capture_has_headers_that_say_what_happened() {
    let (_place, folder) = stored(STREAMS, None);
    let capture = capture(&trace(&folder, &request(Format::Pcapng)).unwrap().path);
    let (mut payload, mut again, mut sacks, mut echoes, mut marks) = (0, 0, 0, 0, 0);
    let first_hop = |packet: &&Captured| {
        let name = &capture.interfaces[packet.interface as usize].0;
        name.starts_with("say") || name.starts_with("semi")
    };
    for packet in &capture.packets {
        let lax = LaxSlicedPacket::from_ethernet(&packet.data).unwrap();
        let Some(LaxNetSlice::Ipv4(ip)) = &lax.net else { panic!("no IPv4") };
        let Some(TransportSlice::Tcp(tcp)) = &lax.transport else { panic!("no TCP") };
        let header = ip.header();
        let of_tcp = u32::from(header.total_len()) - 20 - u32::from(tcp.to_header().header_len_u16());
        assert!(packet.original >= 14 + u32::from(header.total_len()), "{}", packet.original);
        marks += u32::from(header.ecn().value() == 3);
        echoes += u32::from(tcp.ece() && !tcp.syn());
        sacks += usize::from(
            tcp.options_iterator()
                .flatten()
                .any(|option| matches!(option, TcpOptionElement::SelectiveAcknowledgement(..))),
        );
        if first_hop(&packet) {
            payload += u64::from(of_tcp);
            again += u64::from(packet.comment.contains("again"));
        }
    }
    assert_eq!(payload, 400_000 + sum(&folder, "flows", "retransmitted_bytes"));
    assert_eq!(again, sum(&folder, "flows", "retransmissions"));
    assert!(sacks > 0 && echoes > 0 && marks > 0, "{sacks} {echoes} {marks}");
}

#[test]
fn plain_and_scheduled_ports_give_the_same_capture() {
    let (_place, plain) = stored(STREAMS, None);
    let (_place_too, scheduled) =
        stored(&STREAMS.replace("version = 1", "version = 1\nports = \"scheduled\""), None);
    let [plain, scheduled] = [plain, scheduled].map(|folder| {
        let path = trace(&folder, &request(Format::Pcapng)).unwrap().path;
        let capture = capture(&path);
        let port = |number: u32| capture.interfaces[number as usize].0.clone();
        let written = |it: &Captured| (it.at_ns, port(it.interface), it.data.clone(), it.comment.clone());
        // Simultaneous packets at different ports have no order.
        let mut packets: Vec<_> = capture.packets.iter().map(written).collect();
        packets.sort();
        packets
    });
    assert_eq!(plain.len(), scheduled.len());
    assert!(plain == scheduled);
}

/// One flow over 40 ms of round trip to a receiver whose window grows.
const GROWING: &str = r#"
version = 1
name = "growing"
stop = { after = "10 s" }
switches.default.buffer = { size = "1 MB", sharing = "complete" }
topology.dumbbell = { hosts = 1, host_rate = "1 Gb/s", bottleneck_rate = "100 Mb/s", host_delay = "1 us", bottleneck_delay = "20 ms" }

[[traffic]]
name = "data"
pattern.long_lived = { size = "3 MB", from = "left/host0", to = "right/host0" }
cc = { cubic = {} }
transport.profile = "linux-6.12"
"#;

/// Of each segment of a flow in a capture: SYN, the number of its first byte and of that after its last, the byte it acknowledges up to,
/// its window as it stands in the header, and its scale if it has one.
struct Segment {
    syn: bool,
    data: std::ops::Range<u64>,
    acknowledges: u64,
    window: u64,
    scale: Option<u8>,
}

fn segments(capture: &Capture) -> Vec<Segment> {
    let read = |packet: &Captured| {
        let lax = LaxSlicedPacket::from_ethernet(&packet.data).unwrap();
        let Some(LaxNetSlice::Ipv4(ip)) = &lax.net else { panic!("no IPv4") };
        let Some(TransportSlice::Tcp(tcp)) = &lax.transport else { panic!("no TCP") };
        let len = u64::from(ip.header().total_len()) - 20 - u64::from(tcp.to_header().header_len_u16());
        let seq = u64::from(tcp.sequence_number());
        let scale = tcp.options_iterator().flatten().find_map(|option| match option {
            TcpOptionElement::WindowScale(scale) => Some(scale),
            _ => None,
        });
        let (acknowledges, window) = (tcp.acknowledgment_number().into(), tcp.window_size().into());
        Segment { syn: tcp.syn(), data: seq..seq + len, acknowledges, window, scale }
    };
    capture.packets.iter().map(read).collect()
}

#[test]
fn a_capture_has_the_windows_that_the_receiver_announced() {
    let (_place, folder) = stored(GROWING, None);
    let mut request = request(Format::Pcapng);
    request.ports.clear();
    let segments = segments(&capture(&trace(&folder, &request).unwrap().path));
    // 6 MiB have 23 bits, the field 16: units of 128 B, of which the window of a SYN has none (RFC 7323 §2.2).
    let syns: Vec<_> =
        segments.iter().filter(|it| it.syn).map(|it| (it.acknowledges, it.scale, it.window)).collect();
    // 45 segments of 1448 B, in whole units once there is a receiver.
    assert_eq!(syns, [(0, Some(7), 65_160), (1, Some(7), 65_280)]);
    let mut edge = 1 + 65_280;
    let mut windows = vec![65_280];
    for segment in segments.iter().filter(|segment| !segment.syn) {
        if segment.data.is_empty() {
            let window = segment.window << 7;
            // It never shrinks.
            assert!(segment.acknowledges + window >= edge, "{window} after {}", segment.acknowledges);
            edge = segment.acknowledges + window;
            windows.push(window);
        } else {
            assert!(segment.data.end <= edge, "{:?} beyond {edge}", segment.data);
        }
    }
    // The window of the sender reaches some 375 kB in slow start, and the announced one stays ahead of it.
    let most = *windows.iter().max().unwrap();
    assert!((500_000..=3_145_728).contains(&most), "{most}");
}

#[test]
fn a_window_that_is_not_announced_stands_in_a_capture_as_it_is_set() {
    for (setting, scale, window) in [("", 14, 65_535), ("receive_window = \"26 kB\"", 0, 26_000)] {
        let text = STREAMS.replace("min_rto = \"5 ms\"", &format!("min_rto = \"5 ms\"\n{setting}"));
        let (_place, folder) = stored(&text, None);
        let mut request = request(Format::Pcapng);
        request.ports.clear();
        let segments = segments(&capture(&trace(&folder, &request).unwrap().path));
        assert!(segments.iter().all(|segment| segment.window == window));
        assert!(segments.iter().filter(|it| it.syn).all(|it| it.scale == Some(scale)));
    }
}

#[test]
fn names_with_blanks_and_quotes_are_kept() {
    let (_place, folder) = stored(STREAMS, None);
    let capture = capture(&trace(&folder, &request(Format::Pcapng)).unwrap().path);
    let interfaces: BTreeSet<_> = capture.interfaces.iter().map(|(name, _)| name.as_str()).collect();
    assert!(interfaces.contains("say \"hi\" -> s0, next"), "{interfaces:?}");
    let hosts: Vec<_> = capture.hosts.values().map(String::as_str).collect();
    assert_eq!(hosts, ["say \"hi\"", "semi; colon", "größe/1", "d"]);
}

#[test]
fn without_ports_a_capture_has_those_of_hosts() {
    let (_place, folder) = stored(STREAMS, None);
    let mut request = request(Format::Pcapng);
    request.ports.clear();
    request.flows = vec!["1".into()];
    request.until = Time::ZERO + Span::from_ms(3);
    let capture = capture(&trace(&folder, &request).unwrap().path);
    let names: BTreeSet<_> = capture.interfaces.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["semi; colon -> s0, next", "d -> s1"]));
    assert!(capture.packets.iter().all(|packet| packet.comment.starts_with("flow=1 group=dctcp")));
    assert!(capture.packets.iter().all(|packet| packet.at_ns < 3_000_000));
}

#[test]
fn rdma_goes_over_udp_and_stops_are_mac_control_frames() {
    let (_place, folder) = stored(RDMA, None);
    let capture = capture(&trace(&folder, &request(Format::Pcapng)).unwrap().path);
    assert_eq!(capture.packets.len() as u64, sum(&folder, "ports", "packets"));
    let (mut opcodes, mut stops) = (BTreeSet::new(), 0);
    for packet in &capture.packets {
        if packet.data[12..14] == [0x88, 0x08] {
            assert_eq!(packet.data[..6], [0x01, 0x80, 0xc2, 0, 0, 1]);
            assert_eq!((packet.data[14..16].to_vec(), packet.original), (vec![1, 1], 60));
            stops += 1;
            continue;
        }
        let lax = LaxSlicedPacket::from_ethernet(&packet.data).unwrap();
        let Some(TransportSlice::Udp(udp)) = &lax.transport else { panic!("no UDP") };
        assert_eq!(udp.destination_port(), 4791);
        opcodes.insert(packet.data[42]);
    }
    assert!(stops > 0);
    // SEND first, middle and last; acknowledgment; notification.
    assert_eq!(opcodes, BTreeSet::from([0x00, 0x01, 0x02, 0x11, 0x81]));
}

/// Frames of a scenario of the guide, those with an EtherType that is not that of IP.
fn messages(scenario: &str) -> (Vec<Captured>, Vec<Captured>) {
    let (_place, folder) = stored(scenario, None);
    let all = capture(&trace(&folder, &request(Format::Pcapng)).unwrap().path);
    assert_eq!(all.packets.len() as u64, sum(&folder, "ports", "packets"));
    all.packets.into_iter().partition(|packet| packet.data[12..14] == [0x08, 0x00])
}

fn mac(host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, host]
}

#[test]
fn messages_of_qcn_and_tags_of_limiters_have_the_layout_of_the_standard() {
    let text = include_str!("../../../../docs/guide/snippets/mechanism-qcn.toml");
    let (_, others) = messages(&text.replace("times = 5", "times = 1"));
    let (mut tagged, mut points) = (0, BTreeSet::new());
    for packet in &others {
        let content = &packet.data[14..];
        match [packet.data[12], packet.data[13]] {
            [0x22, 0xe9] => {
                let flow: u16 = packet.comment.split(['=', ' ']).nth(1).unwrap().parse().unwrap();
                assert_eq!((&content[..2], &content[2..4]), (&flow.to_be_bytes()[..], &[0x08, 0x00][..]));
                tagged += 1;
            }
            [0x22, 0xe7] => {
                let number = |at: usize| i16::from_be_bytes([content[at], content[at + 1]]);
                let says = packet.comment.split_once("q_offset=").unwrap().1;
                assert_eq!(says, format!("{} q_delta={}", number(10), number(12)));
                assert!(packet.comment.contains(&format!("Quantised({})", content[1])), "{}", packet.comment);
                points.insert(content[2..10].to_vec());
                assert_eq!((content[0], number(14), &content[16..22]), (0, 0, &mac(0)[..]));
                // From the EtherType of the sampled frame on.
                let sample = &content[24..24 + number(22) as usize];
                assert_eq!(sample[..3], [0x08, 0x00, 0x45]);
                assert_eq!((packet.data[..6].to_vec(), packet.original), (mac(sample[17] - 1).to_vec(), 60));
            }
            other => panic!("{other:x?}"),
        }
    }
    assert!(tagged > 0);
    assert_eq!(points.len(), 1, "one queue is congested");
}

#[test]
fn messages_of_bcn_and_about_isolated_flows_have_ether_types_of_their_own() {
    let bcn =
        include_str!("../../../../docs/guide/snippets/mechanism-bcn.toml").replace("times = 5", "times = 1");
    let (_, others) = messages(&bcn);
    assert!(!others.is_empty());
    for packet in &others {
        assert_eq!(packet.data[12..14], [0x89, 0x04]);
        let offset = i16::from_be_bytes([packet.data[24], packet.data[25]]);
        assert!(packet.comment.contains(&format!("q_offset={offset} ")), "{}", packet.comment);
    }
    let isolation = include_str!("../../../../docs/guide/snippets/mechanism-isolation.toml");
    let (_, others) = messages(isolation);
    let about_flows: Vec<_> = others.iter().filter(|packet| packet.data[12..14] == [0x89, 0xa2]).collect();
    assert!(!about_flows.is_empty());
    for packet in about_flows {
        assert_eq!(packet.comment.ends_with("ends"), packet.data[14] == 1, "{}", packet.comment);
        // Destination and source of the flow, then its addresses in the first octets of a frame.
        let host = |at: usize| packet.data[at..at + 6].to_vec();
        let sample = &packet.data[31..];
        assert_eq!([host(15), host(21)], [mac(sample[21] - 1).to_vec(), mac(sample[17] - 1).to_vec()]);
    }
}

/// The records of a file of JSON text sequences.
fn records(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.starts_with('\u{1e}'));
    text.split('\u{1e}')
        .skip(1)
        .map(|record| serde_json::from_str(record.strip_suffix('\n').unwrap()).unwrap())
        .collect()
}

#[test]
fn qlog_tells_of_each_flow_in_order_of_time() {
    let (_place, folder) = stored(STREAMS, None);
    let written = trace(&folder, &request(Format::Qlog)).unwrap();
    assert_eq!(names(&written.path), ["dctcp-1.sqlog", "reno-0.sqlog"]);
    let mut lost = 0;
    for name in names(&written.path) {
        let records = records(&written.path.join(name));
        assert_eq!(records[0]["file_schema"], "urn:ietf:params:qlog:file:sequential");
        assert_eq!(records[0]["trace"]["common_fields"]["time_format"], "relative_to_epoch");
        assert_eq!(records[1]["name"], "quic:recovery_parameters_set");
        let times: Vec<_> = records[1..].iter().map(|event| event["time"].as_f64().unwrap()).collect();
        assert!(times.is_sorted());
        assert!(times.iter().all(|ms| *ms < 420.0), "milliseconds");
        lost += records.iter().filter(|event| event["name"] == "quic:packet_lost").count();
    }
    assert_eq!(lost as u64, sum(&folder, "flows", "retransmissions"));
}

#[test]
fn qlog_has_the_units_of_the_draft_and_repeats_nothing() {
    let (_place, folder) = stored(STREAMS, None);
    let written = trace(&folder, &request(Format::Qlog)).unwrap();
    let records = records(&written.path.join("dctcp-1.sqlog"));
    assert_eq!(records[1]["data"]["max_datagram_size"], 1448);
    assert_eq!(records[1]["data"]["initial_congestion_window"], 14_480);
    let events = |name: &'static str| records.iter().filter(move |event| event["name"] == name);
    let mut written: BTreeMap<String, Value> = BTreeMap::new();
    for event in events("quic:recovery_metrics_updated") {
        for (name, value) in event["data"].as_object().unwrap() {
            assert_ne!(written.insert(name.clone(), value.clone()).as_ref(), Some(value), "{name} again");
        }
    }
    // The way there and back takes 60 us without queues; a queue of 20 kB at 100 Mb/s 1.6 ms.
    let rtt = written["min_rtt"].as_f64().unwrap();
    assert!((0.06..0.5).contains(&rtt), "{rtt} ms");
    assert!(written["congestion_window"].as_u64().unwrap() >= 1448);
    assert!(events("narrows:control_updated").all(|event| event["data"]["alpha"].is_f64()));
    assert!(events("narrows:packet_marked").count() > 0);
    let states: BTreeSet<_> =
        events("quic:congestion_state_updated").map(|event| event["data"]["new"].as_str().unwrap()).collect();
    assert!(states.contains("slow_start") && states.contains("congestion_avoidance"), "{states:?}");
}

/// Fields of a protobuf message by number: varints and fixed numbers as they are, the rest as bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            shift += 7;
            if first & 0x80 == 0 {
                return value;
            }
        }
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let (value, content) = match key & 7 {
            0 => (varint(&mut bytes), &bytes[..0]),
            1 => {
                let (number, rest) = bytes.split_at(8);
                bytes = rest;
                (u64::from_le_bytes(number.try_into().unwrap()), &bytes[..0])
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (content, rest) = bytes.split_at(length);
                bytes = rest;
                (0, content)
            }
            wire_type => panic!("wire type {wire_type}"),
        };
        fields.push((key >> 3, value, content));
    }
    fields
}

/// Numbers of fields in the sources of Perfetto.
const PACKET: u64 = 1;
const TIMESTAMP: u64 = 8;
const SEQUENCE: u64 = 10;
const EVENT: u64 = 11;
const DESCRIPTOR: u64 = 60;

fn text_of(fields: &[(u64, u64, &[u8])], number: u64) -> Option<String> {
    fields.iter().find(|field| field.0 == number).map(|field| String::from_utf8(field.2.to_vec()).unwrap())
}

fn number_of(fields: &[(u64, u64, &[u8])], number: u64) -> Option<u64> {
    fields.iter().find(|field| field.0 == number).map(|field| field.1)
}

#[test]
fn perfetto_traces_have_tracks_counters_slices_and_instants() {
    let (_place, folder) = stored(STREAMS, None);
    let bytes = std::fs::read(trace(&folder, &request(Format::Perfetto)).unwrap().path).unwrap();
    let mut tracks: BTreeMap<u64, (String, u64)> = BTreeMap::new();
    let mut kinds: BTreeMap<u64, u64> = BTreeMap::new();
    let mut named: BTreeMap<String, u64> = BTreeMap::new();
    for (field, _, packet) in fields(&bytes) {
        assert_eq!(field, PACKET);
        let packet = fields(packet);
        assert!(number_of(&packet, SEQUENCE).is_some());
        for (field, _, content) in &packet {
            let content = fields(content);
            if *field == DESCRIPTOR {
                let parent = number_of(&content, 5).unwrap_or(0);
                assert!(parent == 0 || tracks.contains_key(&parent), "parents come first");
                let name = text_of(&content, 2).unwrap();
                tracks.insert(number_of(&content, 1).unwrap(), (name, parent));
            } else if *field == EVENT {
                assert!(number_of(&packet, TIMESTAMP).unwrap() < 420_000_000, "nanoseconds");
                assert!(tracks.contains_key(&number_of(&content, 11).unwrap()));
                *kinds.entry(number_of(&content, 9).unwrap()).or_default() += 1;
                *named.entry(text_of(&content, 23).unwrap_or_default()).or_default() += 1;
            }
        }
    }
    let names: BTreeSet<_> = tracks.values().map(|(name, _)| name.as_str()).collect();
    for name in ["ports", "flows", "queue", "cwnd", "alpha", "dctcp 1: semi; colon -> d"] {
        assert!(names.contains(name), "{name} in {names:?}");
    }
    assert_eq!(kinds.get(&1), Some(&2), "a slice for the life of each flow");
    assert_eq!(kinds.get(&1), kinds.get(&2));
    assert_eq!(named["marked"], sum(&folder, "ports", "marks"));
    assert_eq!(named["retransmitted"], sum(&folder, "flows", "retransmissions"));
    assert!(kinds[&4] > 100);
}

#[test]
fn pauses_are_slices_that_end() {
    let (_place, folder) = stored(RDMA, None);
    let bytes = std::fs::read(trace(&folder, &request(Format::Perfetto)).unwrap().path).unwrap();
    let mut open: BTreeMap<u64, i64> = BTreeMap::new();
    let mut pauses = 0;
    let mut events: Vec<(u64, u64, u64, String)> = Vec::new();
    for (_, _, packet) in fields(&bytes) {
        let packet = fields(packet);
        let Some((_, _, event)) = packet.iter().find(|field| field.0 == EVENT) else { continue };
        let event = fields(event);
        let (at, kind) = (number_of(&packet, TIMESTAMP).unwrap(), number_of(&event, 9).unwrap());
        events.push((at, number_of(&event, 11).unwrap(), kind, text_of(&event, 23).unwrap_or_default()));
    }
    events.sort_by_key(|event| event.0);
    for (_, track, kind, name) in events {
        pauses += u64::from(name == "paused");
        *open.entry(track).or_default() += i64::from(kind == 1) - i64::from(kind == 2);
        assert!((0..=1).contains(&open[&track]));
    }
    assert!(pauses > 0 && open.values().all(|depth| *depth == 0));
}

#[test]
fn a_run_of_another_seed_or_version_is_refused_and_nothing_is_left() {
    let (_place, folder) = stored(STREAMS, None);
    let before = names(&folder);
    let path = folder.join("run.json");
    let summary = std::fs::read_to_string(&path).unwrap();
    for (from, to, code) in
        [("\"seed\": 1", "\"seed\": 2", "N0133"), ("\"narrows\": \"", "\"narrows\": \"9", "N0130")]
    {
        assert!(summary.contains(from));
        std::fs::write(&path, summary.replace(from, to)).unwrap();
        for format in [Format::Pcapng, Format::Qlog, Format::Perfetto] {
            let error = trace(&folder, &request(format)).unwrap_err();
            assert_eq!(error.0[0].code.name(), code);
        }
        assert_eq!(names(&folder), before);
    }
}

#[test]
fn too_much_and_nothing_are_errors_that_leave_nothing() {
    let (_place, folder) = stored(STREAMS, None);
    let before = names(&folder);
    for format in [Format::Pcapng, Format::Qlog, Format::Perfetto] {
        let mut few = request(format);
        few.limit = 100;
        assert_eq!(trace(&folder, &few).unwrap_err().0[0].code.name(), "N0131");
        let mut never = request(format);
        never.from = Time::ZERO + Span::from_secs(5);
        assert_eq!(trace(&folder, &never).unwrap_err().0[0].code.name(), "N0132");
    }
    assert_eq!(names(&folder), before);
}

#[test]
fn interrupted_runs_are_traced_up_to_where_they_got() {
    let (_place, folder) = stored(STREAMS, Some(100));
    let stored = Stored::open(&folder).unwrap();
    assert!(!stored.is_complete());
    let ended = stored.number("ended_ps").unwrap();
    let capture = capture(&trace(&folder, &request(Format::Pcapng)).unwrap().path);
    assert!(capture.packets.iter().all(|packet| packet.at_ns * 1000 <= ended));
    assert_eq!(capture.packets.len() as u64 - dropped(&capture), sum(&folder, "ports", "packets"));
}

fn dropped(capture: &Capture) -> u64 {
    capture.packets.iter().filter(|packet| packet.comment.contains("dropped=")).count() as u64
}

#[test]
fn frames_of_real_hosts_are_kept_with_their_names_and_times() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("real.pcapng");
    let mut frames = RealFrames::new(planned(STREAMS, place.path()), File::create(&path).unwrap()).unwrap();
    for (host, received, us) in [(1, false, 3), (0, true, 8), (1, true, 9)] {
        let address = [10, 77, 0, host as u8 + 1].into();
        frames.add(HostId(host), address, Time::ZERO + Span::from_us(us), received, &[7; 60]).unwrap();
    }
    frames.finish().unwrap();
    let capture = capture(&path);
    let seen: Vec<_> =
        capture.packets.iter().map(|packet| (packet.interface, packet.at_ns, packet.data.len())).collect();
    assert_eq!(seen, [(0, 3_000, 60), (1, 8_000, 60), (0, 9_000, 60)]);
    assert_eq!(capture.hosts.keys().collect::<Vec<_>>(), [&[10, 77, 0, 1], &[10, 77, 0, 2]]);
    assert_eq!(capture.interfaces.len(), 2);
}
