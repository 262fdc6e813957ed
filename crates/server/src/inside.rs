//! The API without a socket: the same router on a store that was opened in this process. The command line uses
//! it for `--redis` and `--data`, so that each verb has one implementation and one answer, wherever the state is.
//! Loops, start hooks and the demo world stay off: nothing happens but what is asked.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderValue, Method, Request, header};
use kernel::{Clock, Store};
use tower::ServiceExt as _;

use crate::app::{App, router};
use crate::settings::{Settings, Source};

/// Marks a request of whoever opened the store itself: it may do everything. Extensions never come over the
/// wire, so nobody else can set it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner;

/// A server that listens nowhere.
pub struct Inside {
    app: Arc<App>,
    router: Router,
}

/// An answer: status and body.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// JSON in all but a few cases.
    pub body: Bytes,
}

impl Inside {
    /// On this store. Refuses settings that cannot work, with a sentence.
    pub fn new(
        mut settings: Settings,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        // Limits protect a server from strangers; there are none here.
        for (name, text) in [("demo", "off"), ("limits.request_ms", "0")] {
            settings
                .set(name, text, Source::Flag("the command line".into()))
                .map_err(|error| error.to_string())?;
        }
        let app = App::new(settings, store, clock)?;
        let router = router(&app);
        Ok(Inside { app, router })
    }

    /// The server behind it.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// One request, as if it had come over HTTP from somebody who may do everything. `body` is JSON text.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&str>) -> Answer {
        self.ask_with(method, path, &[], body).await
    }

    /// The same with headers, such as those that choose a tenant.
    pub async fn ask_with(
        &self,
        method: Method,
        path: &str,
        headers: &[(&'static str, String)],
        body: Option<&str>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_owned()));
        let Ok(mut request) = request.body(body) else {
            return Answer { status: 400, body: Bytes::from_static(b"{}") };
        };
        request.headers_mut().insert(header::HOST, HeaderValue::from_static("localhost"));
        request.extensions_mut().insert(Owner);
        let Ok(response) = self.router.clone().oneshot(request).await;
        let status = response.status().as_u16();
        // Answers of our own have no limit of size.
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
        Answer { status, body }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.app.stopping.cancel();
    }
}
