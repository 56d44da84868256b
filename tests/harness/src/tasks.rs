//! The threads of a process.

use std::{collections::BTreeMap, fs};

/// The number of threads that a process has, by their names; none once it has ended.
pub fn threads(pid: u32) -> BTreeMap<String, usize> {
    let mut threads = BTreeMap::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        // One that has ended since has no name.
        if let Ok(name) = fs::read_to_string(task.path().join("comm")) {
            *threads.entry(name.trim_end().to_owned()).or_default() += 1;
        }
    }
    threads
}
