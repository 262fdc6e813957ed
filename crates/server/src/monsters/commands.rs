//! Commands of other services for monsters, in upstream's messages. What each means is in the `monsters` crate.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use monsters::CommandError;
use monsters::keys::def;
use tokio_util::sync::CancellationToken;

use super::handle;
use crate::modules::State;
use crate::worlds::commands::{self, CommandEnd, CommandSource};

const SOURCE: CommandSource =
    CommandSource { module: "monsters", scopes: &def::scopes, stream: &def::commands };

/// Serves them until the stop.
pub(super) fn serve(app: State, stop: CancellationToken) -> BoxFuture<'static, ()> {
    async move {
        let Ok(monsters) = handle(&app) else { return };
        commands::serve(app, stop, SOURCE, |command| {
            let monsters = std::sync::Arc::clone(&monsters);
            async move {
                let entry = Some(&command.entry);
                let done =
                    monsters.command(&command.tenant, &command.kind, command.body.get(), entry);
                match done.await {
                    Ok(true) => CommandEnd::Answered,
                    Ok(false) => CommandEnd::Done,
                    Err(CommandError::Refused(says)) => CommandEnd::Refused(says),
                    Err(CommandError::Fault(fault)) => CommandEnd::Failed(fault),
                }
            }
        })
        .await;
    }
    .boxed()
}
