//! The one way from a verb to the state. Each verb of a module is an HTTP request and a way to show
//! its answer. With `--redis` or `--data` the server's own router answers it in this process,
//! without a socket and as the store's owner; with neither, the running server at `--server` does.
//! So a verb has one implementation, and the same output.

use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::time::Duration;

use kernel::{Deadline, Kind, ServerClock, SystemClock};
use reqwest::Method;
use serde_json::Value;
use server::inside::{Answer, Inside};
use server::settings::{Source, names};

use crate::cli::Global;
use crate::client::{Client, accepted, value};
use crate::exit::Failure;
use crate::view::{self, Show};
use crate::{config, open, print};

/// Most items of one page.
const PAGE: usize = 500;

/// One request. Values are escaped: a path by [`crate::path!`], queries here.
#[derive(Debug, Clone)]
pub struct Ask {
    /// As in the API.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// Headers to send.
    pub headers: Vec<(&'static str, String)>,
    /// JSON text to send.
    pub body: Option<String>,
    /// Items to gather over several pages, when the answer is a list.
    up_to: Option<usize>,
}

impl Ask {
    fn new(method: Method, path: impl Into<String>) -> Self {
        Ask { method, path: path.into(), headers: Vec::new(), body: None, up_to: None }
    }

    /// `GET path`.
    pub fn get(path: impl Into<String>) -> Self {
        Ask::new(Method::GET, path)
    }

    /// `POST path`.
    pub fn post(path: impl Into<String>) -> Self {
        Ask::new(Method::POST, path)
    }

    /// `PUT path`.
    pub fn put(path: impl Into<String>) -> Self {
        Ask::new(Method::PUT, path)
    }

    /// `DELETE path`.
    pub fn delete(path: impl Into<String>) -> Self {
        Ask::new(Method::DELETE, path)
    }

    /// Adds `name=value` to the query when there is a value.
    #[must_use]
    pub fn query<T: Display>(mut self, name: &str, value: Option<T>) -> Self {
        if let Some(value) = value {
            let sign = if self.path.contains('?') { '&' } else { '?' };
            let _ = write!(self.path, "{sign}{name}={}", escape(&value.to_string()));
        }
        self
    }

    /// Adds headers.
    #[must_use]
    pub fn headers(mut self, headers: Vec<(&'static str, String)>) -> Self {
        self.headers.extend(headers);
        self
    }

    /// Sends this.
    #[must_use]
    #[allow(clippy::needless_pass_by_value)] // Reads better where it is called.
    pub fn body(self, body: Value) -> Self {
        self.text(body.to_string())
    }

    /// Sends this JSON text as it is: numbers keep their spelling.
    #[must_use]
    pub fn text(mut self, json: String) -> Self {
        self.body = Some(json);
        self
    }

    /// The answer is `{"items","cursor"}`: gathers this many, over as many pages as it takes.
    #[must_use]
    pub fn up_to(mut self, items: usize) -> Self {
        self.up_to = Some(items.max(1));
        self
    }
}

/// A path of the API with its parts escaped: `path!("/api/jobs/{}:cancel", id)`.
#[macro_export]
macro_rules! path {
    ($format:literal $(, $part:expr)* $(,)?) => {
        format!($format $(, $crate::remote::escape(&$part.to_string()))*)
    };
}

/// A text as one part of a path or query: everything that is not plain becomes `%XX`.
pub fn escape(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.:~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// The server that answers requests: a running one, or its router in this process.
pub struct Remote(Way);

enum Way {
    Server(Client),
    Here(Box<Inside>),
}

impl Remote {
    /// By `--redis`, `--data` or `--server`. `settings` count only for a store opened here, over file and
    /// environment.
    pub async fn open(global: &Global, settings: &[(&str, String)]) -> Result<Self, Failure> {
        if global.redis.is_none() && global.data.is_none() {
            return Ok(Remote(Way::Server(Client::new(global)?)));
        }
        let (redis, data) = (global.redis.as_deref(), global.data.clone());
        let store = open::store(redis, data, open::Absent::Refuse).await?.store;
        let mut all = config::load(global.config.as_deref(), std::env::vars(), &[])?;
        all.set(names::modules, "all", Source::Flag("the command line".into()))?;
        if let Some(dir) = &global.data {
            all.set(names::data, &dir.display().to_string(), Source::Flag("--data".into()))?;
        }
        if let Some(layout) = global.layout {
            all.set(names::layout, layout.word(), Source::Flag("--layout".into()))?;
        } else if store.status().kind == Kind::Cluster
            && all.get(names::layout).source == Source::Default
        {
            // Only tagged keys work there, and somebody who wants others says so.
            all.set(names::layout, "tagged", Source::Flag("the kind of store".into()))?;
        }
        for (name, text) in settings {
            all.set(name, text, Source::Flag("the command line".into()))?;
        }
        let by = Deadline::after(Duration::from_secs(2));
        let clock = ServerClock::start(&*store, Arc::new(SystemClock::new()), by).await?;
        let inside = Inside::new(all, store, Arc::new(clock)).map_err(Failure::usage)?;
        Ok(Remote(Way::Here(Box::new(inside))))
    }

    /// The answer as it is; refusals are failures with the server's sentence and the exit code of its status.
    pub async fn raw(&self, ask: &Ask) -> Result<Answer, Failure> {
        let answer = match &self.0 {
            Way::Server(client) => {
                let Ask { method, path, headers, body, .. } = ask;
                client.ask(method.clone(), path, headers, body.as_deref()).await?
            }
            Way::Here(inside) => {
                let Ask { method, path, headers, body, .. } = ask;
                inside.ask_with(method.clone(), path, headers, body.as_deref()).await
            }
        };
        accepted(answer)
    }

    /// The answer's JSON; `Null` for an empty one.
    pub async fn json(&self, ask: &Ask) -> Result<Value, Failure> {
        match ask.up_to {
            Some(items) => self.pages(ask, items).await,
            None => value(&self.raw(ask).await?),
        }
    }

    /// Follows cursors until there are enough items or no more.
    async fn pages(&self, ask: &Ask, most: usize) -> Result<Value, Failure> {
        let mut items: Vec<Value> = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let limit = (most - items.len()).min(PAGE);
            let page = ask.clone().query("limit", Some(limit)).query("cursor", cursor.as_ref());
            let mut page = value(&self.raw(&page).await?)?;
            let Value::Array(found) = page["items"].take() else {
                return Err(Failure::failed("the server did not answer with a list"));
            };
            items.extend(found);
            cursor = page["cursor"].as_str().map(str::to_owned);
            if cursor.is_none() || items.len() >= most {
                page["items"] = items.into();
                page["cursor"] = cursor.map_or(Value::Null, Value::from);
                return Ok(page);
            }
        }
    }

    /// Asks and prints: JSON as it came with `--json`, else what `show` makes of it.
    pub async fn tell(&self, global: &Global, ask: &Ask, show: &Show<'_>) -> Result<(), Failure> {
        if ask.up_to.is_some() {
            let answer = self.json(ask).await?;
            if global.json {
                print::json(&answer);
            } else {
                view::print(global, &answer, show);
            }
            return Ok(());
        }
        let answer = self.raw(ask).await?;
        if global.json {
            print::raw_json(&answer.body);
        } else {
            view::print(global, &value(&answer)?, show);
        }
        Ok(())
    }
}

/// One verb from begin to end: opens, asks, prints. Ctrl-C ends it with 130.
pub fn run(
    global: &Global,
    settings: &[(&str, String)],
    ask: &Ask,
    show: &Show<'_>,
) -> Result<(), Failure> {
    crate::verbs::wait(async {
        Remote::open(global, settings).await?.tell(global, ask, show).await
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_survive_the_way_through_a_path() {
        assert_eq!(path!("/api/keys/{}", "room:AB:meta"), "/api/keys/room:AB:meta");
        assert_eq!(path!("/x/{}/{}:y", "a/b?c {é}", 7), "/x/a%2Fb%3Fc%20%7B%C3%A9%7D/7:y");
        let ask = Ask::get("/api/jobs").query("a", Some("x&y")).query("b", None::<u8>);
        assert_eq!(ask.query("c", Some(1)).path, "/api/jobs?a=x%26y&c=1");
    }
}
