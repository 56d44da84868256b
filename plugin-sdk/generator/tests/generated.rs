//! The checked-in code is the code that the contract generates.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the sources should stop")]

use std::path::Path;

#[test]
fn the_generated_files_follow_from_the_contract() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let stale: Vec<_> = plimsoll_generator::stale(&workspace).unwrap().into_iter().map(|file| file.path).collect();
    assert!(stale.is_empty(), "run `make generate`: {stale:?}");
}
