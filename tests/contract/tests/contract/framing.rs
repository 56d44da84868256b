//! Requests that are mostly framing: they stop nobody, and are cut off.

use std::{
    fmt::Write as _,
    io::{ErrorKind, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use plimsoll_contract::{
    client::{DEADLINE, exchange, within},
    server::Server,
};
use plimsoll_http::WireConfig;
use tokio::task::spawn_blocking;

use crate::world::{BY_NAME, BY_NAME_FILTERED, server};

const CHUNKED: &str = "POST /filter HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

/// More than the server takes of any such request, with the buffers of the system on both sides.
const TOO_MUCH: usize = 64 << 20;

/// Sends a beginning and then the same bytes again and again until the server closes the connection; returns the
/// number of bytes.
fn send_endlessly(address: SocketAddr, begin: &str, again: &[u8]) -> usize {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(begin.as_bytes()).unwrap();
    let mut sent = 0;
    while sent < TOO_MUCH {
        match stream.write(again) {
            Ok(length) => sent += length,
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{error}");
                break;
            }
        }
    }
    sent
}

/// Attacks one connection after another while the other client is served, all on a single thread of the server.
async fn is_cut_while_others_are_served(server: &Server, begin: String, again: Vec<u8>) {
    let (address, done, cut) = (server.address, Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let attack = {
        let (done, cut) = (Arc::clone(&done), Arc::clone(&cut));
        move || {
            while !done.load(Ordering::Relaxed) {
                let sent = send_endlessly(address, &begin, &again);
                assert!(sent < TOO_MUCH, "{begin:?}: the server took {sent} bytes");
                cut.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let attack = spawn_blocking(attack);
    let mut client = server.client().await.unwrap();
    let mut replies = 0;
    let serving = async {
        // Beyond the first attack: it could come after all requests.
        while !attack.is_finished() && (replies < 50 || cut.load(Ordering::Relaxed) < 2) {
            assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
            replies += 1;
        }
    };
    let in_time = within("the other client's requests", serving).await;
    done.store(true, Ordering::Relaxed);
    within("the attack's end", attack).await.unwrap().unwrap();
    in_time.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn endless_framing_is_cut_and_stops_nobody() {
    let server = server(WireConfig::default()).await;
    let table = [
        // The size of a chunk, digits and then the spaces behind them.
        (CHUNKED.to_owned(), "0".repeat(64 << 10)),
        (format!("{CHUNKED}1"), " ".repeat(64 << 10)),
        // Extensions of chunks, and trailers.
        (format!("{CHUNKED}1;"), "x".repeat(64 << 10)),
        (format!("{CHUNKED}0\r\n"), "x: y\r\n".repeat(10 << 10)),
        // Chunks of one byte.
        (CHUNKED.to_owned(), "1\r\n \r\n".repeat(10 << 10)),
        // A path that does not exist: the body is discarded.
        (CHUNKED.replace("filter", "nothing"), "0".repeat(64 << 10)),
    ];
    for (begin, again) in table {
        is_cut_while_others_are_served(&server, begin, again.into_bytes()).await;
    }
}

/// A body as a chunked request, without another one after it.
fn in_chunks(body: &str, length: usize) -> String {
    let mut request = CHUNKED.replace("Host", "Connection: close\r\nHost");
    for chunk in body.as_bytes().chunks(length) {
        let chunk = str::from_utf8(chunk).unwrap();
        write!(request, "{:x}\r\n{chunk}\r\n", chunk.len()).unwrap();
    }
    request + "0\r\n\r\n"
}

#[tokio::test(flavor = "multi_thread")]
async fn small_chunks_are_read_and_large_bodies_in_larger_ones() {
    let server = server(WireConfig::default()).await;
    let large = BY_NAME.replacen('{', &format!("{{{}", " ".repeat(20 << 20)), 1);
    for (body, length) in [(BY_NAME, 1), (&large, 48), (&large, 64 << 10)] {
        let request = in_chunks(body, length);
        let reply = within("a reply", exchange(server.address, request.as_bytes())).await.unwrap().unwrap();
        assert!(reply.ends_with(BY_NAME_FILTERED), "chunks of {length}: {reply}");
    }
}
