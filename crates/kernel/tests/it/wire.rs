//! The exact words on the wire: one round trip per step, and no more than promised per update.

#![allow(clippy::needless_raw_string_hashes)] // as expect-test records them

use expect_test::expect;
use kernel::numbers::Dialect;
use kernel::{Effects as _, Event, Step, Store as _, TimerKeys};
use testkit::update::{Change, update};
use testkit::{Recorder, on_every_store};

use crate::support::{ask, soon};

on_every_store!(a_step_is_one_script, |store| {
    ask(&*store, &["SET", "reactor:7", "old"]).await;
    let wire = Recorder::new(store);
    let event = Event::new("HIT", 5, "7", &serde_json::json!({"state": 1}), Dialect::Go).unwrap();
    let step = Step::new("reactor:7")
        .expect("old")
        .write("new")
        .srem("reactors:map:1", "7")
        .ops(TimerKeys::of("wk:reactors:t:due").arm("state:7", 99, "1"))
        .event("wk:reactors:t:events", &event);
    wire.step(&step, soon()).await.unwrap();
    expect![[r#"
        SCRIPT swap 5 reactor:7 reactors:map:1 wk:reactors:t:due wk:reactors:t:due:data wk:reactors:t:events 1 text 1 old 2 SET 1 new KEEPTTL 1 SREM 2 7 2 ZADD 3 99 state:7 2 HSET 4 state:7 '- 1' 12 XADD 5 MAXLEN ~ 10000 * type HIT at 5 id 7 body {"state":1}
          done
    "#]].assert_eq(&wire.take());
});

on_every_store!(an_update_is_watch_get_and_one_transaction, |store| {
    ask(&*store, &["SET", "monster", "old"]).await;
    let wire = Recorder::new(store);
    let done = update(&*wire, "monster", soon(), |_| Change::write("new").sadd("field", "7"));
    done.await.unwrap();
    expect![[r#"
        # WATCH monster
          OK
        # GET monster
          old
        # MULTI
        # SET monster new XX KEEPTTL
        # SADD field 7
        # EXEC
          [OK (1)]
    "#]]
    .assert_eq(&wire.take());
});
