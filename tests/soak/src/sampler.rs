//! Samples memory, descriptors, threads and children of the process once a second, from `/proc`.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;

use crate::stage::Stage;

/// Between two samples.
const INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Since the start of the soak.
    pub(crate) seconds: f64,
    pub(crate) phase: &'static str,
    pub(crate) usage: Usage,
}

/// One look at a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) rss_kib: u64,
    pub(crate) descriptors: u64,
    pub(crate) threads: u64,
    pub(crate) children: u64,
}

pub(crate) struct Sampler {
    started: Instant,
    file: File,
    samples: Vec<Sample>,
}

// === impl Sampler ===

impl Sampler {
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let mut file = File::create(path)?;
        writeln!(file, "seconds,phase,rss_kib,descriptors,threads,children,failures")?;
        Ok(Self { started: Instant::now(), file, samples: vec![] })
    }

    /// Samples for a time, or until the process ends.
    pub(crate) fn sample_for(&mut self, phase: &'static str, time: Duration, stage: &Stage) -> Result<()> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            thread::sleep(INTERVAL);
            let Some(usage) = usage(stage.gateway.pid()) else {
                stage.tally.failure("process", "plimsoll ended");
                return Ok(());
            };
            let Usage { rss_kib, descriptors, threads, children } = usage;
            let (seconds, failures) = (self.started.elapsed().as_secs_f64(), stage.tally.failures());
            writeln!(self.file, "{seconds:.1},{phase},{rss_kib},{descriptors},{threads},{children},{failures}")?;
            self.samples.push(Sample { seconds, phase, usage });
        }
        Ok(())
    }

    /// The samples of the phases in their order; a name may come twice.
    pub(crate) fn phases(&self) -> impl Iterator<Item = &[Sample]> {
        self.samples.chunk_by(|a, b| a.phase == b.phase)
    }

    /// Prints a line for each phase.
    pub(crate) fn print(&self) {
        println!(
            "\n{:<10} {:>9} {:>23} {:>12} {:>8} {:>9}",
            "phase", "seconds", "RSS MiB first/last/most", "descriptors", "threads", "children"
        );
        for samples in self.phases() {
            let (first, last) = (&samples[0], &samples[samples.len() - 1]);
            let most = |of: fn(&Usage) -> u64| samples.iter().map(|sample| of(&sample.usage)).max().unwrap_or(0);
            let rss = [first.usage.rss_kib, last.usage.rss_kib, most(|usage| usage.rss_kib)];
            let [first_mib, last_mib, most_mib] = rss.map(|kib| kib as f64 / 1_024.0);
            println!(
                "{:<10} {:>9.0} {:>23} {:>12} {:>8} {:>9}",
                first.phase,
                last.seconds - first.seconds,
                format!("{first_mib:.1}/{last_mib:.1}/{most_mib:.1}"),
                most(|usage| usage.descriptors),
                most(|usage| usage.threads),
                most(|usage| usage.children),
            );
        }
        println!();
    }
}

/// None once the process has ended.
fn usage(pid: u32) -> Option<Usage> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let children = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
    let tasks = fs::read_dir(folder.join("task")).ok()?.flatten();
    Some(Usage {
        rss_kib: field("VmRSS:")?,
        descriptors: fs::read_dir(folder.join("fd")).ok()?.count() as u64,
        threads: field("Threads:")?,
        children: tasks.map(|task| children(task).split_whitespace().count() as u64).sum(),
    })
}
