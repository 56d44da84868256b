//! Memory, descriptors, threads and processor time of a process, from `/proc`.

use std::{fs, path::PathBuf};

/// The size of the stack of a thread, unless it asks for another: the default of the standard library and of tokio.
const STACK: u64 = 2 << 20;

/// One look at a process.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) rss_kib: u64,
    /// Of that, the part that is no file: the heap, stacks, and memory of guests.
    pub(crate) anon_kib: u64,
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
        anon_kib: field("RssAnon:")?,
        peak_kib: field("VmHWM:")?,
        threads: field("Threads:")?,
        descriptors,
        sockets,
        children,
        cpu_ms,
    })
}

/// Memory that the stacks of threads hold; 0 once the process has ended.
///
/// A stack keeps the pages that its deepest call has written to.
pub(crate) fn stacks_kib(pid: u32) -> u64 {
    of_stacks(&fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap_or_default())
}

/// The same of the text of `smaps`. A stack is a mapping of its size right behind one without rights, its guard.
fn of_stacks(smaps: &str) -> u64 {
    let (mut sum, mut guard_end, mut is_stack) = (0, 0, false);
    for line in smaps.lines() {
        if let Some((from, to, rights)) = mapping(line) {
            is_stack = rights == "rw-p" && to - from == STACK && guard_end == from;
            guard_end = if rights == "---p" { to } else { 0 };
        } else if is_stack && let Some(rest) = line.strip_prefix("Anonymous:") {
            sum += rest.trim_end_matches("kB").trim().parse().unwrap_or(0);
        }
    }
    sum
}

/// Start, end and rights, if this line begins a mapping.
fn mapping(line: &str) -> Option<(u64, u64, &str)> {
    let mut words = line.split(' ');
    let (from, to) = words.next()?.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    Some((address(from)?, address(to)?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_behind_a_guard_is_a_stack_and_no_other_is() {
        let smaps = "\
            7f0000000000-7f0000001000 ---p 00000000 00:00 0 \nAnonymous:             0 kB\n\
            7f0000001000-7f0000201000 rw-p 00000000 00:00 0 \nRss: 80 kB\nAnonymous:            72 kB\n\
            7f0000201000-7f0000401000 rw-p 00000000 00:00 0 \nAnonymous:          1000 kB\n\
            7f0000401000-7f0000402000 ---p 00000000 00:00 0 \nAnonymous:             0 kB\n\
            7f0000402000-7f0000602000 rw-p 00000000 00:00 0 \nAnonymous:           524 kB\n\
            7f0000602000-7f0000702000 ---p 00000000 00:00 0 \nAnonymous:             0 kB\n\
            7f0000702000-7f0000802000 rw-p 00000000 00:00 0 \nAnonymous:          2000 kB\n";
        assert_eq!(of_stacks(smaps), 72 + 524);
    }

    #[test]
    fn the_threads_of_this_process_have_stacks() {
        std::thread::scope(|scope| {
            let pid = std::process::id();
            let found = scope.spawn(move || stacks_kib(pid)).join().unwrap();
            assert!((4..100_000).contains(&found), "{found} KiB");
        });
    }
}
