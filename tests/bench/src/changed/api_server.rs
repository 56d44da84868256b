//! As much of an API server as a watch of nodes and pods needs, whose nodes change.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

/// Lists what it was given, and passes on what it is told to those that watch nodes.
pub(crate) struct ApiServer {
    pub(crate) address: SocketAddr,
    watching: Arc<Mutex<Vec<TcpStream>>>,
    version: u64,
}

/// The lists, each as a whole: `limit` is the least that a server may ignore.
struct Lists {
    nodes: String,
    pods: String,
}

// === impl ApiServer ===

impl ApiServer {
    /// Serves until the process ends.
    pub(crate) fn start(nodes: &[Value], pods: &[Value]) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let list = |kind: &str, items: &[Value]| {
            json!({"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}).to_string()
        };
        let lists = Arc::new(Lists { nodes: list("NodeList", nodes), pods: list("PodList", pods) });
        let (address, watching) = (listener.local_addr()?, Arc::default());
        let server = Self { address, watching: Arc::clone(&watching), version: 1 };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (lists, watching) = (Arc::clone(&lists), Arc::clone(&watching));
                // A client that goes away is no fault of the server.
                std::thread::spawn(move || serve(stream, &lists, &watching).ok());
            }
        });
        Ok(server)
    }

    /// Tells everyone who watches nodes that these have changed.
    pub(crate) fn changed(&mut self, nodes: impl Iterator<Item = Value>) -> Result<()> {
        let mut lines = String::new();
        for mut node in nodes {
            self.version += 1;
            node["metadata"]["resourceVersion"] = self.version.to_string().into();
            lines.push_str(&json!({"type": "MODIFIED", "object": node}).to_string());
            lines.push('\n');
        }
        let mut watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        watching.retain_mut(|stream| write!(stream, "{:x}\r\n{lines}\r\n", lines.len()).is_ok());
        ensure!(!watching.is_empty(), "nobody watches nodes");
        Ok(())
    }
}

/// Answers the requests of one connection.
fn serve(mut stream: TcpStream, lists: &Lists, watching: &Mutex<Vec<TcpStream>>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut requests = BufReader::new(stream.try_clone()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            ensure!(requests.read_line(&mut head)? > 0, "the client is gone");
        }
        let path = head.split(' ').nth(1).unwrap_or_default();
        let (resource, query) = path.split_once('?').unwrap_or((path, ""));
        let list = match resource {
            "/api/v1/nodes" => Some(&lists.nodes),
            "/api/v1/pods" => Some(&lists.pods),
            _ => None,
        };
        match list {
            Some(_) if query.contains("watch=") => {
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                )?;
                if resource.ends_with("nodes") {
                    watching.lock().unwrap_or_else(PoisonError::into_inner).push(stream.try_clone()?);
                }
                // Nothing more comes from the client, until it is gone.
                return Ok(requests.read_to_end(&mut vec![]).map(drop)?);
            }
            Some(list) => write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{list}",
                list.len()
            )?,
            None => write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?,
        }
    }
}
