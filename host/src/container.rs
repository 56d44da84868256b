//! What the container may take of the machine (control groups).

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What guests may take where the container has no limit.
const UNLIMITED: usize = 1 << 30;

/// The part of the container's memory that guests may take; docs/operations.md has the whole sum.
const GUESTS: usize = 4;

/// The memory of all guests, unless the operator says otherwise.
pub(crate) fn guest_memory() -> usize {
    memory_limit(Path::new("/")).map_or(UNLIMITED, |limit| limit / GUESTS)
}

/// The least limit of our control group and those around it; none if there is none.
fn memory_limit(root: &Path) -> Option<usize> {
    let membership = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = membership.lines().flat_map(|line| files(root, line));
    // Version 1 writes a number beyond all memory for no limit.
    let limits = limits.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    limits.min().filter(|limit| *limit < 1 << 60)
}

/// The files with limits for one line of the membership: `0::/a/b` (version 2), `5:memory:/a/b` (version 1).
fn files(root: &Path, line: &str) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { return vec![] };
    let (folder, name) = match controllers {
        "" => (root.join("sys/fs/cgroup"), "memory.max"),
        "memory" => (root.join("sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        _ => return vec![],
    };
    // A container may see its own group as the root.
    Path::new(group.trim_start_matches('/')).ancestors().map(|group| folder.join(group).join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit_of(membership: &str, files: &[(&str, &str)]) -> Option<usize> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in [("proc/self/cgroup", membership)].iter().chain(files) {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        memory_limit(root.path())
    }

    #[test]
    fn the_least_limit_of_the_groups_around_the_process_counts() {
        let (pod, all) = ("sys/fs/cgroup/pod/memory.max", "sys/fs/cgroup/memory.max");
        assert_eq!(limit_of("0::/pod/c\n", &[(pod, "1000\n"), (all, "max\n")]), Some(1000));
        assert_eq!(limit_of("0::/\n", &[(all, "700\n")]), Some(700));
        assert_eq!(limit_of("0::/\n", &[(all, "max\n")]), None);
        assert_eq!(limit_of("", &[]), None);
        let old = "sys/fs/cgroup/memory/memory.limit_in_bytes";
        assert_eq!(limit_of("4:cpu:/x\n5:memory:/x\n", &[(old, "900\n")]), Some(900));
        assert_eq!(limit_of("5:memory:/\n", &[(old, "9223372036854771712\n")]), None);
    }
}
