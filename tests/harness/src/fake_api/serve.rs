//! The HTTP side: a listener that can go away, and one thread for each connection.

use std::{
    io::{self, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    ops::ControlFlow,
    sync::{Arc, PoisonError},
    thread,
    time::Duration,
};

use serde_json::json;

use super::{
    objects::{Reply, Resource, refusal},
    state::{Fate, Mood, Shared, State},
};
use crate::http::{self, Request};

/// The interval at which a watch without events gets a bookmark.
const BOOKMARK: Duration = Duration::from_secs(5);

/// The end of an exchange.
enum Answer {
    Whole(Reply),
    /// The connection is closed.
    CutOff,
    /// The client waits until it has enough.
    Silence,
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
            Mood::Well if listener.is_none() => {
                drop(state);
                // Somebody may have been given the port meanwhile; then it is tried again.
                listener = TcpListener::bind(address).ok();
                if listener.is_none() {
                    #[expect(clippy::disallowed_methods, reason = "nothing says when a port is free again")]
                    thread::sleep(Duration::from_millis(50));
                }
            }
            Mood::Well => {
                let Some((stream, _)) = accepted else { continue };
                let Ok(registered) = stream.try_clone() else { continue };
                state.accepted += 1;
                let number = state.accepted;
                state.connections.insert(number, registered);
                drop(state);
                let shared = Arc::clone(shared);
                thread::spawn(move || {
                    // A client that breaks off is its own affair.
                    let _ = http::converse(&stream, |request, stream| exchange(&shared, request, stream));
                    shared.lock().connections.remove(&number);
                });
            }
        }
    }
}

fn exchange(shared: &Shared, request: &Request, stream: &TcpStream) -> io::Result<ControlFlow<()>> {
    let mut state = shared.lock();
    while state.mood == Mood::Well && state.held.is_some_and(|path| request.path().contains(path)) {
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    let resource = match request.path() {
        "/api/v1/nodes" => Some(Resource::Nodes),
        "/api/v1/pods" if request.target.contains("spec.nodeName%3D%2C") => Some(Resource::Waiting),
        "/api/v1/pods" => Some(Resource::Pods),
        "/api/v1/namespaces" => Some(Resource::Namespaces),
        "/apis/resource.k8s.io/v1/deviceclasses" => Some(Resource::DeviceClasses),
        "/api/v1/persistentvolumeclaims" => Some(Resource::Claims),
        _ => None,
    };
    if resource.is_some_and(|resource| resource != Resource::Waiting) {
        state.requests.push(request.target.clone());
    }
    let answer = match (state.mood, state.failing, resource) {
        (Mood::Away | Mood::Ended, ..) => Answer::CutOff,
        (_, Some((path, status)), _) if request.path().contains(path) => {
            Answer::Whole(refusal(status, "the test wants it so"))
        }
        (_, _, Some(Resource::Claims)) if !request.header("accept").is_some_and(|form| form.contains("as=Partial")) => {
            Answer::Whole(refusal(406, "claims are to be asked for as metadata"))
        }
        (_, _, Some(resource)) if request.parameter("watch") == Some("true") => {
            let raw = state.raw.len();
            drop(state);
            return watch(shared, resource, raw, request, stream);
        }
        (_, _, Some(resource)) => {
            let token = request.parameter("continue").unwrap_or_default();
            Answer::Whole((200, state.objects.page(resource, request.number("limit"), token)))
        }
        (..) => answer(&mut state, request),
    };
    drop(state);
    shared.changed.notify_all();
    match answer {
        Answer::Whole((status, body)) => http::reply(stream, status, &body.to_string()),
        Answer::CutOff => Ok(ControlFlow::Break(())),
        Answer::Silence => http::stay_silent(stream),
    }
}

/// The answer to everything but lists and watches.
fn answer(state: &mut State, request: &Request) -> Answer {
    let segments: Vec<&str> = request.path().split('/').skip(1).collect();
    let body = request.body.clone();
    Answer::Whole(match (request.method.as_str(), segments.as_slice()) {
        ("GET", ["apis", "coordination.k8s.io", "v1", "namespaces", _, "leases", _]) => state.objects.lease(),
        ("POST", ["apis", "coordination.k8s.io", "v1", "namespaces", _, "leases"]) => state.objects.create_lease(body),
        ("PUT", ["apis", "coordination.k8s.io", "v1", "namespaces", _, "leases", _]) => {
            state.objects.replace_lease(body)
        }
        ("GET", ["version"]) => {
            let text = "";
            (
                200,
                json!({"major": "1", "minor": state.minor_version.unwrap_or("36"), "gitVersion": text, "gitCommit": text,
                "gitTreeState": text, "buildDate": text, "goVersion": text, "compiler": text, "platform": text}),
            )
        }
        ("GET", ["api", "v1", "namespaces", namespace, "configmaps", name]) => {
            state.objects.config_map(namespace, name)
        }
        ("GET", ["api", "v1", "namespaces", namespace, "pods", name]) => {
            let pod = state.objects.pod(namespace, name);
            pod.cloned().map_or_else(|| refusal(404, "no such pod"), |pod| (200, pod))
        }
        ("POST", ["api", "v1", "namespaces", namespace, "pods", name, "binding"]) => {
            state.bindings += 1;
            state.last_binding = Some((request.target.clone(), body.clone()));
            match (state.fates.pop_front(), &mut state.objects) {
                (None, objects) => objects.bind(namespace, name, &body),
                (Some(Fate::Refused(status)), _) => refusal(status, "the test wants it so"),
                (Some(Fate::Lost), _) => return Answer::Silence,
                (Some(Fate::LostAnswer), objects) => {
                    objects.bind(namespace, name, &body);
                    return Answer::Silence;
                }
                (Some(Fate::CutOff), objects) => {
                    objects.bind(namespace, name, &body);
                    return Answer::CutOff;
                }
            }
        }
        ("PATCH", ["api", "v1", "namespaces", namespace, "pods", name, "status"]) => {
            state.patches.push((request.path().to_owned(), body.clone()));
            state.objects.patch_status(namespace, name, &body, request.parameter("fieldManager").unwrap_or_default())
        }
        ("PATCH", ["apis", "storage.k8s.io", "v1", "namespaces", _, "csistoragecapacities", _]) => {
            state.patches.push((request.path().to_owned(), body));
            (200, json!({"metadata": {}, "storageClassName": "none"}))
        }
        _ => refusal(404, &request.target),
    })
}

/// Sends events, and the texts after the first so many, until the connection breaks; a watch from a forgotten version is
/// told so.
fn watch(
    shared: &Shared,
    resource: Resource,
    mut raw: usize,
    request: &Request,
    mut stream: &TcpStream,
) -> io::Result<ControlFlow<()>> {
    http::open_reply(stream)?;
    let mut sent = request.parameter("resourceVersion").and_then(|version| version.parse().ok()).unwrap_or(0);
    let mut state = shared.lock();
    while state.mood == Mood::Well {
        if state.watches_are_silent {
            drop(state);
            return http::stay_silent(stream);
        }
        let (events, version) = (state.objects.events_after(sent, resource), state.objects.version());
        let texts =
            state.raw[raw..].iter().filter(|(path, _)| resource != Resource::Waiting && *path == request.path());
        let texts: String = texts.map(|(_, text)| text.as_str()).collect();
        raw = state.raw.len();
        drop(state);
        let Some(events) = events else {
            let status = refusal(410, "too old resource version").1;
            stream.write_all(format!("{}\n", json!({"type": "ERROR", "object": status})).as_bytes())?;
            break;
        };
        if !events.is_empty() {
            stream.write_all(events.concat().as_bytes())?;
        }
        stream.write_all(texts.as_bytes())?;
        sent = version;
        state = shared.lock();
        if state.objects.version() == sent && state.raw.len() == raw && state.mood == Mood::Well {
            let waited = shared.changed.wait_timeout(state, BOOKMARK).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() {
                drop(state);
                let object = json!({"metadata": {"resourceVersion": sent.to_string()}});
                stream.write_all(format!("{}\n", json!({"type": "BOOKMARK", "object": object})).as_bytes())?;
                state = shared.lock();
            }
        }
    }
    Ok(ControlFlow::Break(()))
}
