//! Modules that write to all memory that an unused slot of the instance pool keeps.
//!
//! A slot keeps up to 256 KiB once a guest has written that much in it, and only a few guests do. A new module gets the
//! slot that was unused for longest, so without these modules one slot after another would fill for hours.

use std::{fs, time::Duration};

use anyhow::{Context, Result, ensure};
use plimsoll_sample::{node_name, pod};

use super::requests::{ask, by_name, filtered};
use crate::{
    stage::{Stage, WIDE},
    wide_guest,
};

/// More modules than the pool has slots that keep memory, several times.
const MODULES: u32 = 100;

const EVERY: Duration = Duration::from_millis(500);

/// Then they come now and then, so that their work never stops.
const LATER: Duration = Duration::from_secs(20);

pub(crate) fn fill(stage: &Stage) {
    let names = [node_name(0)];
    let mut number = 0_u32;
    while stage.gate.enter() {
        while stage.gate.pause(if number < MODULES { EVERY } else { LATER }) {
            number += 1;
            let asked = (|| -> Result<()> {
                fs::write(stage.group(WIDE).join("wide.wasm"), wide_guest::module(number))?;
                let (reply, _) =
                    ask(&mut stage.connect()?, &format!("/{WIDE}/filter"), &by_name(&pod("web", "site", 1), &names))?;
                let answer = filtered(&reply, &names).context("one version or the other must answer")?;
                ensure!(answer.kept == names, "the node does not stay: {:?}", answer.refused);
                Ok(())
            })();
            match asked {
                Ok(()) => stage.tally.ok("slot filled", None),
                Err(error) => stage.tally.failure("slot filled", format!("{error:#}")),
            }
        }
    }
}
