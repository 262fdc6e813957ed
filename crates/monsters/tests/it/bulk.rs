//! Many monsters in one call: each has its own answer, and all go to the store together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream::BoxStream;
use kernel::{
    Answer, Cmd, Deadline, Fault, Message, Script, Session, Status, Step, Stepped, Topic, Value,
};
use monsters::{MOST_AT_ONCE, MonsterError, Move, Spawn};
use testkit::{Recorder, Store, on_every_store};

use crate::support::World;

fn to(x: i16) -> Move {
    Move { x, y: 2, stance: 3, ..Move::default() }
}

fn spawn(monster_id: u32, x: i16) -> Spawn {
    Spawn { monster_id, x, ..Spawn::default() }
}

on_every_store!(many_are_spawned_moved_and_read_each_with_its_own_answer, |store| {
    let recorder = Recorder::new(Arc::clone(&store));
    let world = World::new(&(Arc::clone(&recorder) as Arc<dyn Store>));
    let (monsters, tenant) = (&world.monsters, &world.tenant);
    world.spawn(9_300_018).await;
    recorder.take();
    let wanted = [spawn(9_300_018, 1), spawn(404, 2), spawn(3, 3), spawn(7, 4)];
    let born = monsters.spawn_many(tenant, world.field, &wanted).await.unwrap();
    assert_eq!(recorder.take_commands().lines().count(), 1, "one script");
    assert_eq!(born[1], Err(MonsterError::UnknownTemplate(404)));
    let born: Vec<_> = born.into_iter().filter_map(Result::ok).collect();
    let shown: Vec<_> = born.iter().map(|one| (one.monster_id, one.at.x, one.life)).collect();
    assert_eq!(shown, [(9_300_018, 1, 1), (3, 3, 1), (7, 4, 1)]);
    let [one, two, three] = [0, 1, 2].map(|at| born[at].unique_id);
    world.ask(&["SET", &world.key(three), "{"]).await;
    recorder.take();
    // The second monster twice: its moves have their order.
    let moves = [(one, to(10)), (two, to(20)), (5, to(30)), (three, to(40)), (two, to(50))];
    let moved = monsters.move_all(tenant, &moves).await.unwrap();
    let at = |n: usize| moved[n].as_ref().map(|monster| monster.at.x).map_err(Clone::clone);
    assert_eq!((at(0), at(1), at(2), at(4)), (Ok(10), Ok(20), Err(MonsterError::NotFound), Ok(50)));
    assert!(matches!(&moved[3], Err(MonsterError::Fault(Fault::Corrupt { .. }))), "{moved:?}");
    let late = [(one, Move { life: Some(2), ..to(1) })];
    assert_eq!(monsters.move_all(tenant, &late).await, Ok(vec![Err(MonsterError::NotFound)]));
    recorder.take();
    let read = monsters.get_all(tenant, &[two, 5, one, three]).await.unwrap();
    let sent = recorder.take_commands();
    assert_eq!(sent.lines().filter(|line| line.starts_with("| ")).count(), 2, "{sent}");
    assert_eq!(read[0].as_ref().unwrap().at.x, 50);
    assert_eq!(read[1], Err(MonsterError::NotFound));
    assert_eq!(*read[2].as_ref().unwrap(), world.get(one).await);
    assert!(read[3].is_err());
});

on_every_store!(a_call_has_a_bound_and_an_empty_one_does_nothing, |store| {
    let world = World::new(&store);
    let (monsters, tenant) = (&world.monsters, &world.tenant);
    let many = MOST_AT_ONCE + 1;
    let is_bad = |refused| matches!(refused, Err(MonsterError::Bad { field: "data", .. }));
    assert!(is_bad(monsters.get_all(tenant, &vec![1; many]).await));
    assert!(is_bad(monsters.move_all(tenant, &vec![(1, to(1)); many]).await));
    let spawns = vec![spawn(9_300_018, 0); many];
    assert!(is_bad(monsters.spawn_many(tenant, world.field, &spawns).await));
    assert_eq!(world.int(&["EXISTS", &world.own("events")]).await, 0, "nothing was spawned");
    assert_eq!(monsters.get_all(tenant, &[]).await, Ok(vec![]));
    assert_eq!(monsters.move_all(tenant, &[]).await, Ok(vec![]));
    assert_eq!(monsters.spawn_many(tenant, world.field, &[]).await, Ok(vec![]));
});

on_every_store!(the_moves_of_a_call_are_all_under_way_before_the_first_is_answered, |store| {
    const MANY: usize = 300;
    let world = World::new(&store);
    let spawns = vec![spawn(9_300_018, 0); MANY];
    let born = world.monsters.spawn_many(&world.tenant, world.field, &spawns).await.unwrap();
    let moves: Vec<_> = born.into_iter().map(|one| (one.unwrap().unique_id, to(7))).collect();
    // No step is answered before all of them were sent: one after the other they would never be.
    let gate =
        Arc::new(Gate { store: Arc::clone(&store), wanted: MANY, sent: AtomicUsize::new(0) });
    let gated = World::new(&(gate as Arc<dyn Store>));
    let moved = gated.monsters.move_all(&gated.tenant, &moves).await.unwrap();
    assert!(moved.iter().all(|one| one.as_ref().is_ok_and(|one| one.at.x == 7)), "{moved:?}");
    let listed = world.monsters.list(&world.tenant, world.field).await.unwrap().monsters;
    assert!(listed.len() == MANY && listed.iter().all(|one| one.at.x == 7));
});

/// Lets steps through once so many of them have been sent.
struct Gate {
    store: Arc<dyn Store>,
    wanted: usize,
    sent: AtomicUsize,
}

impl Store for Gate {
    fn call<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        self.store.call(cmd, by)
    }

    fn pipeline<'a>(
        &'a self,
        cmds: &'a [Cmd],
        by: Deadline,
    ) -> Answer<'a, Vec<Result<Value, Fault>>> {
        self.store.pipeline(cmds, by)
    }

    fn script<'a>(
        &'a self,
        script: &'static Script,
        keys: &'a [&'a [u8]],
        args: &'a [&'a [u8]],
        by: Deadline,
    ) -> Answer<'a, Value> {
        self.store.script(script, keys, args, by)
    }

    fn step<'a>(&'a self, step: &'a Step, by: Deadline) -> Answer<'a, Stepped> {
        self.sent.fetch_add(1, Ordering::SeqCst);
        Answer::Later(Box::pin(async move {
            while self.sent.load(Ordering::SeqCst) < self.wanted {
                if by.left().is_zero() {
                    return Err(Fault::Unavailable("others were not sent".to_owned()));
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            self.store.step(step, by).await
        }))
    }

    fn session<'a>(&'a self, key: &'a [u8], by: Deadline) -> Answer<'a, Box<dyn Session>> {
        self.store.session(key, by)
    }

    fn subscribe<'a>(
        &'a self,
        topics: &'a [Topic],
        by: Deadline,
    ) -> Answer<'a, BoxStream<'static, Message>> {
        self.store.subscribe(topics, by)
    }

    fn status(&self) -> Status {
        self.store.status()
    }
}
