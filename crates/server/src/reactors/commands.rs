//! Commands of other services: `CREATE`, `HIT`, `DESTROY_IN_FIELD`, `DROP`, in upstream's messages. Each is
//! acknowledged by the step it causes; one for a whole field may be repeated after a crash, which changes nothing.

use field::{Field, Tenant};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use reactors::keys::{Keys, def};
use reactors::{New, ReactorError, Reactors};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{attributes, handle};
use crate::app::App;
use crate::modules::State;
use crate::reply::{self, Refusal};
use crate::wire;
use crate::worlds::attributes::Attributes;
use crate::worlds::commands::{self, Command, CommandEnd, CommandSource};

const SOURCE: CommandSource =
    CommandSource { module: "reactors", scopes: &def::scopes, stream: &def::commands };

/// Serves them until the stop.
pub(super) fn serve(app: State, stop: CancellationToken) -> BoxFuture<'static, ()> {
    async move {
        let Ok(reactors) = handle(&app) else { return };
        commands::serve(app, stop, SOURCE, |command| {
            let reactors = std::sync::Arc::clone(&reactors);
            async move { one(&reactors, &command).await }
        })
        .await;
    }
    .boxed()
}

async fn one(reactors: &Reactors, command: &Command) -> CommandEnd {
    match answer(reactors, command).await {
        Ok(()) | Err(Told::Error(ReactorError::Answered)) => CommandEnd::Done,
        Err(Told::Refused(says)) => CommandEnd::Refused(says),
        Err(Told::Error(ReactorError::Fault(fault))) => match fault {
            kernel::Fault::Corrupt { .. } => CommandEnd::Refused(fault.to_string()),
            fault => CommandEnd::Failed(fault),
        },
        Err(Told::Error(error)) => CommandEnd::Refused(error.to_string()),
    }
}

enum Told {
    Refused(String),
    Error(ReactorError),
}

impl From<Refusal> for Told {
    fn from(refusal: Refusal) -> Self {
        Told::Refused(refusal.message)
    }
}

impl From<ReactorError> for Told {
    fn from(error: ReactorError) -> Self {
        Told::Error(error)
    }
}

async fn answer(reactors: &Reactors, command: &Command) -> Result<(), Told> {
    let (place, given) = message(command)?;
    let (tenant, entry) = (&command.tenant, Some(&command.entry));
    match command.kind.as_str() {
        "CREATE" => {
            let new = attributes::new(where_(&place)?, &given)?;
            // On cooldown or taken: nothing is created, and that is an answer.
            reactors.create_for(tenant, new, entry).await?;
        }
        "HIT" => {
            let (id, hit) = (given.need("reactorId")?, attributes::hit(&given)?);
            reactors.hit_for(tenant.id, id, hit, entry).await?;
        }
        "DESTROY_IN_FIELD" => {
            reactors.destroy_in_field(tenant.id, where_(&place)?).await?;
        }
        "DROP" => {
            let drop = attributes::drop(&given)?;
            reactors.offer_for(tenant.id, where_(&place)?, &drop, entry).await?;
        }
        other => return Err(Told::Refused(format!("type {other} is not known"))),
    }
    Ok(())
}

/// Upstream's message: the field and `type` outside, the rest in `body`. A flat one is understood too.
fn message(command: &Command) -> Result<(Attributes, Attributes), Told> {
    let refuse = || Told::Refused("body is not an object".to_owned());
    let mut place: Map<String, Value> =
        serde_json::from_str(command.body.get()).map_err(|_| refuse())?;
    let given = match place.remove("body") {
        Some(Value::Object(given)) => given,
        Some(_) => return Err(refuse()),
        None => place.clone(),
    };
    Ok((Attributes::bare(place), Attributes::bare(given)))
}

fn where_(place: &Attributes) -> Result<Field, Refusal> {
    let instance = match place.text("instance", 64)? {
        Some(text) => field::uuid("instance", &text)?,
        None => uuid::Uuid::nil(),
    };
    Ok(Field {
        world_id: place.need("worldId")?,
        channel_id: place.need("channelId")?,
        map_id: place.need("mapId")?,
        instance,
    })
}

/// Puts a creation on the list of commands, for `Prefer: respond-async`.
pub(super) async fn queue_create(
    app: &App,
    reactors: &Reactors,
    tenant: &Tenant,
    new: New,
) -> Result<(), Refusal> {
    if new.classification == 0 {
        return Err(ReactorError::ClassificationRequired.into());
    }
    if new.data.is_none() && reactors.templates().get(new.classification).is_none() {
        return Err(ReactorError::UnknownClassification(new.classification).into());
    }
    let Field { world_id, channel_id, map_id, instance } = new.field;
    let message = json!({
        "worldId": world_id, "channelId": channel_id, "mapId": map_id, "instance": instance,
        "type": "CREATE",
        "body": {
            "classification": new.classification, "name": new.name, "state": new.state,
            "delay": new.delay, "direction": new.direction, "x": new.x, "y": new.y,
            "data": new.data,
        },
    });
    let about = json!({
        "region": tenant.region, "majorVersion": tenant.major_version,
        "minorVersion": tenant.minor_version,
    });
    let keys = Keys::new(app.keyspace.layout);
    let stream =
        keys.commands(tenant.id).map_err(|bad| Refusal::new(reply::BAD_FIELD, bad.to_string()))?;
    let scope = tenant.id.to_string();
    wire::call(app.store(), &["SADD", keys.scopes().as_str(), &scope]).await?;
    let (about, message) = (about.to_string(), message.to_string());
    let words =
        ["XADD", stream.as_str(), "*", "tenant", &about, "type", "CREATE", "body", &message];
    wire::call(app.store(), &words).await?;
    Ok(())
}
