//! Memory, descriptors, threads and processor time of a process, from `/proc`.

use std::{fs, path::PathBuf};

/// One look at a process.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) rss_kib: u64,
    pub(crate) peak_kib: u64,
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
    /// Of those, sockets.
    pub(crate) sockets: u64,
    pub(crate) children: u64,
    /// Processor time so far.
    pub(crate) cpu_ms: u64,
}

/// None once the process has ended.
pub(crate) fn usage(pid: u32) -> Option<Usage> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let (mut descriptors, mut sockets) = (0, 0);
    for entry in fs::read_dir(folder.join("fd")).ok()?.flatten() {
        descriptors += 1;
        // One that was closed since is no socket.
        let target = fs::read_link(entry.path()).unwrap_or_default();
        sockets += u64::from(target.to_string_lossy().starts_with("socket:"));
    }
    let children = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
    let tasks = fs::read_dir(folder.join("task")).ok()?.flatten();
    let children = tasks.map(|task| children(task).split_whitespace().count() as u64).sum();
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // Behind the name, which may hold spaces: user and system time are fields 14 and 15, in hundredths of a second.
    let ticks = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
    let cpu_ms = 10 * ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>();
    Some(Usage {
        rss_kib: field("VmRSS:")?,
        peak_kib: field("VmHWM:")?,
        threads: field("Threads:")?,
        descriptors,
        sockets,
        children,
        cpu_ms,
    })
}
