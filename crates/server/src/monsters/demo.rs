//! The monsters' part of the demo field: a bounded number of them roams, is hit by a few heroes, falls and comes
//! back, with effects and skills now and then. Of several servers one plays it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use monsters::{Attack, Monster, MonsterError, Monsters, Move, NewEffect, Result, Spawn};
use rand::RngExt as _;
use tokio_util::sync::CancellationToken;

use super::handle;
use crate::modules::State;
use crate::worlds::demo::{FIELD, lease, tenant};

/// Something is done this often.
const BEAT: Duration = Duration::from_millis(600);
/// The players; characters of the demo are numbered from 1.
const HEROES: [u32; 4] = [1, 2, 3, 4];
/// Template, where it stands (x, y), and how many of it there are at most.
const HERDS: &[(u32, i16, i16, usize)] = &[
    (9_400_001, -400, 0, 4),
    (9_400_002, -100, -150, 3),
    (9_400_003, 200, -300, 2),
    (9_400_004, 350, -150, 1),
    (9_400_006, 150, 0, 1),
    (9_400_007, 500, 0, 1),
];
/// Never more than this in the field, whatever rises or is summoned.
const MOST: usize = 24;

/// As a loop of the server.
pub(super) fn run(app: State, stop: CancellationToken) -> BoxFuture<'static, ()> {
    async move {
        if !app.demo() {
            return;
        }
        let Ok(monsters) = handle(&app) else { return };
        lease(&app, "demo-monsters").lead(|| play(Arc::clone(&monsters)), stop.cancelled()).await;
    }
    .boxed()
}

async fn play(monsters: Arc<Monsters>) {
    let mut beat = 0_u32;
    loop {
        if let Err(error) = one_beat(&monsters, beat).await {
            tracing::debug!(%error, "the demo's monsters wait");
        }
        beat = beat.wrapping_add(1);
        tokio::time::sleep(BEAT).await;
    }
}

async fn one_beat(monsters: &Monsters, beat: u32) -> Result<()> {
    if beat.is_multiple_of(50) {
        // Heroes come, and one of them goes for a while.
        for hero in &HEROES {
            if *hero == (beat / 50) % 5 {
                monsters.leave(&tenant(), FIELD, *hero).await?;
            } else {
                monsters.enter(&tenant(), FIELD, *hero, false).await?;
            }
        }
    }
    let living = monsters.list(&tenant(), FIELD).await?.monsters;
    if beat.is_multiple_of(4) {
        populate(monsters, &living).await?;
    }
    let chosen = {
        let mut dice = rand::rng();
        let pick: usize = dice.random_range(0..usize::MAX);
        let who = HEROES[dice.random_range(0..HEROES.len())];
        living.get(pick % living.len().max(1)).map(|monster| (monster.clone(), who))
    };
    let Some((monster, hero)) = chosen else { return Ok(()) };
    let done = match beat % 8 {
        0 | 4 => stroll(monsters, &monster).await,
        3 => effect(monsters, &monster, hero).await,
        6 => skill(monsters, &monster).await,
        _ => strike(monsters, &monster, hero).await,
    };
    match done {
        // It fell meanwhile, or is immune, or has no mp: that is life in the demo.
        Err(MonsterError::Fault(fault)) => Err(MonsterError::Fault(fault)),
        _ => Ok(()),
    }
}

async fn populate(monsters: &Monsters, living: &[Monster]) -> Result<()> {
    for (template, x, y, most) in HERDS {
        let there = living.iter().filter(|monster| monster.monster_id == *template).count();
        if there >= *most || living.len() >= MOST {
            continue;
        }
        let x = x + rand::rng().random_range(-80..=80);
        let spawn = Spawn { monster_id: *template, x, y: *y, fh: 1, ..Spawn::default() };
        match monsters.spawn(&tenant(), FIELD, &spawn).await {
            // With a catalogue of one's own, what is not in it does not live here.
            Ok(_) | Err(MonsterError::UnknownTemplate(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn stroll(monsters: &Monsters, monster: &Monster) -> Result<()> {
    let step: i16 = rand::rng().random_range(-60..=60);
    let x = monster.at.x.saturating_add(step).clamp(-700, 700);
    let to = Move { x, y: monster.at.y, stance: if step < 0 { 3 } else { 2 }, ..Move::default() };
    monsters.movement(&tenant(), monster.unique_id, to).await.map(|_| ())
}

async fn strike(monsters: &Monsters, monster: &Monster, hero: u32) -> Result<()> {
    let damages = {
        let mut dice = rand::rng();
        let most = (monster.max_hp / 6).clamp(20, 4_000);
        let hits = dice.random_range(1..=3);
        (0..hits).map(|_| dice.random_range(most / 4..=most)).collect()
    };
    let attack = Attack { character_id: hero, damages, ..Attack::default() };
    monsters.damage(&tenant(), monster.unique_id, attack).await.map(|_| ())
}

async fn effect(monsters: &Monsters, monster: &Monster, hero: u32) -> Result<()> {
    const EFFECTS: [(&str, i32, u32); 4] = [
        ("POISON", 1, 2_101_005),
        ("STUN", 1, 1_111_005),
        ("VENOM", 25, 4_120_005),
        ("SPEED", -20, 2_101_003),
    ];
    let (status, value, skill) = EFFECTS[rand::rng().random_range(0..EFFECTS.len())];
    let new = NewEffect {
        source_character_id: hero,
        source_skill_id: skill,
        source_skill_level: 20,
        statuses: [(status.to_owned(), value)].into(),
        duration_ms: 8_000,
        ..NewEffect::default()
    };
    monsters.apply_status(&tenant(), monster.unique_id, &new).await.map(|_| ())
}

async fn skill(monsters: &Monsters, monster: &Monster) -> Result<()> {
    let Some(picked) = monsters.pick_skill(&tenant(), monster.unique_id).await? else {
        return Ok(());
    };
    let (id, level) = (picked.skill_id, picked.level);
    monsters.use_skill(&tenant(), monster.unique_id, id, level, false).await.map(|_| ())
}
