//! What ARCHITECTURE.md says and no tool can hold; `deny.toml` and the `clippy.toml`s hold the rest.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the sources should stop")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use plimsoll_harness::workspace;

#[test]
fn the_engine_is_named_as_the_workspace_names_it() {
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let (_, version) = manifest.split_once("wasmtime = { version = \"=").unwrap();
    let engine = format!("\"wasmtime {}\"", version.split('"').next().unwrap());
    assert!(fs::read_to_string(workspace().join("host/wasm/src/engine.rs")).unwrap().contains(&engine), "{engine}");
}

#[test]
fn the_map_has_every_crate() {
    let map = fs::read_to_string(workspace().join("ARCHITECTURE.md")).unwrap();
    for folder in crates() {
        let room = if folder.starts_with("plugins/") { "plugins" } else { &folder };
        assert!(map.contains(&format!("| `{room}` |")), "ARCHITECTURE.md does not say what {folder} is for");
    }
}

/// cargo-deny finds two crates that name a dependency in two ways, but not one that names it alone.
#[test]
fn every_version_is_named_once_in_the_workspace() {
    for folder in crates() {
        let manifest = fs::read_to_string(workspace().join(&folder).join("Cargo.toml")).unwrap();
        for section in manifest.split("\n[").filter(|section| section.contains("dependencies]\n")) {
            let is_dependency = |line: &&str| !line.is_empty() && !line.starts_with('#');
            for line in section.lines().skip(1).filter(is_dependency) {
                assert!(line.contains("workspace = true"), "{folder}/Cargo.toml: `{line}` is not the workspace's");
            }
        }
    }
}

/// clippy reads the nearest `clippy.toml` alone, so what holds everywhere is repeated in each.
#[test]
fn every_clippy_toml_begins_with_the_settings_of_the_first() {
    let common = |folder: &str| {
        let text = fs::read_to_string(workspace().join(folder).join("clippy.toml")).unwrap();
        let is_setting = |line: &&str| line.starts_with("allow-") || line.starts_with("doc-");
        text.lines().filter(is_setting).map(str::to_owned).collect::<Vec<_>>()
    };
    for folder in ["host/core", "host/cluster", "tests"] {
        assert_eq!(common(folder), common(""), "{folder}/clippy.toml");
    }
}

/// `make mechanisms` applies it to a copy of these sources.
#[test]
fn the_patch_of_the_mechanisms_applies() {
    let apply = ["apply", "--check", "tests/bench/mechanisms.patch"];
    let git = Command::new("git").args(apply).current_dir(workspace()).output().unwrap();
    assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
}

/// The folders of the workspace's crates.
fn crates() -> Vec<String> {
    let single = ["host", "tests/demo/guests"].map(PathBuf::from);
    let inside = ["host", "plugin-sdk", "plugins", "tests"].into_iter().flat_map(|folder| {
        let entries = fs::read_dir(workspace().join(folder)).unwrap();
        entries.map(move |entry| Path::new(folder).join(entry.unwrap().file_name()))
    });
    let has_manifest = |folder: &PathBuf| workspace().join(folder).join("Cargo.toml").exists();
    single.into_iter().chain(inside).filter(has_manifest).map(|folder| folder.to_string_lossy().into_owned()).collect()
}
