//! IP addresses, as `k8s.io/apiserver/pkg/cel/library/ip.go`.

use std::net::{IpAddr, Ipv6Addr};

use super::value;

/// An address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ip(pub(crate) IpAddr);

value!(Ip, IP, "ip");

// === impl Ip ===

impl Ip {
    /// Neither a zone nor an IPv4 address in IPv6 is taken.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
                Err(format!("{text:?} is an IPv4 address in IPv6, which is not allowed"))
            }
            Ok(address) => Ok(Self(address)),
            Err(_) => Err(format!("{text:?} is no IP address")),
        }
    }

    pub(crate) fn is_link_local_unicast(self) -> bool {
        match self.0 {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        }
    }

    pub(crate) fn is_link_local_multicast(self) -> bool {
        match self.0 {
            IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
            IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
        }
    }

    /// As Go has it: private addresses are global too.
    pub(crate) fn is_global_unicast(self) -> bool {
        let Self(address) = self;
        let is_broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
        !is_broadcast
            && !address.is_unspecified()
            && !address.is_loopback()
            && !address.is_multicast()
            && !self.is_link_local_unicast()
    }

    /// In the form of RFC 5952.
    pub(crate) fn text(self) -> String {
        match self.0 {
            // Go writes no dots but for addresses in `::ffff:0:0/96`, which are not taken.
            IpAddr::V6(address) if address.segments()[..6] == [0; 6] && address != Ipv6Addr::LOCALHOST => {
                let [.., a, b] = address.segments();
                match (a, b) {
                    (0, 0) => "::".to_owned(),
                    (0, b) => format!("::{b:x}"),
                    (a, b) => format!("::{a:x}:{b:x}"),
                }
            }
            address => address.to_string(),
        }
    }
}
