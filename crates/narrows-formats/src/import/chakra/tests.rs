use prost::Message;

use super::proto::{Attribute, Node, Value};
use super::*;

fn attribute(name: &str, value: Value) -> Attribute {
    Attribute { name: name.into(), value: Some(value) }
}

fn node(id: u64, kind: i32, deps: &[u64], attr: Vec<Attribute>) -> Node {
    Node {
        id,
        name: format!("n{id}"),
        kind,
        data_deps: deps.to_vec(),
        duration_micros: 3,
        attr,
        ..Node::default()
    }
}

/// A file: metadata that is passed over, then nodes.
fn bytes(nodes: &[Node]) -> Vec<u8> {
    let mut bytes = vec![2, 0x0a, 0x00];
    nodes.iter().for_each(|node| bytes.extend(node.encode_length_delimited_to_vec()));
    bytes
}

fn file(nodes: &[Node]) -> Checked<RankFile> {
    RankFile::new("t.0.et", bytes(nodes), input_file::LARGEST_TABLE)
}

fn send(to: i32, tag: u64) -> Vec<Attribute> {
    vec![
        attribute("comm_size", Value::Uint64(1000)),
        attribute("comm_dst", Value::Int32(to)),
        attribute("comm_tag", Value::Uint64(tag)),
    ]
}

fn receive(from: i64, tag: u32) -> Vec<Attribute> {
    vec![
        attribute("comm_size", Value::Sint64(1000)),
        attribute("comm_src", Value::Int64(from)),
        attribute("comm_tag", Value::Fixed32(tag)),
    ]
}

fn rows(files: &[RankFile]) -> Result<Vec<String>, String> {
    let imported = convert(files, &Star::default(), "t").map_err(|rejection| rejection.to_string())?;
    Ok(imported.files[0].1.lines().skip(1).map(str::to_owned).collect())
}

#[test]
fn nodes_become_tasks_and_messages_match_by_tag() {
    let first =
        file(&[node(7, 4, &[], vec![]), node(9, 5, &[7], send(1, 2)), node(8, 5, &[], send(1, 1))]).unwrap();
    let second = file(&[node(1, 6, &[], receive(0, 1)), node(2, 6, &[1], receive(0, 2))]).unwrap();
    let expected = [
        "0,t0,compute,,3000 ns,",
        "0,t1,send,1,1000,t0",
        "0,t2,send,1,1000,",
        "1,t1,receive,0,,t0",
        "1,t0,receive,0,,",
    ];
    assert_eq!(rows(&[first, second]).unwrap(), expected);
}

#[test]
fn a_collective_becomes_a_ring_that_waits_and_is_waited_for() {
    let all_reduce =
        vec![attribute("comm_type", Value::Int64(0)), attribute("comm_size", Value::Int64(4000))];
    let nodes = [node(1, 4, &[], vec![]), node(2, 7, &[1], all_reduce), node(3, 4, &[2], vec![])];
    let rows = rows(&[file(&nodes).unwrap(), file(&nodes).unwrap()]).unwrap();
    assert_eq!(rows.iter().filter(|row| row.contains("send")).count(), 4);
    assert!(rows.contains(&"0,t1,compute,,0 ns,t0".into()), "{rows:?}");
    assert!(rows.contains(&"0,t2,send,1,2000,t1".into()), "{rows:?}");
    assert!(rows.contains(&"0,t7,compute,,3000 ns,t6".into()), "{rows:?}");
}

#[test]
fn packed_files_are_unpacked() {
    use std::io::Write;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&bytes(&[node(1, 4, &[], vec![])])).unwrap();
    let packed = packer.finish().unwrap();
    let read = |most: u64| RankFile::new("t.0.et", packed.clone(), narrows_proto::units::Bytes::new(most));
    assert_eq!(read(1000).unwrap().nodes(), 1);
    assert_eq!(read(5).unwrap_err().to_string(), "cannot unpack t.0.et: it has more than 5 B");
}

#[test]
fn what_is_wrong_is_shown_where_it_is() {
    let error =
        |bytes: Vec<u8>| RankFile::new("t.0.et", bytes, input_file::LARGEST_TABLE).unwrap_err().to_string();
    assert_eq!(error(vec![]), "t.0.et, byte 0: the file is empty, expected metadata and nodes");
    assert_eq!(error(vec![0, 9, 1]), "t.0.et, byte 1: a message of 9 bytes, but the file has 1 more");
    assert_eq!(error(vec![0, 0xff]), "t.0.et, byte 1: found no length of a message (varint)");
    let of = |nodes: &[Node]| rows(&[file(nodes).unwrap(), file(&[]).unwrap()]).unwrap_err();
    assert_eq!(
        of(&[node(1, 4, &[5], vec![])]),
        "t.0.et, byte 3: node 1 (\"n1\"): it waits for node 5, which the file does not have"
    );
    assert_eq!(
        of(&[node(1, 5, &[], send(1, 0))]),
        "t.0.et, byte 3: node 1 (\"n1\"): rank 1 has no receive for this message"
    );
    assert_eq!(
        of(&[node(1, 6, &[], receive(1, 0))]),
        "t.0.et, byte 3: node 1 (\"n1\"): rank 1 sends nothing for this receive"
    );
    assert!(
        of(&[node(1, 5, &[], send(2, 0))])
            .ends_with("comm_dst is 2, expected another rank than 0, from 0 to 1")
    );
    assert!(of(&[node(1, 5, &[], vec![])]).ends_with("it has no attribute comm_dst that is a whole number"));
    assert!(of(&[node(1, 99, &[], vec![])]).ends_with("a node of type 99, expected 1 to 7"));
    assert!(of(&[node(1, 4, &[], vec![]), node(1, 4, &[], vec![])]).ends_with("two nodes have this id"));
}
