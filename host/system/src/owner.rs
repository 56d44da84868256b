//! The owner of a file.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// Whether the file is there and belongs to the user of this process; of a link, not the file that it leads to.
pub fn is_own(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|file| file.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn only_an_existing_file_of_this_user_is_its_own() {
        let directory = tempfile::tempdir().unwrap();
        assert!(is_own(directory.path()));
        assert!(!is_own(&directory.path().join("absent")));
        if rustix::process::geteuid().is_root() {
            let other = directory.path().join("other");
            fs::write(&other, "").unwrap();
            chown(&other, Some(65_534), None).unwrap();
            assert!(!is_own(&other));
        } else {
            assert!(!is_own(Path::new("/")));
        }
    }
}
