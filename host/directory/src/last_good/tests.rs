//! Versions that are kept, rejected, forgotten and damaged.

use plimsoll_system::digest::digest;

use super::*;

fn content(id: &PolicyId, module: &[u8]) -> Content {
    let module = Module::new(module.to_vec(), sha256);
    let sidecar = SidecarFile::of_text("p.yaml".into(), "order: 7\n".into(), &DirectoryConfig::new("")).unwrap();
    Content::of_texts(&DirectoryConfig::new(""), &id.group, Arc::new(sidecar), module, "p.wasm".into(), [].into())
        .unwrap()
}

fn id(name: &str) -> PolicyId {
    PolicyId { group: "".into(), name: name.into() }
}

fn open(directory: &tempfile::TempDir) -> LastGood {
    LastGood::open(&directory.path().join("last-good"), directory.path()).unwrap()
}

/// The digest of the module that is kept, and the one of the content that was rolled back to it.
fn kept(last_good: &LastGood, name: &str) -> Option<(String, Option<String>)> {
    let (content, rejected) = last_good.read(&id(name), &DirectoryConfig::new(""))?;
    assert_eq!(content.sidecar.sidecar.config.order, 7);
    Some((content.digests.module, rejected.map(|(digests, _)| digests.module)))
}

#[test]
fn a_version_is_kept_with_the_content_that_was_rolled_back_to_it_until_a_newer_one_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let last_good = open(&directory);
    let [first, second, third] = [b"1", b"2", b"3"].map(|module| content(&id("p"), module));
    last_good.keep(&id("p"), &first);
    assert_eq!(kept(&last_good, "p"), Some((digest(b"1"), None)));
    last_good.reject(&id("p"), &second.digests, "it fails");
    assert_eq!(kept(&open(&directory), "p"), Some((digest(b"1"), Some(digest(b"2")))));
    last_good.keep(&id("p"), &third);
    assert_eq!(kept(&last_good, "p"), Some((digest(b"3"), None)));
    last_good.forget(&id("p"));
    assert_eq!(kept(&last_good, "p"), None);
    last_good.reject(&id("p"), &second.digests, "it fails");
    assert_eq!(kept(&last_good, "p"), None);
}

#[test]
fn several_directories_of_policies_share_one_directory_of_versions() {
    let directory = tempfile::tempdir().unwrap();
    let ours = open(&directory);
    let theirs = LastGood::open(&directory.path().join("last-good"), Path::new("other")).unwrap();
    ours.keep(&id("p"), &content(&id("p"), b"1"));
    assert_eq!(kept(&theirs, "p"), None);
    theirs.keep(&id("p"), &content(&id("p"), b"2"));
    ours.forget(&id("p"));
    assert_eq!((kept(&ours, "p"), kept(&theirs, "p")), (None, Some((digest(b"2"), None))));
}

#[test]
fn a_damaged_version_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let last_good = open(&directory);
    for damage in [&b"no header"[..], b"{}\n", b""] {
        last_good.keep(&id("p"), &content(&id("p"), b"1"));
        last_good.directory.write(&last_good.name(&id("p")), &[damage]).unwrap();
        assert_eq!(kept(&last_good, "p"), None);
    }
    // Of another policy.
    last_good.write(&id("p"), &header("q"), b"1");
    assert_eq!(kept(&last_good, "p"), None);
}

fn header(policy: &str) -> Header {
    Header { policy: policy.into(), module: digest(b"1"), sidecar: None, facts: [].into(), rejected: None }
}
