//! Sends hostile bytes, each over a connection of its own, and looks at what comes back.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, TcpStream},
    time::Duration,
};

use anyhow::{Context, Result, ensure};

use super::attacks::{Attack, Ending, all};
use crate::stage::Stage;

const EVERY: Duration = Duration::from_millis(150);

/// Longer than plimsoll waits for anything.
const PATIENCE: Duration = Duration::from_secs(45);

pub(crate) fn bodies(stage: &Stage) {
    let mut round = 0;
    while stage.gate.enter() {
        let mut attacks = vec![];
        while stage.gate.pause(EVERY) {
            if attacks.is_empty() {
                round += 1;
                attacks = all(round);
            }
            let Some(attack) = attacks.pop() else { continue };
            match carry_out(stage, &attack) {
                Ok(()) => stage.tally.ok("hostile bytes", None),
                Err(error) => stage.tally.failure("hostile bytes", format!("{}: {error:#}", attack.name)),
            }
        }
    }
}

fn carry_out(stage: &Stage, attack: &Attack) -> Result<()> {
    let mut stream = TcpStream::connect(stage.gateway.wire)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // It may be cut off while it still sends, which is as good as an answer.
    let sent = stream.write_all(&attack.bytes);
    match attack.ending {
        Ending::Leaves => Ok(()),
        Ending::Stops => {
            let _ = stream.shutdown(Shutdown::Write);
            drained(&mut stream).map(drop)
        }
        Ending::Reads(statuses) => {
            sent?;
            let mut head = [0; 12];
            stream.read_exact(&mut head).context("no reply")?;
            let text = String::from_utf8_lossy(&head).into_owned();
            let status = text.rsplit(' ').next().and_then(|status| status.parse().ok()).unwrap_or(0);
            ensure!(statuses.contains(&status), "answered {text:?}, expected {statuses:?}");
            Ok(())
        }
    }
}

/// Everything up to the end of the connection, which must come.
fn drained(stream: &mut TcpStream) -> Result<usize> {
    let mut buffer = [0; 4_096];
    let mut read = 0;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(read),
            Ok(more) => read += more,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(read),
            Err(error) => return Err(error).context("the connection stays open"),
        }
    }
}
