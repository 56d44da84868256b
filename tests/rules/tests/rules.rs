//! ARCHITECTURE.md says which crate may name which; these tests hold it to that.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the sources should stop")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use plimsoll_harness::workspace;

/// A dependency and the only crates (folders) that may name it.
const ONLY: [(&str, &[&str]); 7] = [
    ("wasmtime", &["host/wasm"]),
    ("axum", &["host/http"]),
    // The second is a client of the wire.
    ("rustls", &["host/http", "tests/contract"]),
    ("notify", &["host/directory"]),
    // The last creates pods faster than kubectl can.
    ("kube", &["host/cluster", "tests/e2e"]),
    // The last three are clients of the wire, or of the API server.
    ("tokio", &["host", "host/http", "host/cluster", "tests/bench", "tests/contract", "tests/e2e"]),
    ("wit-component", &["host/wasm"]),
];

/// What each crate of the host and the SDK may name of the others.
const MAY_NAME: [(&str, &[&str]); 9] = [
    ("host/core", &["plimsoll-decision-cache"]),
    ("host/decision-cache", &[]),
    ("host/wasm", &["plimsoll-core"]),
    ("host/directory", &["plimsoll-core"]),
    ("host/http", &["plimsoll-core"]),
    ("host/cluster", &["plimsoll-core"]),
    ("host/sample", &[]),
    (
        "host",
        &[
            "plimsoll-core",
            "plimsoll-wasm",
            "plimsoll-directory",
            "plimsoll-http",
            "plimsoll-cluster",
            "plimsoll-sample",
        ],
    ),
    ("plugin-sdk/rust", &["plimsoll-core"]),
];

#[test]
fn only_one_crate_names_each_of_the_large_dependencies() {
    for (folder, manifest) in manifests() {
        for name in dependencies(&manifest) {
            let Some((_, allowed)) = ONLY.iter().find(|(only, _)| *only == name) else { continue };
            assert!(allowed.contains(&folder.as_str()), "{folder}/Cargo.toml names {name}: only {allowed:?} may");
        }
    }
}

#[test]
fn core_knows_no_io() {
    let core = fs::read_to_string(workspace().join("host/core/Cargo.toml")).unwrap();
    for name in ["tokio", "axum", "wasmtime", "kube", "notify", "hyper", "tracing"] {
        assert!(!dependencies(&core).contains(&name.to_owned()), "host/core/Cargo.toml names {name}");
    }
    for file in sources(&workspace().join("host/core/src")) {
        let text = fs::read_to_string(&file).unwrap();
        for word in ["std::fs", "std::net", "std::process", "std::thread", "println!"] {
            assert!(
                !text.contains(word) || file.to_string_lossy().contains("/tests"),
                "{} names {word}",
                file.display()
            );
        }
    }
}

#[test]
fn crates_of_the_host_see_core_alone() {
    let manifests = manifests();
    for (folder, allowed) in MAY_NAME {
        for name in dependencies(&manifests[folder]).iter().filter(|name| name.starts_with("plimsoll-")) {
            assert!(allowed.contains(&name.as_str()), "{folder}/Cargo.toml names {name}: it may name {allowed:?}");
        }
    }
}

/// A text, the folder whose sources must not have it, and the only file there that may.
const ABSENT: [(&str, &str, &str); 2] = [
    // A module is compiled in a process that may die.
    ("Compiler::InProcess", "host/src", ""),
    // The simulation runs the same code on a clock of its own.
    ("tokio::time", "host/cluster/src", "clock.rs"),
];

#[test]
fn what_has_one_place_is_nowhere_else() {
    for (text, folder, only) in ABSENT {
        for path in sources(&workspace().join(folder)) {
            let is_allowed = !only.is_empty() && path.ends_with(only);
            assert!(is_allowed || !fs::read_to_string(&path).unwrap().contains(text), "{}: {text}", path.display());
        }
    }
}

#[test]
fn every_version_is_named_once_in_the_workspace() {
    for (folder, manifest) in manifests() {
        for line in dependency_lines(&manifest) {
            assert!(
                line.contains("workspace = true"),
                "{folder}/Cargo.toml: `{line}` does not take the workspace's version"
            );
        }
    }
}

#[test]
fn policies_see_the_sdk_alone() {
    for (folder, manifest) in manifests().into_iter().filter(|(folder, _)| folder.starts_with("plugins/")) {
        for name in dependencies(&manifest).iter().filter(|name| name.starts_with("plimsoll-")) {
            assert_eq!(name, "plimsoll-policy", "{folder}/Cargo.toml");
        }
    }
}

#[test]
fn the_map_has_every_crate() {
    let map = fs::read_to_string(workspace().join("ARCHITECTURE.md")).unwrap();
    for folder in manifests().keys() {
        let room = if folder.starts_with("plugins/") { "plugins" } else { folder };
        assert!(map.contains(&format!("| `{room}` |")), "ARCHITECTURE.md does not say what {folder} is for");
    }
}

/// Every Cargo.toml of the workspace but its root, by folder.
fn manifests() -> BTreeMap<String, String> {
    let mut manifests = BTreeMap::new();
    let single = ["host", "plugin-sdk/rust"].map(PathBuf::from);
    let inside = ["host", "plugins", "tests"].into_iter().flat_map(|folder| {
        let entries = fs::read_dir(workspace().join(folder)).unwrap();
        entries.map(move |entry| Path::new(folder).join(entry.unwrap().file_name()))
    });
    for folder in single.into_iter().chain(inside) {
        if let Ok(text) = fs::read_to_string(workspace().join(&folder).join("Cargo.toml")) {
            manifests.insert(folder.to_string_lossy().into_owned(), text);
        }
    }
    manifests
}

/// The names in `[dependencies]` and its relatives, but for `[dev-dependencies]`.
fn dependencies(manifest: &str) -> Vec<String> {
    let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap_or_default().to_owned();
    dependency_lines(manifest).iter().map(|line| name(line)).collect()
}

fn dependency_lines(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]") && !line.contains("dev-dependencies");
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            lines.push(line.to_owned());
        }
    }
    lines
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}
