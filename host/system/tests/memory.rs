//! The memory of large files that were read, in a process of its own: the figure is that of the whole process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{fs, sync::Barrier, thread};

use plimsoll_system::bounded_file::read_file;

const MIB: usize = 1 << 20;

fn anonymous_memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[test]
fn large_files_that_many_threads_read_leave_no_memory_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large");
    fs::write(&path, vec![1; 14 * MIB]).unwrap();
    let before = anonymous_memory();
    for _ in 0..3 {
        let all_have_one = Barrier::new(8);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let bytes = read_file(&path, 14 * MIB as u64).unwrap();
                    all_have_one.wait();
                    drop(bytes);
                });
            }
        });
    }
    let kept = anonymous_memory().saturating_sub(before);
    assert!(kept < 14 * MIB, "{} MiB", kept / MIB);
}
