//! Routes of the server itself. Handlers parse, authorise what the access table
//! cannot know, call, and answer; errors are [`crate::reply::Refusal`]s.

use std::sync::Arc;

use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

mod backup;
mod check;
mod events;
mod health;
mod history;
mod keys;
mod overview;
mod search;
mod session;
mod tokens;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Worldkeep",
        description = "Live state of multiplayer games and their background jobs. Errors: docs/errors.md.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    modifiers(&Security),
    tags(
        (name = "server", description = "Health, versions, numbers"),
        (name = "store", description = "Keys, events and the consistency check"),
        (name = "access", description = "Tokens, dashboard sessions, socket tickets"),
        (name = "reactors", description = "Breakable, timed, item-triggered objects of a map; JSON:API"),
        (name = "galaxy", description = "A star system that ticks: ships, players, the pace of the game")
    )
)]
struct Document;

struct Security;

impl utoipa::Modify for Security {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{
            ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
        };
        let components = openapi.components.get_or_insert_with(Default::default);
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("a token of `worldkeep token new`"))
            .build();
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
        let cookie = ApiKey::Cookie(ApiKeyValue::new(crate::sessions::COOKIE));
        components.add_security_scheme("session", SecurityScheme::ApiKey(cookie));
        openapi.security = Some(vec![
            SecurityRequirement::new("token", Vec::<String>::new()),
            SecurityRequirement::new("session", Vec::<String>::new()),
        ]);
    }
}

pub(crate) fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}

/// Routes of the server itself.
pub(crate) fn core() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::version))
        .routes(routes!(health::metrics))
        .routes(routes!(health::openapi))
        .routes(routes!(health::health))
        .routes(routes!(health::config))
        .routes(routes!(overview::overview))
        .routes(routes!(history::history))
        .routes(routes!(search::search))
        .routes(routes!(events::socket))
        .routes(routes!(events::latest))
        .routes(routes!(check::show, check::run, check::cancel))
        .routes(routes!(backup::download))
        .routes(routes!(keys::keys))
        .routes(routes!(keys::show))
        .routes(routes!(session::open, session::show, session::close))
        .routes(routes!(session::ticket))
        .routes(routes!(tokens::list, tokens::make))
        .routes(routes!(tokens::remove))
        .routes(routes!(crate::worlds::fields::fields))
}
