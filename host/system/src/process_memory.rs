//! The memory of a child process.

use std::fs;

/// Resident private memory of a process in bytes, which counts against the container's limit;
/// `None` if the process is gone.
pub fn private_memory(pid: u32) -> Option<u64> {
    private_memory_in(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn private_memory_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kibi: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibi << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_writes_to_counts() {
        assert_eq!(private_memory_in("VmRSS:\t   9 kB\nRssAnon:\t    12 kB\nRssFile:\t 1 kB\n"), Some(12 << 10));
        assert_eq!(private_memory_in("Name:\tzombie\n"), None);
        let before = private_memory(std::process::id()).unwrap();
        let bytes = vec![1_u8; 64 << 20];
        let after = private_memory(std::process::id()).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 1));
        assert!(after >= before + (32 << 20), "{before} {after}");
    }
}
