//! Heads, bodies and readers that take their time; and how much of it all there may be at once.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use plimsoll_contract::{
    client::{Client, exchange, read_all, within},
    rules::{Gate, member},
};
use plimsoll_http::WireConfig;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    task::JoinSet,
    time::Instant,
};

use crate::{
    connections::header_timeout,
    world::{BY_NAME, BY_NAME_FILTERED, server, server_with},
};

const SHORT: Duration = Duration::from_millis(200);

/// More than the buffers of a connection hold: the reply of a filter that knows none of these nodes.
pub(crate) fn many_unknown() -> String {
    let names: Vec<String> = (0..90_000).map(|number| format!("\"{:-<100}{number}\"", "node")).collect();
    format!(r#"{{"Pod":{{}},"NodeNames":[{}]}}"#, names.join(","))
}

pub(crate) fn head(length: usize) -> String {
    format!("POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
}

/// A connection whose buffer for what it receives is small.
pub(crate) async fn small_reader(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 << 10).unwrap();
    within("connecting", socket.connect(address)).await.unwrap().unwrap()
}

/// Reads one reply to its end, with a pause in the middle.
async fn read_slowly(stream: &mut TcpStream, pause: impl Future<Output = ()>) -> Vec<u8> {
    let mut reply = vec![0; 1 << 20];
    within("the first part", stream.read_exact(&mut reply)).await.unwrap().unwrap();
    pause.await;
    let text = String::from_utf8_lossy(&reply[..400]).to_ascii_lowercase();
    let length = text.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap().parse::<usize>().unwrap();
    let body = text.find("\r\n\r\n").unwrap() + 4;
    let mut rest = vec![0; body + length - reply.len()];
    within("the rest", stream.read_exact(&mut rest)).await.unwrap().unwrap();
    reply.extend(rest);
    reply
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_stays_open_when_idle_though_a_body_came_apart_from_its_head() {
    let server = server(WireConfig { header_timeout: SHORT, ..WireConfig::default() }).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut reply = vec![0; 4096];
    for _ in 0..3 {
        stream.write_all(head(BY_NAME.len()).as_bytes()).await.unwrap();
        #[expect(
            clippy::disallowed_methods,
            reason = "the body comes later than its head, by less than the time for heads"
        )]
        tokio::time::sleep(SHORT / 4).await;
        stream.write_all(BY_NAME.as_bytes()).await.unwrap();
        let length = within("the reply", stream.read(&mut reply)).await.unwrap().unwrap();
        let text = String::from_utf8_lossy(&reply[..length]).into_owned();
        assert!(text.ends_with(BY_NAME_FILTERED), "{text}");
        // Twice as long as a head may take: the connection is idle, and may be so for two minutes.
        header_timeout(server.address).await;
        header_timeout(server.address).await;
    }
    // The head of the next request has a deadline all the same.
    stream.write_all(b"POST /filter HTTP/1.1\r\n").await.unwrap();
    assert!(read_all(&mut stream).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_complete_though_body_and_reader_take_longer_than_a_head_may() {
    let config = WireConfig { header_timeout: SHORT, keep_alive: SHORT, ..WireConfig::default() };
    let server = server(config).await;
    let (body, address) = (many_unknown(), server.address);
    let mut stream = small_reader(address).await;
    stream.write_all(head(body.len()).as_bytes()).await.unwrap();
    let (first, second) = body.split_at(body.len() / 2);
    stream.write_all(first.as_bytes()).await.unwrap();
    header_timeout(address).await;
    stream.write_all(second.as_bytes()).await.unwrap();
    let pause = async {
        header_timeout(address).await;
        header_timeout(address).await;
    };
    let reply = read_slowly(&mut stream, pause).await;
    assert!(reply.ends_with(br#""Error":""}"#), "{}", String::from_utf8_lossy(&reply[reply.len() - 100..]));
    // Once the reply is out, the connection is idle, and is closed.
    assert!(read_all(&mut stream).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_takes_nothing_is_cut_off() {
    let server = server(WireConfig { body_timeout: SHORT, ..WireConfig::default() }).await;
    let body = many_unknown();
    let mut stream = small_reader(server.address).await;
    stream.write_all((head(body.len()) + &body).as_bytes()).await.unwrap();
    let mut first = [0; 1];
    within("the reply to begin", stream.read_exact(&mut first)).await.unwrap().unwrap();
    #[expect(clippy::disallowed_methods, reason = "nothing is read for longer than the time for a reply")]
    tokio::time::sleep(SHORT * 3).await;
    let rest = read_all(&mut stream).await.unwrap();
    assert!(rest.len() < body.len(), "{} bytes", rest.len());
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "it is slow, and must be so for a time")]
async fn a_reader_that_takes_little_at_a_time_is_cut_off_in_the_end() {
    let server = server(WireConfig { reply_timeout: SHORT * 3, ..WireConfig::default() }).await;
    let body = many_unknown();
    let mut stream = small_reader(server.address).await;
    stream.write_all((head(body.len()) + &body).as_bytes()).await.unwrap();
    let (began, mut read) = (Instant::now(), 0);
    let mut some = vec![0; 16 << 10];
    let trickle = async {
        while let Ok(length @ 1..) = stream.read(&mut some).await {
            read += length;
            tokio::time::sleep(SHORT / 10).await;
        }
    };
    within("the end", trickle).await.unwrap();
    assert!(read < body.len() && began.elapsed() >= SHORT * 3, "{read} bytes in {:?}", began.elapsed());
}

/// An h2 connection whose streams have little room each.
async fn h2_with_little_room(address: SocketAddr) -> http2::SendRequest<Full<Bytes>> {
    let stream = within("connecting", TcpStream::connect(address)).await.unwrap().unwrap();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(65_535).initial_connection_window_size(65_535);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn post(address: SocketAddr, body: &str) -> Request<Full<Bytes>> {
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
    Request::post(format!("http://{address}/filter")).body(body).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_over_h2_gets_the_whole_reply_unless_it_takes_nothing() {
    let config = WireConfig {
        header_timeout: SHORT,
        keep_alive: SHORT,
        body_timeout: SHORT * 20,
        reply_timeout: SHORT,
        max_requests: 1,
        ..WireConfig::default()
    };
    let server = server(config).await;
    let (body, address) = (many_unknown(), server.address);
    let mut sender = h2_with_little_room(address).await;
    let reply = within("the head", sender.send_request(post(address, &body))).await.unwrap().unwrap();
    let mut reply = reply.into_body();
    let mut whole = Vec::new();
    header_timeout(address).await;
    while let Some(frame) = within("a frame", reply.frame()).await.unwrap() {
        whole.extend_from_slice(&frame.unwrap().into_data().unwrap_or_default());
        if whole.len() % (1 << 20) < 8 << 10 {
            #[expect(clippy::disallowed_methods, reason = "it reads slowly")]
            tokio::time::sleep(SHORT / 10).await;
        }
    }
    assert!(whole.ends_with(br#""Error":""}"#), "{} bytes", whole.len());

    // It takes nothing now: its reply counts as a request in flight until its time is over.
    let mut sender = h2_with_little_room(address).await;
    let stuck = within("the head", sender.send_request(post(address, &body))).await.unwrap().unwrap();
    let ask = async || Client::connect(address).await?.post("/filter", BY_NAME).await;
    let refused = ask().await.unwrap().error().unwrap();
    assert_eq!(refused, "1 requests are under way already: try again");
    let asking = async { while ask().await.is_ok_and(|reply| reply.text() != BY_NAME_FILTERED) {} };
    within("the stuck reply to be dropped", asking).await.unwrap();
    drop(stuck);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_in_flight_are_bounded_on_all_connections_together() {
    let gate: Arc<Gate> = Arc::default();
    let config = WireConfig { max_requests: 3, ..WireConfig::default() };
    let server = server_with(vec![member("gate", gate.policy())], config).await;
    let address = server.address;
    let h2 = Client::connect_h2(address).await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let mut client = h2.another().unwrap();
        waiting.push(tokio::spawn(async move { client.post("/filter", BY_NAME).await }));
    }
    assert!(gate.reached(3).await);
    for (verb, status) in [("filter", 200), ("prioritize", 503), ("bind", 200)] {
        let mut client = server.client().await.unwrap();
        let reply = client.post(&format!("/{verb}"), BY_NAME).await.unwrap();
        assert_eq!(
            (reply.status, reply.error().unwrap()),
            (status, "3 requests are under way already: try again".to_owned())
        );
    }
    gate.open();
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap().unwrap().error().unwrap(), "");
    }
    assert_eq!(server.client().await.unwrap().post("/filter", BY_NAME).await.unwrap().error().unwrap(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn senders_of_slow_bodies_make_room_before_an_idle_scheduler() {
    let config = WireConfig { max_connections: 4, max_requests: 3, ..WireConfig::default() };
    let server = server(config).await;
    let mut scheduler = server.client().await.unwrap();
    assert_eq!(scheduler.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
    let mut slow = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all((head(BY_NAME.len()) + &BY_NAME[..10]).as_bytes()).await.unwrap();
        slow.push(stream);
    }
    // Neither connections nor requests are left: a slow one is cut.
    for _ in 0..3 {
        let request = head(BY_NAME.len()).replace("Host: localhost", "Host: localhost\r\nConnection: close") + BY_NAME;
        let reply = exchange(server.address, request.as_bytes());
        let reply = within("a reply", reply).await.unwrap().unwrap();
        assert!(reply.ends_with(BY_NAME_FILTERED), "{reply}");
    }
    assert!(scheduler.is_open().await);
    assert_eq!(scheduler.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
    let mut ends = JoinSet::new();
    for mut stream in slow {
        ends.spawn(async move { read_all(&mut stream).await.unwrap() });
    }
    assert_eq!(within("a slow one to be cut", ends.join_next()).await.unwrap().unwrap().unwrap(), b"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_no_cluster_has_is_refused() {
    let server = server(WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    let list = |element: &str, many: usize| vec![element; many].join(",");
    let names = |many| format!(r#"{{"Pod":{{}},"NodeNames":[{}]}}"#, list(r#""a""#, many));
    assert_eq!(client.post("/filter", names(100_000)).await.unwrap().error().unwrap(), "");
    let table = [
        ("filter", 200, names(100_001), "NodeNames: it has more than 100000 elements"),
        ("prioritize", 413, names(100_001), "NodeNames: it has more than 100000 elements"),
        (
            "filter",
            200,
            format!(r#"{{"Pod":{{}},"Nodes":{{"items":[{}]}}}}"#, list("{}", 100_001)),
            "Nodes.items: it has",
        ),
        (
            "preempt",
            413,
            format!(r#"{{"Pod":{{}},"NodeNameToVictims":{{"n":{{"Pods":[{}]}}}}}}"#, list("1", 100_001)),
            r#"NodeNameToVictims["n"].Pods: it has more"#,
        ),
        (
            "preempt",
            413,
            format!(r#"{{"Pod":{{}},"NodeNameToMetaVictims":{{{}}}}}"#, list(r#""n":{}"#, 100_001)),
            "NodeNameToMetaVictims: it has more",
        ),
        ("filter", 200, format!(r#"{{"Pod":{{"x":"{}"}},"NodeNames":[]}}"#, "x".repeat(9 << 20)), "Pod has more than"),
    ];
    for (verb, status, body, expected) in table {
        let reply = client.post(&format!("/{verb}"), body).await.unwrap();
        let error = reply.error().unwrap();
        assert_eq!(reply.status, status, "{verb}: {error}");
        assert!(error.contains(expected), "{verb}: {error}");
    }
    assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_for_what_a_body_becomes_is_reserved_before_it_is_used() {
    let names = format!(r#"{{"Pod":{{}},"NodeNames":[{}]}}"#, vec![r#""a""#; 100_000].join(","));
    // Each would do for the body alone.
    let server = server(WireConfig { memory: 4 << 20, ..WireConfig::default() }).await;
    let mut client = server.client().await.unwrap();
    for (verb, status) in [("filter", 200), ("prioritize", 413)] {
        let reply = client.post(&format!("/{verb}"), names.clone()).await.unwrap();
        let error = reply.error().unwrap();
        assert_eq!(reply.status, status, "{error}");
        assert!(error.contains("raise --wire-memory"), "{error}");
    }
    let mut client = server.client().await.unwrap();
    assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
}
