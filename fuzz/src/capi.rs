//! Calls of the C ABI, in any order, with handles that are stale, made up or another thread's, and with null pointers: each returns a status,
//! soon, and what is closed is gone.

use std::ffi::c_char;
use std::ptr::null_mut;

use narrows_c::nrw_status::NRW_INTERNAL;
use narrows_c::*;

const SCENARIO: &str = r#"
version = 2
name = "calls"
hosts = "ideal"
stop = { after = "200 us" }
topology.star = { hosts = 3, rate = "10 Gb/s", delay = "500 ns" }
switches.default.buffer.size = "20 kB"
[[traffic]]
name = "ranks"
pattern.attached = {}
rdma = { rto = "20 us", retry_count = 1 }
cc.dcqcn = {}
[[traffic]]
name = "streams"
pattern.attached = {}
cc.dctcp = {}
"#;

/// So many calls at most, so that an input takes a moment.
const MOST: usize = 60;

/// Numbers that calls have returned, and some that none has.
struct Numbers {
    networks: Vec<u64>,
    ids: Vec<u64>,
}

pub fn check(bytes: &[u8]) {
    let mut numbers = Numbers { networks: vec![0, u64::MAX], ids: vec![0, u64::MAX] };
    for call in bytes.chunks(4).take(MOST) {
        let mut of = [0; 4];
        of[..call.len()].copy_from_slice(call);
        let status = if of[0] & 0x80 > 0 {
            let (networks, ids) = (numbers.networks.clone(), numbers.ids.clone());
            // Whatever another thread opens goes with it.
            let there = move || one(of, &mut Numbers { networks, ids });
            std::thread::spawn(there).join().expect("no panic comes out")
        } else {
            one(of, &mut numbers)
        };
        assert!(status != NRW_INTERNAL, "{}", last_error());
    }
    for network in numbers.networks {
        nrw_close(network);
    }
}

fn one([call, which, a, b]: [u8; 4], numbers: &mut Numbers) -> nrw_status {
    let pick = |list: &[u64]| list[usize::from(which) % list.len()].wrapping_add(u64::from(which == 255));
    let (network, id) = (pick(&numbers.networks), numbers.ids[usize::from(a) % numbers.ids.len()]);
    // Times from picoseconds to beyond the end, sizes from nothing to more than there can be.
    let wide = |exponent: u8| 1_u64.checked_shl(exponent.into()).unwrap_or(u64::MAX);
    let is_null = b == 77;
    let (mut number, mut small, mut size) = (0_u64, 0_u32, 0_usize);
    let mut text = [0 as c_char; 8];
    let number_at = if is_null { null_mut() } else { &raw mut number };
    let small_at = if is_null { null_mut() } else { &raw mut small };
    // SAFETY: pointers are null or to what lives here, texts end with a zero byte.
    unsafe {
        let status = match call & 0x7f {
            0..8 => nrw_open(SCENARIO.as_ptr().cast(), SCENARIO.len(), null_mut(), b.into(), number_at),
            8 => nrw_open(SCENARIO.as_ptr().cast(), usize::from(a), null_mut(), -1, number_at),
            9 => nrw_open(null_mut(), usize::MAX, null_mut(), -1, number_at),
            10..14 => nrw_close(network),
            14..50 => {
                let (from, to, class) = (a % 4, b % 4, a / 4 % 3);
                let bytes = if call == 14 { wide(b) } else { u64::from(b) * 300 };
                nrw_send(
                    network,
                    from.into(),
                    to.into(),
                    bytes,
                    class.into(),
                    a.into(),
                    wide(a % 32) - 1,
                    number_at,
                )
            }
            50..60 => nrw_schedule(network, wide(a % 64), b.into(), number_at),
            60..64 => nrw_cancel(network, id, small_at),
            64..90 => {
                let mut event = nrw_event { kind: nrw_event_kind::NRW_NOTHING, time_ps: 0, id: 0, tag: 0 };
                nrw_next(network, wide(b), if is_null { null_mut() } else { &raw mut event })
            }
            90..96 => nrw_advance(network, wide(b)),
            96..104 => {
                let mut info = std::mem::zeroed::<nrw_message_info>();
                nrw_message(network, id, if is_null { null_mut() } else { &raw mut info })
            }
            104 => nrw_totals(network, null_mut()),
            105 => nrw_now(network, number_at),
            106 => nrw_end(network, number_at),
            107 => nrw_host(network, c"host1".as_ptr(), small_at),
            108 => nrw_host_name(network, a.into(), text.as_mut_ptr(), usize::from(b) % 9, &raw mut size),
            109 => nrw_class(network, c"streams".as_ptr(), small_at),
            110 => nrw_host_count(network, small_at),
            111 => nrw_host_rate(network, a.into(), number_at),
            112..116 => nrw_finish(network),
            116 => nrw_link(network, c"host0".as_ptr(), c"switch".as_ptr(), small_at),
            117 => {
                let mut info = std::mem::zeroed::<nrw_port_info>();
                nrw_port(network, a.into(), &raw mut info)
            }
            _ => nrw_write(network, c"/dev/null/nowhere".as_ptr(), 0),
        };
        match call & 0x7f {
            0..9 if number != 0 => numbers.networks.push(number),
            14..60 if number != 0 => numbers.ids.push(number),
            _ => {}
        }
        status
    }
}

fn last_error() -> String {
    let mut error = nrw_error { status: nrw_status::NRW_OK, line: 0, column: 0, text: std::ptr::null() };
    // SAFETY: the text lives until the next call that fails.
    unsafe {
        nrw_last_error(&raw mut error);
        std::ffi::CStr::from_ptr(error.text).to_string_lossy().into_owned()
    }
}
