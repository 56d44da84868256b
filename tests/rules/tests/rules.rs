//! Rules in ARCHITECTURE.md that no tool can hold; `deny.toml` and the `clippy.toml`s hold the rest.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the sources should stop")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use plimsoll_harness::workspace;
use plimsoll_rules::lengths::product_lines;

/// The most lines of a product file, without its tests.
const MAX_LINES: usize = 320;

/// Product files that may be longer, each with its reason.
const LONG_FILES: [(&str, &str); 0] = [];

/// The words that begin a clause in place of a subject.
const CLAUSES: [&str; 7] = ["What", "Whatever", "Who", "Whoever", "Whom", "Whose", "How"];

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

/// clippy reads the nearest `clippy.toml` alone, so what holds everywhere is repeated in each.
#[test]
fn every_clippy_toml_begins_with_the_settings_of_the_first() {
    let common = |folder: &str, settings: &[&str]| {
        let text = fs::read_to_string(workspace().join(folder).join("clippy.toml")).unwrap();
        let is_common = |line: &&str| settings.iter().any(|setting| line.starts_with(setting));
        text.lines().filter(is_common).map(str::to_owned).collect::<Vec<_>>()
    };
    let threshold = ["too-many-lines-threshold"];
    assert_eq!(common("host", &threshold).len(), 1, "host/clippy.toml bounds the length of functions");
    let folders: Vec<String> =
        crates().into_iter().chain(["tests".to_owned()]).filter(|folder| has_clippy_toml(folder)).collect();
    for folder in ["host", "host/core", "host/cluster", "host/decision-cache", "tests"] {
        assert!(folders.iter().any(|found| found == folder), "{folder}/clippy.toml was not found");
    }
    for folder in &folders {
        assert_eq!(common(folder, &["allow-", "doc-"]), common("", &["allow-", "doc-"]), "{folder}/clippy.toml");
        if folder.starts_with("host") {
            assert_eq!(common(folder, &threshold), common("host", &threshold), "{folder}/clippy.toml");
        }
    }
}

/// A copy drifts from its original: for a while the decision cache lacked the bound on the length of functions.
#[test]
fn the_decision_cache_has_the_clippy_toml_of_core() {
    let link = fs::read_link(workspace().join("host/decision-cache/clippy.toml")).unwrap();
    assert_eq!(link, Path::new("../core/clippy.toml"));
}

/// `make mechanisms` applies it to a copy of these sources.
#[test]
fn the_patch_of_the_mechanisms_applies() {
    let apply = ["apply", "--check", "tests/bench/mechanisms.patch"];
    let git = Command::new("git").args(apply).current_dir(workspace()).output().unwrap();
    assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
}

/// A file that grows beyond this does more than one thing: split it where the two meet.
#[test]
fn no_product_file_is_too_long() {
    let of_crate = |folder: String| product_lines(&workspace().join(folder).join("src")).unwrap();
    let product = crates().into_iter().filter(|folder| folder.starts_with("host"));
    let lines: BTreeMap<PathBuf, usize> = product.flat_map(of_crate).collect();
    assert!(lines.len() > 300, "only {} files were found: does the search still work?", lines.len());
    let long = lines.iter().filter(|(_, lines)| **lines > MAX_LINES);
    let long: BTreeMap<_, _> = long.map(|(file, lines)| (file.strip_prefix(workspace()).unwrap(), lines)).collect();
    let allowed: BTreeSet<&Path> = LONG_FILES.iter().map(|(file, _)| Path::new(*file)).collect();
    let too_long: Vec<_> = long.iter().filter(|(file, _)| !allowed.contains(**file)).collect();
    assert!(too_long.is_empty(), "files of more than {MAX_LINES} lines without their tests: {too_long:?}");
    assert!(allowed.iter().all(|file| long.contains_key(file)), "an exception is needed no longer: {allowed:?}");
}

#[test]
fn the_length_of_a_file_is_that_of_its_product_code() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    fs::create_dir(folder.path().join("a")).unwrap();
    write("lib.rs", "mod a;\nmod b;\n#[cfg(test)]\nmod c;\n");
    write("a.rs", "mod d;\n\n#[cfg(test)]\nmod tests {\n}\n");
    write("a/d.rs", "#[cfg(test)]\npub(crate) mod e;\n");
    fs::create_dir(folder.path().join("a/d")).unwrap();
    for name in ["b.rs", "c.rs", "a/d/e.rs", "a/generated.rs"] {
        write(name, "\n\n\n");
    }
    let lines = product_lines(folder.path()).unwrap();
    let lines = lines.iter().map(|(file, lines)| (file.strip_prefix(folder.path()).unwrap().to_str().unwrap(), *lines));
    assert_eq!(lines.collect::<Vec<_>>(), [("a/d.rs", 2), ("a.rs", 1), ("b.rs", 3), ("lib.rs", 4)]);
}

/// A comment names its subject. A clause in its place ("What a request needs") hides a term: find it.
#[test]
fn no_comment_begins_with_a_clause_for_its_subject() {
    let (mut seen, mut found) = (0, Vec::new());
    for file in sources(workspace()) {
        let text = fs::read_to_string(&file).unwrap();
        for (index, line) in text.lines().enumerate() {
            let Some(comment) = comment(line) else { continue };
            seen += 1;
            if begins_with_a_clause(comment) {
                found.push(format!("{}:{}: {comment}", file.strip_prefix(workspace()).unwrap().display(), index + 1));
            }
        }
    }
    assert!(seen > 5_000, "only {seen} lines of comments were found: does the search still work?");
    assert!(found.is_empty(), "comments without a subject:\n{}", found.join("\n"));
}

#[test]
fn a_clause_is_found_and_a_question_is_none() {
    let table = [
        ("/// What a request needs of the cluster.", true),
        ("    // Whoever waits is told. It is late.", true),
        ("//! The parts of a list. How many there are follows.", true),
        ("/// The parts of the cluster that a request needs.", false),
        ("/// How good is this node, 0 to 100?", false),
        ("/// However it ends, it is said what has failed.", false),
        ("let text = \"What\";", false),
    ];
    for (line, expected) in table {
        assert_eq!(comment(line).is_some_and(begins_with_a_clause), expected, "{line}");
    }
}

/// The text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//").map(|text| text.trim_start_matches(['/', '!']).trim())
}

fn begins_with_a_clause(comment: &str) -> bool {
    let is_clause = |sentence: &str| {
        let first = sentence.split(' ').next();
        first.is_some_and(|word| CLAUSES.contains(&word)) && !sentence.contains('?')
    };
    comment.split(". ").any(is_clause)
}

/// The Rust sources below a folder, except those that a build made.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_built = name == "target" || name == "node_modules" || name.starts_with('.');
        if path.is_dir() && !path.is_symlink() && !is_built {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

fn has_clippy_toml(folder: &str) -> bool {
    workspace().join(folder).join("clippy.toml").exists()
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
