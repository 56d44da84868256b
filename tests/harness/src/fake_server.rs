//! An HTTP server in the test's own process, whose answers the test sets.

use std::{
    collections::HashMap,
    io::{self, Write},
    net::{SocketAddr, TcpStream},
    ops::ControlFlow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use crate::http::{self, Request};

/// A server that answers each path as it was told, and keeps the requests that arrive.
pub struct FakeServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub enum FakeAnswer {
    /// A status, headers and a body.
    Whole(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Bytes as they are, from the status line on.
    Raw(Vec<u8>),
    /// The beginning of a body that never ends.
    Stalled(Vec<u8>),
    /// Nothing, for as long as the client waits.
    Silence,
    /// The connection is closed.
    CutOff,
}

#[derive(Default)]
struct State {
    /// By path, without the query.
    answers: HashMap<String, FakeAnswer>,
    requests: Vec<Request>,
}

// === impl FakeServer ===

impl FakeServer {
    /// Listens on a free port; paths without an answer get 404.
    pub fn start() -> io::Result<Self> {
        let state = Arc::<Mutex<State>>::default();
        let own = Arc::clone(&state);
        let address = http::serve(move |request, stream| {
            let answer = {
                let mut state = lock(&own);
                state.requests.push(request.clone());
                state.answers.get(request.path()).cloned()
            };
            answer.unwrap_or(FakeAnswer::status(404)).write(stream)
        })?;
        Ok(Self { address, state })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path on it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Answers a path in this way from now on.
    pub fn set(&self, path: &str, answer: FakeAnswer) {
        lock(&self.state).answers.insert(path.to_owned(), answer);
    }

    /// The requests so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.state).requests.clone()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl FakeAnswer ===

impl FakeAnswer {
    /// Status 200 with JSON.
    pub fn json(body: &Value) -> Self {
        Self::Whole(200, vec![("content-type", "application/json".to_owned())], body.to_string().into())
    }

    /// A status without a body.
    pub fn status(status: u16) -> Self {
        Self::Whole(status, vec![], vec![])
    }

    /// A redirect.
    pub fn redirect(location: &str) -> Self {
        Self::Whole(302, vec![("location", location.to_owned())], vec![])
    }

    /// The answer of Prometheus to an instant query: samples by the value of the label `instance`.
    pub fn samples(samples: &[(&str, &str)]) -> Self {
        let sample = |(instance, value): &(&str, &str)| serde_json::json!({"metric": {"instance": instance}, "value": [1, value]});
        let result: Vec<Value> = samples.iter().map(sample).collect();
        Self::json(&serde_json::json!({"status": "success", "data": {"resultType": "vector", "result": result}}))
    }

    fn write(&self, mut stream: &TcpStream) -> io::Result<ControlFlow<()>> {
        match self {
            Self::Whole(status, headers, body) => {
                let mut reply = Vec::new();
                write!(reply, "HTTP/1.1 {status} X\r\n")?;
                for (name, value) in headers {
                    write!(reply, "{name}: {value}\r\n")?;
                }
                write!(reply, "content-length: {}\r\n\r\n", body.len())?;
                stream.write_all(&[&reply[..], body].concat())?;
                Ok(ControlFlow::Continue(()))
            }
            Self::Raw(bytes) => {
                stream.write_all(bytes)?;
                Ok(ControlFlow::Break(()))
            }
            Self::Stalled(body) => {
                http::open_reply(stream)?;
                stream.write_all(body)?;
                http::stay_silent(stream)
            }
            Self::Silence => http::stay_silent(stream),
            Self::CutOff => Ok(ControlFlow::Break(())),
        }
    }
}
