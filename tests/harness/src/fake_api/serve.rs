//! The HTTP side: a listener that can go away, and one thread for each connection.

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, PoisonError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    Mood, Shared, State,
    objects::{Reply, Resource, refusal},
};

/// How often a watch without events gets a bookmark.
const BOOKMARK: Duration = Duration::from_secs(5);

/// A request as far as it is read.
struct Request {
    method: String,
    path: String,
    query: String,
    body: Value,
}

/// Accepts connections, but while connections are to be refused.
pub(super) fn listen(shared: &Arc<Shared>, listener: TcpListener, address: SocketAddr) {
    let mut listener = Some(listener);
    loop {
        let accepted = listener.as_ref().and_then(|listener| listener.accept().ok());
        let mut state = shared.lock();
        match state.mood {
            Mood::Ended => return,
            Mood::Away => {
                drop(accepted);
                listener = None;
                while state.mood == Mood::Away {
                    state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
            _ if listener.is_none() => {
                drop(state);
                // Somebody may have been given the port meanwhile; then it is tried again.
                listener = TcpListener::bind(address).ok();
                if listener.is_none() {
                    #[expect(clippy::disallowed_methods, reason = "nothing says when a port is free again")]
                    thread::sleep(Duration::from_millis(50));
                }
            }
            _ => {
                let Some((stream, _)) = accepted else { continue };
                let Ok(registered) = stream.try_clone() else { continue };
                state.accepted += 1;
                let number = state.accepted;
                state.connections.insert(number, registered);
                drop(state);
                let shared = Arc::clone(shared);
                thread::spawn(move || {
                    // A client that breaks off is its own affair.
                    let _ = converse(&shared, &stream);
                    shared.lock().connections.remove(&number);
                });
            }
        }
    }
}

fn converse(shared: &Shared, stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    while let Some(request) = read(&mut reader)? {
        let resource = match request.path.as_str() {
            "/api/v1/nodes" => Some(Resource::Nodes),
            "/api/v1/pods" => Some(Resource::Pods),
            _ => None,
        };
        let mut state = shared.lock();
        state.requests += 1;
        let reply = match (state.mood, resource) {
            (Mood::Well, Some(resource)) if request.parameter("watch") == Some("true") => {
                drop(state);
                return watch(shared, resource, &request, writer);
            }
            (Mood::Well, Some(resource)) => {
                let limit = request.parameter("limit").and_then(|limit| limit.parse().ok());
                Some((200, state.objects.page(resource, limit, request.parameter("continue").unwrap_or_default())))
            }
            (Mood::Well, None) => answer(&mut state, &request),
            (Mood::Failing(status), _) => Some(refusal(status, "the test wants it so")),
            (Mood::Away | Mood::Ended, _) => None,
        };
        drop(state);
        shared.changed.notify_all();
        let Some((status, body)) = reply else { return Ok(()) };
        let body = body.to_string();
        let head =
            format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        writer.write_all([head, body].concat().as_bytes())?;
    }
    Ok(())
}

/// The answer to everything but lists and watches; none: the connection is closed without one.
fn answer(state: &mut State, request: &Request) -> Option<Reply> {
    let segments: Vec<&str> = request.path.split('/').skip(1).collect();
    match (request.method.as_str(), segments.as_slice()) {
        ("GET", ["apis", "coordination.k8s.io", "v1", "namespaces", _, "leases", _]) => Some(state.objects.lease()),
        ("POST", ["apis", "coordination.k8s.io", "v1", "namespaces", _, "leases"]) => {
            Some(state.objects.create_lease(request.body.clone()))
        }
        ("PUT", ["apis", "coordination.k8s.io", "v1", "namespaces", _, "leases", _]) => {
            Some(state.objects.replace_lease(request.body.clone()))
        }
        ("GET", ["api", "v1", "namespaces", namespace, "pods", name]) => {
            let pod = state.objects.pod(namespace, name);
            Some(pod.cloned().map_or_else(|| refusal(404, "no such pod"), |pod| (200, pod)))
        }
        ("POST", ["api", "v1", "namespaces", namespace, "pods", name, "binding"]) => {
            let reply = state.objects.bind(namespace, name, &request.body);
            if state.lost_answers > 0 {
                state.lost_answers -= 1;
                return None;
            }
            Some(reply)
        }
        _ => Some(refusal(404, &request.path)),
    }
}

/// Sends events until the connection breaks; a watch from a forgotten version is told so.
fn watch(shared: &Shared, resource: Resource, request: &Request, mut writer: &TcpStream) -> io::Result<()> {
    writer.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n")?;
    let mut sent = request.parameter("resourceVersion").and_then(|version| version.parse().ok()).unwrap_or(0);
    let mut state = shared.lock();
    while state.mood == Mood::Well {
        let (events, version) = (state.objects.events_after(sent, resource), state.objects.version());
        drop(state);
        let Some(events) = events else {
            let status = refusal(410, "too old resource version").1;
            return writer.write_all(format!("{}\n", json!({"type": "ERROR", "object": status})).as_bytes());
        };
        if !events.is_empty() {
            writer.write_all(events.concat().as_bytes())?;
        }
        sent = version;
        state = shared.lock();
        if state.objects.version() == sent && state.mood == Mood::Well {
            let waited = shared.changed.wait_timeout(state, BOOKMARK).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() {
                drop(state);
                let object = json!({"metadata": {"resourceVersion": sent.to_string()}});
                writer.write_all(format!("{}\n", json!({"type": "BOOKMARK", "object": object})).as_bytes())?;
                state = shared.lock();
            }
        }
    }
    Ok(())
}

/// None: the connection is at its end.
fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line)?;
    let mut words = line.split(' ');
    let (Some(method), Some(target)) = (words.next().filter(|word| !word.is_empty()), words.next()) else {
        return Ok(None);
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (method, path, query) = (method.to_owned(), path.to_owned(), query.to_owned());
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(0);
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { method, path, query, body: serde_json::from_slice(&body).unwrap_or_default() }))
}

// === impl Request ===

impl Request {
    fn parameter(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }
}
