//! The contract of a Store, the same on every kind.

use kernel::{Fault, Script, Value};
use testkit::on_every_store;

use crate::{cmd, soon};

static COUNT: Script = Script::new("count", "return redis.call('INCRBY', KEYS[1], ARGV[1])");

on_every_store!(a_command_is_answered_and_an_error_reply_is_a_refusal, |store| {
    assert_eq!(store.call(&cmd("SET a 1"), soon()).await, Ok(Value::Okay));
    assert_eq!(store.call(&cmd("GET a"), soon()).await, Ok(Value::BulkString(b"1".to_vec())));
    let refused = store.call(&cmd("LPUSH a x"), soon()).await;
    assert!(matches!(refused, Err(Fault::Refused { code, .. }) if code == "WRONGTYPE"));
});

on_every_store!(each_command_of_a_pipeline_has_its_own_result, |store| {
    let cmds = [cmd("SET a 1"), cmd("LPUSH a x"), cmd("INCR a")];
    let results = store.pipeline(&cmds, soon()).await.expect("it was sent");
    assert_eq!(results[0], Ok(Value::Okay));
    assert!(matches!(&results[1], Err(Fault::Refused { code, .. }) if code == "WRONGTYPE"));
    assert_eq!(results[2], Ok(Value::Int(2)));
    assert_eq!(store.pipeline(&[], soon()).await, Ok(vec![]));
});

on_every_store!(a_script_runs_whether_or_not_the_server_knows_it, |store| {
    let run = || store.script(&COUNT, &[b"n"], &[b"2"], soon());
    assert_eq!(run().await, Ok(Value::Int(2)));
    assert_eq!(run().await, Ok(Value::Int(4)));
    store.call(&cmd("SCRIPT FLUSH"), soon()).await.expect("scripts can be forgotten");
    assert_eq!(run().await, Ok(Value::Int(6)));
});

on_every_store!(a_command_that_changes_its_connection_needs_a_session, |store| {
    for line in ["MULTI", "WATCH a", "SELECT 1", "SUBSCRIBE c", "CLIENT REPLY OFF"] {
        let refused = store.call(&cmd(line), soon()).await;
        assert!(matches!(refused, Err(Fault::Refused { .. })), "{line}: {refused:?}");
    }
    assert!(store.pipeline(&[cmd("MULTI"), cmd("EXEC")], soon()).await.is_err());
});

on_every_store!(a_call_whose_deadline_has_passed_is_not_sent, |store| {
    let past = crate::ms(0);
    assert!(matches!(store.call(&cmd("INCR n"), past).await, Err(Fault::Unavailable(_))));
    assert!(matches!(
        store.script(&COUNT, &[b"n"], &[b"1"], past).await,
        Err(Fault::Unavailable(_))
    ));
    assert_eq!(store.call(&cmd("EXISTS n"), soon()).await, Ok(Value::Int(0)));
});

on_every_store!(many_callers_at_once_each_get_their_own_answer, |store| {
    let tasks: Vec<_> = (0..200)
        .map(|at| {
            let store = store.clone();
            tokio::spawn(async move {
                for round in 0..20 {
                    let text = format!("{at}-{round}");
                    let answer = store.call(&cmd(&format!("ECHO {text}")), soon()).await;
                    assert_eq!(answer, Ok(Value::BulkString(text.into_bytes())));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no answer was mixed up");
    }
});
