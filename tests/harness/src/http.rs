//! The server's side of plain HTTP/1.1, as far as a fake needs it: one thread for each connection.

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    ops::ControlFlow,
    sync::Arc,
    thread,
};

use serde_json::Value;

/// A request as far as it is read.
#[derive(Debug, Clone)]
pub struct Request {
    /// `GET`, `POST`, ...
    pub method: String,
    /// The path with the query.
    pub target: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body; null if it is not JSON.
    pub body: Value,
}

// === impl Request ===

impl Request {
    /// Reads the next request of a connection; none at its end.
    pub fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let (mut line, mut headers) = (String::new(), Vec::new());
        reader.read_line(&mut line)?;
        let mut words = line.split(' ').map(str::to_owned);
        let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut request = Self { method, target, headers, body: Value::Null };
        let mut body = vec![0; request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0)];
        reader.read_exact(&mut body)?;
        request.body = serde_json::from_slice(&body).unwrap_or_default();
        Ok(Some(request))
    }

    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// A parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.target.split(['?', '&']).skip(1).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    /// A parameter that is a number.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.parameter(name)?.parse().ok()
    }
}

/// Answers every request on a free port until the process ends; a connection ends when `answer` says so, or fails.
pub fn serve(
    answer: impl Fn(&Request, &TcpStream) -> io::Result<ControlFlow<()>> + Send + Sync + 'static,
) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            // A client that breaks off is its own affair.
            thread::spawn(move || drop(converse(&stream, &*answer)));
        }
    });
    Ok(address)
}

/// Answers the requests of one connection.
pub(crate) fn converse(
    stream: &TcpStream,
    answer: impl Fn(&Request, &TcpStream) -> io::Result<ControlFlow<()>>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = Request::read(&mut reader)? {
        if answer(&request, stream)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Writes a whole reply.
pub fn reply(mut stream: &TcpStream, status: u16, body: &str) -> io::Result<ControlFlow<()>> {
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all([&head, body].concat().as_bytes())?;
    Ok(ControlFlow::Continue(()))
}

/// Begins a reply that lasts as long as its connection.
pub fn open_reply(mut stream: &TcpStream) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n")
}

/// Waits until the client closes the connection, and tells it nothing.
pub fn stay_silent(mut stream: &TcpStream) -> io::Result<ControlFlow<()>> {
    io::copy(&mut stream, &mut io::sink())?;
    Ok(ControlFlow::Break(()))
}
