use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

use super::*;

fn is_ours(name: &str) -> bool {
    name.strip_suffix(".ours").is_some()
}

fn open(path: &Path) -> Result<PrivateDir, String> {
    PrivateDir::open(path, is_ours)
}

#[test]
fn a_directory_that_others_can_write_to_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a/private");
    open(&path).unwrap();
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o770)).unwrap();
    assert!(open(&path).unwrap_err().starts_with("others can write to it (mode 0770)"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let link = parent.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(open(&link).unwrap_err().starts_with("it is a link"));
    if geteuid().is_root() {
        chown(&path, Some(65_534), None).unwrap();
        assert!(open(&path).unwrap_err().starts_with("it belongs to user 65534"));
    }
}

#[test]
fn a_file_is_replaced_as_a_whole_and_files_of_others_are_not_named() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("private");
    let directory = open(&path).unwrap();
    directory.write("a.ours", &[b"1", b"2"]).unwrap();
    directory.write("a.ours", &[b"3"]).unwrap();
    fs::write(path.join("theirs"), "").unwrap();
    assert_eq!(directory.names().unwrap(), ["a.ours"]);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2, "nothing is left of a write");
    assert_eq!(io::read_to_string(directory.open_file("a.ours").unwrap()).unwrap(), "3");
    symlink(path.join("a.ours"), path.join("link.ours")).unwrap();
    assert!(directory.open_file("link.ours").is_err());
    directory.remove("a.ours").unwrap();
    assert!(directory.open_file("a.ours").is_err());
}
