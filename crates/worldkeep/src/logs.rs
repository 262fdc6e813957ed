//! Logs go to stderr: text on a terminal, one JSON object per line elsewhere. No payloads and no tokens.

use std::io::IsTerminal as _;

use server::settings::{LogFormat, Settings};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::exit::Failure;

/// Below `info` these print heads and frames as they are, tokens included; nothing may do that.
const TALKATIVE: &str = "hyper=info,hyper_util=info,h2=info,tungstenite=info,tokio_tungstenite=info,\
    axum=info,tower_http=info,rustls=info,redis=info,reqwest=info";

/// Our crates by the names that filters have for them; their lines in the log say `worldkeep_server` and so on.
const OURS: &[&str] = &[
    "engine", "field", "galaxy", "jobs", "kernel", "link", "monsters", "reactors", "rooms",
    "server",
];

/// The filter with the names of our crates in full: `server=debug` becomes `worldkeep_server=debug`.
fn in_full(filter: &str) -> String {
    let directives = filter.split(',').map(str::trim).map(|directive| {
        let target = directive.split([':', '=']).next().unwrap_or_default();
        if OURS.contains(&target) { format!("worldkeep_{directive}") } else { directive.to_owned() }
    });
    directives.collect::<Vec<_>>().join(",")
}

/// Starts logging for `serve`. Refuses a filter it cannot read.
pub fn start(settings: &Settings) -> Result<(), Failure> {
    let text = settings.server.log.as_deref().unwrap_or("info");
    let filter = format!("{},{TALKATIVE}", in_full(text)).parse::<Targets>().map_err(|error| {
        Failure::usage(format!(
            "log: `{text}` is no filter ({error}); write a level such as info, or info,server=debug"
        ))
    })?;
    let json = match settings.server.log_format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !std::io::stderr().is_terminal(),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        // A log that cannot be written, on a full disk, ends no request: the complaint about it would panic.
        .log_internal_errors(false)
        .with_target(true);
    let colours = std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let registry = tracing_subscriber::registry().with(filter);
    // A second start in one process (tests) keeps the first.
    let _ = if json {
        registry.with(lines.json().flatten_event(true).with_current_span(false)).try_init()
    } else {
        registry.with(lines.with_ansi(colours)).try_init()
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::in_full;

    #[test]
    fn filters_name_our_crates_by_their_short_names() {
        let cases = [
            ("debug", "debug"),
            ("info, server=debug", "info,worldkeep_server=debug"),
            ("jobs::worker=trace,hyper=warn", "worldkeep_jobs::worker=trace,hyper=warn"),
            ("rooms", "worldkeep_rooms"),
            ("worldkeep_link=debug,linker=off", "worldkeep_link=debug,linker=off"),
        ];
        for (filter, full) in cases {
            assert_eq!(in_full(filter), full);
        }
    }
}
