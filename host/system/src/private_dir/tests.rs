use std::{collections::BTreeSet, fs};

use super::*;

fn is_ours(name: &str) -> bool {
    name.strip_suffix(".ours").is_some()
}

fn mk_directory() -> (tempfile::TempDir, PrivateDir) {
    let parent = tempfile::tempdir().unwrap();
    let directory = PrivateDir::open(&parent.path().join("private"), is_ours).unwrap();
    (parent, directory)
}

fn write_at(directory: &PrivateDir, name: &str, bytes: usize, age: Duration) {
    let path = directory.path.join(name);
    fs::write(&path, vec![0; bytes]).unwrap();
    File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn no_two_writes_share_a_temporary_name() {
    let names: BTreeSet<String> = (0..1000).map(|_| temporary("a.ours")).collect();
    assert_eq!(names.len(), 1000);
    assert!(names.iter().all(|name| name_of_temporary(name) == Some("a.ours")), "{names:?}");
    let process = std::process::id().to_string();
    assert!(!names.iter().all(|name| name.contains(&process)));
}

#[test]
fn the_oldest_make_room_and_nothing_of_others_is_touched() {
    let (_parent, directory) = mk_directory();
    let hours = |count| Duration::from_hours(count);
    for (name, age) in [("a.ours", 5), ("b.ours", 4), ("c.ours", 3), ("d.ours", 2), ("theirs", 9)] {
        write_at(&directory, name, 10, hours(age));
    }
    let temporary = |name: &str| format!("{name}.0123456789abcdef.tmp");
    write_at(&directory, &temporary("a.ours"), 10, hours(2));
    write_at(&directory, &temporary("b.ours"), 10, Duration::ZERO);
    write_at(&directory, &temporary("probe"), 10, hours(2));
    write_at(&directory, &temporary("theirs"), 10, hours(2));
    let limit = DirLimit { files: 10, bytes: 30 };
    assert!(directory.make_room(limit, 10, "d.ours", |name| name == "a.ours").unwrap());
    let left: BTreeSet<String> =
        fs::read_dir(&directory.path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let expected = ["a.ours", &temporary("b.ours"), "c.ours", "d.ours", "theirs", &temporary("theirs")];
    assert_eq!(left, expected.into_iter().map(str::to_owned).collect());
    assert!(!directory.make_room(limit, 25, "", |_| true).unwrap());
    assert!(!directory.make_room(DirLimit { files: 3, ..limit }, 0, "", |_| true).unwrap());
    let mut names = directory.names().unwrap();
    names.sort();
    assert_eq!(names, ["a.ours", "c.ours", "d.ours"]);
}

#[test]
fn nothing_is_removed_for_a_file_that_does_not_fit() {
    let (_parent, directory) = mk_directory();
    write_at(&directory, "mine.ours", 20, Duration::from_hours(1));
    write_at(&directory, "other.ours", 10, Duration::from_hours(2));
    let limit = DirLimit { files: 2, bytes: 40 };
    let make_room = |size| directory.make_room(limit, size, "new.ours", |name| name == "mine.ours").unwrap();
    assert!(!make_room(21) && !make_room(41));
    assert_eq!(directory.names().unwrap().len(), 2);
    assert!(make_room(20));
    assert_eq!(directory.names().unwrap(), ["mine.ours"]);
}

#[test]
fn a_directory_that_is_just_full_stays_so() {
    let (_parent, directory) = mk_directory();
    write_at(&directory, "a.ours", 10, Duration::from_hours(2));
    write_at(&directory, "b.ours", 10, Duration::from_hours(1));
    directory.trim(DirLimit { files: 2, bytes: 20 }).unwrap();
    assert_eq!(directory.names().unwrap().len(), 2);
    directory.trim(DirLimit { files: 2, bytes: 19 }).unwrap();
    assert_eq!(directory.names().unwrap(), ["b.ours"]);
}
