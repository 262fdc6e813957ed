//! Readers that wait for streams.

use engine::{Connection, Engine};
use redis::cmd;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

fn run(connection: &Connection, line: &str) {
    let mut words = line.split(' ');
    let mut command = cmd(words.next().unwrap());
    for word in words {
        command.arg(word);
    }
    connection.call(&command).expect("does not block");
}

/// Sends a line and returns once its reader waits.
async fn wait_with(engine: &Engine, line: &str) -> DuplexStream {
    let mut pipe = engine.duplex();
    pipe.write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
    let watcher = engine.connect();
    testkit::eventually("the reader waits", async || {
        let info = watcher.call(cmd("INFO").arg("clients")).expect("does not block");
        redis::from_redis_value::<String>(info).unwrap().contains("blocked_clients:1")
    })
    .await;
    pipe
}

async fn expect(pipe: &mut DuplexStream, reply: &str) {
    let mut bytes = vec![0; reply.len()];
    testkit::within(reply, pipe.read_exact(&mut bytes)).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), reply);
}

#[tokio::test]
async fn a_reader_of_the_end_gets_what_comes_next() {
    let engine = Engine::memory();
    let writer = engine.connect();
    run(&writer, "XADD s 1-0 f old");
    let mut pipe = wait_with(&engine, "XREAD BLOCK 0 STREAMS s other $ $").await;
    run(&writer, "XADD s 2-0 f new");
    expect(
        &mut pipe,
        "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n2-0\r\n*2\r\n$1\r\nf\r\n$3\r\nnew\r\n",
    )
    .await;
}

#[tokio::test]
async fn a_waiting_consumer_gets_an_entry_and_holds_it() {
    let engine = Engine::memory();
    let writer = engine.connect();
    run(&writer, "XGROUP CREATE s g $ MKSTREAM");
    let mut ann = wait_with(&engine, "XREADGROUP GROUP g ann BLOCK 0 STREAMS s >").await;
    run(&writer, "XADD s 5-0 f v");
    expect(
        &mut ann,
        "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n5-0\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n",
    )
    .await;
    let pending = writer.call(cmd("XPENDING").arg("s").arg("g")).unwrap();
    assert!(format!("{pending:?}").contains("bulk-string('\"ann\"')"), "{pending:?}");
}

#[tokio::test]
async fn a_reader_of_a_group_is_told_when_group_or_key_goes() {
    let engine = Engine::memory();
    let writer = engine.connect();
    let wait = "XREADGROUP GROUP g ann BLOCK 0 STREAMS s >";
    for (line, reply) in [
        (
            "XGROUP DESTROY s g",
            "-NOGROUP the consumer group this client was blocked on no longer exists\r\n",
        ),
        ("DEL s", "-UNBLOCKED the stream key no longer exists\r\n"),
        ("SET s text", "-UNBLOCKED the stream key no longer exists\r\n"),
        ("FLUSHALL", "-UNBLOCKED the stream key no longer exists\r\n"),
    ] {
        run(&writer, "DEL s");
        run(&writer, "XGROUP CREATE s g $ MKSTREAM");
        let mut pipe = wait_with(&engine, wait).await;
        run(&writer, line);
        expect(&mut pipe, reply).await;
    }
}

#[tokio::test]
async fn a_plain_reader_waits_on_when_the_key_goes() {
    let engine = Engine::memory();
    let writer = engine.connect();
    run(&writer, "XADD s 1-0 f v");
    let mut pipe = wait_with(&engine, "XREAD BLOCK 0 STREAMS s $").await;
    run(&writer, "DEL s");
    run(&writer, "SET s text");
    run(&writer, "DEL s");
    // Older than what it waits for.
    run(&writer, "XADD s 0-5 f v");
    run(&writer, "XADD s 3-0 f v");
    expect(
        &mut pipe,
        "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n3-0\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n",
    )
    .await;
}
