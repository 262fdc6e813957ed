//! This machine's addresses on local networks, best first. They come from the routes and not from the host's name,
//! which Debian maps to 127.0.1.1 and which phones cannot resolve. No packet is sent: a UDP socket that is connected
//! only tells which address the system would use.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// An address and the interface that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanAddress {
    /// The address.
    pub ip: IpAddr,
    /// Such as `wlan0`; empty where the system does not say.
    pub interface: String,
}

/// Interfaces that lead to containers, machines in this machine, or tunnels: no phone is there.
const VIRTUAL: &[&str] = &[
    "docker",
    "br-",
    "veth",
    "virbr",
    "vmnet",
    "vbox",
    "cni",
    "flannel",
    "cali",
    "podman",
    "lxc",
    "lxd",
    "tun",
    "tap",
    "wg",
    "tailscale",
    "zt",
    "utun",
    "ppp",
    "dummy",
];

/// The addresses of this machine that phones at home can reach, best first.
pub fn addresses() -> Vec<LanAddress> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let mut all = from_routes(&read("/proc/net/route"), source_towards);
    all.extend(from_inet6(&read("/proc/net/if_inet6")));
    if all.is_empty() {
        // Other systems, and networks without a listed route: the address towards everywhere else (RFC 5737, 3849).
        let far = [IpAddr::from([192, 0, 2, 1]), "2001:db8::1".parse().expect("an address")];
        let own = far.into_iter().filter_map(source).filter(is_reachable);
        all = own.map(|ip| LanAddress { ip, interface: String::new() }).collect();
    }
    all
}

/// The name under which phones that speak mDNS find this machine, when something here answers for it.
pub fn local_name() -> Option<String> {
    let answers = ["/run/avahi-daemon/pid", "/var/run/avahi-daemon/pid"];
    let is_answered =
        cfg!(target_os = "macos") || answers.iter().any(|p| std::fs::exists(p).unwrap_or(false));
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim().split('.').next().unwrap_or_default().to_ascii_lowercase();
    (is_answered && !name.is_empty() && name != "localhost").then(|| format!("{name}.local"))
}

/// A line of the routing table.
struct Route {
    interface: String,
    network: u32,
    mask: u32,
    metric: u32,
    is_direct: bool,
}

impl Route {
    /// The table writes addresses as numbers of the machine's own byte order.
    fn read(line: &str) -> Option<Route> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [interface, network, gateway, _, _, _, metric, mask, ..] = words[..] else {
            return None;
        };
        let address =
            |text| Some(u32::from_be_bytes(u32::from_str_radix(text, 16).ok()?.to_ne_bytes()));
        Some(Route {
            interface: interface.to_owned(),
            network: address(network)?,
            mask: address(mask)?,
            metric: metric.parse().ok()?,
            is_direct: address(gateway)? == 0,
        })
    }
}

/// One address per network that is reached directly, best first.
fn from_routes(table: &str, source: impl Fn(Ipv4Addr) -> Option<Ipv4Addr>) -> Vec<LanAddress> {
    let routes: Vec<Route> = table.lines().filter_map(Route::read).collect();
    let metric_out = |interface: &str| {
        let out = routes.iter().filter(|r| r.mask == 0 && r.interface == interface);
        out.map(|r| r.metric).min().unwrap_or(u32::MAX)
    };
    let mut found: Vec<(_, LanAddress)> = Vec::new();
    for route in routes.iter().filter(|r| r.is_direct && r.mask != 0 && r.mask != u32::MAX) {
        let Some(ip) = source(Ipv4Addr::from(route.network | 1)) else { continue };
        let is_own = u32::from(ip) & route.mask == route.network;
        if !is_own || !is_reachable(&ip.into()) || found.iter().any(|(_, known)| known.ip == ip) {
            continue;
        }
        let interface = route.interface.clone();
        let order =
            (is_virtual(&interface), !ip.is_private(), metric_out(&interface), route.metric);
        found.push((order, LanAddress { ip: ip.into(), interface }));
    }
    found.sort_by_key(|(order, _)| *order);
    found.into_iter().map(|(_, address)| address).collect()
}

/// Addresses of IPv6 that last, those of the local network (`fc00::/7`) first.
fn from_inet6(table: &str) -> Vec<LanAddress> {
    const PASSING: u8 = 0x01 | 0x20 | 0x40; // temporary, deprecated, tentative
    let read = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [address, _, _, _, flags, interface] = words[..] else { return None };
        let ip = Ipv6Addr::from(u128::from_str_radix(address, 16).ok()?);
        let flags = u8::from_str_radix(flags, 16).ok()?;
        let lasts = flags & PASSING == 0 && is_reachable(&ip.into());
        let order = (is_virtual(interface), !ip.is_unique_local());
        lasts.then(|| (order, LanAddress { ip: ip.into(), interface: interface.to_owned() }))
    };
    let mut found: Vec<_> = table.lines().filter_map(read).collect();
    found.sort_by_key(|(order, _)| *order);
    found.into_iter().map(|(_, address)| address).collect()
}

fn is_virtual(interface: &str) -> bool {
    VIRTUAL.iter().any(|prefix| interface.starts_with(prefix))
}

/// Not loopback, and good without the name of an interface beside it.
fn is_reachable(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local() && !ip.is_unspecified(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local() && !ip.is_unspecified(),
    }
}

fn source_towards(far: Ipv4Addr) -> Option<Ipv4Addr> {
    match source(far.into())? {
        IpAddr::V4(ip) => Some(ip),
        IpAddr::V6(_) => None,
    }
}

/// The address that the system would send from.
fn source(far: IpAddr) -> Option<IpAddr> {
    let any: IpAddr =
        if far.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
    socket.connect(SocketAddr::new(far, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row as the system of this machine's byte order writes it.
    fn row(
        interface: &str,
        network: [u8; 4],
        gateway: [u8; 4],
        mask: [u8; 4],
        metric: u32,
    ) -> String {
        let hex = |address| format!("{:08X}", u32::from_ne_bytes(address));
        format!(
            "{interface}\t{}\t{}\t0001\t0\t0\t{metric}\t{}\t0\t0\t0\n",
            hex(network),
            hex(gateway),
            hex(mask)
        )
    }

    const C: [u8; 4] = [255, 255, 255, 0];

    fn chosen(table: &str, own: &[[u8; 4]]) -> Vec<String> {
        let own: Vec<Ipv4Addr> = own.iter().copied().map(Ipv4Addr::from).collect();
        // The system answers with its address in the network asked for, else with the first one.
        let source = |far: Ipv4Addr| {
            let near = own.iter().find(|ip| ip.octets()[..3] == far.octets()[..3]);
            near.or(own.first()).copied()
        };
        from_routes(table, source).into_iter().map(|found| found.ip.to_string()).collect()
    }

    #[test]
    fn the_network_of_the_house_comes_before_containers_and_tunnels() {
        let table = format!(
            "Iface\tDestination\tGateway\tFlags\n{}{}{}{}{}",
            row("docker0", [172, 17, 0, 0], [0; 4], C, 0),
            row("tun0", [0; 4], [10, 8, 0, 1], [0; 4], 50),
            row("tun0", [10, 8, 0, 0], [0; 4], C, 50),
            row("wlan0", [0; 4], [192, 168, 1, 1], [0; 4], 600),
            row("wlan0", [192, 168, 1, 0], [0; 4], C, 600),
        );
        let own = [[172, 17, 0, 1], [10, 8, 0, 6], [192, 168, 1, 20]];
        assert_eq!(chosen(&table, &own), ["192.168.1.20", "10.8.0.6", "172.17.0.1"]);
        // A cable and a radio in one house: the one that the system prefers.
        let table = format!(
            "{}{}{}{}",
            row("wlan0", [192, 168, 1, 0], [0; 4], C, 600),
            row("wlan0", [0; 4], [192, 168, 1, 1], [0; 4], 600),
            row("eth0", [192, 168, 2, 0], [0; 4], C, 100),
            row("eth0", [0; 4], [192, 168, 2, 1], [0; 4], 100),
        );
        assert_eq!(chosen(&table, &[[192, 168, 1, 5], [192, 168, 2, 5]])[0], "192.168.2.5");
    }

    #[test]
    fn a_network_without_a_way_out_is_enough_and_loopback_never_is() {
        let table = row("eth0", [192, 168, 7, 0], [0; 4], C, 0);
        assert_eq!(chosen(&table, &[[192, 168, 7, 3]]), ["192.168.7.3"]);
        let looped = format!(
            "{}{}{}",
            row("lo", [127, 0, 0, 0], [0; 4], [255, 0, 0, 0], 0),
            row("lo", [127, 0, 1, 0], [0; 4], C, 0),
            row("eth0", [169, 254, 0, 0], [0; 4], [255, 255, 0, 0], 0),
        );
        assert!(chosen(&looped, &[[127, 0, 1, 1], [127, 0, 0, 1], [169, 254, 3, 4]]).is_empty());
        assert!(chosen("not a table\n\n\x00", &[]).is_empty());
    }

    #[test]
    fn addresses_of_ipv6_are_those_that_a_browser_can_open() {
        let table = "\
fe8000000000000000fc00fffe000001 04 40 20 80     eth0\n\
00000000000000000000000000000001 01 80 10 80       lo\n\
20010db8000000000000000000000009 04 40 00 80     eth0\n\
20010db80000000000000000000000ff 04 40 00 01     eth0\n\
fd000000000000000000000000000002 04 40 00 82     eth0\nrubbish\n";
        let found: Vec<String> = from_inet6(table).iter().map(|one| one.ip.to_string()).collect();
        assert_eq!(found, ["fd00::2", "2001:db8::9"]);
    }

    #[test]
    fn what_this_machine_has_is_no_loopback() {
        assert!(addresses().iter().all(|one| is_reachable(&one.ip)));
    }
}
