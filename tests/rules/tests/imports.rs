//! No module of a crate imports, over any number of steps, a module that imports it.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the sources should stop")]

use std::{fs, path::PathBuf, process::Command};

use plimsoll_harness::workspace;
use plimsoll_rules::imports::Imports;

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

/// The root file of each library and program of the workspace.
fn roots() -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args(["ls-files", "host/**src/lib.rs", "host/src/main.rs"])
        .current_dir(workspace())
        .output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    let roots: Vec<_> = listed.lines().map(|path| workspace().join(path)).collect();
    assert!(roots.len() > 10, "git lists only {roots:?}");
    roots
}

#[test]
fn a_cycle_is_found_through_a_re_export_and_a_bare_path() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("lib.rs", "mod a; mod b; mod c; pub use a::A; #[cfg(test)] mod tests;");
    write("a.rs", "use crate::b::B; pub struct A(B);");
    write("b.rs", "pub struct B; fn f() { crate::c::g() }");
    write("c.rs", "use super::A; pub fn g() -> Option<A> { None }");
    let cycles = Imports::of(&folder.path().join("lib.rs")).unwrap().cycles();
    assert_eq!(cycles, ["crate::a -> crate::b -> crate::c -> crate::a"]);
}
