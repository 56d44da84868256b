//! The files that a test needs built: the binary and the sample policies. `make` and cargo build them before any test
//! runs; here they are only found.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{LazyLock, OnceLock},
    time::SystemTime,
};

use crate::ports::occupy_defaults;

/// Another binary that a program measures.
static GIVEN: OnceLock<PathBuf> = OnceLock::new();

static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
    occupy_defaults();
    if let Some(given) = GIVEN.get() {
        return given.clone();
    }
    let binary = target().join("plimsoll");
    if let Some(problem) = problem(&binary) {
        panic!("{problem}: run `cargo build --workspace --bin plimsoll`");
    }
    binary
});

static POLICIES: LazyLock<PathBuf> = LazyLock::new(|| {
    let policies = workspace().join("target/policies");
    assert!(policies.is_dir(), "{} is missing: run `make policies`", policies.display());
    policies
});

/// The root of the checkout.
pub fn workspace() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        here.ancestors().nth(2).unwrap_or(here).to_owned()
    });
    &ROOT
}

/// The `plimsoll` binary beside this test or program.
///
/// `cargo test --workspace` builds it, because the package `plimsoll` has an integration test.
pub fn binary() -> &'static Path {
    &BINARY
}

/// Takes a file for [`binary`] from now on; a program that measures calls it before anything else.
pub fn use_binary(file: PathBuf) {
    // The first one stays.
    let _ = GIVEN.set(file);
}

/// A call of [`binary`] that no variable of the caller's environment changes.
pub fn command() -> Command {
    let mut command = Command::new(binary());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("PLIMSOLL_") || name == "KUBECONFIG") {
            command.env_remove(name);
        }
    }
    command
}

/// The directory with every sample policy and its sidecar, as `make policies` built them last.
pub fn policies() -> &'static Path {
    &POLICIES
}

/// A guest of the demo: `zone_drain_v1`, `zone_drain_v2`, `fragile`, or `machines`, `at_most` and `numbers` of the tests.
pub fn guest(name: &str) -> PathBuf {
    LazyLock::force(&POLICIES);
    workspace().join("target/demo-guests").join(format!("{name}.wasm"))
}

/// The folder in which cargo put this test (in `deps`) or this program, and the binary beside it.
fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let folder = program.parent().unwrap_or(&program);
    if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder }.to_owned()
}

/// Why a program that cargo built must not be tested; cargo lists its sources beside it, in the form of a Makefile.
fn problem(binary: &Path) -> Option<String> {
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let Some(built) = modified(binary) else { return Some(format!("{} is missing", binary.display())) };
    let rule = fs::read_to_string(binary.with_extension("d")).ok()?;
    let (_, sources) = rule.trim_end().split_once(": ")?;
    let is_newer = |source: &&str| modified(Path::new(source)).is_some_and(|changed: SystemTime| changed > built);
    let newer = sources.split(' ').find(is_newer)?;
    Some(format!("{} is older than {newer}", binary.display()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_binary_that_is_missing_or_older_than_a_source_is_not_tested() {
        let directory = tempfile::tempdir().unwrap();
        let [binary, rule, old, new] =
            ["plimsoll", "plimsoll.d", "old.rs", "new.rs"].map(|name| directory.path().join(name));
        assert!(problem(&binary).unwrap().ends_with("plimsoll is missing"));
        for file in [&old, &binary] {
            fs::write(file, "").unwrap();
        }
        fs::write(&rule, format!("{}: {}\n", binary.display(), old.display())).unwrap();
        assert_eq!(problem(&binary), None);
        fs::write(&rule, format!("{}: {} {}\n", binary.display(), old.display(), new.display())).unwrap();
        let later = SystemTime::now() + Duration::from_mins(1);
        fs::File::create(&new).unwrap().set_modified(later).unwrap();
        assert!(problem(&binary).unwrap().ends_with("new.rs"));
    }
}
