//! The owner of a file.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// Whether the file is there and belongs to the user of this process; of a link, not the file that it leads to.
pub fn is_own(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|file| file.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_ours_is_told_from_one_that_is_not_there() {
        let directory = tempfile::tempdir().unwrap();
        assert!(is_own(directory.path()));
        assert!(!is_own(&directory.path().join("absent")));
    }
}
