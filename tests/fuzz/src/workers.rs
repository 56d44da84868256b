//! Starts workers one after another, and keeps the module that ends one.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use plimsoll_core::Loader;
use plimsoll_harness::binary;
use plimsoll_wasm::{ChildConfig, EngineConfig, WasmLoader, module_of};

use crate::worker::{Counts, say};

/// A worker that says nothing for so long has met a module that takes too long without bounds.
const SILENCE: Duration = Duration::from_secs(30);

/// The end of a worker.
enum End {
    Done,
    Died(String),
    Stuck,
}

/// Starts workers until the time is over; one that ends early is a finding, and the next goes on behind it.
pub(crate) fn supervise(mut seed: u64, until: Instant, folder: &Path) -> Result<Counts> {
    let mut all = Counts::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(all);
        }
        let (counts, end) = run(seed, left)?;
        for (name, count) in counts {
            *all.entry(name).or_default() += count;
        }
        let which = match &end {
            End::Done => return Ok(all),
            End::Died(status) => format!("a worker died: {status}"),
            End::Stuck => "a worker took too long".to_owned(),
        };
        let last: u64 = fs::read_to_string(folder.join("current.seed"))?.parse()?;
        let kept = folder.join(format!("ended-{last}.wasm"));
        fs::copy(folder.join("current.wasm"), &kept)?;
        let gateway = answer(&kept)?;
        say(&format!("{which}: seed {last}: {}; a compile process: {gateway}", kept.display()))?;
        // Time alone is what the compile process is bounded for.
        let name = if matches!(end, End::Stuck) { "too slow without bounds" } else { "failures" };
        *all.entry(name.to_owned()).or_default() += 1;
        seed = last + 1;
    }
}

fn run(seed: u64, left: Duration) -> Result<(Counts, End)> {
    let minutes = left.as_secs_f64() / 60.0;
    let program: PathBuf = std::env::current_exe()?;
    let mut child = Command::new(program)
        .args(["--worker", "--seed", &seed.to_string(), "--minutes", &minutes.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = BufReader::new(child.stdout.take().context("an output")?).lines();
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| tell.send(line)));
    let mut counts = Counts::new();
    loop {
        match told.recv_timeout(SILENCE) {
            Ok(line) => match line.strip_prefix("counts: ") {
                Some(json) => counts = serde_json::from_str(json)?,
                None => say(&line)?,
            },
            Err(RecvTimeoutError::Timeout) => return Ok((counts, stop(child))),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = child.wait()?;
    Ok((counts, if status.success() { End::Done } else { End::Died(status.to_string()) }))
}

/// The answer that a gateway gives to a module.
fn answer(module: &Path) -> Result<String> {
    let child = ChildConfig { timeout: Duration::from_secs(10), ..ChildConfig::of(binary()) };
    let config = EngineConfig { max_calls: 2, ..EngineConfig::new(child) };
    let loaded = WasmLoader::new(config)?.load("", &module_of(&fs::read(module)?));
    Ok(loaded.map_or_else(|error| error.to_string(), |_| "accepted".to_owned()))
}

fn stop(mut child: Child) -> End {
    // It may have ended this very moment.
    let _ = child.kill();
    let _ = child.wait();
    End::Stuck
}
