//! A policy that fills the stack of its thread in every other call.
//!
//! A stack keeps its pages. Tokio gives work to one thread after another, so with the hostile guests alone one stack
//! after another would fill for hours, and that would look like a leak.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use plimsoll_harness::Client;
use plimsoll_sample::{node_name, pod};

use super::requests::{ask, by_name, filtered};
use crate::stage::{DEEP, Stage};

const EVERY: Duration = Duration::from_secs(1);

/// The first calls come faster: many for each thread, whichever gets the next one.
const FILLING: (u32, Duration) = (1_000, Duration::from_millis(25));

pub(crate) fn deep(stage: &Stage) {
    let names = [node_name(0)];
    let mut number = 0_u32;
    while stage.gate.enter() {
        let mut client: Option<Client> = None;
        while stage.gate.pause(if number < FILLING.0 { FILLING.1 } else { EVERY }) {
            number += 1;
            let mut pod = pod("web", "site", 1);
            pod["spec"]["priority"] = number.into();
            let asked = (|| -> Result<()> {
                let client = match &mut client {
                    Some(client) => client,
                    none => none.insert(stage.connect()?),
                };
                let (reply, _) = ask(client, &format!("/{DEEP}/filter"), &by_name(&pod, &names))?;
                let answer = filtered(&reply, &names).context("a full stack is to be ignored")?;
                ensure!(answer.kept == names, "the node does not stay: {:?}", answer.refused);
                Ok(())
            })();
            match asked {
                Ok(()) => stage.tally.ok("stack filled", None),
                Err(error) => {
                    stage.tally.failure("stack filled", format!("{error:#}"));
                    client = None;
                }
            }
        }
    }
}
