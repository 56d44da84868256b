//! Compiled modules on disk.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use plimsoll_core::Loader;
use plimsoll_guests::{world, zone};
use plimsoll_wasm::{EngineConfig, EngineError, WasmLoader, digest};

fn open(directory: &Path) -> Result<WasmLoader, EngineError> {
    WasmLoader::new(EngineConfig { cache: Some(directory.to_owned()), ..EngineConfig::default() })
}

/// Loads the module with a new loader, asks it, and tells whether it had been compiled before.
fn load(directory: &Path) -> bool {
    let inspection = open(directory).unwrap().inspect(&zone()).unwrap();
    let ask = world::patient(world::ask(world::view(&world::cluster(4))));
    assert_eq!(inspection.policy.filter(&ask, &[0, 1, 2, 3]).unwrap().len(), 4);
    inspection.from_cache
}

fn only_entry(directory: &Path) -> PathBuf {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}

#[test]
fn a_module_is_compiled_once_for_all_starts() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("compiled");
    assert!(!load(&directory));
    assert!(load(&directory));
    assert_eq!(fs::metadata(&directory).unwrap().mode() & 0o777, 0o700);
    let entry = only_entry(&directory);
    assert_eq!(fs::metadata(&entry).unwrap().mode() & 0o777, 0o600);
    let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name.starts_with(digest(&zone()).strip_prefix("sha256:").unwrap()), "{name}");
}

#[test]
fn a_corrupt_entry_is_compiled_again_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    assert!(!load(directory.path()));
    let entry = only_entry(directory.path());
    let sound = fs::read(&entry).unwrap();
    let mut flipped = sound.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    let corrupt = [flipped, sound[..sound.len() / 2].to_vec(), sound[..20].to_vec(), Vec::new()];
    for bytes in corrupt {
        fs::write(&entry, &bytes).unwrap();
        assert!(!load(directory.path()), "{} bytes were taken", bytes.len());
        assert!(fs::read(&entry).unwrap() == sound, "it was not replaced");
        assert!(load(directory.path()));
    }
}

#[test]
fn an_entry_that_others_can_write_to_is_not_trusted() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    assert!(!load(directory.path()));
    fs::set_permissions(only_entry(directory.path()), Permissions::from_mode(0o666)).unwrap();
    assert!(!load(directory.path()));
    assert!(load(directory.path()), "it was not replaced");
}

#[test]
fn a_directory_that_others_can_write_to_is_refused() {
    for mode in [0o770, 0o702, 0o1777] {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
        let error = open(directory.path()).unwrap_err().to_string();
        assert!(error.contains("others can write to it") && error.contains("chmod 0700"), "{error}");
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = open(&file.join("compiled")).unwrap_err().to_string();
    assert!(error.contains("file/compiled"), "{error}");
}

#[test]
fn a_module_that_is_refused_is_not_kept() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    let loader = open(directory.path()).unwrap();
    for guest in plimsoll_guests::hostile() {
        if matches!(guest.expected, plimsoll_guests::Expected::Refused(_)) {
            assert!(loader.load(&guest.bytes).is_err());
        }
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
