//! Moves and effects on a monster that everybody hits: how many are refused, and how long they wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use kernel::{Store, SystemClock};
use monsters::{Move, NewEffect, SourceType};

use super::{GIANT, at, attack, empty, spawn, world};
use crate::{Figure, Tell};

const ATTACKERS: u32 = 45;
const EACH: u32 = 1_000;

/// Forty-five clients hit, while one moves the monster and another puts effects on it.
#[allow(clippy::cast_precision_loss)] // figures for people
pub(super) async fn run(store: &Arc<dyn Store>, tell: &mut Tell<'_>) {
    empty(store).await;
    let monsters = world(store, Arc::new(SystemClock::new()));
    let id = spawn(&monsters, GIANT).await.unique_id;
    let (tenant, _) = at();
    let stop = Arc::new(AtomicBool::new(false));
    let attackers: Vec<_> = (1..=ATTACKERS)
        .map(|who| {
            let (monsters, stop, tenant) =
                (Arc::clone(&monsters), Arc::clone(&stop), tenant.clone());
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let _ = monsters.damage(&tenant, id, attack(who, 1)).await;
                }
            })
        })
        .collect();
    let effect = NewEffect {
        source_type: SourceType::MonsterSkill,
        statuses: [("SPEED".to_owned(), 1)].into(),
        duration_ms: 60_000,
        ..NewEffect::default()
    };
    let (mut refused, mut took) = (0_u32, Vec::new());
    for n in 0..EACH {
        let x = i16::try_from(n).unwrap_or(0);
        let start = Instant::now();
        let to = Move { x, y: 0, stance: 2, ..Move::default() };
        let moved = async {
            let done = monsters.movement(&tenant, id, to).await.is_ok();
            (done, start.elapsed())
        };
        let applied = async {
            let done = monsters.apply_status(&tenant, id, &effect).await.is_ok();
            (done, start.elapsed())
        };
        let (moved, applied) = tokio::join!(moved, applied);
        for (done, time) in [moved, applied] {
            refused += u32::from(!done);
            took.push(time);
        }
    }
    stop.store(true, Ordering::Relaxed);
    for attacker in attackers {
        let _ = attacker.await;
    }
    took.sort_unstable();
    let p99 = took.get(took.len() * 99 / 100).map_or(0.0, |time| time.as_secs_f64() * 1000.0);
    let name = "with 45 hitting clients, 1 000 moves and 1 000 effects";
    tell(Figure::at_most(format!("{name}: refused"), f64::from(refused), "", 0.0));
    tell(Figure::plain(format!("{name}: p99"), p99, "ms"));
}
