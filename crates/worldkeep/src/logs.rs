//! Logs go to stderr: text on a terminal, one JSON object per line elsewhere. No payloads and no tokens.

use std::io::IsTerminal as _;

use server::settings::Settings;
use tracing_subscriber::EnvFilter;

use crate::exit::Failure;

/// Below `info` these print heads and frames as they are, tokens included; nothing may do that.
const TALKATIVE: &str = "hyper=info,hyper_util=info,h2=info,tungstenite=info,tokio_tungstenite=info,\
    axum=info,tower_http=info,rustls=info,redis=info,reqwest=info";

/// Starts logging for `serve`. Refuses a filter it cannot read.
pub fn start(settings: &Settings) -> Result<(), Failure> {
    let text = settings.text("log").unwrap_or("info");
    let filter = EnvFilter::try_new(format!("{text},{TALKATIVE}")).map_err(|error| {
        Failure::usage(format!(
            "log: `{text}` is no filter ({error}); write a level such as info, or info,server=debug"
        ))
    })?;
    let json = match settings.text("log_format") {
        Some("json") => true,
        Some("text") => false,
        _ => !std::io::stderr().is_terminal(),
    };
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // A log that cannot be written, on a full disk, ends no request: the complaint about it would panic.
        .log_internal_errors(false)
        .with_target(true);
    let colours = std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    // A second start in one process (tests) keeps the first.
    let _ = if json {
        builder.json().flatten_event(true).with_current_span(false).try_init()
    } else {
        builder.with_ansi(colours).try_init()
    };
    Ok(())
}
