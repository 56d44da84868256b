//! Tries modules, in this process and in compile processes, and counts what becomes of them.
//!
//! A module that ends this process is found in a file by the one that started it.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Result;
use plimsoll_core::{Ask, FaultKind, Limits, LoadError, Policy, Verb};
use plimsoll_guests::world;
use plimsoll_harness::binary;
use plimsoll_wasm::{ChildConfig, Compiler, EngineConfig, Inspection, WasmLoader, module_of};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::generated::Generated;

/// Of the modules that are refused here, one in this many goes to a compile process as well; of the others, every one.
const SHARE: u64 = 64;

/// After this many modules, or this time, the counts are printed.
const REPORT: u64 = 100;
const REPORT_AFTER: Duration = Duration::from_millis(500);

/// Private memory of this process: the most that a module can make the compiler take here, without bounds of its own.
const MEMORY: u64 = 4 << 30;

/// Panics in libraries that are known, and that the compile process takes.
const KNOWN: [&str; 1] = ["depth <= Self::MAX_DEPTH"];

/// The last panic: loaders turn it into a refusal.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// The counts by name.
pub(crate) type Counts = BTreeMap<String, u64>;

/// Tries modules one after another.
struct Worker {
    here: WasmLoader,
    elsewhere: WasmLoader,
    folder: PathBuf,
    counts: Counts,
}

/// Tries modules until the time is over; each has a seed of its own, one more than the one before.
pub(crate) fn work(first: u64, until: Instant, folder: &Path) -> Result<()> {
    setrlimit(Resource::Data, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) })?;
    std::panic::set_hook(Box::new(|panic| *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string()));
    let mut generated = Generated::start(first, &folder.join("seeds"))?;
    let mut worker = Worker::new(folder)?;
    let mut reported = Instant::now();
    while Instant::now() < until {
        let (seed, module) = generated.next()?;
        worker.one(seed, &module)?;
        #[expect(clippy::disallowed_methods, reason = "progress is reported now and then")]
        if worker.counts["tried"].is_multiple_of(REPORT) || reported.elapsed() > REPORT_AFTER {
            worker.report()?;
            reported = Instant::now();
        }
    }
    worker.report()
}

// === impl Worker ===

impl Worker {
    fn new(folder: &Path) -> Result<Self> {
        let config = EngineConfig { max_calls: 2, max_spares: 0, max_memory: 16 << 20, ..EngineConfig::in_process() };
        let timeout = Duration::from_secs(20);
        let child = Compiler::Child(ChildConfig { timeout, ..ChildConfig::of(binary()) });
        Ok(Self {
            here: WasmLoader::new(config.clone())?,
            elsewhere: WasmLoader::new(EngineConfig { compiler: child, ..config })?,
            folder: folder.to_owned(),
            counts: Counts::from([("tried".to_owned(), 0)]),
        })
    }

    fn one(&mut self, seed: u64, module: &[u8]) -> Result<()> {
        fs::write(self.folder.join("current.wasm"), module)?;
        fs::write(self.folder.join("current.seed"), seed.to_string())?;
        self.count("tried");
        let here = self.here.inspect("", &module_of(module));
        match &here {
            Ok(_) => self.count("accepted"),
            Err(error) => self.refused(seed, module, error)?,
        }
        if here.is_ok() || seed.is_multiple_of(SHARE) {
            self.count("compiled in a process");
            let there = self.elsewhere.inspect("", &module_of(module));
            self.compare(seed, module, &here, &there)?;
            if let Ok(there) = there {
                self.call(seed, module, there.policy.as_ref())?;
            }
        }
        Ok(())
    }

    fn refused(&mut self, seed: u64, module: &[u8], error: &LoadError) -> Result<()> {
        let text = error.to_string();
        self.count("refused");
        if !text.contains("plimsoll itself failed") {
            return Ok(());
        }
        let panic = PANIC.lock().unwrap_or_else(PoisonError::into_inner).replace('\n', " ");
        if KNOWN.iter().any(|known| panic.contains(known)) {
            self.count("known panics");
            return Ok(());
        }
        self.failed(seed, module, &panic)
    }

    /// Both must accept it as the same policy, or both refuse it; a process may lack time or memory.
    fn compare(
        &mut self,
        seed: u64,
        module: &[u8],
        here: &Result<Inspection, LoadError>,
        there: &Result<Inspection, LoadError>,
    ) -> Result<()> {
        let said = |result: &Result<Inspection, LoadError>| match result {
            Ok(inspection) => format!("accepted {:?} {:?}", inspection.verbs, inspection.imports),
            Err(error) => error.to_string(),
        };
        let here_said = said(here);
        let there_said = said(there);
        if there.as_ref().is_err_and(LoadError::is_transient) {
            self.count("stopped in a process");
            return Ok(());
        }
        let both_failed = here_said.contains("plimsoll itself failed") && there_said.contains("by a fault of its own");
        if here_said == there_said || both_failed {
            return Ok(());
        }
        // The pool's limits are checked while a module is compiled here, and after that in a process: a module that
        // breaks two rules may be refused by either.
        if here.is_err() && there.is_err() {
            self.count("refused for two reasons");
            return Ok(());
        }
        self.failed(seed, module, &format!("here: {here_said}; in a process: {there_said}"))
    }

    fn call(&mut self, seed: u64, module: &[u8], policy: &dyn Policy) -> Result<()> {
        for verb in policy.verbs().iter() {
            let timeout = Duration::from_millis(20);
            let limits = Limits { deadline: Instant::now() + timeout, timeout, memory: 8 << 20 };
            let ask = Ask { limits, ..world::ask(world::view(&world::cluster(world::NODES))) };
            let answer = match verb {
                Verb::Filter => policy.filter(&ask, &[0, 1, 2, 3]).map(drop),
                Verb::Score => policy.score(&ask, &[0, 1, 2, 3]).map(drop),
                Verb::Rank => policy.rank(&ask).map(drop),
                Verb::Preempt => policy.preempt(&ask, &[0, 1]).map(drop),
                Verb::Bind => policy.bind(&ask, 0).map(drop),
                Verb::Validate => policy.validate(&ask).map(drop),
            };
            match answer {
                Ok(()) => self.count("calls answered"),
                Err(fault) => {
                    self.count(&format!("calls failed: {}", fault.kind));
                    if fault.kind == FaultKind::Host {
                        self.failed(seed, module, &fault.to_string())?;
                    }
                }
            }
        }
        Ok(())
    }

    fn failed(&mut self, seed: u64, module: &[u8], why: &str) -> Result<()> {
        self.count("failures");
        let path = self.folder.join(format!("failure-{seed}.wasm"));
        fs::write(&path, module)?;
        say(&format!("failure: seed {seed}: {why} ({})", path.display()))
    }

    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    fn report(&self) -> Result<()> {
        say(&format!("counts: {}", serde_json::to_string(&self.counts)?))
    }
}

/// Writes a line at once: a worker may end with the next module.
pub(crate) fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
