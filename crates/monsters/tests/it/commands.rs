//! Commands of other services: upstream's shapes, done once, refused with a sentence.

use kernel::Pending;
use monsters::CommandError;
use testkit::on_every_store;

use crate::support::{NIL, World};

on_every_store!(every_command_does_what_its_name_says, |store| {
    let world = World::new(&store);
    let id = world.spawn(3).await;
    let field = format!(r#""worldId":0,"channelId":0,"mapId":40000,"instance":"{NIL}""#);
    for (kind, message) in [
        ("CHARACTER_ENTER", format!(r#"{{{field},"body":{{"characterId":7}}}}"#)),
        (
            "DAMAGE",
            format!(
                r#"{{"monsterId":{id},"body":{{"characterId":7,"damage":30,"attackType":0}}}}"#
            ),
        ),
        ("DAMAGE", format!(r#"{{"uniqueId":{id},"body":{{"characterId":7,"damages":[1,2]}}}}"#)),
        (
            "APPLY_STATUS",
            format!(
                r#"{{"monsterId":{id},"body":{{"sourceType":"PLAYER_SKILL","sourceCharacterId":7,"sourceSkillId":1,"sourceSkillLevel":1,"statuses":{{"STUN":1}},"duration":5000}}}}"#
            ),
        ),
        ("CANCEL_STATUS", format!(r#"{{"monsterId":{id},"body":{{"statusTypes":["STUN"]}}}}"#)),
        ("USE_SKILL", format!(r#"{{"monsterId":{id},"body":{{"skillId":100,"skillLevel":1}}}}"#)),
        ("MOVE", format!(r#"{{"monsterId":{id},"body":{{"x":5,"y":6,"stance":2,"fh":1}}}}"#)),
        (
            "APPLY_STATUS_FIELD",
            format!(r#"{{{field},"body":{{"statuses":{{"SPEED":1}},"duration":5000}}}}"#),
        ),
        ("CANCEL_STATUS_FIELD", format!(r#"{{{field},"body":{{}}}}"#)),
        ("USE_SKILL_FIELD", format!(r#"{{{field},"body":{{"skillId":110,"skillLevel":1}}}}"#)),
        ("CHARACTER_EXIT", format!(r#"{{{field},"body":{{"characterId":7}}}}"#)),
    ] {
        world
            .monsters
            .command(&world.tenant, kind, &message, None)
            .await
            .unwrap_or_else(|e| panic!("{kind}: {e}"));
    }
    let monster = world.get(id).await;
    assert_eq!((monster.hp, monster.at.x, monster.fh, monster.mp), (967, 5, 1, 75));
    assert!(monster.is_under("POWER_UP"));
    let told = world.told().await;
    for kind in [
        "START_CONTROL",
        "DAMAGED",
        "AGGRO_CHANGED",
        "STATUS_APPLIED",
        "STATUS_CANCELLED",
        "STOP_CONTROL",
    ] {
        assert!(told.contains(&kind.to_owned()), "{kind} in {told:?}");
    }
    world
        .monsters
        .command(&world.tenant, "DESTROY_FIELD", &format!("{{{field}}}"), None)
        .await
        .unwrap();
    assert!(world.monsters.ids(&world.tenant, world.field).await.unwrap().is_empty());
});

on_every_store!(a_command_is_acknowledged_in_its_step_and_done_once, |store| {
    let world = World::new(&store);
    let id = world.spawn(2).await;
    let stream = world.own("commands");
    let entry = world.text(&["XADD", &stream, "*", "type", "DAMAGE"]).await;
    world.ask(&["XGROUP", "CREATE", &stream, "worldkeep", "0"]).await;
    world.ask(&["XREADGROUP", "GROUP", "worldkeep", "me", "STREAMS", &stream, ">"]).await;
    let pending = Pending { stream: stream.clone(), group: "worldkeep".into(), entry };
    let message = format!(r#"{{"monsterId":{id},"body":{{"characterId":7,"damage":30}}}}"#);
    world.monsters.command(&world.tenant, "DAMAGE", &message, Some(&pending)).await.unwrap();
    let left = world.ask(&["XPENDING", &stream, "worldkeep"]).await;
    assert_eq!(kernel::reply::list(&left).and_then(|l| kernel::reply::int(&l[0])), Some(0));
    // A second server that held it too finds it answered.
    let twice = world.monsters.command(&world.tenant, "DAMAGE", &message, Some(&pending)).await;
    assert!(matches!(twice, Err(CommandError::Fault(_))), "{twice:?}");
    assert_eq!(world.get(id).await.summed(), [(7, 30)]);
});

on_every_store!(what_makes_no_sense_is_refused_with_a_sentence, |store| {
    let world = World::new(&store);
    for (kind, message) in [
        ("DAMAGE", "{"),
        ("DAMAGE", r#"{"monsterId":-1}"#),
        ("DAMAGE", r#"{"monsterId":5,"body":{"damage":1}}"#),
        ("DANCE", "{}"),
        ("DESTROY_FIELD", "{}"),
        ("CHARACTER_ENTER", r#"{"worldId":0,"channelId":0,"mapId":1,"body":{"characterId":0}}"#),
        ("USE_SKILL", r#"{"monsterId":5,"body":{"skillId":70000}}"#),
        ("APPLY_STATUS", r#"{"monsterId":5,"body":{"statuses":{}}}"#),
    ] {
        let refused = world.monsters.command(&world.tenant, kind, message, None).await;
        assert!(
            matches!(&refused, Err(CommandError::Refused(said)) if !said.is_empty()),
            "{kind} {message}: {refused:?}"
        );
    }
    assert_eq!(world.told().await, [""; 0]);
});
