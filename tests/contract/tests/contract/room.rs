//! At the limit of connections: which one makes room for another, whatever the others wait for.

use std::{net::SocketAddr, time::Duration};

use plimsoll_contract::{
    client::{Client, read_all, within},
    secure::Site,
    server::Server,
};
use plimsoll_http::WireConfig;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::Instant,
};

use crate::{
    slow::{head, many_unknown, small_reader},
    world::{BY_NAME, BY_NAME_FILTERED, server},
};

const LIMIT: usize = 200;

/// Strangers keep their places for 10 s and more, if nobody takes these away. A request takes less than a second on a
/// machine of its own; here, other tests have the processors as well.
const PROMPT: Duration = Duration::from_secs(5);

/// A few at the limit, and no more.
async fn full(max_connections: usize) -> Server {
    server(WireConfig { max_connections, ..WireConfig::default() }).await
}

/// Sends a request over a new connection, and returns the time that it took.
#[expect(clippy::disallowed_methods, reason = "how long a request waits for room is what is tested")]
async fn ask(address: SocketAddr) -> Duration {
    let began = Instant::now();
    let mut client = Client::connect(address).await.unwrap();
    assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
    began.elapsed()
}

async fn is_answered_promptly(address: SocketAddr) {
    let took = ask(address).await;
    assert!(took < PROMPT, "{took:?}");
}

/// A scheduler's connection, which has been used and is idle.
async fn scheduler(address: SocketAddr) -> Client {
    let mut client = Client::connect(address).await.unwrap();
    assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
    client
}

/// Connections that send these bytes, and no more.
async fn send_each(address: SocketAddr, many: usize, bytes: &[u8]) -> Vec<TcpStream> {
    let mut all = Vec::new();
    for _ in 0..many {
        let mut stream = within("connecting", TcpStream::connect(address)).await.unwrap().unwrap();
        // The server may have closed it already.
        drop(stream.write_all(bytes).await);
        all.push(stream);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_that_never_end_hold_up_no_request_and_close_no_schedulers_connection() {
    let half = "POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Le";
    for bytes in ["", "P", half, "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03"] {
        let server = full(LIMIT).await;
        let mut scheduler = scheduler(server.address).await;
        let strangers = send_each(server.address, LIMIT + 10, bytes.as_bytes()).await;
        is_answered_promptly(server.address).await;
        assert!(scheduler.is_open().await, "{bytes:?}");
        assert_eq!(scheduler.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
        drop(strangers);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_head_after_a_whole_request_is_no_better() {
    let server = full(20).await;
    let mut scheduler = scheduler(server.address).await;
    let whole = head(BY_NAME.len()) + BY_NAME;
    let mut strangers = Vec::new();
    for _ in 0..30 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(whole.as_bytes()).await.unwrap();
        let mut reply = [0; 1];
        within("the reply", stream.read_exact(&mut reply)).await.unwrap().unwrap();
        stream.write_all(b"POST /filter HTTP/1.1\r\n").await.unwrap();
        // The last half heads may still be on their way to the server; those before them make room.
        strangers.push(stream);
    }
    is_answered_promptly(server.address).await;
    assert!(scheduler.is_open().await);
    assert_eq!(scheduler.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
    drop(strangers);
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "how long a request waits for room is what is tested")]
async fn handshakes_that_never_end_hold_up_no_request() {
    let site = Site::new().unwrap();
    let (tls, _) = site.load().unwrap();
    let server = server(WireConfig { tls: Some(tls), max_connections: 20, ..WireConfig::default() }).await;
    // The head of a record that is longer than what follows.
    let strangers = send_each(server.address, 30, b"\x16\x03\x01\x02\x00\x01").await;
    let began = Instant::now();
    let mut client = Client::connect_tls(server.address, site.client().unwrap()).await.unwrap();
    assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
    assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
    drop(strangers);
}

/// An h2 connection that has made one request, and answers nothing from then on.
async fn deaf_h2(address: SocketAddr) -> TcpStream {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    // `:method: POST`, `:scheme: http` and `:path: /` of the static table: there is no such call.
    const HEADERS: [u8; 12] = [0, 0, 3, 1, 5, 0, 0, 0, 1, 0x83, 0x86, 0x84];
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    stream.write_all(&[&SETTINGS[..], &HEADERS].concat()).await.unwrap();
    let (mut reply, mut some) = (Vec::new(), [0; 4096]);
    while !reply.windows(9).any(|text| text == b"plimsoll ") {
        let length = within("a reply", stream.read(&mut some)).await.unwrap().unwrap();
        assert!(length > 0, "{}", String::from_utf8_lossy(&reply));
        reply.extend_from_slice(&some[..length]);
    }
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_h2_peer_that_answers_no_ping_makes_room_all_the_same() {
    let server = full(2).await;
    let mut strangers = [deaf_h2(server.address).await, deaf_h2(server.address).await];
    is_answered_promptly(server.address).await;
    // One was closed, and no more than one.
    let mut rest = Vec::new();
    within("the end", strangers[0].read_to_end(&mut rest)).await.unwrap().unwrap();
    strangers[1].write_all(&[0, 0, 8, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await.unwrap();
    let length = within("an answer to a PING", strangers[1].read(&mut [0; 64])).await.unwrap().unwrap();
    assert!(length > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_take_nothing_make_room_before_an_idle_scheduler() {
    let server = full(4).await;
    let mut scheduler = scheduler(server.address).await;
    let body = many_unknown();
    let mut strangers = Vec::new();
    for _ in 0..3 {
        let mut stream = small_reader(server.address).await;
        stream.write_all((head(body.len()) + &body).as_bytes()).await.unwrap();
        let mut first = [0; 1];
        within("the reply to begin", stream.read_exact(&mut first)).await.unwrap().unwrap();
        strangers.push(stream);
    }
    #[expect(clippy::disallowed_methods, reason = "nothing is read for longer than a second")]
    tokio::time::sleep(Duration::from_millis(1100)).await;
    is_answered_promptly(server.address).await;
    assert!(scheduler.is_open().await);
    assert_eq!(scheduler.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_idle_connections_one_of_the_peer_that_has_the_most_makes_room() {
    let server = full(10).await;
    // It is the one that was idle for longest.
    let mut scheduler = scheduler(server.address).await;
    let mut strangers = Vec::new();
    for _ in 0..30 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        let mut stream = within("connecting", socket.connect(server.address)).await.unwrap().unwrap();
        stream.write_all((head(BY_NAME.len()) + BY_NAME).as_bytes()).await.unwrap();
        let length = within("the reply", stream.read(&mut [0; 4096])).await.unwrap().unwrap();
        assert!(length > 0);
        strangers.push(stream);
    }
    is_answered_promptly(server.address).await;
    assert!(scheduler.is_open().await);
    assert_eq!(scheduler.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
    assert!(read_all(&mut strangers[0]).await.unwrap().is_empty());
}
