//! Samples the process and its clients once a second.

use std::{
    fs::File,
    io::{BufWriter, Write},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;

use crate::{
    plan::Plan,
    process::{Usage, usage},
    stage::Stage,
    tally::Window,
};

/// Between two samples.
const INTERVAL: Duration = Duration::from_secs(1);

/// The admin listener is asked less often than the kernel.
const SERIES_EVERY: usize = 10;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Since the start of the soak.
    pub(crate) seconds: f64,
    pub(crate) phase: &'static str,
    pub(crate) usage: Usage,
    pub(crate) window: Window,
    /// Lines of `/metrics`, as last counted.
    pub(crate) series: u64,
    /// Bytes of the compiled-code cache, as last counted.
    pub(crate) cache_bytes: u64,
    pub(crate) log_lines: u64,
}

pub(crate) struct Sampler {
    started: Instant,
    file: BufWriter<File>,
    pub(crate) samples: Vec<Sample>,
}

// === impl Sampler ===

impl Sampler {
    pub(crate) fn new(plan: &Plan, stage: &Stage) -> Result<Self> {
        let mut file = BufWriter::new(File::create(plan.directory.join("samples.csv"))?);
        writeln!(
            file,
            "seconds,phase,rss_kib,peak_kib,threads,descriptors,sockets,children,cpu_ms,answers,p50_us,p99_us,\
             failed,declined,series,cache_bytes,log_lines"
        )?;
        // The admin listener's own connection comes and goes before anything is compared.
        stage.get("/metrics")?;
        Ok(Self { started: Instant::now(), file, samples: vec![] })
    }

    /// Samples for a time, or until the process ends.
    pub(crate) fn sample_for(&mut self, phase: &'static str, time: Duration, stage: &Stage) -> Result<()> {
        let started = Instant::now();
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
            let last = self.samples.last().copied();
            let (mut series, mut cache_bytes) = last.map_or((0, 0), |last| (last.series, last.cache_bytes));
            if self.samples.len().is_multiple_of(SERIES_EVERY) {
                series = stage.get("/metrics").map_or(series, |page| page.1.lines().count() as u64);
                cache_bytes = stage.cache_bytes();
            }
            let seconds = self.started.elapsed().as_secs_f64();
            let (window, log_lines) = (stage.tally.window(), stage.gateway.log_lines());
            self.note(Sample { seconds, phase, usage, window, series, cache_bytes, log_lines })?;
        }
        Ok(self.file.flush()?)
    }

    /// The samples of a phase, by its number: a name may come twice.
    pub(crate) fn phases(&self) -> Vec<&[Sample]> {
        self.samples.chunk_by(|a, b| a.phase == b.phase).collect()
    }

    fn note(&mut self, sample: Sample) -> Result<()> {
        let Sample { seconds, phase, usage, window, series, cache_bytes, log_lines } = sample;
        let Usage { rss_kib, peak_kib, threads, descriptors, sockets, children, cpu_ms } = usage;
        let Window { answers, p50_us, p99_us, failed, declined } = window;
        writeln!(
            self.file,
            "{seconds:.1},{phase},{rss_kib},{peak_kib},{threads},{descriptors},{sockets},{children},{cpu_ms},\
             {answers},{p50_us},{p99_us},{failed},{declined},{series},{cache_bytes},{log_lines}"
        )?;
        self.samples.push(sample);
        Ok(())
    }
}
