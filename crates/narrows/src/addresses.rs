//! Internet addresses of hosts, for programs that run on them.

use std::net::Ipv4Addr;

/// All hosts are in this network.
pub const NETWORK: [u8; 2] = [10, 77];

/// Address of the host of this number; those of more than 65 534 hosts repeat.
pub fn address_of(host: u32) -> Ipv4Addr {
    let [.., high, low] = (host + 1).to_be_bytes();
    Ipv4Addr::new(NETWORK[0], NETWORK[1], high, low)
}

/// The host with this address.
pub fn host_of(address: [u8; 4]) -> Option<u32> {
    let [a, b, high, low] = address;
    ([a, b] == NETWORK).then(|| u32::from(u16::from_be_bytes([high, low])))?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_their_hosts() {
        for host in [0, 1, 254, 255, 65_000] {
            assert_eq!(host_of(address_of(host).octets()), Some(host));
        }
        assert_eq!(host_of([10, 77, 0, 0]), None);
        assert_eq!(host_of([192, 168, 0, 1]), None);
    }
}
