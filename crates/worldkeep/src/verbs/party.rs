//! `worldkeep party`: the server, and a second listener on the local network that serves the game alone. Phones come in
//! there; dashboard, API and everything else stay where `serve` has them.

use std::io::IsTerminal as _;
use std::net::{IpAddr, SocketAddr};

use serde_json::json;
use server::settings::Settings;
use tokio::net::TcpListener;

use super::serve::cannot_listen;
use crate::cli::{Global, Party};
use crate::exit::Failure;
use crate::lan::{self, LanAddress};
use crate::print;

/// Beside the dashboard's.
const PORT: u16 = 7071;

pub(super) fn run(global: &Global, flags: &Party) -> Result<(), Failure> {
    let wanted = flags.address.as_deref().unwrap_or("auto");
    super::serve::run_with(global, &flags.serve, Some(wanted))
}

/// The listener for guests, and what they are told.
pub(super) struct Guests {
    pub(super) listener: TcpListener,
    /// Without a slash at its end.
    pub(super) url: String,
    /// Other addresses of this machine, for whoever is on another network.
    others: Vec<LanAddress>,
    is_loopback: bool,
}

/// Opens the party's listener where the settings ask for one.
pub(super) async fn open(settings: &Settings) -> Result<Option<Guests>, Failure> {
    let Some(wanted) = settings.rooms.party.as_deref() else { return Ok(None) };
    let modules = server::modules::choose(&settings.server.modules).map_err(Failure::usage)?;
    if !modules.iter().any(|module| module.name == "rooms") {
        return Err(Failure::usage(
            "the party game is the module rooms, which --modules leaves out; add it, or leave --modules away",
        ));
    }
    let (ip, port) = read(wanted)?;
    let mut found = lan::addresses();
    let bound = match ip {
        Some(ip) => ip,
        None => found.first().map(|best| best.ip).ok_or_else(no_network)?,
    };
    let address = SocketAddr::new(bound, port);
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| cannot_listen(&address.to_string(), "--address", &error))?;
    let port = listener.local_addr().map_or(port, |own| own.port());
    // On all addresses at once: guests are told the best of them.
    let shown = match found.first() {
        Some(best) if bound.is_unspecified() => best.ip,
        _ => bound,
    };
    found.retain(|other| other.ip != shown);
    let url = format!("http://{}", SocketAddr::new(shown, port));
    let is_loopback = shown.to_canonical().is_loopback() || shown.is_unspecified();
    Ok(Some(Guests { listener, url, others: found, is_loopback }))
}

fn no_network() -> Failure {
    Failure::failed(
        "this machine has no address on a local network; join one, or name an address of this machine with \
         --address, such as --address 192.168.1.20",
    )
}

/// `auto`, `:PORT`, `IP` or `IP:PORT`.
fn read(text: &str) -> Result<(Option<IpAddr>, u16), Failure> {
    if text == "auto" {
        return Ok((None, PORT));
    }
    if let Some(port) = text.strip_prefix(':').and_then(|port| port.parse().ok()) {
        return Ok((None, port));
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok((Some(address.ip()), address.port()));
    }
    let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let ip = inside.parse::<IpAddr>().map_err(|_| {
        Failure::usage(format!(
            "--address {text}: write an IP address of this machine, such as 192.168.1.20 or 192.168.1.20:{PORT}, \
             or :{PORT} for another port"
        ))
    })?;
    Ok((Some(ip), PORT))
}

impl Guests {
    /// The lines for the terminal: where the big screen is, where phones go, and the QR code of that.
    pub(super) fn lines(&self, dashboard: &str) -> Vec<String> {
        let play = format!("{}/play", self.url);
        let mut lines = vec![
            format!("Party      {dashboard}/party  (the big screen: open it on this machine)"),
            format!(
                "Guests     {play}  (phones on the same network; the big screen shows the code)"
            ),
        ];
        if let Some(name) = lan::local_name() {
            let port = self.url.rsplit(':').next().unwrap_or_default();
            lines.push(format!(
                "           http://{name}:{port}/play  (where phones know such names)"
            ));
        }
        for other in &self.others {
            let LanAddress { ip, interface } = other;
            lines
                .push(format!("           another network: {ip} {interface}, with --address {ip}"));
        }
        if self.is_loopback {
            lines.push(
                "Warning    phones cannot reach this address: it is this machine's own".into(),
            );
        }
        let colours = std::io::stdout().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let code = server::party::qr_for_terminals(&play, colours).unwrap_or_default();
        lines.extend(code.lines().map(str::to_owned));
        lines
    }

    /// The same for programs, in one line.
    pub(super) fn tell_programs(&self, dashboard: &str) {
        let others: Vec<String> = self.others.iter().map(|other| other.ip.to_string()).collect();
        print::json(&json!({
            "dashboard": format!("{dashboard}/"),
            "big_screen": format!("{dashboard}/party"),
            "guests": format!("{}/play", self.url),
            "other_addresses": others,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_short() {
        let read = |text| read(text).map_err(|failure| failure.message);
        let v4: IpAddr = "192.168.1.20".parse().unwrap();
        assert_eq!(read("auto"), Ok((None, PORT)));
        assert_eq!(read(":80"), Ok((None, 80)));
        assert_eq!(read("192.168.1.20"), Ok((Some(v4), PORT)));
        assert_eq!(read("192.168.1.20:0"), Ok((Some(v4), 0)));
        let v6: IpAddr = "fd00::2".parse().unwrap();
        for text in ["fd00::2", "[fd00::2]"] {
            assert_eq!(read(text), Ok((Some(v6), PORT)));
        }
        assert_eq!(read("[fd00::2]:9"), Ok((Some(v6), 9)));
        for bad in ["", "laptop", "laptop.local:7071", "192.168.1", "1.2.3.4:99999", ":x"] {
            assert!(read(bad).is_err_and(|says| says.contains("--address")), "{bad}");
        }
    }
}
