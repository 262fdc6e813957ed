//! `worldkeep check`: walks a store opened here, or asks the running server to. Shows progress on a terminal;
//! exit code 1 while faults remain.

use std::sync::Arc;
use std::time::Duration;

use indicatif::ProgressBar;
use kernel::check::{Options, Progress, check};
use kernel::keyspace::Classifier;
use kernel::{Deadline, ServerClock, Store, SystemClock};
use reqwest::Method;
use serde_json::{Value, json};
use server::modules::{Checking, MODULES, Module};

use crate::cli::{Check, Global};
use crate::client::Client;
use crate::exit::Failure;
use crate::open::{self, Target};
use crate::{config, print};

pub(super) fn run(global: &Global, flags: &Check) -> Result<(), Failure> {
    if flags.repair {
        open::confirm(
            global,
            "remove and rewrite index entries, orphans and lives that are wrong",
        )?;
    }
    let work = async {
        match open::target(global).await? {
            Target::Store(store) => on_store(global, flags, store).await,
            Target::Server(client) => on_server(global, flags, &client).await,
        }
    };
    let report = super::wait_or(work, cancel(global))?;
    let remaining = tell(global, &report);
    if remaining > 0 {
        return Err(Failure::told(1));
    }
    Ok(())
}

async fn on_store(global: &Global, flags: &Check, store: Arc<dyn Store>) -> Result<Value, Failure> {
    let settings = config::load(global.config.as_deref(), std::env::vars(), &[])?;
    let classifier = Classifier::new(&super::tables(None)?, &settings.jobs.namespaces);
    let options = Options {
        repair: flags.repair,
        ..Options::new(classifier, global.layout.unwrap_or_default().into())
    };
    let by = Deadline::after(options.wait);
    let clock = ServerClock::start(&*store, Arc::new(SystemClock::new()), by).await?;
    let checking = Checking {
        store: Arc::clone(&store),
        clock: Arc::new(clock),
        layout: options.layout,
        namespaces: settings.jobs.namespaces,
        repair: flags.repair,
    };
    let modules: Vec<&Module> = MODULES.iter().collect();
    let bar = super::keys_bar(global, 0);
    bar.set_message("queues and worlds first");
    bar.tick();
    let beyond = checking.beyond_keys(&modules).await?;
    let mut progress = |now: Progress| show(&bar, now.scanned, now.total, now.findings);
    let report = check(&*store, &options, &mut progress).await;
    bar.finish_and_clear();
    let mut report = report?;
    report.merge(beyond, options.keep);
    let mut value = json!(report);
    value["findings_total"] = report.findings_total().into();
    Ok(value)
}

async fn on_server(global: &Global, flags: &Check, client: &Client) -> Result<Value, Failure> {
    let bar = super::keys_bar(global, 0);
    let body = json!({ "repair": flags.repair });
    let work = client.call(Method::POST, "/api/check", Some(&body));
    tokio::pin!(work);
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            () = tokio::time::sleep(Duration::from_millis(500)) => {
                if let Ok(now) = client.call(Method::GET, "/api/check", None).await {
                    let number = |name: &str| now[name].as_u64().unwrap_or(0);
                    show(&bar, number("scanned"), number("total"), number("findings_total"));
                }
            }
        }
    };
    bar.finish_and_clear();
    done
}

/// Ends the check that the running server makes for us.
async fn cancel(global: &Global) {
    if global.redis.is_none()
        && global.data.is_none()
        && let Ok(client) = Client::new(global)
    {
        let _ = client.call(Method::DELETE, "/api/check", None).await;
    }
}

fn show(bar: &ProgressBar, scanned: u64, total: u64, findings: u64) {
    bar.set_length(total.max(scanned));
    bar.set_position(scanned);
    bar.set_message(format!("{findings} found"));
}

/// Prints the report; gives how many faults remain.
fn tell(global: &Global, report: &Value) -> u64 {
    let number = |name: &str| report[name].as_u64().unwrap_or(0);
    let (found, repaired) = (number("findings_total"), number("repaired"));
    let remaining = found.saturating_sub(repaired);
    if global.json {
        print::json(report);
        return remaining;
    }
    for finding in report["findings"].as_array().into_iter().flatten() {
        let text = |name: &str| finding[name].as_str().unwrap_or_default();
        let entry =
            finding["entry"].as_str().map(|entry| format!(" [{entry}]")).unwrap_or_default();
        let done = match finding["remedy"].as_str() {
            _ if finding["repaired"] == json!(true) => " (repaired)".to_owned(),
            Some(remedy) => format!("; `{remedy}` removes it"),
            None => String::new(),
        };
        let trouble = text("trouble").replace('_', " ");
        print::line(format!("{trouble}: {}{entry}: {}{done}", text("key"), text("detail")));
    }
    if number("left_off") > 0 {
        print::line(format!("… and {} more", number("left_off")));
    }
    if !global.quiet {
        print::line(format!(
            "{} keys looked at, {} of others; {found} faults, {repaired} repaired, {remaining} remain",
            number("scanned"),
            number("foreign"),
        ));
    }
    remaining
}
