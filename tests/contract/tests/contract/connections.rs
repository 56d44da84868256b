//! Connections: many, slow, left, reused, and drained.

use std::{net::SocketAddr, process::Command, sync::Arc, time::Duration};

use plimsoll_contract::{
    check,
    client::{Client, exchange, read_all, within},
    rules::{Gate, member, ssd},
    server::{Server, gateway},
};
use plimsoll_core::{Group, Roster};
use plimsoll_http::WireConfig;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use crate::world::{BY_NAME, BY_NAME_FILTERED, cluster, server, server_with};

const SHORT: Duration = Duration::from_millis(200);

/// One request as it stands on the wire.
fn raw(length: usize, body: &str) -> String {
    format!("POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{body}")
}

async fn serves(address: SocketAddr) {
    let mut client = Client::connect(address).await.unwrap();
    assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_over_the_limit_waits_until_another_ends() {
    let server = server(WireConfig { max_connections: 1, ..WireConfig::default() }).await;
    let mut first = server.client().await.unwrap();
    assert_eq!(first.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
    let address = server.address;
    let second = tokio::spawn(async move { Client::connect(address).await?.post("/filter", BY_NAME).await });
    assert_eq!(first.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
    assert!(!second.is_finished());
    drop(first);
    assert_eq!(second.await.unwrap().unwrap().text(), BY_NAME_FILTERED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_body_is_cut_while_others_are_served() {
    let server = server(WireConfig { body_timeout: SHORT, ..WireConfig::default() }).await;
    let mut slow = TcpStream::connect(server.address).await.unwrap();
    slow.write_all(raw(BY_NAME.len(), &BY_NAME[..10]).as_bytes()).await.unwrap();
    serves(server.address).await;
    let reply = String::from_utf8(read_all(&mut slow).await.unwrap()).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.contains("connection: close"), "{reply}");
    assert!(reply.contains(r#""Error":"the request did not arrive within 0.2 s""#), "{reply}");
    let prioritize = raw(9, "{").replace("/filter", "/prioritize");
    let reply = exchange(server.address, prioritize.as_bytes()).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 408 "), "{reply}");
    assert!(reply.ends_with(r#"{"Error":"the request did not arrive within 0.2 s"}"#), "{reply}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_reused_and_pipelined() {
    let server = server(WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    for _ in 0..100 {
        assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
    }
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let last = raw(BY_NAME.len(), BY_NAME).replace("Host: localhost", "Host: localhost\r\nConnection: close");
    let three = raw(BY_NAME.len(), BY_NAME).repeat(2) + &last;
    stream.write_all(three.as_bytes()).await.unwrap();
    let replies = String::from_utf8(read_all(&mut stream).await.unwrap()).unwrap();
    assert_eq!(replies.matches(BY_NAME_FILTERED).count(), 3, "{replies}");
}

#[tokio::test(flavor = "multi_thread")]
async fn h2_requests_share_one_connection() {
    let gate: Arc<Gate> = Arc::default();
    let server = server_with(vec![member("gate", gate.policy())], WireConfig::default()).await;
    let mut client = Client::connect_h2(server.address).await.unwrap();
    let mut other = client.another().unwrap();
    let waiting = tokio::spawn(async move { other.post("/filter", BY_NAME).await });
    assert!(gate.reached(1).await);
    assert_eq!(client.post("/prioritize", r#"{"Pod":{},"NodeNames":[]}"#).await.unwrap().text(), "[]");
    gate.open();
    assert_eq!(waiting.await.unwrap().unwrap().status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_the_limit_is_refused_with_a_way_out() {
    let server = server(WireConfig { body_limit: 1024, ..WireConfig::default() }).await;
    let mut client = server.client().await.unwrap();
    let at_limit = format!("{BY_NAME:<1024}");
    assert_eq!(client.post("/filter", at_limit).await.unwrap().text(), BY_NAME_FILTERED);
    for (verb, status) in [("filter", 200), ("prioritize", 413), ("preempt", 413), ("bind", 200)] {
        let reply = client.post(&format!("/{verb}"), " ".repeat(1025)).await.unwrap();
        assert_eq!(reply.status, status);
        let error = check::refusal(verb, &reply).unwrap();
        assert_eq!(error, "the request is larger than 1024 bytes: raise --body-limit, or set nodeCacheCapable: true");
    }
    // All of it was read and thrown away, so the connection goes on.
    assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_far_over_the_limit_closes_the_connection() {
    let server = server(WireConfig { body_limit: 1024, ..WireConfig::default() }).await;
    let head = "POST /filter HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(format!("1000\r\n{}\r\n", " ".repeat(4096)).as_bytes()).await.unwrap();
    let mut reply = vec![0; 4096];
    let length = within("the reply", stream.read(&mut reply)).await.unwrap().unwrap();
    let reply = String::from_utf8_lossy(&reply[..length]);
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.contains("connection: close"), "{reply}");
    assert!(reply.contains("larger than 1024 bytes"), "{reply}");
    serves(server.address).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_breaks_off_harms_nobody() {
    let server = server(WireConfig::default()).await;
    for body in ["", "{", BY_NAME] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(raw(body.len() + 1, body).as_bytes()).await.unwrap();
        drop(stream);
    }
    for garbage in ["\x16\x03\x01\x02\x00\x01\x00", "GET\r\n\r\n", "\r\n\r\n\r\n", "POST /filter HTTP/9.9\r\n\r\n"] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(garbage.as_bytes()).await.unwrap();
        drop(stream);
    }
    serves(server.address).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_does_not_keep_its_turn() {
    let gate: Arc<Gate> = Arc::default();
    let config = WireConfig { max_decisions: 1, ..WireConfig::default() };
    let server = server_with(vec![member("gate", gate.policy())], config).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(raw(BY_NAME.len(), BY_NAME).as_bytes()).await.unwrap();
    assert!(gate.reached(1).await);
    drop(stream);
    gate.open();
    let mut client = server.client().await.unwrap();
    assert_eq!(client.post("/filter", BY_NAME).await.unwrap().error().unwrap(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_policy_of_one_group_does_not_hold_up_another_group() {
    let gate: Arc<Gate> = Arc::default();
    let groups =
        [("slow", Group::new(vec![member("gate", gate.policy())])), ("", Group::new(vec![member("ssd", ssd())]))];
    let roster = Roster::new(groups.map(|(name, group)| (name.into(), group)).into(), vec![]);
    let config = WireConfig { max_decisions: 1, ..WireConfig::default() };
    let gateway = gateway(roster);
    gateway.set_cluster(cluster());
    let server = Server::start(gateway, config).await.unwrap();
    let address = server.address;
    let slow = || async move { Client::connect(address).await?.post("/slow/filter", BY_NAME).await };
    let slow = [tokio::spawn(slow()), tokio::spawn(slow())];
    assert!(gate.reached(1).await);
    let mut client = server.client().await.unwrap();
    assert_eq!(client.post("/filter", BY_NAME).await.unwrap().error().unwrap(), "");
    gate.open();
    for slow in slow {
        assert_eq!(slow.await.unwrap().unwrap().error().unwrap(), "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_flight_is_finished_before_the_server_stops() {
    let gate: Arc<Gate> = Arc::default();
    let server = server_with(vec![member("gate", gate.policy())], WireConfig::default()).await;
    let address = server.address;
    let (mut idle, silent) = (server.client().await.unwrap(), TcpStream::connect(address).await.unwrap());
    idle.post("/prioritize", r#"{"Pod":{},"NodeNames":[]}"#).await.unwrap();
    let mut client = server.client().await.unwrap();
    let waiting = tokio::spawn(async move { client.post("/filter", BY_NAME).await });
    assert!(gate.reached(1).await);
    let stopping = server.stop();
    // Once the idle connection is closed, the server is draining: it accepts no more.
    within("closing idle connections", async { while idle.is_open().await {} }).await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
    assert!(!stopping.is_finished());
    gate.open();
    assert_eq!(waiting.await.unwrap().unwrap().error().unwrap(), "");
    within("stopping", stopping).await.unwrap().unwrap().unwrap();
    drop(silent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_on_its_way_at_the_stop_is_answered_and_then_its_connection_ends() {
    let server = server(WireConfig::default()).await;
    let address = server.address;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = raw(BY_NAME.len(), BY_NAME);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut first = vec![0; 1 << 16];
    let bytes = stream.read(&mut first).await.unwrap();
    assert!(!String::from_utf8_lossy(&first[..bytes]).contains("connection: close"));
    let stopping = server.stop();
    within("closing the listener", async { while TcpStream::connect(address).await.is_ok() {} }).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let reply = String::from_utf8(read_all(&mut stream).await.unwrap()).unwrap();
    assert!(reply.contains("connection: close\r\n") && reply.ends_with(BY_NAME_FILTERED), "{reply}");
    within("stopping", stopping).await.unwrap().unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_outlasts_the_drain_is_cut_off() {
    let gate: Arc<Gate> = Arc::default();
    let config = WireConfig { drain: SHORT, ..WireConfig::default() };
    let server = server_with(vec![member("gate", gate.policy())], config).await;
    let mut client = server.client().await.unwrap();
    let waiting = tokio::spawn(async move { client.post("/filter", BY_NAME).await });
    assert!(gate.reached(1).await);
    server.stopped().await.unwrap();
    assert!(waiting.await.unwrap().is_err());
    gate.open();
}

/// The variable that tells the test below that it is the process with few file descriptors.
const STARVED: &str = "PLIMSOLL_TEST_STARVED";

#[tokio::test(flavor = "multi_thread")]
async fn running_out_of_file_descriptors_passes() {
    if std::env::var_os(STARVED).is_none() {
        let name = "connections::running_out_of_file_descriptors_passes";
        let script = format!("ulimit -n 64 && exec \"$0\" --exact {name}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(std::env::current_exe().unwrap()).env(STARVED, "1");
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let server = server(WireConfig::default()).await;
    let mut left = Vec::new();
    while let Ok(Ok(stream)) = within("connecting", TcpStream::connect(server.address)).await {
        left.push(stream);
    }
    assert!(left.len() > 10, "{} connections", left.len());
    left.truncate(left.len() / 2);
    serves(server.address).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_are_bounded_all_together() {
    const LARGE: usize = 1 << 20;
    let server = server(WireConfig { body_limit: LARGE, memory: 4 * LARGE, ..WireConfig::default() }).await;
    let address = server.address;
    let mut senders = JoinSet::new();
    // None of them ends, and four have room: at least one is refused.
    for _ in 0..8 {
        senders.spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let unfinished = raw(LARGE, &" ".repeat(LARGE - 1));
            // The server may refuse, and close, before all is sent.
            drop(stream.write_all(unfinished.as_bytes()).await);
            String::from_utf8(read_all(&mut stream).await.unwrap()).unwrap()
        });
    }
    let refused = within("a refusal", senders.join_next()).await.unwrap().unwrap().unwrap();
    assert!(refused.is_empty() || refused.contains("too many large requests are under way"), "{refused}");
    senders.shutdown().await;
    // The bodies that are left are forgotten, soon.
    let serving = async {
        let post = async || Client::connect(address).await.unwrap().post("/filter", BY_NAME).await.unwrap();
        while post().await.text() != BY_NAME_FILTERED {}
    };
    within("being served", serving).await.unwrap();
}
