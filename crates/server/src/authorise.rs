//! Holds each matched route to its row of the access table: what it asks of its caller, and whether the limits of the
//! caller's token reach what it is about. The only place that decides either; handlers of filtered routes leave out what
//! the caller does not hold.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access::{Access, Need, Scope};
use crate::app::App;
use crate::caller::{Caller, Player, Who, bearer};
use crate::reply::{self, Refusal};
use crate::{party, worlds};

/// Lets a request through, or answers it.
pub(crate) async fn authorise(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    let path =
        request.extensions().get::<MatchedPath>().map(MatchedPath::as_str).unwrap_or_default();
    let row = app.access.row(request.method().as_str(), path);
    if party::is_guest(request.extensions()) && !row.is_some_and(|row| row.at_party) {
        return Refusal::from(reply::NOT_FOUND).into_response();
    }
    let Some(row) = row else {
        if app.access_has_path(path) {
            // A method without a row is one that the route does not have: the router answers 405 behind us.
            return next.run(request).await;
        }
        tracing::error!(path, "route without a row in the access table");
        return Refusal::from(reply::INTERNAL).into_response();
    };
    let Some(caller) = request.extensions().get::<Caller>().cloned() else {
        return Refusal::from(reply::UNAUTHORIZED).into_response();
    };
    let (headers, uri) = (request.headers().clone(), request.uri().clone());
    match admit(&app, row, caller, &headers, &uri).await {
        Ok((player, caller)) => {
            request.extensions_mut().insert(caller);
            if let Some(player) = player {
                request.extensions_mut().insert(player);
            }
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// The caller as the handler may know it, and the player where there is one.
async fn admit(
    app: &Arc<App>,
    row: Access,
    caller: Caller,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<(Option<Player>, Caller), Refusal> {
    let (player, caller) = match row.need {
        Need::Open | Need::Own => (None, caller),
        Need::Role(role) => {
            caller.needs(role)?;
            (None, caller)
        }
        Need::Player | Need::RoleOrPlayer(_) | Need::RoleOrAdmin(_) => {
            self::player(app, row.need, caller, headers).await?
        }
    };
    if !caller.scopes.is_limited() {
        return Ok((player, caller));
    }
    match row.scope {
        // Whoever needs no token is let in, and the limited one counts for nothing.
        Scope::Server if row.need == Need::Open => {
            return Ok((player, Caller { role: None, payloads: false, ..caller }));
        }
        Scope::Server => {
            return Err(Refusal::new(
                reply::FORBIDDEN,
                "this is about the whole server, and your token is limited to some tenants or namespaces",
            ));
        }
        Scope::Tenant => within_tenants(&caller, headers)?,
        Scope::Namespace => within_namespaces(app, &caller, uri)?,
        Scope::Public | Scope::Filtered => {}
    }
    Ok((player, caller))
}

/// The tenant that the headers name must be held. Headers that name none are the handler's to refuse.
fn within_tenants(caller: &Caller, headers: &HeaderMap) -> Result<(), Refusal> {
    match worlds::tenant_of(headers) {
        Ok(tenant) if !caller.may_tenant(&tenant.id.to_string()) => Err(Refusal::new(
            reply::FORBIDDEN,
            "these credentials do not cover this tenant; ask for a token that lists it",
        )
        .field("TENANT_ID")),
        _ => Ok(()),
    }
}

/// The namespace that the query names must be held; when it names none, one of this server's.
fn within_namespaces(app: &App, caller: &Caller, uri: &Uri) -> Result<(), Refusal> {
    let held = match crate::jobs::namespace_of(uri) {
        Ok(Some(namespace)) => caller.may_namespace(&namespace),
        Ok(None) => app.settings.jobs.namespaces.iter().any(|ns| caller.may_namespace(ns)),
        // The handler refuses the same query.
        Err(_) => true,
    };
    if held {
        return Ok(());
    }
    Err(Refusal::new(reply::FORBIDDEN, "your token is not for this job namespace").field("ns"))
}

/// Whoever may: a player by their token, or a role where that will do. An admin of the game counts as that role.
async fn player(
    app: &Arc<App>,
    need: Need,
    caller: Caller,
    headers: &HeaderMap,
) -> Result<(Option<Player>, Caller), Refusal> {
    let text = bearer(headers)?.filter(|_| caller.who == Who::Foreign);
    let Some(text) = text else {
        match need {
            Need::RoleOrPlayer(role) | Need::RoleOrAdmin(role) => caller.needs(role)?,
            _ => return Err(reply::UNAUTHORIZED.into()),
        }
        return Ok((None, caller));
    };
    let recognise = app.modules.iter().find_map(|module| module.players);
    let recognise = recognise.ok_or_else(|| Refusal::from(reply::BAD_TOKEN))?;
    let player = recognise(Arc::clone(app), text).await?;
    let mut caller = Caller { name: player.username.clone(), ..caller };
    if let Need::RoleOrAdmin(role) = need {
        if !player.is_admin {
            return Err(Refusal::new(reply::FORBIDDEN, "this is for admins of the game"));
        }
        caller.role = Some(role);
    }
    Ok((Some(player), caller))
}
