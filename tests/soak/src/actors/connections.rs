//! Clients that are slow, idle, or gone before they have said anything.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::Duration,
};

use plimsoll_sample::{NODES, node, pod};
use serde_json::json;

use crate::stage::Stage;

/// Between two bytes of a slow client.
const TICK: Duration = Duration::from_millis(500);

/// Between two connections that come and go.
const CHURN_EVERY: Duration = Duration::from_millis(50);

/// Slow clients of each kind.
const OF_A_KIND: usize = 6;

/// Connections that are open and say nothing more.
const IDLE: usize = 40;

/// Requests of a client that does not read: their replies are more than the buffers between the two hold.
const UNREAD: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    /// Sends its head byte by byte.
    DripsHead,
    /// Sends its body byte by byte.
    DripsBody,
    /// Reads its replies byte by byte.
    DripsReply,
    /// Has sent nothing, or one request.
    Idle,
}

struct Slow {
    stream: TcpStream,
    habit: Habit,
}

/// Many slow connections; each that plimsoll ends is replaced by another.
pub(crate) fn slow(stage: &Stage) {
    let habits = [Habit::DripsHead, Habit::DripsBody, Habit::DripsReply].repeat(OF_A_KIND);
    let habits: Vec<Habit> = habits.into_iter().chain([Habit::Idle].repeat(IDLE)).collect();
    let large = large_request();
    while stage.gate.enter() {
        let mut clients: Vec<Slow> = vec![];
        while stage.gate.pause(TICK) {
            let before = clients.len();
            clients.retain_mut(Slow::goes_on);
            for _ in clients.len()..before {
                stage.tally.ok("slow client was cut off", None);
            }
            for (at, habit) in habits.iter().enumerate() {
                let missing = clients.iter().filter(|client| client.habit == *habit).count()
                    < habits.iter().filter(|other| *other == habit).count();
                // Not all at the same moment.
                if missing && at % 8 == clients.len() % 8 {
                    match Slow::start(stage, *habit, &large) {
                        Ok(client) => clients.push(client),
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        Err(error) => stage.tally.failure("slow client", error.to_string()),
                    }
                }
            }
        }
    }
}

/// Connections that are closed at once, after half a request, or with a reply unread.
pub(crate) fn churn(stage: &Stage) {
    let mut number = 0_u32;
    while stage.gate.enter() {
        while stage.gate.pause(CHURN_EVERY) {
            number += 1;
            let opened = TcpStream::connect(stage.gateway.wire).and_then(|mut stream| match number % 3 {
                0 => Ok(()),
                1 => stream.write_all(b"POST /filter HTTP/1.1\r\nHo"),
                _ => stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            });
            match opened {
                Ok(()) => stage.tally.ok("connection that comes and goes", None),
                Err(error) => stage.tally.failure("connection that comes and goes", error.to_string()),
            }
        }
    }
}

// === impl Slow ===

impl Slow {
    fn start(stage: &Stage, habit: Habit, large: &[u8]) -> std::io::Result<Self> {
        let mut stream = TcpStream::connect(stage.gateway.wire)?;
        stream.set_nonblocking(true)?;
        match habit {
            Habit::DripsHead => stream.write_all(b"POST /filter HTTP/1.1\r\nX-Slow: ")?,
            Habit::DripsBody => {
                stream.write_all(b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{")?;
            }
            Habit::DripsReply => {
                // As much as plimsoll takes: it stops when its replies are not read.
                for _ in 0..UNREAD {
                    if stream.write(large)? < large.len() {
                        break;
                    }
                }
            }
            Habit::Idle => stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")?,
        }
        Ok(Self { stream, habit })
    }

    /// One more byte; false once plimsoll has closed the connection.
    fn goes_on(&mut self) -> bool {
        let mut buffer = [0; 16];
        let (read, written) = match self.habit {
            Habit::DripsHead | Habit::DripsBody => (self.stream.read(&mut buffer), self.stream.write(b"x")),
            Habit::DripsReply | Habit::Idle => (self.stream.read(&mut buffer), Ok(1)),
        };
        let goes_on = |result: std::io::Result<usize>| match result {
            Ok(bytes) => bytes > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        };
        goes_on(read) && goes_on(written)
    }
}

/// Whole nodes, which come back as a whole.
fn large_request() -> Vec<u8> {
    let items: Vec<_> = (0..NODES).map(node).collect();
    let body = json!({"Pod": pod("web", "site", 5), "Nodes": {"items": items}}).to_string();
    format!("POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
