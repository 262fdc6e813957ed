//! Ships and players by name or id, for the search field.

use galaxy::PlayerPage;

use crate::galaxy::gateway;
use crate::modules::State;
use crate::reply::Refusal;
use crate::search::{Found, Hit, MOST, part};

/// Accounts that are looked at, the oldest first.
const ACCOUNTS: u32 = 500;

/// Ships of the world that is ticked here or in the store, and the first accounts.
pub(super) async fn find(app: State, words: String) -> Result<Found, Refusal> {
    let words = words.to_lowercase();
    let mut found = Found::default();
    let gateway = gateway::of(&app);
    let seen = gateway.look(&app).await.ok();
    if let Some(seen) = &seen {
        let ships = seen.ships.iter().filter(|ship| {
            ship.name.to_lowercase().contains(&words) || ship.id.to_string().starts_with(&words)
        });
        found.hits.extend(ships.take(MOST).map(|ship| Hit {
            kind: "ship",
            module: "galaxy",
            label: ship.name.clone(),
            note: ship.id.to_string(),
            link: format!("/galaxy?sel={}", part(&format!("s:{}", ship.id))),
        }));
    }
    let fleets = gateway.fleets(&app).await?;
    let page = PlayerPage { limit: ACCOUNTS, after: None };
    let Ok(page) = fleets.accounts().players(&page).await else { return Ok(found) };
    found.bounded = page.cursor.is_some();
    let players = page.items.iter().filter(|player| {
        player.username.to_lowercase().contains(&words) || player.id.to_string().starts_with(&words)
    });
    // A player has no page; the first of their ships shows where they are.
    let link = |id: &str| {
        let ship = seen.as_ref()?.ships.iter().find(|ship| ship.player_id == id)?;
        Some(format!("/galaxy?sel={}", part(&format!("s:{}", ship.id))))
    };
    found.hits.extend(players.take(MOST).map(|player| {
        let (kind, module, note) = ("player", "galaxy", player.id.to_string());
        let link = link(&note).unwrap_or_else(|| "/galaxy".to_owned());
        Hit { kind, module, label: player.username.clone(), note, link }
    }));
    Ok(found)
}
