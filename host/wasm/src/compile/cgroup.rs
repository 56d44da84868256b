//! How much memory the container's limit leaves (control groups, version 2).
//!
//! Where Kubernetes runs with them, the kernel ends all processes of a container together when it is out of memory: a
//! compile process must stay below the limit by itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

const ROOT: &str = "/sys/fs/cgroup";

/// Bytes that this container may still take; none if it has no limit.
pub(super) fn memory_left() -> Option<u64> {
    let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
    left_in(Path::new(ROOT), &membership)
}

/// The least that our group and those around it leave.
fn left_in(root: &Path, membership: &str) -> Option<u64> {
    let group = membership.lines().find_map(|line| line.strip_prefix("0::"))?;
    let group = Path::new(group.trim_start_matches('/'));
    let folders: Vec<PathBuf> = group.ancestors().map(|group| root.join(group)).collect();
    folders.iter().filter_map(|folder| left_of(folder)).min()
}

fn left_of(folder: &Path) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let max: u64 = read("memory.max")?.trim().parse().ok()?;
    let current: u64 = read("memory.current")?.trim().parse().ok()?;
    // Pages of files that nobody has used for long are given back before anybody is killed.
    let statistics = read("memory.stat").unwrap_or_default();
    let reclaimable = statistics.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse().ok());
    Some(max.saturating_sub(current.saturating_sub(reclaimable.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(folder: &Path, max: &str, current: u64, inactive: u64) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("memory.max"), format!("{max}\n")).unwrap();
        fs::write(folder.join("memory.current"), format!("{current}\n")).unwrap();
        fs::write(folder.join("memory.stat"), format!("anon 5\ninactive_file {inactive}\nactive_file 7\n")).unwrap();
    }

    #[test]
    fn the_tightest_of_the_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        group(&root.path().join("pod"), "1000", 600, 0);
        group(&root.path().join("pod/container"), "max", 500, 0);
        assert_eq!(left_in(root.path(), "0::/pod/container\n"), Some(400));
        group(&root.path().join("pod/container"), "700", 500, 50);
        assert_eq!(left_in(root.path(), "1:cpu:/x\n0::/pod/container\n"), Some(250));
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_root() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(left_in(root.path(), "0::/\n"), None);
        group(root.path(), "100", 300, 0);
        assert_eq!(left_in(root.path(), "0::/\n"), Some(0));
    }
}
