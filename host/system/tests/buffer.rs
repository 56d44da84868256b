//! The memory of large buffers, in a process of its own: the figure is that of the whole process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{fs, sync::Barrier, thread};

use plimsoll_system::buffer;

const MIB: usize = 1 << 20;

fn anonymous_memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[test]
fn large_buffers_of_many_threads_leave_no_memory_behind() {
    let before = anonymous_memory();
    for _ in 0..3 {
        let all_have_one = Barrier::new(8);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut bytes = buffer(14 * MIB);
                    bytes.resize(14 * MIB, 1);
                    all_have_one.wait();
                });
            }
        });
    }
    let kept = anonymous_memory().saturating_sub(before);
    assert!(kept < 14 * MIB, "{} MiB", kept / MIB);
}
