//! A client that does as little as it can: one connection, one request after another.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Context, Result, ensure};

/// A larger body is not copied behind its header.
const ONE_WRITE: usize = 512 << 10;

/// A connection that is kept alive.
pub struct Client {
    stream: BufReader<TcpStream>,
    request: Vec<u8>,
    reply: Vec<u8>,
}

// === impl Client ===

impl Client {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_mins(2)))?;
        Ok(Self { stream: BufReader::with_capacity(256 << 10, stream), request: vec![], reply: vec![] })
    }

    /// Posts a body; the body of the reply, which must have status 200.
    pub fn post(&mut self, path: &str, body: &[u8]) -> Result<&[u8]> {
        let (status, reply) = self.ask(path, body)?;
        ensure!(status == 200, "status {status}: {}", String::from_utf8_lossy(&reply[..reply.len().min(500)]));
        Ok(reply)
    }

    /// Posts a body; status and body of the reply.
    pub fn ask(&mut self, path: &str, body: &[u8]) -> Result<(u16, &[u8])> {
        self.request.clear();
        write!(
            self.request,
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )?;
        let stream = self.stream.get_mut();
        if body.len() <= ONE_WRITE {
            self.request.extend_from_slice(body);
            stream.write_all(&self.request)?;
        } else {
            stream.write_all(&self.request)?;
            stream.write_all(body)?;
        }
        self.read_reply()
    }

    fn read_reply(&mut self) -> Result<(u16, &[u8])> {
        let (mut line, mut length, mut status) = (String::new(), None, None);
        loop {
            line.clear();
            ensure!(self.stream.read_line(&mut line)? > 0, "the server closed the connection");
            let line = line.trim_end().to_ascii_lowercase();
            match line.split_once(": ") {
                _ if line.is_empty() => break,
                Some(("content-length", value)) => length = Some(value.parse::<usize>()?),
                None => status = line.split(' ').nth(1).and_then(|status| status.parse().ok()),
                Some(_) => {}
            }
        }
        self.reply.resize(length.context("a reply without a length")?, 0);
        self.stream.read_exact(&mut self.reply)?;
        Ok((status.context("a reply without a status")?, &self.reply))
    }
}

/// Reads a page over a connection of its own: status and text, whatever they are.
pub fn get(address: SocketAddr, path: &str) -> Result<(u16, String)> {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let agent: ureq::Agent = config.timeout_global(Some(Duration::from_secs(10))).build().into();
    let mut reply = agent.get(format!("http://{address}{path}")).header("connection", "close").call()?;
    Ok((reply.status().as_u16(), reply.body_mut().read_to_string()?))
}
