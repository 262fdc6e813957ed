//! The party's own listener: guests on the local network play, and reach nothing else. It serves the routes whose access
//! row says `at_party` and the pages of the game; every other path is 404 there. Nobody who comes in by it is more than
//! a guest, whatever credentials they show and wherever they come from, so loopback is no admin through it.

use std::net::IpAddr;

use axum::http::Extensions;
use axum::http::request::Parts;

use crate::app::App;
use crate::caller::{Listener, Peer, host_of, origin_is_ours};
use crate::reply::{self, Refusal};

pub use crate::rooms::qr::terminal as qr_for_terminals;

/// Endings of names that no public name server gives out.
const LOCAL: &[&str] = &[".local", ".lan", ".home.arpa", ".internal", ".localdomain"];

/// Whether a request came in by the party's listener.
pub(crate) fn is_guest(of: &Extensions) -> bool {
    of.get::<Peer>().is_some_and(|peer| peer.listener == Listener::Party)
}

/// Refuses a host name that a page elsewhere could have pointed at this machine, and requests of other sites' pages.
pub(crate) fn admit(app: &App, parts: &Parts) -> Result<(), Refusal> {
    let host = host_of(parts);
    let named = app.settings.rooms.public_url.as_deref().map(host_in_url);
    let known = host.as_deref().is_some_and(|host| is_local_host(host) || named == Some(host));
    if !known {
        return Err(Refusal::new(
            reply::WRONG_ORIGIN,
            "the party is not known by this name; open the address that its terminal shows, or set rooms.public_url",
        ));
    }
    if !origin_is_ours(app, &parts.headers, host.as_deref()) {
        return Err(Refusal::new(reply::WRONG_ORIGIN, "pages of other sites may not join in"));
    }
    Ok(())
}

fn host_in_url(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// An IP address, a name without a dot, or a name of the local network; with or without a port.
fn is_local_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(inside, _)| inside),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let is_word = !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && !name.starts_with('.');
    name.parse::<IpAddr>().is_ok()
        || (is_word && (!name.contains('.') || LOCAL.iter().any(|end| name.ends_with(end))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_come_by_address_or_by_a_name_of_the_local_network() {
        for host in [
            "192.168.1.20:7071",
            "192.168.1.20",
            "[fd00::2]:7071",
            "127.0.0.2:80",
            "laptop:7071",
            "laptop",
            "laptop.local",
            "laptop.local:7071",
            "laptop.home.arpa:7071",
        ] {
            assert!(is_local_host(host), "{host}");
        }
        for host in [
            "",
            ":7071",
            "evil.example:7071",
            "192.168.1.20.evil.example",
            "laptop.local.evil.example:7071",
            ".local",
            "[evil.example]:7071",
            "[]",
        ] {
            assert!(!is_local_host(host), "{host}");
        }
        assert_eq!(host_in_url("https://party.example/x"), "party.example");
        assert_eq!(host_in_url("http://party.example:80"), "party.example:80");
    }
}
