//! Tenants do not see each other, and what others broke stays where it is.

use kernel::Fault;
use kernel::keyspace::Layout;
use reactors::{Hit, New, ReactorError};
use uuid::Uuid;

use crate::support::{ONE, TWO, World, a_box, everywhere, field, made, tenant};

everywhere!(a_tenant_sees_and_touches_its_own_only, |world| {
    let mine = world.create(a_box()).await;
    let theirs = made(world.reactors.create(&tenant(TWO), a_box()).await.unwrap());
    for stranger in [Uuid::nil(), Uuid::max(), Uuid::from_u128(7)] {
        assert!(world.reactors.get(stranger, mine.id).await.is_err());
        assert!(world.reactors.list(stranger, field(1_000_000)).await.unwrap().reactors.is_empty());
    }
    if world.layout == Layout::Plain {
        // One counter for all: a stranger can guess the id, and that is all.
        assert_ne!(mine.id, theirs.id);
        let not_found = ReactorError::NotFound(theirs.id);
        assert_eq!(world.reactors.get(ONE, theirs.id).await.unwrap_err(), not_found);
        assert_eq!(
            world.reactors.hit(ONE, theirs.id, Hit::default()).await,
            Err(not_found.clone())
        );
        assert_eq!(world.reactors.destroy(ONE, theirs.id).await, Err(not_found));
    }
    world.reactors.destroy_in_field(ONE, field(1_000_000)).await.unwrap();
    assert_eq!(world.reactors.get(TWO, theirs.id).await.unwrap(), theirs);
    let told = world.told().await;
    assert_eq!(told, ["CREATED", "DESTROYED"], "nothing of the other tenant is in this stream");
});

everywhere!(one_broken_value_does_not_hide_its_neighbours, |world| {
    let all: Vec<_> = {
        let mut all = Vec::new();
        for x in 0..6 {
            all.push(world.create(New { x, ..a_box() }).await);
        }
        all
    };
    let key = |at: usize| world.key(&format!("reactor:{}", all[at].id));
    let good = world.text(&["GET", &key(0)]).await;
    world.ask(&["SET", &key(0), "{\"tenant\":null}"]).await;
    world.ask(&["SET", &key(1), "\u{1}\u{2}not json"]).await;
    world.ask(&["SET", &key(2), &good.replace("\"state\":0", "\"state\":1000")]).await;
    world.ask(&["DEL", &key(3)]).await;
    world.ask(&["DEL", &key(4)]).await;
    world.ask(&["LPUSH", &key(4), "a list"]).await;
    let list = world.reactors.list(ONE, field(1_000_000)).await.unwrap();
    assert_eq!(list.reactors.iter().map(|one| one.id).collect::<Vec<_>>(), [all[5].id]);
    assert_eq!(list.corrupt.len(), 3);
    for at in [0, 1, 2, 4] {
        let error = world.reactors.get(ONE, all[at].id).await.unwrap_err();
        let ReactorError::Fault(Fault::Corrupt { key: told, .. }) = error else {
            panic!("{at}: {error:?}")
        };
        assert_eq!(told, key(at));
        let error = world.reactors.hit(ONE, all[at].id, Hit::default()).await.unwrap_err();
        assert!(matches!(error, ReactorError::Fault(Fault::Corrupt { .. })), "{at}");
    }
    let missing = world.reactors.get(ONE, all[3].id).await.unwrap_err();
    assert_eq!(missing, ReactorError::NotFound(all[3].id));
    assert_eq!(world.reactors.destroy_in_field(ONE, field(1_000_000)).await.unwrap(), 5);
    for at in 0..6 {
        assert_eq!(world.text(&["TYPE", &key(at)]).await, "none", "{at}");
    }
});

everywhere!(what_nobody_can_read_can_be_destroyed_by_whom_it_belongs_to, |world| {
    let bad = [None, Some("\u{1}not json"), Some("{\"tenant\":null}")];
    for (x, bad) in bad.into_iter().enumerate() {
        let one = world.create(New { x: i16::try_from(x).unwrap(), ..a_box() }).await;
        let key = world.key(&format!("reactor:{}", one.id));
        world.ask(&["DEL", &key]).await;
        match bad {
            Some(text) => world.ask(&["SET", &key, text]).await,
            None => world.ask(&["HSET", &key, "state", "0"]).await,
        };
        let stranger = world.reactors.destroy(TWO, one.id).await;
        assert_eq!(stranger, Err(ReactorError::NotFound(one.id)));
        world.reactors.destroy(ONE, one.id).await.unwrap();
        assert_eq!(world.text(&["TYPE", &key]).await, "none");
        let again = world.reactors.destroy(ONE, one.id).await;
        assert_eq!(again, Err(ReactorError::NotFound(one.id)));
        // The spot is free at once: nobody knows how long it would have cooled down.
        world.create(New { x: i16::try_from(x).unwrap(), ..a_box() }).await;
    }
    world.is_clean().await;
});

everywhere!(names_and_texts_of_all_kinds_come_back_as_they_were, |world| {
    for (x, name) in ["<&>", "\"\\/", "é 😀", "\u{0}\u{1f}", ":{*}?[]", "\",\"reactorId\":0,\"x"]
        .into_iter()
        .enumerate()
    {
        let x = i16::try_from(x).unwrap();
        let reactor = world.create(New { name: name.into(), x, ..a_box() }).await;
        assert_eq!(world.reactors.get(ONE, reactor.id).await.unwrap(), reactor);
        assert_eq!(reactor.name, name);
        let events = world.events().await;
        let told = &events.last().unwrap().1;
        assert_eq!(told["body"]["name"], name);
        assert_eq!(told["reactorId"], reactor.id);
    }
});

testkit::on_every_store!(a_value_in_the_wrong_place_is_nobodys, |store| {
    // Plain keys are global: an index of one tenant may name another's reactor, by mistake or by malice.
    let world = World::new(store, Layout::Plain);
    let theirs = made(world.reactors.create(&tenant(TWO), a_box()).await.unwrap());
    let mine = world.create(a_box()).await;
    let map = format!("reactors:map:{ONE}:0:1:1000000:00000000-0000-0000-0000-000000000000");
    world.ask(&["SADD", &map, &theirs.id.to_string(), "garbage", "-1", "99999999999"]).await;
    let list = world.reactors.list(ONE, field(1_000_000)).await.unwrap();
    assert_eq!(list.reactors, [mine]);
    world.reactors.destroy_in_field(ONE, field(1_000_000)).await.unwrap();
    assert_eq!(world.reactors.get(TWO, theirs.id).await.unwrap(), theirs);
});
