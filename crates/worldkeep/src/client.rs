//! The running server over HTTP, for verbs without `--redis` and `--data`. Its refusals become exit codes.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use server::inside::Answer;

use crate::cli::Global;
use crate::exit::Failure;

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
        let http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(3))
            .user_agent(concat!("worldkeep/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Failure::failed(format!("cannot make an HTTP client: {error}")))?;
        Ok(Client { http, base, token: global.token.clone() })
    }

    /// Sends a request and reads a JSON answer; `Null` for an empty one.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let response = self.send(method, path, body, None).await?;
        let bytes = response.bytes().await.map_err(|error| self.lost(&error))?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes)
            .map_err(|_| Failure::failed(format!("{} did not answer with JSON", self.base)))
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
        let response = request.send().await.map_err(|error| self.lost(&error))?;
        let status = response.status().as_u16();
        let body = response.bytes().await.map_err(|error| self.lost(&error))?;
        Ok(Answer { status, body })
    }

    /// Sends a request; refusals are failures with the server's sentence.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        accept: Option<&str>,
    ) -> Result<reqwest::Response, Failure> {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(accept) = accept {
            request = request.header("accept", accept);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| self.lost(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body: Value = response.json().await.unwrap_or_default();
        let message = [&body["error"]["message"], &body["errors"][0]["detail"], &body["message"]]
            .into_iter()
            .find_map(Value::as_str)
            .map_or_else(|| format!("{} answered {status}", self.base), str::to_owned);
        Err(Failure::of_status(status.as_u16(), message))
    }

    /// For errors while an answer is read.
    pub fn lost(&self, error: &reqwest::Error) -> Failure {
        let why = if error.is_timeout() { "no answer in time" } else { "no connection" };
        Failure::unreachable(format!(
            "cannot reach the server at {}: {why}; start it with `worldkeep`, or name a store with --redis or --data",
            self.base
        ))
    }
}
