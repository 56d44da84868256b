//! No module of a crate imports, over any number of steps, a module that imports it.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the sources should stop")]

use std::{collections::BTreeSet, fs, path::PathBuf, process::Command};

use plimsoll_harness::workspace;
use plimsoll_rules::imports::Imports;
use serde_json::Value;

#[test]
fn no_crate_has_an_import_cycle() {
    let mut found = Vec::new();
    for root in roots() {
        let name = root.strip_prefix(workspace()).unwrap().display().to_string();
        let cycles = Imports::of(&root).unwrap().cycles();
        found.extend(cycles.into_iter().map(|cycle| format!("{name}: {cycle}")));
    }
    assert!(found.is_empty(), "import cycles:\n{}", found.join("\n"));
}

/// The root file of each library, program, test, bench and example of the workspace.
fn roots() -> BTreeSet<PathBuf> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(workspace())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let targets =
        metadata["packages"].as_array().unwrap().iter().flat_map(|package| package["targets"].as_array().unwrap());
    let mut roots: BTreeSet<_> = targets.map(|target| PathBuf::from(target["src_path"].as_str().unwrap())).collect();
    // A workspace of its own.
    roots.insert(workspace().join("tests/fuzz/generator/src/main.rs"));
    assert!(roots.len() > 60, "cargo lists only {roots:?}");
    roots
}

/// The cycles of a crate with these files, the first being its root.
fn cycles_of(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    Imports::of(&folder.path().join(files[0].0)).unwrap().cycles()
}

#[test]
fn a_folder_is_one_module_for_its_siblings() {
    let cycles = cycles_of(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod first; mod second; pub use first::A; pub struct Own;"),
        ("a/first.rs", "use super::Own; use crate::b::B; pub struct A(B, Own);"),
        ("a/second.rs", "pub struct C;"),
        ("b.rs", "use crate::a::second::C; pub struct B(C);"),
    ]);
    assert_eq!(cycles, ["crate::a -> crate::b -> crate::a"]);
}

#[test]
fn a_cycle_is_found_through_a_re_export_and_a_bare_path() {
    let cycles = cycles_of(&[
        ("lib.rs", "mod a; mod b; mod c; pub use a::A; #[cfg(test)] mod tests;"),
        ("a.rs", "use crate::b::B; pub struct A(B);"),
        ("b.rs", "pub struct B; fn f() { crate::c::g() }"),
        ("c.rs", "use super::A; pub fn g() -> Option<A> { None }"),
    ]);
    assert_eq!(cycles, ["crate::a -> crate::b -> crate::c -> crate::a"]);
}

#[test]
fn a_cycle_is_found_through_the_argument_of_a_macro_and_a_file_elsewhere() {
    let cycles = cycles_of(&[
        ("main.rs", "mod a; #[path = \"elsewhere/b.rs\"] mod b;"),
        ("a.rs", "pub fn f() -> Vec<u32> { vec![1, crate::b::g()] }"),
        ("elsewhere/b.rs", "mod c; pub fn g() -> u32 { c::h() }"),
        ("elsewhere/c.rs", "pub fn h() -> u32 { crate::a::f().len() as u32 }"),
    ]);
    assert_eq!(cycles, ["crate::a -> crate::b -> crate::b::c -> crate::a", "crate::a -> crate::b -> crate::a"]);
}
