use narrows_proto::cc::{Config, Ranges};
use narrows_proto::stream::BufferGrowth;
use narrows_proto::units::{Bytes, Span};
use toml::Value;

use super::*;
use crate::document::Document;
use crate::scenario::{Scenario, Traffic};

/// A scenario whose groups have these lines each, with these lines of `transport`.
fn scenario(transport: &str, groups: &[&str]) -> Scenario {
    let group = |(number, lines): (usize, &&str)| {
        format!("[[traffic]]\nname = \"g{number}\"\npattern = {{ long_lived = {{}} }}\n{lines}\n")
    };
    let groups: String = groups.iter().enumerate().map(group).collect();
    let text = format!(
        "[transport]\n{transport}\n[topology.dumbbell]\nhosts = 1\nhost_rate = \"1 Gb/s\"\nbottleneck_rate = \"1 Gb/s\"\nhost_delay = \"1 us\"\nbottleneck_delay = \"1 us\"\n{groups}"
    );
    let text = format!("version = 2\nname = \"x\"\nstop = {{ after = \"1 s\" }}\n{text}");
    let mut document = Document::parse("x.toml", text, "").expect("TOML");
    Scenario::from_document(&mut document).unwrap_or_else(|error| panic!("{error}"))
}

fn group(transport: &str, lines: &str) -> Traffic {
    scenario(transport, &[lines]).traffic.remove(0)
}

/// The value at a path of settings.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

/// The same quantity, however it is written.
fn is_same(stored: &Value, constant: &str) -> bool {
    let constant: Value =
        toml::from_str::<toml::Table>(&format!("x = {constant}")).expect("TOML")["x"].clone();
    match (stored, &constant) {
        (Value::Float(a), _) => constant.as_float().or(constant.as_integer().map(|b| b as f64)) == Some(*a),
        (Value::String(a), Value::String(b)) => {
            let time = |text: &str| text.parse::<Span>().ok();
            let size = |text: &str| text.parse::<Bytes>().ok();
            a == b || time(a).is_some() && time(a) == time(b) || size(a).is_some() && size(a) == size(b)
        }
        (stored, constant) => stored == constant,
    }
}

#[test]
fn every_constant_arrives_where_its_key_says() {
    for info in PROFILES {
        let (rdma, controls) = match info.carries {
            Carries::Streams => ("", &["cubic", "reno", "dctcp"][..]),
            Carries::Rdma => ("rdma = {}\n", &["dcqcn"][..]),
        };
        for control in controls {
            let lines = format!("{rdma}cc = {{ {control} = {{}} }}");
            let group = group(&format!("profile = \"{}\"", info.name), &lines);
            assert!(group.transport.profile.is_some());
            assert_eq!(group.transport.check(&mut Ranges::default()), Ok(()));
            let rdma = group.rdma.as_ref().map_or(Ok(()), |rdma| rdma.check(&mut Ranges::default()));
            assert_eq!(rdma, Ok(()));
            assert_eq!(group.cc.as_ref().expect("given").check(&mut Ranges::default()), Ok(()));
            let stored = Value::try_from(&group).expect("settings are TOML");
            for constant in info.constants() {
                let Constant::Set { key, value, source, .. } = constant else { continue };
                assert!(!source.is_empty());
                if key.starts_with("cc.") && !key.starts_with(&format!("cc.{control}.")) {
                    continue;
                }
                // What is off is not written.
                let off = *value == "false" && at(&stored, key).is_none();
                let found = at(&stored, key);
                assert!(
                    off || found.is_some_and(|found| is_same(found, value)),
                    "{key} = {value}: {found:?}"
                );
            }
        }
    }
}

#[test]
fn no_constant_is_there_twice_or_for_a_control_that_is_not() {
    for info in PROFILES {
        let mut keys: Vec<_> = info
            .constants()
            .filter_map(|constant| if let Constant::Set { key, .. } = constant { Some(*key) } else { None })
            .collect();
        assert!(keys.iter().all(|key| {
            let tables = match info.carries {
                Carries::Streams => &["transport.", "cc.cubic.", "cc.reno.", "cc.dctcp."][..],
                Carries::Rdma => &["rdma.", "cc.dcqcn."][..],
            };
            tables.iter().any(|start| key.starts_with(start))
        }));
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }
}

#[test]
fn what_the_scenario_says_wins() {
    let group = group(
        "profile = \"linux-6.12\"\nmin_rto = \"10 ms\"\nsegmentation = { least = 4 }\nreceive_offload = false",
        "cc = { cubic = { beta = 0.5 } }\ntransport = { max_rto = \"1 s\" }",
    );
    let params = group.transport;
    assert_eq!((params.min_rto, params.max_rto), (Span::from_ms(10), Span::from_secs(1)));
    let segmentation = params.segmentation.expect("set");
    assert_eq!((segmentation.least, segmentation.rtt_term), (4, true));
    assert_eq!(params.receive_offload, None);
    let Some(Config::Cubic(cubic)) = group.cc else { panic!("CUBIC") };
    assert!(cubic.beta == 0.5 && cubic.linux_hystart.is_some());
}

#[test]
fn what_is_off_is_filled_in_neither_by_a_profile_nor_by_the_transport_of_all_groups() {
    let profile = "profile = \"linux-6.12\"\nsend_buffer = \"off\"\ntail_loss_probe = \"off\"";
    let lines = "transport = { segmentation = \"off\" }\n\
        cc = { cubic = { linux_hystart = \"off\", hystart = \"off\" } }";
    let group = group(profile, lines);
    let params = group.transport;
    assert_eq!((params.send_buffer, params.segmentation, params.tail_loss_probe), (None, None, false));
    let Some(Config::Cubic(cubic)) = group.cc else { panic!("CUBIC") };
    assert!(cubic.linux_hystart.is_none() && !cubic.hystart);

    let of_all = self::group("segmentation = {}\nack_every = 4", "transport = \"off\"").transport;
    assert_eq!((of_all.segmentation.is_some(), of_all.ack_every), (true, 4), "the group has none of its own");
}

#[test]
fn a_key_that_means_something_else_of_the_same_keeps_the_profile_away() {
    let lines = "cc = { cubic = { hystart_params = { samples = 4 } } }";
    let group = group("profile = \"linux-6.12\"\nreceive_window = \"1 MB\"\nack_delay = \"5 ms\"", lines);
    assert_eq!((group.transport.receive_buffer, group.transport.ack_timeout), (None, None));
    let Some(Config::Cubic(cubic)) = group.cc else { panic!("CUBIC") };
    assert_eq!(cubic.linux_hystart, None);
}

#[test]
fn a_profile_of_all_is_for_the_groups_that_it_fits() {
    let groups = ["cc = { cubic = {} }", "rdma = {}\ncc = { dcqcn = { timer = \"55 us\" } }"];
    let card = scenario("profile = \"connectx-6-dx\"", &groups);
    assert_eq!(card.traffic[0].cc, Some(Config::Cubic(Default::default())));
    let Some(Config::Dcqcn(dcqcn)) = &card.traffic[1].cc else { panic!("DCQCN") };
    assert_eq!((dcqcn.timer, dcqcn.cut_interval), (Some(Span::from_us(55)), Some(Span::from_us(4))));
    let rdma = card.traffic[1].rdma.as_ref().expect("given");
    assert!(rdma.cnp_on_out_of_sequence && rdma.ack_timeout == Some(10));
    let linux = scenario("profile = \"linux-6.12\"", &groups);
    assert_eq!(linux.traffic[1].rdma, Some(Default::default()));
    let Some(Config::Cubic(cubic)) = &linux.traffic[0].cc else { panic!("CUBIC") };
    assert!(cubic.linux_hystart.is_some());
}

#[test]
fn groups_follow_their_own_profile_and_near_source_loops_that_of_their_group() {
    let cubic = "cc = { cubic = {} }";
    let other = format!("{cubic}\ntransport = {{ profile = \"linux-4.9\" }}");
    let wrapped = "cc = { annulus = { end_to_end = { cubic = {} } } }";
    let scenario = scenario("profile = \"linux-6.12\"", &[cubic, &other, wrapped]);
    let growth = |number: usize| scenario.traffic[number].transport.receive_buffer.expect("set").growth;
    assert_eq!([0, 1].map(growth), [BufferGrowth::Proportional, BufferGrowth::Steps]);
    let Some(Config::Annulus(annulus)) = &scenario.traffic[2].cc else { panic!("Annulus") };
    let Config::Cubic(cubic) = &*annulus.end_to_end else { panic!("CUBIC") };
    assert!(cubic.linux_hystart.is_some());
}

#[test]
fn without_a_profile_nothing_is_set() {
    let group = group("", "cc = { cubic = {} }");
    assert_eq!(group.transport, narrows_proto::stream::Params::default());
    assert_eq!(group.cc, Some(Config::Cubic(Default::default())));
}

#[test]
fn what_is_stored_has_the_settings_and_not_the_name() {
    let scenario = scenario("profile = \"linux-4.9\"", &["cc = { cubic = {} }"]);
    let text = scenario.to_toml();
    assert!(!text.contains("linux-4.9"));
    let mut document = Document::parse("stored.toml", text, "").expect("TOML");
    let again = Scenario::from_document(&mut document).unwrap_or_else(|error| panic!("{error}"));
    let mut before = scenario.traffic[0].transport.clone();
    before.profile = None;
    assert_eq!((&again.traffic[0].transport, &again.traffic[0].cc), (&before, &scenario.traffic[0].cc));
}

#[test]
fn what_is_explained_has_every_constant_and_its_source() {
    for info in PROFILES {
        let about = info.about();
        for constant in info.constants() {
            match constant {
                Constant::Set { key, value, source, .. } => {
                    assert!(about.contains(&format!("`{key} = {value}`: {source}")), "{key}");
                }
                Constant::Alike(what) | Constant::Differs(what) => assert!(about.contains(what), "{what}"),
            }
        }
    }
}
