//! HTTP/2, written frame by frame: correct streams side by side, and those that abuse the protocol.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use plimsoll_sample::pod;

use super::requests::{all_names, by_name, filtered};
use crate::stage::Stage;

const EVERY: Duration = Duration::from_secs(1);

/// Correct requests of one connection.
const STREAMS: u32 = 6;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// A correct connection, and then one that is not.
pub(crate) fn streams(stage: &Stage) {
    let names = all_names();
    let body = by_name(&pod("team-b", "batch", 3), &names);
    let mut turn = 0;
    while stage.gate.enter() {
        while stage.gate.pause(EVERY) {
            turn += 1;
            match correct(stage, &body, &names) {
                Ok(took) => stage.tally.ok("filter over HTTP/2", Some(took)),
                Err(error) => stage.tally.failure("filter over HTTP/2", format!("{error:#}")),
            }
            match abuse(stage, turn, &body) {
                Ok(()) => stage.tally.ok("abuse of HTTP/2", None),
                Err(error) => stage.tally.failure("abuse of HTTP/2", format!("{error:#}")),
            }
        }
    }
}

/// Some requests at once over one connection, each with its answer; the time until the last.
fn correct(stage: &Stage, body: &str, names: &[String]) -> Result<Duration> {
    let mut stream = connect(stage)?;
    let started = Instant::now();
    let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    for number in 0..STREAMS {
        let id = 2 * number + 1;
        bytes.extend(frame(HEADERS, END_HEADERS, id, &head("/filter")));
        // A body is shorter than a frame and the window may be.
        bytes.extend(frame(DATA, END_STREAM, id, body.as_bytes()));
    }
    stream.write_all(&bytes)?;
    let mut replies = BTreeMap::<u32, Vec<u8>>::new();
    let mut open = STREAMS;
    while open > 0 {
        let (kind, flags, id, payload) = read_frame(&mut stream)?;
        match kind {
            SETTINGS if flags & ACK == 0 => stream.write_all(&frame(SETTINGS, ACK, 0, &[]))?,
            PING if flags & ACK == 0 => stream.write_all(&frame(PING, ACK, 0, &payload))?,
            // The first field of a head is its status; 0x88 is 200.
            HEADERS => ensure!(payload.first() == Some(&0x88), "stream {id} is answered with {payload:?}"),
            DATA => {
                replies.entry(id).or_default().extend(payload);
                open -= u32::from(flags & END_STREAM != 0);
            }
            RESET | GOAWAY => anyhow::bail!("stream {id} was given up: frame {kind}, {payload:?}"),
            _ => {}
        }
    }
    for reply in replies.values() {
        let answer = filtered(&serde_json::from_slice(reply)?, names)?;
        // The pool of team-b, and the shared one.
        ensure!(answer.kept.len() == 110, "{} nodes stay", answer.kept.len());
    }
    ensure!(replies.len() == STREAMS as usize, "{} of {STREAMS} replies", replies.len());
    Ok(started.elapsed())
}

/// One of many ways; the connection is left in the middle of it.
fn abuse(stage: &Stage, turn: u32, body: &str) -> Result<()> {
    let mut stream = connect(stage)?;
    let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    match turn % 6 {
        // Streams that are reset as soon as they are opened (CVE-2023-44487).
        0 => {
            for id in (1..200).step_by(2) {
                bytes.extend(frame(HEADERS, END_HEADERS, id, &head("/filter")));
                bytes.extend(frame(RESET, 0, id, &8_u32.to_be_bytes()));
            }
        }
        // Heads without end (CVE-2024-27316).
        1 => {
            bytes.extend(frame(HEADERS, 0, 1, &head("/filter")));
            for _ in 0..200 {
                bytes.extend(frame(CONTINUATION, 0, 1, &[0x00, 0x01, b'a', 0x01, b'b'].repeat(200)));
            }
        }
        // Streams without a body's end.
        2 => {
            for id in (1..100).step_by(2) {
                bytes.extend(frame(HEADERS, END_HEADERS, id, &head("/prioritize")));
                bytes.extend(frame(DATA, 0, id, b"{\"Pod\":"));
            }
        }
        // A window of nothing: replies that cannot be sent.
        3 => {
            bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])].concat();
            for id in (1..20).step_by(2) {
                bytes.extend(frame(HEADERS, END_HEADERS, id, &head("/filter")));
                bytes.extend(frame(DATA, END_STREAM, id, body.as_bytes()));
            }
        }
        // Questions whose answers nobody reads.
        4 => bytes.extend(frame(PING, 0, 0, &[7; 8]).repeat(5_000)),
        // Frames of no kind, on streams of no client.
        _ => bytes.extend((0..200).flat_map(|at| frame(200, 0xff, at * 2, &[0xaa; 40]))),
    }
    // It may be cut off while it still sends.
    let _ = stream.write_all(&bytes);
    stage.gate.pause(Duration::from_millis(300));
    Ok(())
}

fn connect(stage: &Stage) -> Result<TcpStream> {
    let stream = TcpStream::connect(stage.gateway.wire)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    Ok(stream)
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn read_frame(stream: &mut TcpStream) -> Result<(u8, u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).context("no frame")?;
    let [a, b, c, kind, flags, id @ ..] = head;
    let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
    stream.read_exact(&mut payload).context("half a frame")?;
    Ok((kind, flags, u32::from_be_bytes(id) & 0x7fff_ffff, payload))
}

/// The head of a POST in HPACK, without a table: method POST and scheme http by number, path and authority as text.
fn head(path: &str) -> Vec<u8> {
    let authority = "localhost";
    let mut head = vec![0x83, 0x86, 0x04, path.len() as u8];
    head.extend(path.as_bytes());
    head.extend([0x01, authority.len() as u8]);
    head.extend(authority.as_bytes());
    head
}
