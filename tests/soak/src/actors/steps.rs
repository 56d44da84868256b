//! The loop of an actor: step after step at a pace, as long as the gate is open.

use std::time::Duration;

use anyhow::Result;
use plimsoll_harness::Client;

use crate::{stage::Stage, tally::Outcome};

/// The number of steps after which an actor makes a new connection.
const RECONNECT: u32 = 200;

/// Does a piece of work at a pace until the end, on a connection that is kept until it fails; counts the outcomes.
///
/// Both closures get the number of the step, from 1 on.
pub(super) fn repeat(
    stage: &Stage,
    kind: &'static str,
    pace: impl Fn(u32) -> Duration,
    mut work: impl FnMut(&mut Client, u32) -> Result<Outcome>,
) {
    let mut number = 1;
    while stage.gate.enter() {
        let mut connection: Option<Client> = None;
        while stage.gate.pause(pace(number)) {
            let kept = connection.take().filter(|_| !number.is_multiple_of(RECONNECT));
            let outcome = kept.map_or_else(|| stage.connect(), Ok).and_then(|mut client| {
                let outcome = work(&mut client, number)?;
                connection = Some(client);
                Ok(outcome)
            });
            match outcome {
                Ok(outcome) => stage.tally.note(kind, outcome),
                Err(error) => stage.tally.failure(kind, &format!("{error:#}")),
            }
            number += 1;
        }
    }
}
