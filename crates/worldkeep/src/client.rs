//! The running server over HTTP, for verbs without `--redis` and `--data`. Its refusals become exit codes.

use std::path::Path;
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use server::inside::Answer;

use crate::cli::Global;
use crate::exit::Failure;

/// While an answer is awaited, the server is asked so often whether it lives.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// One that says nothing for so long is taken for gone.
const SILENT: Duration = Duration::from_secs(15);

/// A server to ask.
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

impl Client {
    /// From `--server` and `--token`.
    pub fn new(global: &Global) -> Result<Self, Failure> {
        let base = global.server.trim_end_matches('/').to_owned();
        if !base.starts_with("http://") && !base.starts_with("https://") {
            return Err(Failure::usage(format!(
                "--server {base}: write it like http://127.0.0.1:7070"
            )));
        }
        let mut http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(3))
            .user_agent(concat!("worldkeep/", env!("CARGO_PKG_VERSION")));
        if let Some(file) = &global.ca {
            http = http.tls_certs_only(authorities(file)?);
        }
        let http = http
            .build()
            .map_err(|error| Failure::failed(format!("cannot make an HTTP client: {error}")))?;
        Ok(Client { http, base, token: global.token.clone() })
    }

    /// Sends a request and reads a JSON answer; `Null` for an empty one. Refusals are failures with the server's
    /// sentence.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let body = body.map(Value::to_string);
        let answer = self.ask(method, path, &[], body.as_deref()).await?;
        value(&accepted(answer)?)
    }

    /// Sends a request with a JSON text and gives status and body as they came.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&'static str, String)],
        body: Option<&str>,
    ) -> Result<Answer, Failure> {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_owned());
        }
        let answer = async {
            let response = request.send().await?;
            let status = response.status().as_u16();
            Ok(Answer { status, body: response.bytes().await? })
        };
        tokio::select! {
            biased;
            answer = answer => answer.map_err(|error| self.lost(&error)),
            error = self.silence() => Err(self.lost(&error)),
        }
    }

    /// Writes a long answer to a file as it comes; `heard` learns how many bytes came so far.
    pub async fn fetch(
        &self,
        path: &str,
        to: &mut std::fs::File,
        mut heard: impl FnMut(u64),
    ) -> Result<(), Failure> {
        use std::io::Write as _;
        let mut request = self.http.get(format!("{}{path}", self.base));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = async {
            let mut response = request.send().await.map_err(|error| self.lost(&error))?;
            let status = response.status().as_u16();
            if !(200..300).contains(&status) {
                let body = response.bytes().await.map_err(|error| self.lost(&error))?;
                return Err(refused(&Answer { status, body }));
            }
            let mut came = 0;
            while let Some(part) = response.chunk().await.map_err(|error| self.lost(&error))? {
                to.write_all(&part).map_err(|error| {
                    Failure::failed(format!("cannot write: {}", crate::config::plain(&error)))
                })?;
                came += part.len() as u64;
                heard(came);
            }
            Ok(())
        };
        tokio::select! {
            biased;
            answer = answer => answer,
            error = self.silence() => Err(self.lost(&error)),
        }
    }

    /// Ends when the server does not answer at all any more. How long one request may take is the server's to say:
    /// a check of a large store takes minutes.
    async fn silence(&self) -> reqwest::Error {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let look = self.http.get(format!("{}/healthz", self.base)).timeout(SILENT);
            match look.send().await {
                Err(error) if error.is_timeout() || error.is_connect() => return error,
                _ => {}
            }
        }
    }

    /// For errors while an answer is read.
    fn lost(&self, error: &reqwest::Error) -> Failure {
        let base = &self.base;
        let causes =
            std::iter::successors(std::error::Error::source(error), |error| error.source());
        let certificate = causes.map(ToString::to_string).find_map(|cause| {
            cause.split_once("invalid peer certificate: ").map(|(_, why)| why.to_owned())
        });
        if let Some(why) = certificate {
            return Failure::unreachable(format!(
                "the certificate of {base} is not trusted ({why}); name its authority with --ca FILE"
            ));
        }
        Failure::unreachable(if error.is_timeout() && !error.is_connect() {
            format!(
                "the server at {base} is there and does not answer: look at its log, or start it again"
            )
        } else {
            format!(
                "cannot reach the server at {base}: no connection; start it with `worldkeep`, or name a store with --redis or --data"
            )
        })
    }
}

/// The certificates of `--ca`.
fn authorities(file: &Path) -> Result<Vec<reqwest::Certificate>, Failure> {
    let wrong = |why: String| Failure::usage(format!("--ca {}: {why}", file.display()));
    let text = std::fs::read(file).map_err(|error| wrong(crate::config::plain(&error)))?;
    match reqwest::Certificate::from_pem_bundle(&text) {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(wrong("it holds no certificate in PEM".into())),
    }
}

/// The JSON of an answer; `Null` for an empty one.
pub fn value(answer: &Answer) -> Result<Value, Failure> {
    if answer.body.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&answer.body)
        .map_err(|_| Failure::failed("the server did not answer with JSON; is --server right?"))
}

/// The answer, unless it is a refusal: that is a failure with the server's sentence.
pub fn accepted(answer: Answer) -> Result<Answer, Failure> {
    if (200..300).contains(&answer.status) { Ok(answer) } else { Err(refused(&answer)) }
}

/// Pointers to the sentence in the three dialects of errors.
const SENTENCES: &[&str] = &["/error/message", "/errors/0/detail", "/says", "/message"];
/// Pointers to the field that the sentence is about.
const FIELDS: &[&str] = &[
    "/error/field",
    "/errors/0/source/pointer",
    "/errors/0/source/parameter",
    "/details/field",
    "/details/path",
];

/// Pointers to the stable word: of the rooms it is the second one, after its family.
const WORDS: &[&str] = &["/error/code", "/errors/0/code", "/message"];

/// A refusal of any dialect as people read it: its sentence, after the field it is about.
fn refused(answer: &Answer) -> Failure {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let first = |places: &[&str]| {
        places.iter().find_map(|place| body.pointer(place)?.as_str().map(str::to_owned))
    };
    let sentence =
        first(SENTENCES).unwrap_or_else(|| format!("the server answered {}", answer.status));
    let field = first(FIELDS).unwrap_or_default();
    let field = field.strip_prefix("/data/attributes/").unwrap_or(&field);
    let message = if field.is_empty() || sentence.contains(field) {
        sentence
    } else {
        format!("{field}: {sentence}")
    };
    let word = first(WORDS).map(|word| word.to_lowercase());
    Failure { word, ..Failure::of_status(answer.status, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_every_dialect_become_failures() {
        let of = |status: u16, body: &'static str| {
            refused(&Answer { status, body: body.as_bytes().into() })
        };
        let plain = of(409, r#"{"error":{"code":"x","message":"it is so"}}"#);
        assert_eq!((plain.code, plain.message.as_str()), (4, "it is so"));
        assert_eq!(plain.json()["error"]["code"], "x");
        assert_eq!(of(404, r#"{"errors":[{"detail":"gone"}]}"#).message, "gone");
        let world = of(409, r#"{"errors":[{"detail":"wait","code":"ON_COOLDOWN"}]}"#);
        assert_eq!(world.word.as_deref(), Some("on_cooldown"));
        let rooms = r#"{"error":"bad_request","message":"senders_count","says":"a room has 2 to 64 of them","details":{"path":"senders"}}"#;
        let rooms = of(400, rooms);
        assert_eq!((rooms.code, &*rooms.message), (2, "senders: a room has 2 to 64 of them"));
        assert_eq!(rooms.word.as_deref(), Some("senders_count"));
        let pointed =
            r#"{"errors":[{"detail":"too far","source":{"pointer":"/data/attributes/x"}}]}"#;
        assert_eq!(of(400, pointed).message, "x: too far");
        let named = r#"{"error":{"message":"priority goes from 1 to 10","field":"priority"}}"#;
        assert_eq!(of(400, named).message, "priority goes from 1 to 10");
        assert_eq!(of(503, "").code, 6);
        assert_eq!(of(503, "").json()["error"]["code"], "unreachable");
    }
}
