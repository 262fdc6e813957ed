//! Connections of one's own: WATCH sees others' writes, blocking calls stop nobody else, and a connection
//! that is lent again carries nothing of its former owner.

use kernel::{Fault, Packed, Value};
use testkit::on_every_store;

use crate::{cmd, exec, ms, soon};

on_every_store!(an_exec_fails_when_a_watched_key_was_changed_by_another, |store| {
    let mut session = store.session(b"k", soon()).await.expect("a session");
    session.call(&cmd("WATCH k"), soon()).await.expect("watched");
    store.call(&cmd("SET k other"), soon()).await.expect("written");
    assert_eq!(exec(&mut *session, &[cmd("SET k mine")], soon()).await, Ok(None));
    session.call(&cmd("WATCH k"), soon()).await.expect("watched");
    let done = exec(&mut *session, &[cmd("SET k mine"), cmd("GET k")], soon()).await;
    assert_eq!(done, Ok(Some(vec![Value::Okay, Value::BulkString(b"mine".to_vec())])));
});

on_every_store!(a_session_does_not_inherit_what_its_predecessor_watched, |store| {
    let mut first = store.session(b"k", soon()).await.expect("a session");
    first.call(&cmd("WATCH k"), soon()).await.expect("watched");
    drop(first);
    store.call(&cmd("SET k 1"), soon()).await.expect("written");
    let mut second = store.session(b"k", soon()).await.expect("a session");
    assert_eq!(exec(&mut *second, &[cmd("INCR k")], soon()).await, Ok(Some(vec![Value::Int(2)])));
});

on_every_store!(a_session_does_not_inherit_a_changed_connection, |store| {
    let mut first = store.session(b"k", soon()).await.expect("a session");
    first.call(&cmd("SELECT 3"), soon()).await.expect("selected");
    drop(first);
    let mut second = store.session(b"k", soon()).await.expect("a session");
    second.call(&cmd("SET where second"), soon()).await.expect("written");
    let seen = store.call(&cmd("GET where"), soon()).await;
    assert_eq!(seen, Ok(Value::BulkString(b"second".to_vec())));
});

on_every_store!(a_refused_command_in_a_transaction_refuses_all_of_it, |store| {
    let mut session = store.session(b"k", soon()).await.expect("a session");
    let refused = exec(&mut *session, &[cmd("SET k 1"), cmd("NOSUCHCOMMAND")], soon()).await;
    assert!(matches!(refused, Err(Fault::Refused { code, .. }) if code == "ERR"));
    assert_eq!(store.call(&cmd("EXISTS k"), soon()).await, Ok(Value::Int(0)));
    assert_eq!(session.call(&cmd("SET k 1"), soon()).await, Ok(Value::Okay));
});

on_every_store!(a_transaction_that_waits_for_a_word_does_nothing_before_it, |store| {
    let write: Packed = [&cmd("SET k early"), &cmd("INCR {k}n")].into_iter().collect();
    let parts = [&write, &Packed::default(), &write];
    let mut session = store.session(b"k", soon()).await.expect("a session");
    session.queue(&parts, soon()).await.expect("sent");
    for _ in 0..20 {
        assert_eq!(store.call(&cmd("EXISTS k {k}n"), soon()).await, Ok(Value::Int(0)));
    }
    store.call(&cmd("SET k before"), soon()).await.expect("written");
    let done = session.exec(soon()).await;
    let [ok, one, two] = [Value::Okay, Value::Int(1), Value::Int(2)];
    assert_eq!(done, Ok(Some(vec![ok.clone(), one, ok, two])));
    let found = store.call(&cmd("GET k"), soon()).await;
    assert_eq!(found, Ok(Value::BulkString(b"early".to_vec())));
    // The session goes on.
    assert_eq!(
        exec(&mut *session, &[cmd("INCR {k}n")], soon()).await,
        Ok(Some(vec![Value::Int(3)]))
    );
});

on_every_store!(a_transaction_that_is_called_off_never_happens, |store| {
    let mut write = Packed::default();
    for n in 0..2_000 {
        write.push(&cmd(&format!("SET {{k}}{n} {}", "x".repeat(500))));
    }
    let mut session = store.session(b"k", soon()).await.expect("a session");
    session.queue(&[&write], soon()).await.expect("sent");
    drop(session);
    let mut next = store.session(b"k", soon()).await.expect("a session");
    let none = exec(&mut *next, &[cmd("EXISTS {k}0 {k}1999")], soon()).await;
    assert_eq!(none, Ok(Some(vec![Value::Int(0)])));
    let refused = exec(&mut *next, &[cmd("SET k 1"), cmd("NOSUCHCOMMAND")], soon()).await;
    assert!(matches!(refused, Err(Fault::Refused { code, .. }) if code == "ERR"));
    assert_eq!(store.call(&cmd("EXISTS k"), soon()).await, Ok(Value::Int(0)));
});

on_every_store!(a_blocking_call_waits_and_stops_nobody_else, |store| {
    let waiting = {
        let store = store.clone();
        tokio::spawn(async move {
            let mut session = store.session(b"list", soon()).await.expect("a session");
            session.call(&cmd("BLPOP list 8"), soon()).await
        })
    };
    for _ in 0..50 {
        assert!(store.call(&cmd("PING"), ms(2000)).await.is_ok());
    }
    store.call(&cmd("RPUSH list x"), soon()).await.expect("pushed");
    let popped = waiting.await.expect("no panic").expect("an answer");
    let expected = [b"list".to_vec(), b"x".to_vec()].map(Value::BulkString).to_vec();
    assert_eq!(popped, Value::Array(expected));
});

on_every_store!(a_blocking_call_by_the_common_door_stops_nobody_either, |store| {
    let waiting = {
        let store = store.clone();
        tokio::spawn(async move { store.call(&cmd("BLPOP list 8"), soon()).await })
    };
    assert!(store.call(&cmd("PING"), ms(2000)).await.is_ok());
    store.call(&cmd("RPUSH list x"), soon()).await.expect("pushed");
    assert!(waiting.await.expect("no panic").is_ok());
});

on_every_store!(a_session_that_missed_its_deadline_is_never_lent_again, |store| {
    let mut session = store.session(b"list", soon()).await.expect("a session");
    let late = session.call(&cmd("BLPOP list 30"), ms(100)).await;
    assert!(
        matches!(late, Err(Fault::Unknown(_))),
        "the deadline came before the answer: {late:?}"
    );
    let after = session.call(&cmd("PING"), soon()).await;
    assert!(matches!(after, Err(Fault::Unavailable(_))), "{after:?}");
    drop(session);
    let mut next = store.session(b"list", soon()).await.expect("a session");
    let echoed = next.call(&cmd("ECHO mine"), soon()).await;
    assert_eq!(echoed, Ok(Value::BulkString(b"mine".to_vec())));
});

on_every_store!(sessions_use_few_connections, |store| {
    let clients = |text: &Value| match text {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).lines().count(),
        _ => 0,
    };
    for _ in 0..50 {
        let mut session = store.session(b"k", soon()).await.expect("a session");
        session.call(&cmd("WATCH k"), soon()).await.expect("watched");
        exec(&mut *session, &[cmd("INCR k")], soon()).await.expect("done");
    }
    let list = store.call(&cmd("CLIENT LIST"), soon()).await.expect("a list");
    assert!(clients(&list) <= 4, "{list:?}");
});
