//! The recorder shows exactly what was sent; the faulty store fails as told and tells the truth about it.

use std::time::Duration;

use expect_test::expect;
use kernel::{Cmd, Deadline, Fault, Session, Value};
use testkit::{Faulty, How, Recorder, Store as _, on_every_store};

fn cmd(line: &str) -> Cmd {
    let mut cmd = Cmd::new();
    for word in line.split(' ') {
        cmd.arg(word);
    }
    cmd
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(10))
}

/// `MULTI`, the commands, `EXEC`.
async fn exec(
    session: &mut dyn Session,
    cmds: &[Cmd],
    by: Deadline,
) -> Result<Option<Vec<Value>>, Fault> {
    session.queue(&[&cmds.iter().collect()], by).await?;
    session.exec(by).await
}

on_every_store!(a_recording_shows_commands_and_answers, |store| {
    let store = Recorder::new(store);
    store.call(Cmd::new().arg("SET").arg("a b").arg("{\"x\":1}"), soon()).await.expect("set");
    store
        .call(Cmd::new().arg("SET").arg("bytes").arg(&b"\x00\xff'"[..]), soon())
        .await
        .expect("set");
    let _ = store.call(&cmd("LPUSH bytes x"), soon()).await;
    store.pipeline(&[cmd("INCR n"), cmd("GET none")], soon()).await.expect("sent");
    let mut session = store.session(b"n", soon()).await.expect("a session");
    session.call(&cmd("WATCH n"), soon()).await.expect("watched");
    exec(&mut *session, &[cmd("INCR n"), cmd("SET é 1")], soon()).await.expect("done");
    expect![[r#"
        SET 'a b' {"x":1}
          OK
        SET bytes '\x00\xff\''
          OK
        LPUSH bytes x
          ! store refused: WRONGTYPE Operation against a key holding the wrong kind of value
        | INCR n
          (1)
        | GET none
          nil
        # WATCH n
          OK
        # MULTI
        # INCR n
        # SET 'é' 1
        # EXEC
          [(2) OK]
    "#]]
    .assert_eq(&store.take());
    store.call(&cmd("DEL n"), soon()).await.expect("gone");
    expect!["DEL n\n"].assert_eq(&store.take_commands());
});

on_every_store!(failures_come_as_told, |store| {
    let faulty = Faulty::new(store.clone());
    let count = || async { store.call(&cmd("GET n"), soon()).await.expect("read") };
    faulty.fail_next(How::NotSent);
    assert!(matches!(faulty.call(&cmd("INCR n"), soon()).await, Err(Fault::Unavailable(_))));
    assert_eq!(count().await, Value::Nil);
    faulty.fail_next(How::RequestLost);
    assert!(matches!(faulty.call(&cmd("INCR n"), soon()).await, Err(Fault::Unknown(_))));
    assert_eq!(count().await, Value::Nil);
    faulty.fail_next(How::AnswerLost);
    assert!(matches!(faulty.call(&cmd("INCR n"), soon()).await, Err(Fault::Unknown(_))));
    assert_eq!(count().await, Value::BulkString(b"1".to_vec()));
    faulty.fail_every(3, How::NotSent);
    let mut outcomes = Vec::new();
    for _ in 0..6 {
        outcomes.push(faulty.call(&cmd("INCR n"), soon()).await.is_ok());
    }
    assert_eq!(outcomes, [true, true, false, true, true, false]);
    let mut session = faulty.session(b"n", soon()).await.expect("a session");
    session.call(&cmd("PING"), soon()).await.expect("first");
    session.call(&cmd("PING"), soon()).await.expect("second");
    assert!(exec(&mut *session, &[cmd("INCR n")], soon()).await.is_err(), "sessions count, too");
    assert_eq!(faulty.failed(), 6);
});
