//! Rules about manifests and packages that no tool can hold; `deny.toml` and the `clippy.toml`s hold the rest.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the sources should stop")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use plimsoll_harness::workspace;

/// The licence asks for a copy of it wherever the code goes, and each SDK is a package of its own.
#[test]
fn every_sdk_has_the_licence_and_a_readme() {
    let licence = fs::read_to_string(workspace().join("LICENSE")).unwrap();
    for language in ["assemblyscript", "c", "go", "python", "rust", "typescript"] {
        let folder = workspace().join("plugin-sdk").join(language);
        assert_eq!(fs::read_to_string(folder.join("LICENSE")).ok().as_ref(), Some(&licence), "{language}/LICENSE");
        assert!(folder.join("README.md").is_file(), "{language}/README.md");
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
