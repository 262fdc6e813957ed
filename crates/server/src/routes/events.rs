//! `/ws/events`: live, filterable, resumable; and `GET /api/events`, the latest entries without a socket.
//!
//! A socket says `{"type":"subscribe", …}`, may say it again, and gets envelopes; a gap where `after` was
//! trimmed. What waits for it is bounded: a slow reader is closed with 1013, never buffered without end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use futures_util::FutureExt as _;
use kernel::Deadline;
use kernel::events::{Envelope, EventBox, Filter, Record, Seq};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::broadcast;

use crate::app::App;
use crate::caller::{self, Caller, Who};
use crate::extract::{Query, page_limit};
use crate::hub::{News, Places, WantsMoves};
use crate::limits::Malformed;
use crate::reply::{self, Refusal};
use crate::socket::{End, Incoming, Outbox, QueueLimits, Socket, Upgrade};
use crate::{keyspace, sessions, wire};

/// Server pings keep proxies and phones from closing a quiet socket.
const PING_EVERY: Duration = Duration::from_secs(20);
const TOO_SLOW: End = End(1013, "too slow: events were waiting");
/// Streams one subscription may resume.
const MAX_AFTER: usize = 10_000;

mod code {
    pub(super) const POLICY: u16 = 1008;
    pub(super) const RESTART: u16 = 1012;
    pub(super) const TRY_LATER: u16 = 1013;
    pub(super) const IDLE: u16 = 4008;
    pub(super) const UNAUTHORIZED: u16 = 4401;
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SocketQuery {
    /// A ticket of `POST /api/ws-ticket`; not needed with a bearer token or on loopback without login.
    ticket: Option<String>,
}

/// Live events over a WebSocket. Send `{"type":"subscribe","modules":[…],"scopes":[…],"types":[…],"where":{…},"boxes":[…],"after":{…}}`.
/// A box is `{"worldId","channelId","mapId","instance"?,"x1","y1","x2","y2"}`: only what happens inside one of them is sent,
/// with the moves of monsters (`MOVED`) that begin or end inside.
#[utoipa::path(get, path = "/ws/events", tag = "store", params(SocketQuery),
    responses((status = 101, description = "WebSocket"), (status = 401), (status = 403), (status = 426), (status = 429)))]
pub(crate) async fn socket(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(query): Query<SocketQuery>,
    upgrade: Result<Upgrade, Refusal>,
) -> Result<Response, Refusal> {
    let caller = admit(&app, caller, query.ticket.as_deref()).await?;
    let upgrade = upgrade?;
    let held = app.limits.socket(&caller)?;
    let limits = QueueLimits {
        messages: app.settings.limits.socket_queue_messages,
        bytes: app.settings.limits.socket_queue_bytes,
        too_slow: TOO_SLOW,
    };
    let (most, open) =
        (app.settings.limits.socket_message_bytes, metrics::gauge!("worldkeep_sockets"));
    Ok(upgrade.answer(most, open, held, move |socket| async move {
        let (outbox, mut writer) = Outbox::new(socket, limits);
        let socket = outbox.socket();
        let mut subscriber = Subscriber::new(app, caller, outbox.clone());
        let end = tokio::select! {
            end = subscriber.listen(socket) => end,
            end = writer.write_all() => end,
        };
        drop(subscriber);
        writer.last_words().await;
        socket.goodbye(end).await;
    }))
}

/// The opener of the socket: the ticket's holder, a bearer token, or direct loopback. A cookie alone is not enough.
async fn admit(app: &App, caller: Caller, ticket: Option<&str>) -> Result<Caller, Refusal> {
    if let Some(ticket) = ticket {
        let holder = sessions::take_ticket(app.store(), ticket).await?;
        let known = match holder {
            Some(holder) => caller::of_holder(app, &holder, caller.address).await?,
            None => None,
        };
        return known.ok_or_else(|| {
            Refusal::new(
                reply::BAD_TOKEN,
                "the ticket was used already or is older than thirty seconds",
            )
        });
    }
    match caller.who {
        Who::Loopback | Who::Token(_) => Ok(caller),
        Who::Session(_) => Err(Refusal::new(
            reply::UNAUTHORIZED,
            "a dashboard opens sockets with a ticket of POST /api/ws-ticket",
        )),
        Who::Foreign => Err(reply::BAD_TOKEN.into()),
        Who::Nobody => Err(reply::UNAUTHORIZED.into()),
    }
}

/// A message of a client.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum Ask {
    Subscribe {
        #[serde(default)]
        modules: Vec<String>,
        #[serde(default)]
        scopes: Vec<String>,
        #[serde(default)]
        types: Vec<String>,
        #[serde(default, rename = "where")]
        wanted: BTreeMap<String, serde_json::Value>,
        #[serde(default)]
        boxes: Vec<EventBox>,
        #[serde(default)]
        after: BTreeMap<String, Seq>,
    },
    Ping {},
}

/// One socket that listens.
struct Subscriber {
    app: Arc<App>,
    caller: Caller,
    out: Outbox,
    filter: Option<Filter>,
    live: Option<broadcast::Receiver<Arc<News>>>,
    /// Up to here each stream was delivered while catching up.
    delivered: Places,
    heard: Instant,
    malformed: Malformed,
    /// Held while the filter wants moves.
    moves: Option<WantsMoves>,
}

impl Subscriber {
    fn new(app: Arc<App>, caller: Caller, out: Outbox) -> Self {
        let (filter, live, delivered) = (None, None, Places::new());
        let (heard, malformed) = (Instant::now(), Malformed::default());
        Subscriber { app, caller, out, filter, live, delivered, heard, malformed, moves: None }
    }

    async fn listen(&mut self, socket: &Socket) -> End {
        let mut ping = tokio::time::interval(PING_EVERY);
        ping.reset();
        let every = self.app.settings.limits.socket_recheck_s;
        let mut recheck = tokio::time::interval(Duration::from_secs(every));
        recheck.reset();
        let idle = Duration::from_secs(self.app.settings.limits.socket_idle_s);
        let stopping = self.app.stopping.clone();
        loop {
            let idle_left = idle.saturating_sub(self.heard.elapsed());
            let step = tokio::select! {
                () = stopping.cancelled() => Err(End(code::RESTART, "the server is stopping")),
                message = socket.next() => self.hear(message).await,
                news = next_live(&mut self.live) => self.tell(news).await,
                _ = ping.tick() => {
                    // A client that does not read has no need of a ping.
                    let _ = socket.ping().now_or_never();
                    Ok(())
                }
                _ = recheck.tick() => self.recheck().await,
                () = tokio::time::sleep(idle_left) => Err(End(code::IDLE, "nothing heard for too long")),
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    async fn hear(&mut self, message: Result<Incoming, End>) -> Result<(), End> {
        let message = message?;
        self.heard = Instant::now();
        match message {
            Incoming::Text(text) => match serde_json::from_str::<Ask>(&text) {
                Ok(Ask::Ping {}) => self.say(&json!({ "type": "pong" })).await,
                Ok(Ask::Subscribe { modules, scopes, types, wanted, boxes, after }) => {
                    let filter = Filter { modules, scopes, types, wanted, boxes };
                    self.subscribe(filter, after).await
                }
                Err(error) => self.complain(&format!("the message does not fit: {error}")).await,
            },
            Incoming::Binary => self.complain("send text, not bytes").await,
            Incoming::Control => Ok(()),
        }
    }

    async fn say(&self, value: &serde_json::Value) -> Result<(), End> {
        self.out.send(value.to_string().into()).await
    }

    async fn complain(&mut self, message: &str) -> Result<(), End> {
        let enough = self.malformed.add(self.app.clock.monotonic());
        let error = json!({ "type": "error", "code": "bad_message", "message": message });
        self.say(&error).await?;
        if enough {
            return Err(End(code::POLICY, "too many messages that make no sense"));
        }
        Ok(())
    }

    async fn subscribe(&mut self, filter: Filter, after: Places) -> Result<(), End> {
        if after.len() > MAX_AFTER {
            return self.complain("`after` names too many streams").await;
        }
        if filter.boxes.len() > EventBox::MOST {
            let most = EventBox::MOST;
            return self.complain(&format!("`boxes` has more than {most}")).await;
        }
        let known =
            |name: &String| crate::modules::MODULES.iter().any(|module| module.name == name);
        if let Some(stranger) = filter.modules.iter().find(|name| !known(name)) {
            return self.complain(&format!("there is no module `{stranger}`")).await;
        }
        let moves = filter.wants_passing(monsters::MOVED) && self.app.runs("monsters");
        self.moves =
            if moves { Some(self.app.hub.want_moves(Duration::from_secs(5)).await) } else { None };
        // Listen first, then catch up: what happens meanwhile is in both, and told once.
        let Some((live, places)) = self.app.hub.listen(Duration::from_secs(5)).await else {
            let message = "the store does not answer; subscribe again later";
            let error = json!({ "type": "error", "code": "store_unavailable", "message": message });
            return self.say(&error).await;
        };
        let after: Places =
            after.into_iter().filter(|(stream, _)| self.may_stream(stream)).collect();
        let mut standing: Places = places
            .iter()
            .filter(|(stream, _)| self.may_stream(stream) && self.wants_stream(&filter, stream))
            .map(|(stream, seq)| (stream.clone(), *seq))
            .collect();
        standing.extend(after.iter().map(|(stream, seq)| (stream.clone(), *seq)));
        self.filter = Some(filter.clone());
        self.live = Some(live);
        self.delivered = Places::new();
        self.say(&json!({ "type": "subscribed", "streams": standing })).await?;
        if after.is_empty() { Ok(()) } else { self.catch_up(filter, after).await }
    }

    /// Reads from `after` to now; events of streams that it does not name come live.
    async fn catch_up(&mut self, filter: Filter, after: Places) -> Result<(), End> {
        let mut reader = self.app.hub.reader(filter, after.clone());
        let mut failures = 0;
        loop {
            match reader.next(Duration::ZERO).await {
                Ok(records) if records.is_empty() => break,
                Ok(records) => {
                    for record in records {
                        let stream = match &record {
                            Record::Event(told) => &told.stream,
                            Record::Gap(gap) => &gap.stream,
                        };
                        if !after.contains_key(stream) || !self.may_record(&record) {
                            continue;
                        }
                        self.out.send(News::of(record).text).await?;
                    }
                }
                Err(fault) => {
                    failures += 1;
                    tracing::debug!(%fault, "catching up");
                    if failures > 20 {
                        return Err(End(code::TRY_LATER, "the store does not answer"));
                    }
                    tokio::time::sleep(Duration::from_millis(250)).await;
                }
            }
            if self.app.stopping.is_cancelled() {
                return Err(End(code::RESTART, "the server is stopping"));
            }
        }
        self.delivered =
            reader.places().into_iter().filter(|(s, _)| after.contains_key(s)).collect();
        Ok(())
    }

    async fn tell(
        &mut self,
        news: Result<Arc<News>, broadcast::error::RecvError>,
    ) -> Result<(), End> {
        let news = news.map_err(|_| TOO_SLOW)?;
        let Some(filter) = &self.filter else { return Ok(()) };
        match &news.event {
            Some(event) => {
                if news.passing && !filter.wants_passing(&event.kind) {
                    return Ok(());
                }
                let seen = self.delivered.get(&news.stream).is_some_and(|last| event.seq <= *last);
                if seen || !filter.wants(event) || !may_event(&self.caller, event) {
                    return Ok(());
                }
            }
            None => {
                if !self.may_stream(&news.stream) {
                    return Ok(());
                }
            }
        }
        self.out.send(news.text.clone()).await
    }

    fn may_record(&self, record: &Record) -> bool {
        match record {
            Record::Event(told) => may_event(&self.caller, &told.envelope),
            Record::Gap(gap) => self.may_stream(&gap.stream),
        }
    }

    fn wants_stream(&self, filter: &Filter, stream: &str) -> bool {
        self.app.keyspace.classifier.classify(stream.as_bytes()).is_some_and(|found| {
            let scope = found.def.scope.and_then(|scope| found.param(scope));
            filter.wants_stream(found.def.module, scope)
        })
    }

    fn may_stream(&self, stream: &str) -> bool {
        let found = self.app.keyspace.classifier.classify(stream.as_bytes());
        keyspace::may_see(&self.caller, found.as_ref())
    }

    /// A token that was removed or has ended closes its sockets.
    async fn recheck(&mut self) -> Result<(), End> {
        let ended = End(code::UNAUTHORIZED, "the token has ended");
        if self.caller.expires_at.is_some_and(|at| at <= self.app.now_ms()) {
            return Err(ended);
        }
        let Some(holder) = self.caller.holder() else { return Err(ended) };
        match caller::of_holder(&self.app, &holder, self.caller.address).await {
            Ok(Some(now)) => {
                self.caller = Caller { who: self.caller.who.clone(), ..now };
                Ok(())
            }
            Ok(None) => Err(ended),
            // The store is away: nothing comes from it anyway, and nobody is punished for that.
            Err(_) => Ok(()),
        }
    }
}

async fn next_live(
    live: &mut Option<broadcast::Receiver<Arc<News>>>,
) -> Result<Arc<News>, broadcast::error::RecvError> {
    match live {
        Some(live) => live.recv().await,
        None => std::future::pending().await,
    }
}

/// A token with limits hears only of the tenants and namespaces that it holds.
fn may_event(caller: &Caller, event: &Envelope) -> bool {
    may_hear(caller, &event.module, event.scope.as_deref())
}

fn may_hear(caller: &Caller, module: &str, scope: Option<&str>) -> bool {
    match (module, scope) {
        ("reactors" | "monsters", Some(tenant)) => caller.may_tenant(tenant),
        ("jobs", Some(namespace)) => caller.may_namespace(namespace),
        _ => !caller.scopes.is_limited(),
    }
}

/// Module, scope and key of every stream the filter can want and the caller may hear.
async fn streams(
    app: &App,
    caller: &Caller,
    filter: &Filter,
) -> Result<Vec<(&'static str, Option<String>, String)>, Refusal> {
    let layout = app.keyspace.layout;
    let mut all = Vec::new();
    for module in &app.modules {
        if !filter.modules.is_empty() && !filter.modules.iter().any(|name| name == module.name) {
            continue;
        }
        for (scope, stream) in module.streams.list(app.store(), &app.settings, layout).await? {
            let scope_name = scope.as_deref();
            if filter.wants_stream(module.name, scope_name)
                && may_hear(caller, module.name, scope_name)
            {
                all.push((module.name, scope, stream));
            }
        }
    }
    Ok(all)
}

/// Which events.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// Only of this module.
    module: Option<String>,
    /// Only of this tenant or namespace.
    scope: Option<String>,
    /// Only of this type.
    #[serde(rename = "type")]
    #[param(rename = "type")]
    kind: Option<String>,
    /// 1 to 500, default 50.
    limit: Option<u32>,
    /// Unix milliseconds: only older ones. The answer's `cursor` is the next value.
    cursor: Option<String>,
    /// Only of this id: a job, a room, an object.
    id: Option<String>,
    /// Only what happened in this box of a field: `world:channel:map@x1,y1,x2,y2`, or with the instance behind the map.
    #[serde(rename = "box")]
    #[param(rename = "box")]
    inside: Option<String>,
    /// A `seq`, `0` for the beginning: only newer ones, oldest first. Asking again with the answer's `cursor` as
    /// `after` follows a stream without a socket.
    after: Option<String>,
}

/// Newest first.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct EventPage {
    /// Envelopes, each with its `stream`.
    #[schema(value_type = Vec<Object>)]
    items: Vec<kernel::events::StreamEvent>,
    cursor: Option<String>,
}

/// The latest events of all streams, newest first.
#[utoipa::path(get, path = "/api/events", tag = "store", params(EventsQuery),
    responses((status = 200, body = EventPage)))]
pub(crate) async fn latest(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(query): Query<EventsQuery>,
) -> Result<Json<EventPage>, Refusal> {
    let limit = page_limit(query.limit)?;
    let before: Option<Seq> = match &query.cursor {
        Some(cursor) => {
            Some(cursor.parse().map_err(|_| Refusal::from(reply::BAD_CURSOR).field("cursor"))?)
        }
        None => None,
    };
    let boxes = query.inside.iter().map(|text| {
        text.parse().map_err(|says: String| Refusal::new(reply::BAD_FIELD, says).field("box"))
    });
    let boxes = boxes.collect::<Result<Vec<EventBox>, Refusal>>()?;
    let filter = Filter {
        boxes,
        modules: query.module.into_iter().collect(),
        scopes: query.scope.into_iter().collect(),
        types: query.kind.into_iter().collect(),
        wanted: BTreeMap::new(),
    };
    let after: Option<Seq> = match &query.after {
        Some(after) => {
            Some(after.parse().map_err(|_| Refusal::from(reply::BAD_CURSOR).field("after"))?)
        }
        None => None,
    };
    let streams = streams(&app, &caller, &filter).await?;
    let end = before.map_or_else(|| "+".to_owned(), |seq| format!("({seq}"));
    // With a filter, look a little further back than the page.
    let all = filter.types.is_empty() && filter.boxes.is_empty() && query.id.is_none();
    let depth = if all { limit } else { (limit * 10).min(5000) };
    let count = depth.to_string();
    let cmds: Vec<_> = streams
        .iter()
        .map(|(_, _, stream)| match after {
            Some(after) => {
                wire::cmd(&["XRANGE", stream, &format!("({after}"), &end, "COUNT", &count])
            }
            None => wire::cmd(&["XREVRANGE", stream, &end, "-", "COUNT", &count]),
        })
        .collect();
    let replies = match cmds.as_slice() {
        [] => Vec::new(),
        cmds => app.store().pipeline(cmds, Deadline::after(wire::CALL)).await?,
    };
    let mut items = Vec::new();
    // Up to where every stream was read to its end or to the depth.
    let mut seen: Option<Seq> = None;
    let mut cut: Option<Seq> = None;
    for ((module, scope, stream), reply) in streams.iter().zip(replies) {
        let Ok(reply) = reply else { continue };
        let entries = kernel::reply::list(&reply).unwrap_or_default();
        let mut last = None;
        for entry in entries {
            let Some([id, fields]) = kernel::reply::list(entry) else { continue };
            let Some(seq) = wire::text(id).and_then(|id| id.parse().ok()) else { continue };
            last = Some(seq);
            let envelope = Envelope::read(module, scope.as_deref(), seq, fields);
            let named = query.id.as_ref().is_none_or(|id| *id == envelope.id);
            if named && filter.wants(&envelope) && may_event(&caller, &envelope) {
                items.push(kernel::events::StreamEvent { envelope, stream: stream.clone() });
            }
        }
        seen = seen.max(last);
        if entries.len() >= depth {
            cut = [cut, last].into_iter().flatten().min();
        }
    }
    if let Some(after) = after {
        let upto = cut.or(seen).unwrap_or(after);
        return Ok(Json(follow(items, limit, upto)));
    }
    items.sort_by_key(|told| std::cmp::Reverse(told.envelope.seq));
    let more = items.len() > limit;
    items.truncate(limit);
    let cursor = more.then(|| items.last().map(|told| told.envelope.seq.to_string())).flatten();
    Ok(Json(EventPage { items, cursor }))
}

/// The next page of somebody who follows: oldest first, and where to go on.
fn follow(mut items: Vec<kernel::events::StreamEvent>, limit: usize, upto: Seq) -> EventPage {
    items.retain(|told| told.envelope.seq <= upto);
    items.sort_by_key(|told| told.envelope.seq);
    let more = items.len() > limit;
    items.truncate(limit);
    let last = items.last().map(|told| told.envelope.seq);
    let upto = if more { last.unwrap_or(upto) } else { upto };
    EventPage { items, cursor: Some(upto.to_string()) }
}
