//! `plimsoll new`: which changes build the module again, and which leave it as it is.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use plimsoll_harness::tempdir;

use crate::{
    new::{made, make, new_policy},
    tools::{has, has_clang, has_go},
};

/// For each language whose Makefile knows the inputs of the module: the stamp of its packages, sources of its module, and
/// a file with tests. The tools of Rust and Go know them better.
const LANGUAGES: [(&str, &str, &[&str], &str); 4] = [
    ("c", "", &["lib/why.h", "sdk/plimsoll.h"], "policy_test.c"),
    ("python", ".venv/installed", &["lib/why.py", "sdk/plimsoll/views.py"], "test_policy.py"),
    (
        "typescript",
        "node_modules/.installed",
        &["lib/why.ts", "lib/why.mjs", "lib/table.json", "lib/why.tsx", "package-lock.json", "sdk/src/views.ts"],
        "policy.test.ts",
    ),
    (
        "assemblyscript",
        "node_modules/.installed",
        &["lib/why.ts", "asconfig.json", "package-lock.json", "sdk/assembly/views.ts"],
        "policy.test.mjs",
    ),
];

const MODULE: &str = "build/needs-label.wasm";

/// Gives a file a time, and makes it if it is not there.
fn save(path: &Path, at: SystemTime) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::OpenOptions::new().append(true).create(true).open(path).unwrap().set_modified(at).unwrap();
}

/// A new policy whose module seems to have been built from `older`; with the time of its build.
fn built(parent: &Path, language: &str, packages: &str, older: &[&str]) -> (PathBuf, SystemTime) {
    let folder = new_policy(parent, language);
    let built = SystemTime::now();
    for path in older {
        save(&folder.join(path), built - Duration::from_secs(1));
    }
    for output in [packages, MODULE].into_iter().filter(|path| !path.is_empty()) {
        save(&folder.join(output), built);
    }
    (folder, built)
}

/// `make --question` tells whether the module would be built, without the tools of the language.
fn is_up_to_date(folder: &Path) -> bool {
    make(folder, &["--question", MODULE]).output().unwrap().status.success()
}

#[test]
fn a_source_in_a_folder_below_and_one_of_the_sdk_are_part_of_the_module() {
    if !has(&[("make", "--version")], "install make") {
        return;
    }
    for (language, packages, sources, _) in LANGUAGES {
        for source in sources {
            let parent = tempdir().unwrap();
            let (folder, built) = built(parent.path(), language, packages, &[source]);
            assert!(is_up_to_date(&folder), "{language}: {source}");
            save(&folder.join(source), built + Duration::from_secs(1));
            assert!(!is_up_to_date(&folder), "{language}: a change of {source} does not build the module");
        }
    }
}

#[test]
fn an_edit_of_the_sidecar_the_facts_a_case_or_a_test_leaves_the_module_as_it_is() {
    if !has(&[("make", "--version")], "install make") {
        return;
    }
    for (language, packages, _, test) in LANGUAGES {
        let beside = ["needs-label.yaml", "prices.csv", "cases/needs.yaml", "README.md", ".git/config.json", test];
        let parent = tempdir().unwrap();
        let (folder, built) = built(parent.path(), language, packages, &beside);
        for path in beside {
            save(&folder.join(path), built + Duration::from_secs(1));
            assert!(is_up_to_date(&folder), "{language}: a change of {path} builds the module");
        }
    }
}

/// Runs make, and answers the module.
fn module_of(folder: &Path) -> Vec<u8> {
    made(folder, &[MODULE]);
    fs::read(folder.join(MODULE)).unwrap()
}

#[test]
fn a_module_in_go_has_its_embedded_files_as_they_are_now_and_the_same_bytes_otherwise() {
    if !has_go() {
        return;
    }
    let parent = tempdir().unwrap();
    let folder = new_policy(parent.path(), "go");
    let embedding = "package main\n\nimport _ \"embed\"\n\n//go:embed table.txt\nvar table string\n\nfunc init() { if table == \"\" { panic(\"empty\") } }\n";
    fs::write(folder.join("table.go"), embedding).unwrap();
    fs::write(folder.join("table.txt"), "an old table").unwrap();
    let first = module_of(&folder);
    for beside in ["needs-label.yaml", "main_test.go"] {
        let text = fs::read_to_string(folder.join(beside)).unwrap();
        fs::write(folder.join(beside), text + "\n").unwrap();
    }
    assert!(module_of(&folder) == first, "an edit of the sidecar and of a test changes the module");
    fs::write(folder.join("table.txt"), "the new table").unwrap();
    let second = module_of(&folder);
    assert!(second.windows(13).any(|bytes| bytes == b"the new table"));
}

#[test]
fn an_edited_sidecar_is_deployed_with_the_module_that_was_built_before() {
    if !has_clang() {
        return;
    }
    let parent = tempdir().unwrap();
    let folder = new_policy(parent.path(), "c");
    made(&folder, &["deploy"]);
    let sidecar = fs::read_to_string(folder.join("needs-label.yaml")).unwrap() + "# a comment\n";
    fs::write(folder.join("needs-label.yaml"), &sidecar).unwrap();
    fs::write(folder.join("prices.csv"), "node-1,1\n").unwrap();
    let printed = made(&folder, &["deploy"]);
    assert!(!printed.contains("clang"), "{printed}");
    assert_eq!(fs::read_to_string(folder.join("policies/needs-label.yaml")).unwrap(), sidecar);
    assert!(folder.join("policies/prices.csv").exists());
}
