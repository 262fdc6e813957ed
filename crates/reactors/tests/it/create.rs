//! Creating: cooldown and spot in the same step, what is missing or wrong changes nothing.

use std::time::Duration;

use reactors::{Created, Hit, New, ReactorError};

use crate::support::{ONE, TWO, World, a_box, data, everywhere, field, made, tenant};

everywhere!(a_spot_cools_down_and_is_free_again, |world| {
    let reactor = world.create(New { delay: 60_000, ..a_box() }).await;
    world.reactors.destroy(ONE, reactor.id).await.unwrap();
    let again = world.reactors.create(&tenant(ONE), a_box()).await.unwrap();
    let Created::OnCooldown { remaining_ms: Some(left) } = again else { panic!("{again:?}") };
    assert!((1..=60_000).contains(&left), "{left}");
    // Another kind, another spot, another field and another tenant are free.
    for new in [
        New { classification: 2002, ..a_box() },
        New { x: 232, ..a_box() },
        New { field: field(7), ..a_box() },
    ] {
        world.create(new).await;
    }
    made(world.reactors.create(&tenant(TWO), a_box()).await.unwrap());
    let cooldown = world.key(&format!(
        "reactor:cd:{ONE}:0:1:1000000:00000000-0000-0000-0000-000000000000:2001:231:253"
    ));
    // What ends a cooldown is the store; its value does not matter.
    world.ask(&["SET", &cooldown, "something else", "PX", "1"]).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    made(world.reactors.create(&tenant(ONE), a_box()).await.unwrap());
    world.is_clean().await;
});

everywhere!(a_delay_of_zero_leaves_no_cooldown, |world| {
    let reactor = world.create(New { delay: 0, ..a_box() }).await;
    world.reactors.destroy(ONE, reactor.id).await.unwrap();
    world.create(New { delay: u32::MAX, ..a_box() }).await;
    let other = world.create(New { delay: u32::MAX, x: 1, ..a_box() }).await;
    world.reactors.destroy(ONE, other.id).await.unwrap();
    let again = world.reactors.create(&tenant(ONE), New { x: 1, ..a_box() }).await.unwrap();
    assert!(
        matches!(again, Created::OnCooldown { remaining_ms: Some(4_294_000_000..) }),
        "{again:?}"
    );
});

everywhere!(a_spot_holds_one_of_a_kind, |world| {
    let first = world.create(a_box()).await;
    let second = world.reactors.create(&tenant(ONE), a_box()).await.unwrap();
    assert_eq!(second, Created::SpotTaken { id: first.id });
    // The low-level call makes duplicates, as older services did, and does not own the spot.
    let twin = world.create(New { guarded: false, ..a_box() }).await;
    world.reactors.destroy(ONE, twin.id).await.unwrap();
    let cooldown = "reactor:cd:11111111-1111-4111-8111-111111111111:0:1:1000000:00000000-0000-0000-0000-000000000000:2001:231:253";
    world.ask(&["DEL", &world.key(cooldown)]).await;
    let third = world.reactors.create(&tenant(ONE), a_box()).await.unwrap();
    assert_eq!(third, Created::SpotTaken { id: first.id });
    // A reactor that another program deleted does not hold its spot for ever.
    let key = world.key(&format!("reactor:{}", first.id));
    world.ask(&["DEL", &key]).await;
    made(world.reactors.create(&tenant(ONE), a_box()).await.unwrap());
});

everywhere!(of_many_on_one_spot_one_is_made, |world| {
    let tenant = tenant(ONE);
    let all = (0..32).map(|_| world.reactors.create(&tenant, a_box()));
    let all = futures_util::future::join_all(all).await;
    let made = all.into_iter().filter(|one| matches!(one, Ok(Created::Made(_)))).count();
    assert_eq!(made, 1);
    assert_eq!(world.told().await, ["CREATED"]);
    world.is_clean().await;
});

everywhere!(names_come_from_the_caller_the_data_or_the_catalogue, |world| {
    assert_eq!(world.create(a_box()).await.name, "box");
    let named = New { name: "chest".into(), x: 1, ..a_box() };
    assert_eq!(world.create(named).await.name, "chest");
    let own = New { data: data(r#"{"name":"crate"}"#), classification: 99, x: 2, ..a_box() };
    let reactor = world.create(own).await;
    assert_eq!(reactor.name, "crate");
    assert_eq!(world.reactors.get(ONE, reactor.id).await.unwrap(), reactor);
});

everywhere!(what_cannot_be_made_takes_no_id, |world| {
    let refused = async |new: New| world.reactors.create(&tenant(ONE), new).await.unwrap_err();
    let none = refused(New { classification: 0, ..a_box() }).await;
    assert_eq!(none.to_string(), "classification is required");
    let unknown = refused(New { classification: 123_456, ..a_box() }).await;
    assert_eq!(unknown, ReactorError::UnknownClassification(123_456));
    assert_eq!(world.int(&["EXISTS", &world.key("reactors:next_id")]).await, 0);
    let on_cooldown = world.create(a_box()).await;
    world.reactors.hit(ONE, on_cooldown.id, Hit::default()).await.unwrap();
    world.reactors.create(&tenant(ONE), a_box()).await.unwrap();
    assert_eq!(world.text(&["GET", &world.key("reactors:next_id")]).await, "1000000001");
});

everywhere!(a_key_of_the_wrong_type_refuses_all_of_it, |world| {
    for plain in [
        "reactors:all".to_owned(),
        format!("reactors:map:{ONE}:0:1:1000000:00000000-0000-0000-0000-000000000000"),
        format!("wk:reactors:{ONE}:spots"),
        format!("wk:reactors:{ONE}:due"),
        format!("wk:reactors:{ONE}:events"),
        "reactors:next_id".to_owned(),
    ] {
        let key = world.key(&plain);
        world.ask(&["DEL", &key]).await;
        world.ask(&["LPUSH", &key, "x"]).await;
        let error = world.reactors.create(&tenant(ONE), a_box()).await.unwrap_err();
        assert!(error.to_string().contains("WRONGTYPE"), "{plain}: {error}");
        let value = world.key("reactor:1000000001");
        assert_eq!(world.int(&["EXISTS", &value]).await, 0, "{plain}");
        world.ask(&["DEL", &key]).await;
    }
    world.create(a_box()).await;
    let _ = World::told(&world).await;
});
