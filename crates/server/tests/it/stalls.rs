//! Clients that never read what they are sent, and frames that are none: such connections end by themselves, over HTTP and
//! on every kind of socket, and a client that reads slowly is served to the end.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::{Running, start};

const SOCKETS: [&str; 3] = ["/ws/events", "/ws/rooms", "/ws/galaxy"];
/// Far more than anything here needs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection with little room for what comes.
async fn connect(addr: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 * 1024).unwrap();
    socket.connect(addr).await.unwrap()
}

/// A WebSocket, up to its first frame.
async fn upgrade(server: &Running, path: &str) -> TcpStream {
    let mut stream = connect(server.addr).await;
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.addr
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    stream
}

/// The code of the goodbye that comes, after whatever else is said.
async fn goodbye(stream: &mut TcpStream) -> u16 {
    let next = async {
        loop {
            let [first, len] = [stream.read_u8().await?, stream.read_u8().await?];
            let len = match len {
                126 => usize::from(stream.read_u16().await?),
                127 => usize::try_from(stream.read_u64().await?).unwrap(),
                short => usize::from(short),
            };
            let mut payload = vec![0; len];
            stream.read_exact(&mut payload).await?;
            if first == 0x88 {
                return std::io::Result::Ok(u16::from_be_bytes([payload[0], payload[1]]));
            }
        }
    };
    tokio::time::timeout(PATIENCE, next).await.expect("a goodbye in time").expect("a whole goodbye")
}

#[tokio::test]
async fn frames_that_break_the_protocol_close_the_socket_with_the_reason() {
    let server = start(testkit::open("memory").await, &[]).await;
    let long_ping = [&[0x89, 0xFE, 0, 126, 0, 0, 0, 0][..], &[0; 126]].concat();
    let cases: [(&str, &[u8], u16); 9] = [
        ("reserved bits", &[0xF1, 0x80, 0, 0, 0, 0], 1002),
        ("an unknown kind of data", &[0x83, 0x80, 0, 0, 0, 0], 1002),
        ("an unknown kind of control", &[0x8B, 0x80, 0, 0, 0, 0], 1002),
        ("no mask", &[0x81, 0x01, b'x'], 1002),
        ("a ping in parts", &[0x09, 0x80, 0, 0, 0, 0], 1002),
        ("a long ping", &long_ping, 1002),
        ("a continuation of nothing", &[0x80, 0x80, 0, 0, 0, 0], 1002),
        ("a text that is not UTF-8", &[0x81, 0x82, 0, 0, 0, 0, 0xC3, 0x28], 1007),
        (
            "a text in parts that is not UTF-8",
            &[0x01, 0x81, 0, 0, 0, 0, 0xC3, 0x80, 0x81, 0, 0, 0, 0, 0x28],
            1007,
        ),
    ];
    for path in SOCKETS {
        for (what, bytes, code) in cases {
            let mut stream = upgrade(&server, path).await;
            stream.write_all(bytes).await.unwrap();
            assert_eq!(goodbye(&mut stream).await, code, "{path}: {what}");
            let rest = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut Vec::new())).await;
            assert!(rest.is_ok(), "{path}: {what}: the connection ends");
        }
    }
}

/// Waits until the other end has reset the connection.
async fn is_reset(stream: &TcpStream, what: &str) {
    let reset = async {
        while stream.take_error().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, reset).await.is_ok(), "{what} was not closed");
}

#[tokio::test]
async fn who_asks_and_never_reads_is_closed() {
    let server = start(testkit::open("memory").await, &[("limits.write_stall_ms", "300")]).await;
    let mut stream = connect(server.addr).await;
    let request = format!("GET /openapi.json HTTP/1.1\r\nHost: {}\r\n\r\n", server.addr);
    stream.write_all(request.repeat(100).as_bytes()).await.unwrap();
    is_reset(&stream, "a client that asks and never reads").await;
}

#[tokio::test]
async fn who_reads_slowly_but_reads_gets_all_of_it() {
    let server = start(testkit::open("memory").await, &[("limits.write_stall_ms", "400")]).await;
    let mut stream = connect(server.addr).await;
    let ask = |end| {
        format!("GET /openapi.json HTTP/1.1\r\nHost: {}\r\nConnection: {end}\r\n\r\n", server.addr)
    };
    let asks = ask("keep-alive").repeat(4) + &ask("close");
    stream.write_all(asks.as_bytes()).await.unwrap();
    let (mut all, mut space) = (Vec::new(), vec![0; 16 * 1024]);
    loop {
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut space)).await.unwrap().unwrap();
        if read == 0 {
            break;
        }
        all.extend_from_slice(&space[..read]);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let all = String::from_utf8(all).unwrap();
    assert_eq!(all.matches("HTTP/1.1 200 OK").count(), 5);
    let (_, last) = all.rsplit_once("HTTP/1.1 200 OK").unwrap();
    let (head, body) = last.split_once("\r\n\r\n").unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    assert_eq!(body.len().to_string(), length, "the last answer is whole");
}

#[tokio::test]
async fn who_pings_and_never_reads_is_closed() {
    let server = start(testkit::open("memory").await, &[("limits.write_stall_ms", "300")]).await;
    let ping = [&[0x89, 0xFD, 0, 0, 0, 0][..], &[b'?'; 125]].concat();
    for path in ["/ws/events", "/ws/rooms"] {
        flooded(upgrade(&server, path).await, &ping, path).await;
    }
}

#[tokio::test]
async fn who_speaks_and_never_reads_is_closed() {
    let server = start(testkit::open("memory").await, &[("limits.write_stall_ms", "300")]).await;
    let words = br#"{"type":"nonsense"}"#;
    let frame = [&[0x81, 0x93, 0, 0, 0, 0][..], words].concat();
    assert_eq!(words.len() | 0x80, 0x93, "the length of the frame");
    for path in SOCKETS {
        flooded(upgrade(&server, path).await, &frame, path).await;
    }
}

/// Sends the frame again and again and reads nothing, until the other end has closed.
async fn flooded(mut stream: TcpStream, frame: &[u8], path: &str) {
    let many = frame.repeat(100);
    let flood = async {
        while stream.write_all(&many).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let closed = tokio::time::timeout(PATIENCE, flood).await;
    assert!(closed.is_ok(), "{path}: a client that sends and never reads was not closed");
}
