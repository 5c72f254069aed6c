//! One flow of each of two controls over a buffer of a quarter to 64 bandwidth-delay products.

use crate::queue_management::{bottleneck, measured, pairs, rates, run, wan};
use crate::support::{cubic, group, reno, shallow};
use narrows_proto::cc::{self, Config};
use narrows_proto::units::{BitRate, Span};

const RATE: BitRate = BitRate::from_mbps(50);
const RTT: Span = Span::from_ms(40);

/// The share of a flow beside one of CUBIC; the buffer in quarters of a bandwidth-delay product.
fn share(cc: &Config, quarters: u64) -> f64 {
    let size = (RATE * RTT).get() * quarters / 4;
    let network = bottleneck(2, RATE, RTT, shallow(size));
    let seconds = if quarters > 32 { 120..420 } else { 60..180 };
    let traffic = measured(pairs(vec![group(wan(), cc.clone()), group(wan(), cubic())], &[0, 1]), seconds);
    let rates = rates(&run(&network, &traffic), &traffic);
    rates[0] / (rates[0] + rates[1])
}

fn bbr() -> Config {
    Config::Bbr(cc::bbr::Params::default())
}

fn bbr3() -> Config {
    Config::Bbr3(cc::bbr3::Params::default())
}

fn prague() -> Config {
    Config::Prague(cc::prague::Params::default())
}

/// The share of BBR beside CUBIC, if CUBIC holds `least` of its largest window when BBR looks for the round-trip time (R. Ware et al., IMC
/// 2019, have 1). BBR then finds least·p·q behind the path and keeps twice as much as it sends in that time; both fill the path and the
/// queue q: p = (1/2 − 1/(2X))/least, X = q/BDP. For q/C + RTT + 200 ms in 10 s it sends nothing.
fn ware(products: f64, least: f64) -> f64 {
    let of_cubic = ((0.5 - 0.5 / products) / least).clamp(0.0, 1.0);
    let silent = (products * RTT.as_secs_f64() + 0.2 + RTT.as_secs_f64()) / 10.0;
    (1.0 - of_cubic) * (1.0 - silent)
}

#[test]
fn bbr_beside_cubic_gets_what_its_cap_of_two_products_says() {
    for quarters in [8, 16, 32, 64] {
        let (found, products) = (share(&bbr(), quarters), quarters as f64 / 4.0);
        // CUBIC holds 0.7 to 1 of its largest window. ±0.05 for a flow of each and a few sawteeth.
        let bounds = ware(products, 0.7) - 0.05..=ware(products, 1.0) + 0.05;
        assert!(bounds.contains(&found), "{products} products: {found}, expected {bounds:?}");
    }
}

/// BBRv3 keeps half a product when it looks for the round-trip time R: C·R = p·T + (1 − p)·C·R/2, T all that path and queue hold. Its cap
/// of 2·(1 − p)·C·R is its part of T, (1 − p)·T, so p is a third.
#[test]
fn bbr3_beside_cubic_gets_the_two_thirds_that_its_cap_says() {
    for quarters in [8, 16, 32] {
        let found = share(&bbr3(), quarters);
        // ±10 %: losses of CUBIC's overflows keep it below its cap for a while, sawteeth leave it more.
        assert!((found / (2.0 / 3.0) - 1.0).abs() < 0.1, "{quarters} quarters: {found}");
    }
}

#[test]
fn in_shallow_buffers_bbr3_leaves_cubic_several_times_what_bbr_does() {
    // BBRv3 answers losses beyond 2 % with 0.7 of its bounds, BBR not at all.
    for quarters in [1, 2, 4] {
        let [left3, left] = [bbr3(), bbr()].map(|cc| 1.0 - share(&cc, quarters));
        assert!(left3 > 2.0 * left, "{quarters} quarters: {left3} and {left}");
    }
}

#[test]
fn the_deeper_the_buffer_the_more_cubic_gets() {
    // Beyond the queue that a cap of two products holds CUBIC alone fills the buffer, and Prague falls behind as Reno does, whose window
    // grows by a segment in round trips of up to 2.6 s. 0.05: a flow of each and a few sawteeth.
    for cc in [bbr3(), bbr(), prague()] {
        let shares = [4, 16, 64, 256].map(|quarters| share(&cc, quarters));
        assert!(shares.is_sorted_by(|less, more| *more < less + 0.05), "{}: {shares:?}", cc.name());
        assert!(shares[3] < 0.25, "{}: {shares:?}", cc.name());
    }
}

#[test]
fn behind_a_tail_drop_prague_stands_to_cubic_as_reno_does() {
    // RFC 9331 §4.3: losses are answered like Reno's.
    for quarters in [1, 4, 16] {
        let [ours, theirs] = [prague(), reno()].map(|cc| share(&cc, quarters));
        let ratio = ours / theirs;
        assert!((0.5..=2.0).contains(&ratio), "{quarters} quarters: {ours} and {theirs}");
    }
}
