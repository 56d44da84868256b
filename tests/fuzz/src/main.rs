//! `make fuzz`: generated, mutated and broken modules against everything that reads modules.
//!
//! Each is lifted and compiled in a worker process, by exactly the code that a compile process runs. An accepted module
//! goes through a real compile process too, which must say the same, and is called. A panic, the end of a worker, a
//! difference or a fault of the host is a failure: the module is kept, with its seed, and the exit code is 1.

mod generated;
mod worker;

use std::{
    collections::hash_map::RandomState,
    fs,
    hash::BuildHasher,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use plimsoll_core::Loader;
use plimsoll_harness::workspace;
use plimsoll_wasm::{ChildConfig, EngineConfig, WasmLoader};

use worker::Counts;

/// A worker that says nothing for so long has met a module that takes too long without bounds.
const SILENCE: Duration = Duration::from_secs(30);

/// The arguments.
struct Args {
    minutes: f64,
    seed: u64,
    /// Set for a worker alone.
    worker: bool,
}

/// The end of a worker.
enum End {
    Done,
    Died(String),
    Stuck,
}

fn main() -> Result<ExitCode> {
    let args = args()?;
    let folder = workspace().join("target/fuzz");
    fs::create_dir_all(&folder)?;
    let until = Instant::now() + Duration::from_secs_f64(args.minutes * 60.0);
    if args.worker {
        worker::work(args.seed, until, &folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&format!("seed {} (--seed), {} minutes (--minutes)", args.seed, args.minutes))?;
    gateway()?;
    generated::lay_seeds(&folder.join("seeds"))?;
    let counts = supervise(args.seed, until, &folder)?;
    for (what, count) in &counts {
        say(&format!("{count:>10}  {what}"))?;
    }
    let failures = counts.get("failures").copied().unwrap_or_default();
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn args() -> Result<Args> {
    let mut args = Args { minutes: 1.0, seed: RandomState::new().hash_one(0) >> 16, worker: false };
    let mut given = std::env::args().skip(1);
    while let Some(flag) = given.next() {
        let mut value = || given.next().with_context(|| format!("{flag} needs a value"));
        match flag.as_str() {
            "--minutes" => args.minutes = value()?.parse()?,
            "--seed" => args.seed = value()?.parse()?,
            "--worker" => args.worker = true,
            _ => bail!("{flag} is unknown: there are --minutes N and --seed N"),
        }
    }
    Ok(args)
}

/// Starts workers until the time is over; one that ends early is a finding, and the next goes on behind it.
fn supervise(mut seed: u64, until: Instant, folder: &Path) -> Result<Counts> {
    let mut all = Counts::new();
    while until > Instant::now() {
        let left = until.saturating_duration_since(Instant::now());
        let (counts, end) = run(seed, left)?;
        for (what, count) in counts {
            *all.entry(what).or_default() += count;
        }
        let which = match &end {
            End::Done => return Ok(all),
            End::Died(status) => format!("a worker died: {status}"),
            End::Stuck => "a worker took too long".to_owned(),
        };
        let last: u64 = fs::read_to_string(folder.join("current.seed"))?.parse()?;
        let kept = folder.join(format!("ended-{last}.wasm"));
        fs::copy(folder.join("current.wasm"), &kept)?;
        let gateway = in_a_process(&kept)?;
        say(&format!("{which}: seed {last}: {}; a compile process: {gateway}", kept.display()))?;
        // Time alone is what the compile process is bounded for.
        let name = if matches!(end, End::Stuck) { "too slow without bounds" } else { "failures" };
        *all.entry(name.to_owned()).or_default() += 1;
        seed = last + 1;
    }
    Ok(all)
}

/// The answer that a gateway would have given.
fn in_a_process(module: &Path) -> Result<String> {
    let child = ChildConfig { timeout: Duration::from_secs(10), ..ChildConfig::of(gateway()?) };
    let config = EngineConfig { max_calls: 2, ..EngineConfig::new(child) };
    let loaded = WasmLoader::new(config)?.load(&fs::read(module)?);
    Ok(loaded.map_or_else(|error| error.to_string(), |_| "accepted".to_owned()))
}

/// The `plimsoll` that was built beside this program.
fn gateway() -> Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("plimsoll");
    anyhow::ensure!(program.exists(), "{} is missing: `make fuzz` builds it", program.display());
    Ok(program)
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

fn stop(mut child: Child) -> End {
    // It may have ended this very moment.
    let _ = child.kill();
    let _ = child.wait();
    End::Stuck
}

fn say(line: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{line}")?)
}
