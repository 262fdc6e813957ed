//! Lists, whole fields and everything at once.

use field::Field;
use reactors::{Created, New};
use uuid::Uuid;

use crate::support::{ONE, TWO, a_box, data, everywhere, field, made, tenant};

everywhere!(a_field_is_listed_by_id, |world| {
    let empty = world.reactors.list(ONE, field(9)).await.unwrap();
    assert!(empty.reactors.is_empty() && empty.corrupt.is_empty());
    for x in [5, 3, 4] {
        world.create(New { x, ..a_box() }).await;
    }
    world.create(New { field: field(8), ..a_box() }).await;
    let list = world.reactors.list(ONE, field(1_000_000)).await.unwrap();
    let shown: Vec<(u32, i16)> = list.reactors.iter().map(|one| (one.id, one.x)).collect();
    assert_eq!(shown, [(1_000_000_001, 5), (1_000_000_002, 3), (1_000_000_003, 4)]);
    assert_eq!(world.reactors.count().await.unwrap(), 4);
});

everywhere!(clearing_a_field_leaves_no_cooldown_and_touches_no_other, |world| {
    let here = field(1_000_000);
    let copy = Field { instance: Uuid::from_u128(1), ..here };
    let near = Field { map_id: 10_000_001, ..here };
    for new in [a_box(), New { x: 1, ..a_box() }, New { field: copy, ..a_box() }] {
        world.create(new).await;
    }
    world.create(New { field: near, ..a_box() }).await;
    made(world.reactors.create(&tenant(TWO), a_box()).await.unwrap());
    // One is cooling down here, one in the copy.
    for at in [here, copy] {
        let gone = world.create(New { field: at, x: 77, delay: 600_000, ..a_box() }).await;
        world.reactors.destroy(ONE, gone.id).await.unwrap();
    }
    let before = world.told().await.len();
    assert_eq!(world.reactors.destroy_in_field(ONE, here).await.unwrap(), 2);
    assert_eq!(world.told().await[before..], ["DESTROYED", "DESTROYED"]);
    for x in [231, 1, 77] {
        world.create(New { x, ..a_box() }).await;
    }
    let other = world.reactors.create(&tenant(ONE), New { field: copy, x: 77, ..a_box() }).await;
    assert!(matches!(other, Ok(Created::OnCooldown { .. })), "{other:?}");
    assert_eq!(world.reactors.list(ONE, copy).await.unwrap().reactors.len(), 1);
    assert_eq!(world.reactors.list(ONE, near).await.unwrap().reactors.len(), 1);
    assert_eq!(world.reactors.list(TWO, here).await.unwrap().reactors.len(), 1);
    assert_eq!(world.reactors.destroy_in_field(ONE, field(5)).await.unwrap(), 0);
    world.is_clean().await;
});

everywhere!(teardown_empties_everything_and_records_cooldowns, |world| {
    let timed = r#"{"stateInfo":{"0":[{"type":0,"nextState":1}]},"timeoutInfo":{"0":60000},"timeoutNextStateInfo":{"0":1}}"#;
    for x in 0..70 {
        world.create(New { x, data: data(timed), delay: 60_000, ..a_box() }).await;
    }
    made(world.reactors.create(&tenant(TWO), a_box()).await.unwrap());
    // What teardown cannot read it removes all the same.
    let bad = world.create(New { x: 100, ..a_box() }).await;
    world.ask(&["SET", &world.key(&format!("reactor:{}", bad.id)), "not json"]).await;
    assert_eq!(world.reactors.teardown().await.unwrap(), 71);
    let map =
        world.key(&format!("reactors:map:{ONE}:0:1:1000000:00000000-0000-0000-0000-000000000000"));
    for key in [
        world.key("reactors:all"),
        map,
        world.key(&format!("reactor:{}", bad.id)),
        world.key(&format!("wk:reactors:{ONE}:due")),
    ] {
        assert_eq!(world.int(&["EXISTS", &key]).await, 0, "{key}");
    }
    assert_eq!(world.int(&["EXISTS", &world.key("reactors:next_id")]).await, 1);
    let again = world.reactors.create(&tenant(ONE), New { x: 3, ..a_box() }).await.unwrap();
    assert!(matches!(again, Created::OnCooldown { .. }));
    let told = world.told().await;
    assert_eq!(told.iter().filter(|one| *one == "DESTROYED").count(), 70);
    assert_eq!(world.reactors.teardown().await.unwrap(), 0);
});
