//! The memory limit of the container, and the part of it that is left (control groups, versions 1 and 2).
//!
//! Where Kubernetes runs with version 2, the kernel ends all processes of a container together when it is out of
//! memory: code that starts a process must keep the total below the limit.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// From this number on, version 1 means that there is no limit: it rounds the largest number to pages.
const NO_LIMIT: u64 = 1 << 60;

/// The memory limit of this container in bytes; `None` if it has no limit.
pub fn memory_limit() -> Option<u64> {
    groups(Path::new("/")).iter().filter_map(ControlGroup::limit).min()
}

/// The bytes that the container's limit leaves; `None` if it has no limit.
pub fn memory_left() -> Option<u64> {
    groups(Path::new("/")).iter().filter_map(ControlGroup::left).min()
}

/// One control group of memory.
struct ControlGroup {
    folder: PathBuf,
    files: &'static ControlFiles,
}

/// The file names of one version of control groups.
struct ControlFiles {
    limit: &'static str,
    usage: &'static str,
    /// The start of the line of `memory.stat` with memory that the kernel reclaims before it kills a process: pages of files
    /// that were not used for long.
    reclaimable: &'static str,
}

const VERSION_1: ControlFiles = ControlFiles {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: "total_inactive_file ",
};

const VERSION_2: ControlFiles =
    ControlFiles { limit: "memory.max", usage: "memory.current", reclaimable: "inactive_file " };

/// Our control group and those around it, as far as they can be seen.
fn groups(root: &Path) -> Vec<ControlGroup> {
    let membership = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    membership.lines().flat_map(|line| groups_of(root, line)).collect()
}

/// The groups of one line of the membership: `0::/a/b` (version 2), `5:memory:/a/b` (version 1).
fn groups_of(root: &Path, line: &str) -> Vec<ControlGroup> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { return vec![] };
    let (folder, files) = if controllers.is_empty() {
        (root.join("sys/fs/cgroup"), &VERSION_2)
    } else if controllers.split(',').any(|controller| controller == "memory") {
        (root.join("sys/fs/cgroup/memory"), &VERSION_1)
    } else {
        return vec![];
    };
    // A container may see its own group as the root, regardless of the membership.
    let groups = Path::new(group.trim_start_matches('/')).ancestors();
    groups.map(|group| ControlGroup { folder: folder.join(group), files }).collect()
}

// === impl ControlGroup ===

impl ControlGroup {
    fn limit(&self) -> Option<u64> {
        self.read(self.files.limit)?.trim().parse().ok().filter(|limit| *limit < NO_LIMIT)
    }

    fn left(&self) -> Option<u64> {
        let limit = self.limit()?;
        let usage: u64 = self.read(self.files.usage)?.trim().parse().ok()?;
        let statistics = self.read("memory.stat").unwrap_or_default();
        let reclaimable = |line: &str| line.strip_prefix(self.files.reclaimable)?.trim().parse().ok();
        let reclaimable = statistics.lines().find_map(reclaimable).unwrap_or(0);
        Some(limit.saturating_sub(usage.saturating_sub(reclaimable)))
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }
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
        (groups.iter().filter_map(ControlGroup::limit).min(), groups.iter().filter_map(ControlGroup::left).min())
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

    #[test]
    fn version_1_counts_as_version_2_does() {
        let nested = [
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "900\n"),
            ("sys/fs/cgroup/memory/pod/memory.usage_in_bytes", "800\n"),
            ("sys/fs/cgroup/memory/pod/memory.stat", "inactive_file 1\ntotal_inactive_file 50\n"),
        ];
        assert_eq!(memory("4:cpu:/x\n5:memory:/pod/c\n", &nested), (Some(900), Some(150)));
        assert_eq!(memory("5:hugetlb,memory:/\n", &nested), (None, None));
        assert_eq!(memory("5:cpu:/pod\n", &nested), (None, None));
    }
}
