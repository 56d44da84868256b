//! Compiled modules on disk.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use plimsoll_core::Loader;
use plimsoll_guests::{world, zone};
use plimsoll_wasm::{EngineConfig, EngineError, WasmLoader, digest, module_of};

fn open(directory: &Path) -> Result<WasmLoader, EngineError> {
    WasmLoader::new(EngineConfig { cache: Some(directory.to_owned()), ..EngineConfig::in_process() })
}

/// Loads the module with a new loader, asks it, and tells whether it had been compiled before.
fn load(directory: &Path) -> bool {
    let inspection = open(directory).unwrap().inspect("", &module_of(&zone())).unwrap();
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
            assert!(loader.load("", &module_of(&guest.bytes)).is_err());
        }
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// A loader that may keep only this many bytes, and modules that differ in a number.
fn small(directory: &Path, cache_size: u64) -> WasmLoader {
    WasmLoader::new(EngineConfig { cache: Some(directory.to_owned()), cache_size, ..EngineConfig::in_process() })
        .unwrap()
}

fn variant(number: usize) -> Vec<u8> {
    // A custom section: other bytes, the same code.
    let section = format!("{number:04}");
    [zone(), [&[0, 5, 4][..], section.as_bytes()].concat()].concat()
}

fn own_entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "cwasm")).collect()
}

#[test]
fn files_of_others_are_neither_counted_nor_deleted() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    for number in 0..300 {
        fs::write(directory.path().join(format!("thesis-{number}.tex")), "a year of work").unwrap();
    }
    // These stopped the cleaning for ever, as they cannot be removed like a file.
    fs::create_dir(directory.path().join("last-good")).unwrap();
    let foreign = format!("{}-{}.cwasm", "ab".repeat(32), "cd".repeat(8));
    fs::create_dir(directory.path().join(foreign)).unwrap();
    assert!(!load(directory.path()));
    assert!(load(directory.path()));
    let left = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 300 + 2 + 1);
}

#[test]
fn the_entries_together_stay_within_their_bound_and_the_oldest_go() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    let loader = small(directory.path(), 1 << 30);
    loader.load("", &module_of(&variant(0))).unwrap();
    let size = fs::metadata(&own_entries(directory.path())[0]).unwrap().len();
    let bound = 3 * size + size / 2;
    let loader = small(directory.path(), bound);
    for number in 1..10 {
        loader.load("", &module_of(&variant(number))).unwrap();
        let entries = own_entries(directory.path());
        let bytes: u64 = entries.iter().map(|entry| fs::metadata(entry).unwrap().len()).sum();
        assert!(bytes <= bound, "{bytes} bytes of {bound}");
    }
    assert_eq!(own_entries(directory.path()).len(), 3);
    assert!(small(directory.path(), bound).inspect("", &module_of(&variant(9))).unwrap().from_cache);
    assert!(!small(directory.path(), bound).inspect("", &module_of(&variant(1))).unwrap().from_cache);
    // One that is larger than all room is not kept, and takes no other's place.
    let tiny = small(directory.path(), 10);
    assert!(own_entries(directory.path()).is_empty(), "a lower bound holds from the start");
    tiny.load("", &module_of(&variant(1))).unwrap();
    assert!(own_entries(directory.path()).is_empty());
}
