//! Samples the process and its clients once a second.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufWriter, Write},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use plimsoll_harness::threads;

use crate::{
    plan::Plan,
    process::{Usage, stacks_kib, usage},
    stage::Stage,
    tally::Window,
};

/// Between two samples.
const INTERVAL: Duration = Duration::from_secs(1);

/// Pages of the admin listener and long tables of the kernel are read less often.
const HOLDINGS_EVERY: usize = 10;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Since the start of the soak.
    pub(crate) seconds: f64,
    pub(crate) phase: &'static str,
    pub(crate) usage: Usage,
    pub(crate) window: Window,
    /// As last taken.
    pub(crate) holdings: Holdings,
    pub(crate) log_lines: u64,
}

/// Memory by what holds it, and what else a gateway could collect. Each of them has a bound.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Holdings {
    /// Lines of `/metrics`.
    pub(crate) series: u64,
    /// Bytes of the compiled-code cache, on disk.
    pub(crate) cache_bytes: u64,
    /// `plimsoll_decision_cache_bytes`.
    pub(crate) decision_cache_bytes: u64,
    /// `plimsoll_guest_memory_bytes`.
    pub(crate) guest_memory_bytes: u64,
    pub(crate) stacks_kib: u64,
}

pub(crate) struct Sampler {
    started: Instant,
    file: BufWriter<File>,
    /// A line whenever the names of the threads, or how many have each, are others than a second ago.
    threads_file: BufWriter<File>,
    pub(crate) samples: Vec<Sample>,
    /// By the number of the phase and the name.
    pub(crate) threads: BTreeMap<(usize, String), Counts>,
    last_threads: BTreeMap<String, usize>,
}

/// Threads of one name in the samples of a phase.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) sum: u64,
    pub(crate) most: u64,
}

// === impl Sampler ===

impl Sampler {
    pub(crate) fn new(plan: &Plan, stage: &Stage) -> Result<Self> {
        let mut file = BufWriter::new(File::create(plan.directory.join("samples.csv"))?);
        writeln!(
            file,
            "seconds,phase,rss_kib,anon_kib,peak_kib,threads,descriptors,sockets,children,cpu_ms,answers,p50_us,p99_us,\
             failed,declined,series,cache_bytes,log_lines,decision_cache_bytes,guest_memory_bytes,stacks_kib"
        )?;
        // The admin listener's own connection comes and goes before anything is compared.
        stage.get("/metrics")?;
        let threads_file = BufWriter::new(File::create(plan.directory.join("threads.csv"))?);
        Ok(Self {
            started: Instant::now(),
            file,
            threads_file,
            samples: vec![],
            threads: BTreeMap::new(),
            last_threads: BTreeMap::new(),
        })
    }

    /// Samples for a time, or until the process ends.
    pub(crate) fn sample_for(&mut self, phase: &'static str, time: Duration, stage: &Stage) -> Result<()> {
        let started = Instant::now();
        let number = self.phases().len();
        let mut next = started + INTERVAL;
        while next <= started + time {
            thread::sleep(next.saturating_duration_since(Instant::now()));
            // A machine that was busy for longer than a second leaves a gap.
            next = (next + INTERVAL).max(Instant::now());
            let alive = stage.gateway.is_alive();
            let Some(usage) = usage(stage.gateway.pid).filter(|_| alive) else {
                stage.tally.failure("process", "plimsoll ended");
                return Ok(());
            };
            let mut holdings = self.samples.last().map(|last| last.holdings).unwrap_or_default();
            if self.samples.len().is_multiple_of(HOLDINGS_EVERY) {
                holdings = Holdings::of(stage).unwrap_or(holdings);
            }
            let seconds = self.started.elapsed().as_secs_f64();
            let (window, log_lines) = (stage.tally.window(), stage.gateway.log_lines());
            self.note(Sample { seconds, phase, usage, window, holdings, log_lines })?;
            self.note_threads(number, seconds, threads(stage.gateway.pid))?;
        }
        self.threads_file.flush()?;
        Ok(self.file.flush()?)
    }

    /// The samples of a phase, by its number: a name may come twice.
    pub(crate) fn phases(&self) -> Vec<&[Sample]> {
        self.samples.chunk_by(|a, b| a.phase == b.phase).collect()
    }

    fn note_threads(&mut self, phase: usize, seconds: f64, threads: BTreeMap<String, usize>) -> Result<()> {
        for (name, count) in &threads {
            let counts = self.threads.entry((phase, name.clone())).or_default();
            counts.sum += *count as u64;
            counts.most = counts.most.max(*count as u64);
        }
        if threads != self.last_threads {
            let names: Vec<String> = threads.iter().map(|(name, count)| format!("{name}={count}")).collect();
            writeln!(self.threads_file, "{seconds:.1},{}", names.join(","))?;
            self.last_threads = threads;
        }
        Ok(())
    }

    fn note(&mut self, sample: Sample) -> Result<()> {
        let Sample { seconds, phase, usage, window, holdings, log_lines } = sample;
        let Holdings { series, cache_bytes, decision_cache_bytes, guest_memory_bytes, stacks_kib } = holdings;
        let Usage { rss_kib, anon_kib, peak_kib, threads, descriptors, sockets, children, cpu_ms } = usage;
        let Window { answers, p50_us, p99_us, failed, declined } = window;
        writeln!(
            self.file,
            "{seconds:.1},{phase},{rss_kib},{anon_kib},{peak_kib},{threads},{descriptors},{sockets},{children},{cpu_ms},\
             {answers},{p50_us},{p99_us},{failed},{declined},{series},{cache_bytes},{log_lines},\
             {decision_cache_bytes},{guest_memory_bytes},{stacks_kib}"
        )?;
        self.samples.push(sample);
        Ok(())
    }
}

// === impl Holdings ===

impl Holdings {
    /// None if the admin listener does not answer.
    fn of(stage: &Stage) -> Option<Self> {
        let (_, page) = stage.get("/metrics").ok()?;
        let gauge = |name: &str| {
            let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
            value.trim().parse().ok()
        };
        Some(Self {
            series: page.lines().count() as u64,
            cache_bytes: stage.cache_bytes(),
            decision_cache_bytes: gauge("plimsoll_decision_cache_bytes")?,
            guest_memory_bytes: gauge("plimsoll_guest_memory_bytes")?,
            stacks_kib: stacks_kib(stage.gateway.pid),
        })
    }
}
