//! Versions that are kept, that make room for others, and that come back.

use plimsoll_core::Module;
use plimsoll_system::digest::{digest, sha256};

use super::*;
use crate::{config::ReadLimits, fact_pool::FactPool};

fn content(id: &PolicyId, module: &[u8]) -> Content {
    let digests = ContentDigests { module: digest(module), sidecar: None, facts: None };
    let facts = std::collections::BTreeMap::new();
    let stored = StoredVersion { module: Module::new(module.to_vec(), sha256), sidecar: None, digests, facts };
    stored.restore(id, &ReadLimits::default(), &FactPool::default()).unwrap()
}

fn open(directory: &tempfile::TempDir) -> Arc<LastGood> {
    Arc::new(LastGood::open(&directory.path().join("last-good"), directory.path()).unwrap())
}

fn keep(last_good: &Arc<LastGood>, id: &PolicyId, content: &Content) {
    last_good.keep(id, last_good.stage(id, content).as_ref());
}

#[test]
fn an_older_version_does_not_come_back_where_there_was_no_room_for_the_one_that_answered() {
    let directory = tempfile::tempdir().unwrap();
    let last_good = open(&directory);
    let id = PolicyId { group: "".into(), name: "p".into() };
    let (old, new) = (content(&id, b"old"), content(&id, &vec![1; MAX_BYTES as usize]));
    keep(&last_good, &id, &old);
    // As after a restart with unchanged files: it is kept once.
    keep(&last_good, &id, &old);
    assert_eq!(last_good.directory.names().unwrap().len(), 1);
    last_good.promote(&id, &old.digests);
    assert_eq!(last_good.good(&id).unwrap().digests, old.digests);
    keep(&last_good, &id, &new);
    assert_eq!(last_good.good(&id).unwrap().digests, old.digests, "until the new one has answered");
    last_good.promote(&id, &new.digests);
    assert!(last_good.good(&id).is_none());
}

#[test]
fn the_version_that_is_replaced_takes_no_room() {
    let directory = tempfile::tempdir().unwrap();
    let last_good = open(&directory);
    let id = PolicyId { group: "".into(), name: "p".into() };
    let size = MAX_BYTES as usize / 2 - 1000;
    for number in 0..4 {
        let version = content(&id, &vec![number; size]);
        keep(&last_good, &id, &version);
        last_good.promote(&id, &version.digests);
        assert_eq!(last_good.good(&id).unwrap().digests, version.digests);
    }
}

#[test]
fn what_is_of_no_policy_makes_room_and_goes_with_its_directory() {
    let directory = tempfile::tempdir().unwrap();
    let open = |root: &str| {
        Arc::new(LastGood::open(&directory.path().join("last-good"), &directory.path().join(root)).unwrap())
    };
    let id = |name: &str| PolicyId { group: "".into(), name: name.into() };
    let size = MAX_BYTES as usize / 3;
    let keep = |last_good: &Arc<LastGood>, name: &str| {
        keep(last_good, &id(name), &content(&id(name), &vec![1; size - 1000]));
    };
    let is_kept = |last_good: &LastGood, name: &str| last_good.good(&id(name)).is_some();
    let other = open("other");
    keep(&other, "theirs");
    let before = open("policies");
    keep(&before, "gone");
    keep(&before, "here");
    let now = open("policies");
    now.expect([id("here"), id("new")].iter());
    keep(&now, "new");
    assert!(is_kept(&now, "here") && is_kept(&now, "new"));
    assert!(!is_kept(&other, "theirs"), "the oldest that nobody here needs made room");
    assert!(is_kept(&now, "gone"));
    keep(&other, "theirs");
    now.sweep();
    assert!(is_kept(&now, "here") && is_kept(&now, "new") && !is_kept(&now, "gone"));
    assert_eq!(now.directory.names().unwrap().len(), 2 + usize::from(is_kept(&other, "theirs")));
}

#[test]
fn a_version_that_is_written_is_not_yet_the_one_that_answered() {
    let directory = tempfile::tempdir().unwrap();
    let last_good = open(&directory);
    let id = PolicyId { group: "".into(), name: "p".into() };
    let [first, second, third] = [b"1", b"2", b"3"].map(|module| content(&id, module));
    keep(&last_good, &id, &first);
    keep(&last_good, &id, &second);
    let staged = last_good.stage(&id, &third);
    last_good.promote(&id, &second.digests);
    assert_eq!(last_good.good(&id).unwrap().digests, second.digests);
    last_good.keep(&id, staged.as_ref());
    last_good.roll_back(&id, &third.digests, "it fails");
    assert_eq!(last_good.good(&id).unwrap().digests, second.digests);
    assert_eq!(last_good.rolled_back(&id).unwrap().0, third.digests);
}

#[test]
fn a_version_that_another_gateway_wrote_is_not_taken_for_the_one_that_answered() {
    let directory = tempfile::tempdir().unwrap();
    let (ours, theirs) = (open(&directory), open(&directory));
    let id = PolicyId { group: "".into(), name: "p".into() };
    let [first, second, third] = [b"1", b"2", b"3"].map(|module| content(&id, module));
    keep(&ours, &id, &first);
    keep(&ours, &id, &second);
    keep(&theirs, &id, &third);
    ours.promote(&id, &second.digests);
    assert!(ours.good(&id).is_none_or(|good| good.digests == second.digests));
}

#[test]
fn what_is_of_others_stays_if_the_new_version_does_not_fit_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let last_good = |root: &str| {
        Arc::new(LastGood::open(&directory.path().join("last-good"), &directory.path().join(root)).unwrap())
    };
    let (ours, theirs) = (last_good("ours"), last_good("theirs"));
    let id = |name: &str| PolicyId { group: "".into(), name: name.into() };
    keep(&theirs, &id("p"), &content(&id("p"), b"1"));
    keep(&ours, &id("large"), &content(&id("large"), &vec![1; MAX_BYTES as usize]));
    keep(&ours, &id("p"), &content(&id("p"), &vec![1; MAX_BYTES as usize / 2]));
    keep(&ours, &id("p"), &content(&id("p"), &vec![2; MAX_BYTES as usize / 2]));
    assert!(theirs.good(&id("p")).is_some());
}

#[test]
fn a_version_that_did_not_come_into_force_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let last_good = open(&directory);
    let id = PolicyId { group: "".into(), name: "p".into() };
    let staged = last_good.stage(&id, &content(&id, b"1"));
    let files = || std::fs::read_dir(directory.path().join("last-good")).unwrap().count();
    assert_eq!((files(), last_good.directory.names().unwrap().len()), (1, 0));
    drop(staged);
    assert_eq!(files(), 0);
}

#[test]
fn a_damaged_version_keeps_no_room_and_no_place() {
    let directory = tempfile::tempdir().unwrap();
    let last_good = open(&directory);
    let id = PolicyId { group: "".into(), name: "p".into() };
    let size = MAX_BYTES as usize / 3 * 2;
    for damage in [&b"no header"[..], b"{}\n", b""] {
        keep(&last_good, &id, &content(&id, &vec![1; size]));
        let name = last_good.name(&id, GOOD);
        last_good.directory.write(&name, &[damage, &vec![1; size]]).unwrap();
        assert!(last_good.good(&id).is_none());
        assert!(last_good.directory.names().unwrap().is_empty());
        let next = content(&id, &vec![2; size]);
        keep(&last_good, &id, &next);
        assert_eq!(last_good.good(&id).unwrap().digests, next.digests);
        last_good.forget(&id);
    }
    // Larger than any that was written here.
    let path = directory.path().join("last-good").join(last_good.name(&id, GOOD));
    last_good.directory.write(&last_good.name(&id, GOOD), &[b"x"]).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
    assert!(last_good.good(&id).is_none() && !path.exists());
    last_good.directory.write(&last_good.name(&id, BAD), &[b"no note"]).unwrap();
    assert!(last_good.rolled_back(&id).is_none());
    assert!(last_good.directory.names().unwrap().is_empty());
}
