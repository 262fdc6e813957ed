//! The demo field: one place of one tenant where something always happens, so that a first look finds a living
//! world. Runs only where [`App::demo`] says so, and once among all servers. Each module has its part.

use std::sync::Arc;
use std::time::Duration;

use field::{Field, Tenant};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kernel::Lease;
use rand::RngExt as _;
use reactors::{Drop, Hit, New, ReactorError, Reactors};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::app::App;
use crate::modules::State;

/// Whose demo field it is.
pub const TENANT: Uuid = Uuid::from_u128(0xde30_0000_0000_4000_8000_0000_0000_0001);
/// The field of the demo world.
pub const FIELD: Field =
    Field { world_id: 0, channel_id: 0, map_id: 100_000, instance: Uuid::nil() };

/// The demo tenant as requests name it: these are the command line's defaults too.
pub fn tenant() -> Tenant {
    Tenant { id: TENANT, region: "DEMO".into(), major_version: 1, minor_version: 0 }
}

/// Something is done this often.
const BEAT: Duration = Duration::from_millis(900);
/// Classification, x, y and respawn delay of everything that stands in the field. Embers are laid at the altar (2004).
const STANDS: &[(u32, i16, i16, u32)] = &[
    (2001, -520, 0, 4_000),
    (2001, -440, -300, 6_000),
    (2001, 120, -150, 5_000),
    (2001, 330, -300, 7_000),
    (2002, -320, -150, 9_000),
    (2002, 40, -300, 8_000),
    (2002, 470, -300, 10_000),
    (2003, -300, -300, 0),
    (2003, 330, 0, 0),
    (2004, 0, 0, 0),
    (2005, -220, 0, 0),
];

/// The reactors' part, as a loop of the server.
pub(crate) fn reactors_part(app: State, stop: CancellationToken) -> BoxFuture<'static, ()> {
    async move {
        if !app.demo() {
            return;
        }
        let Ok(reactors) = crate::reactors::handle(&app) else { return };
        let lease = lease(&app, "demo-reactors");
        lease.lead(|| play(Arc::clone(&reactors)), stop.cancelled()).await;
    }
    .boxed()
}

/// Of several servers one plays.
pub(crate) fn lease(app: &App, name: &str) -> Lease {
    Lease::new(app.shared_store(), app.clock.clone(), name, Duration::from_secs(10))
}

async fn play(reactors: Arc<Reactors>) {
    let mut beat = 0_u32;
    loop {
        let done = match beat % 12 {
            // Whatever is missing and has cooled down appears again.
            0 | 6 => stand(&reactors).await,
            5 => lay_embers(&reactors).await,
            _ => strike(&reactors).await,
        };
        if let Err(error) = done {
            tracing::debug!(%error, "the demo field waits");
        }
        beat = beat.wrapping_add(1);
        tokio::time::sleep(BEAT).await;
    }
}

async fn stand(reactors: &Reactors) -> Result<(), ReactorError> {
    for (classification, x, y, delay) in STANDS {
        let new = New {
            field: FIELD,
            classification: *classification,
            x: *x,
            y: *y,
            delay: *delay,
            guarded: true,
            ..New::default()
        };
        match reactors.create(&tenant(), new).await {
            // With a catalogue of one's own, what is not in it does not stand here.
            Ok(_) | Err(ReactorError::UnknownClassification(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Somebody strikes something; those that only time or items move are left alone.
async fn strike(reactors: &Reactors) -> Result<(), ReactorError> {
    let all = reactors.list(TENANT, FIELD).await?.reactors;
    let (pick, character_id) = {
        let mut dice = rand::rng();
        (dice.random_range(0..usize::MAX), dice.random_range(1..=6))
    };
    let open: Vec<_> =
        all.iter().filter(|one| [2001, 2002, 2005].contains(&one.classification)).collect();
    let Some(one) = open.get(pick % open.len().max(1)) else { return Ok(()) };
    let skill_id = if one.classification == 2005 { 2_001_005 } else { 0 };
    match reactors.hit(TENANT, one.id, Hit { character_id, skill_id }).await {
        Ok(_) | Err(ReactorError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn lay_embers(reactors: &Reactors) -> Result<(), ReactorError> {
    let (drop_id, owner_id) = {
        let mut dice = rand::rng();
        (dice.random_range(1..=u32::MAX), dice.random_range(1..=6))
    };
    let drop = Drop {
        drop_id,
        item_id: 4_000_100,
        quantity: 10,
        x: 10,
        y: 0,
        owner_id,
        player_drop: true,
    };
    reactors.offer(TENANT, FIELD, &drop).await.map(|_| ())
}
