//! The memory limit of the container, and the part of it that is left (control groups, version 2).
//!
//! The kernel ends all processes of a container together when it is out of memory: code that starts a process must keep
//! the total below the limit.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The memory limit of this container in bytes; `None` if it has no limit.
pub fn memory_limit() -> Option<u64> {
    groups(Path::new("/")).iter().filter_map(|group| limit(group)).min()
}

/// The bytes that the container's limit leaves; `None` if it has no limit.
pub fn memory_left() -> Option<u64> {
    groups(Path::new("/")).iter().filter_map(|group| left(group)).min()
}

/// The folders of our control group and of those around it. A container may see its own group as the root, regardless
/// of the membership.
fn groups(root: &Path) -> Vec<PathBuf> {
    let membership = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let group = membership.lines().find_map(|line| line.strip_prefix("0::/"));
    let groups = group.into_iter().flat_map(|group| Path::new(group).ancestors());
    groups.map(|group| root.join("sys/fs/cgroup").join(group)).collect()
}

fn limit(group: &Path) -> Option<u64> {
    fs::read_to_string(group.join("memory.max")).ok()?.trim().parse().ok()
}

fn left(group: &Path) -> Option<u64> {
    let limit = limit(group)?;
    let usage: u64 = fs::read_to_string(group.join("memory.current")).ok()?.trim().parse().ok()?;
    // Pages of files that were not used for long: the kernel reclaims them before it kills a process.
    let statistics = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let reclaimable = statistics.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse().ok());
    Some(limit.saturating_sub(usage.saturating_sub(reclaimable.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limit and rest of a machine with these files below its root.
    fn memory(membership: &str, files: &[(&str, &str)]) -> (Option<u64>, Option<u64>) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in [("proc/self/cgroup", membership)].iter().chain(files) {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let groups = groups(root.path());
        (groups.iter().filter_map(|group| limit(group)).min(), groups.iter().filter_map(|group| left(group)).min())
    }

    #[test]
    fn the_tightest_of_the_groups_around_the_process_counts() {
        let nested = [
            ("sys/fs/cgroup/memory.max", "max\n"),
            ("sys/fs/cgroup/pod/memory.max", "1000\n"),
            ("sys/fs/cgroup/pod/memory.current", "600\n"),
            ("sys/fs/cgroup/pod/c/memory.max", "700\n"),
            ("sys/fs/cgroup/pod/c/memory.current", "500\n"),
            ("sys/fs/cgroup/pod/c/memory.stat", "anon 5\ninactive_file 350\nactive_file 7\n"),
        ];
        assert_eq!(memory("1:cpu:/x\n0::/pod/c\n", &nested), (Some(700), Some(400)));
        assert_eq!(memory("0::/pod\n", &nested), (Some(1000), Some(400)));
        assert_eq!(memory("0::/\n", &nested), (None, None));
        assert_eq!(memory("", &nested), (None, None));
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_root() {
        let files = [("sys/fs/cgroup/memory.max", "100\n"), ("sys/fs/cgroup/memory.current", "300\n")];
        assert_eq!(memory("0::/\n", &files), (Some(100), Some(0)));
        assert_eq!(memory("0::/kubepods/pod/c\n", &files), (Some(100), Some(0)));
    }
}
