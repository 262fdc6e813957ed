//! A socket of ours against tungstenite's client, over a real connection with little room.

use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::*;

const MOST: usize = 64 * 1024;

/// The other end.
pub(crate) type Client = WebSocketStream<TcpStream>;

/// Both ends; the client's has little room, so that a long text does not go in at once.
pub(crate) async fn pair() -> (Socket, Client) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 * 1024).unwrap();
    let connecting = socket.connect(listener.local_addr().unwrap());
    let (client, accepted) = tokio::join!(connecting, listener.accept());
    let stream = PeerStream::new(accepted.unwrap().0, Duration::from_secs(10));
    let server = Socket::new(stream, Vec::new(), MOST).await;
    (server, WebSocketStream::from_raw_socket(client.unwrap(), Role::Client, None).await)
}

pub(crate) async fn hear(client: &mut Client) -> Message {
    let next = tokio::time::timeout(Duration::from_secs(10), client.next());
    next.await.expect("a message in time").expect("an open socket").expect("whole frames")
}

/// Puts a text that is cut into pieces of such a length.
async fn put(server: &Socket, text: &str, piece: usize) -> bool {
    let head = FrameHeader::text(text.len());
    let mut pieces = vec![IoSlice::new(&head)];
    pieces.extend(text.as_bytes().chunks(piece).map(IoSlice::new));
    server.put(&mut pieces).await.unwrap()
}

/// Reads on the server's side until something comes that is told; pings are answered meanwhile.
async fn listen(server: &Socket) -> Option<Result<Message, Error>> {
    loop {
        match server.message().await {
            Some(Ok(Message::Ping(_))) => {}
            other => return other,
        }
    }
}

#[tokio::test]
async fn texts_of_every_length_are_whole_frames() {
    let (server, mut client) = pair().await;
    for len in [0, 1, 125, 126, 127, 65_535, 65_536, 300_000] {
        let text = "x".repeat(len);
        let sending = async { server.send(&[text.as_str(), "and"]).await.unwrap() };
        let ((), first) = tokio::join!(sending, hear(&mut client));
        assert_eq!(first.into_text().unwrap().len(), len);
        assert_eq!(hear(&mut client).await, Message::text("and"));
    }
    server.send::<&str>(&[]).await.unwrap();
}

#[tokio::test]
async fn more_pieces_than_one_call_takes_arrive_in_order() {
    let (server, mut client) = pair().await;
    let text: String =
        (0..5_000).map(|n| char::from(b'a' + u8::try_from(n % 26).unwrap())).collect();
    assert!(put(&server, &text, 3).await);
    let (flushed, heard) = tokio::join!(server.flush(), hear(&mut client));
    flushed.unwrap();
    assert_eq!(heard, Message::text(text));
}

#[tokio::test]
async fn what_did_not_go_in_goes_first_and_pongs_never_stand_inside_it() {
    let (server, mut client) = pair().await;
    // More than both systems' buffers hold.
    let long = "long".repeat(2_000_000);
    assert!(put(&server, &long, 1_000).await);
    assert!(server.inner.lock().web.get_ref().rest.len() > 100_000, "it did not go in");
    assert!(!put(&server, "another", 3).await, "nothing may overtake");
    client.send(Message::Ping("one".into())).await.unwrap();
    client.send(Message::text("hello")).await.unwrap();
    assert_eq!(listen(&server).await.unwrap().unwrap(), Message::text("hello"));
    assert!(!put(&server, "another", 3).await, "nothing may overtake the pong either");
    let (sent, heard) = tokio::join!(server.send(&["more", "and more"]), async {
        let mut heard = Vec::new();
        for _ in 0..4 {
            heard.push(hear(&mut client).await);
        }
        heard
    });
    sent.unwrap();
    let short = [Message::Pong("one".into()), Message::text("more"), Message::text("and more")];
    assert_eq!(heard[0].clone().into_text().unwrap().as_str(), long);
    assert_eq!(heard[1..], short);
    assert_eq!(server.inner.lock().web.get_ref().rest.capacity(), 0, "its room is given back");
    assert!(put(&server, "another", 3).await);
    assert_eq!(hear(&mut client).await, Message::text("another"));
}

#[tokio::test]
async fn somebody_who_pings_and_never_reads_costs_little() {
    let (server, mut client) = pair().await;
    assert!(put(&server, &"x".repeat(8_000_000), 8_000_000).await);
    let ping = Message::Ping(vec![b'?'; 125].into());
    let flood = async {
        for _ in 0..10_000 {
            client.feed(ping.clone()).await.unwrap();
        }
        client.send(Message::text("done")).await.unwrap();
    };
    let (heard, ()) = tokio::join!(listen(&server), flood);
    assert_eq!(heard.unwrap().unwrap(), Message::text("done"));
    // Of ten thousand answers as many wait as there is room for, and the last.
    let (flushed, pongs) = tokio::join!(server.flush(), async {
        assert!(hear(&mut client).await.is_text());
        let (mut pongs, quiet) = (0, Duration::from_millis(200));
        while let Ok(Some(Ok(Message::Pong(_)))) = tokio::time::timeout(quiet, client.next()).await
        {
            pongs += 1;
        }
        pongs
    });
    flushed.unwrap();
    assert!((1..50).contains(&pongs), "{pongs} answers");
}

#[tokio::test]
async fn a_goodbye_comes_after_what_is_on_its_way_and_nothing_follows_it() {
    let (server, mut client) = pair().await;
    let long = "long".repeat(2_000_000);
    assert!(put(&server, &long, 1_000).await);
    let closing = server.close(End(4008, "a minute of silence"));
    let (closed, heard) = tokio::join!(closing, hear(&mut client));
    closed.unwrap();
    assert_eq!(heard.into_text().unwrap().len(), long.len());
    let Message::Close(Some(frame)) = hear(&mut client).await else { panic!("no goodbye") };
    assert_eq!((frame.code, frame.reason.as_str()), (CloseCode::from(4008), "a minute of silence"));
    assert!(server.send(&["after it"]).await.is_err());
}

#[tokio::test]
async fn after_the_others_goodbye_no_text_is_sent() {
    let (server, mut client) = pair().await;
    client.send(Message::Close(None)).await.unwrap();
    assert!(matches!(listen(&server).await, Some(Ok(Message::Close(None)))));
    assert!(server.send(&["after it"]).await.is_err());
    server.close(End::gone()).await.unwrap();
    assert!(matches!(hear(&mut client).await, Message::Close(_)));
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_an_error_however_it_is_cut() {
    use tokio_tungstenite::tungstenite::protocol::frame::Frame;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
    for parts in [1, 3] {
        let (server, mut client) = pair().await;
        let flood = async {
            for part in 0..parts {
                let opcode = if part == 0 { Data::Text } else { Data::Continue };
                let bytes = vec![b'x'; (MOST + 3) / parts];
                let frame = Frame::message(bytes, OpCode::Data(opcode), part + 1 == parts);
                client.send(Message::Frame(frame)).await.unwrap();
            }
        };
        let (heard, ()) = tokio::join!(listen(&server), flood);
        assert!(matches!(heard, Some(Err(Error::Capacity(_)))), "{parts}: {heard:?}");
    }
    // In fragments, one that fits is one message.
    let (server, mut client) = pair().await;
    for (opcode, last) in [(Data::Text, false), (Data::Continue, false), (Data::Continue, true)] {
        let frame = Frame::message("ab", OpCode::Data(opcode), last);
        client.send(Message::Frame(frame)).await.unwrap();
        client.send(Message::Ping("between".into())).await.unwrap();
    }
    assert_eq!(listen(&server).await.unwrap().unwrap(), Message::text("ababab"));
}

#[tokio::test]
async fn texts_that_do_not_wait_go_at_once_or_not_at_all() {
    let (server, mut client) = pair().await;
    assert_eq!(server.try_send(&["one"]), Sent::All);
    assert_eq!(server.try_send(&["two", ""]), Sent::All);
    for text in ["one", "two", ""] {
        assert_eq!(hear(&mut client).await, Message::text(text));
    }
    // An answer to a ping may be on its way.
    client.send(Message::Ping("?".into())).await.unwrap();
    assert!(server.message().await.unwrap().unwrap().is_ping());
    assert_eq!(server.try_send(&["three"]), Sent::Nothing);
    server.flush().await.unwrap();
    let long = "long".repeat(2_000_000);
    assert_eq!(server.try_send(&[long.as_str()]), Sent::Part);
    assert_eq!(server.try_send(&["not inside of it"]), Sent::Nothing);
    assert!(hear(&mut client).await.is_pong());
    let (flushed, heard) = tokio::join!(server.flush(), hear(&mut client));
    flushed.unwrap();
    assert_eq!(heard.into_text().unwrap().len(), long.len());
    assert_eq!(server.try_send(&["after it"]), Sent::All);
    server.ping().await.unwrap();
    assert_eq!(hear(&mut client).await, Message::text("after it"));
    assert!(hear(&mut client).await.is_ping());
    server.close(End::gone()).await.unwrap();
    assert_eq!(server.try_send(&["after the end"]), Sent::Nothing);
}
