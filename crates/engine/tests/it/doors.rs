//! Transactions and messages through each door.

use engine::Engine;
use redis::aio::ConnectionLike as _;
use redis::{Value, cmd};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

async fn ask(
    stream: &mut (impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin),
    text: &str,
    bytes: usize,
) -> String {
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut reply = vec![0; bytes];
    stream.read_exact(&mut reply).await.unwrap();
    String::from_utf8(reply).unwrap()
}

#[tokio::test]
async fn a_direct_call_is_answered_at_once() {
    let engine = Engine::memory();
    let mut connection = engine.connect();
    assert_eq!(connection.call(&cmd("PING")), Some(Value::SimpleString("PONG".into())));
    let error = connection.req_packed_command(&cmd("NOPE")).await.unwrap_err();
    assert!(error.to_string().contains("unknown command 'NOPE'"), "{error}");
}

#[tokio::test]
async fn an_atomic_pipeline_gives_one_array() {
    let engine = Engine::memory();
    let mut connection = engine.connect();
    let both: (String, String) = redis::pipe()
        .atomic()
        .cmd("ECHO")
        .arg("a")
        .cmd("ECHO")
        .arg("b")
        .query_async(&mut connection)
        .await
        .unwrap();
    assert_eq!(both, ("a".into(), "b".into()));
}

#[tokio::test]
async fn a_message_crosses_from_door_to_door() {
    let engine = Engine::memory();
    let listener = engine.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut tcp = tokio::net::TcpStream::connect(listener.addr()).await.unwrap();
    let mut pipe = engine.duplex();
    let confirmed = "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n";
    assert_eq!(ask(&mut tcp, "SUBSCRIBE news\r\n", confirmed.len()).await, confirmed);
    assert_eq!(
        ask(&mut pipe, "*3\r\n$7\r\nPUBLISH\r\n$4\r\nnews\r\n$2\r\nhi\r\n", 4).await,
        ":1\r\n"
    );
    let message = "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$2\r\nhi\r\n";
    assert_eq!(ask(&mut tcp, "", message.len()).await, message);
}

#[tokio::test]
async fn what_is_no_resp_is_told_so_and_closed() {
    let engine = Engine::memory();
    let mut pipe = engine.duplex();
    pipe.write_all(b"*1\r\n$99999999999\r\n").await.unwrap();
    let mut reply = String::new();
    pipe.read_to_string(&mut reply).await.unwrap();
    assert_eq!(reply, "-ERR Protocol error: invalid bulk length\r\n");
}
