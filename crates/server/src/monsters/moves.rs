//! Moves of monsters for those who listen to a box of a field, or ask for the type `MOVED`. They are told in passing, on a
//! channel per tenant, and stand in no stream: a listener who was away reads where everything is now.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use kernel::events::{Envelope, KnownPlace, Seq};
use kernel::keyspace::scan_glob;
use kernel::{Deadline, Message, Topic};
use monsters::MOVED;
use monsters::keys::def;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::hub::News;
use crate::modules::State;

/// How long it rests after the store failed.
const REST: Duration = Duration::from_millis(250);

/// Hears moves while somebody wants them, until the stop.
pub(super) fn run(app: State, stop: CancellationToken) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let Ok(all) = scan_glob(&def::moves, app.keyspace.layout, &[]) else { return };
        let topics = [Topic::Pattern(all)];
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = app.hub.moves_wanted() => {}
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = hear(&app, &topics) => app.hub.lost_moves(),
            }
        }
    })
}

/// Passes moves on until nobody wants them, or the subscription ends.
async fn hear(app: &App, topics: &[Topic]) {
    let by = Deadline::after(Duration::from_secs(5));
    let mut messages = match app.store().subscribe(topics, by).await {
        Ok(messages) => messages,
        Err(fault) => {
            tracing::debug!(%fault, "listening for moves");
            return tokio::time::sleep(REST).await;
        }
    };
    let mut unwanted = std::pin::pin!(app.hub.hears_moves());
    loop {
        let message = tokio::select! {
            () = &mut unwanted => return,
            message = messages.next() => message,
        };
        let Some(message) = message else { return };
        if let Message::Payload { channel, payload } = message
            && let Some(news) = news(app, channel, &payload)
        {
            app.hub.announce(news);
        }
    }
}

fn news(app: &App, channel: String, payload: &[u8]) -> Option<News> {
    let layout = app.keyspace.layout;
    let [(_, tenant)] = def::moves.pattern(layout).values(&channel, layout, &[])?[..] else {
        return None;
    };
    let tenant = tenant.to_owned();
    let (at, rest) = std::str::from_utf8(payload).ok()?.split_once(' ')?;
    let (id, message) = rest.split_once(' ')?;
    let event = Envelope {
        module: "monsters".into(),
        scope: Some(tenant),
        seq: Seq::default(),
        at: at.parse().ok()?,
        kind: MOVED.into(),
        id: id.to_owned(),
        body: RawValue::from_string(message.to_owned()).ok()?,
        place: KnownPlace::default(),
    };
    Some(News::passing(channel, event))
}
