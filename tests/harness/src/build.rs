//! What a test needs built: the binary and the sample policies, each once for a test run.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use crate::ports::occupy_defaults;

static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
    occupy_defaults();
    // Programs that `make` starts find what `make` has built.
    if let Some(cargo) = std::env::var_os("CARGO") {
        // The whole workspace, as the tests are built: another choice of packages has other features of the
        // dependencies.
        run(Command::new(cargo).args(["build", "--quiet", "--workspace", "--bin", "plimsoll"]));
    }
    target().join("plimsoll")
});

static POLICIES: LazyLock<PathBuf> = LazyLock::new(|| {
    run(&mut Command::new(workspace().join("plugins/build")));
    run(&mut Command::new(workspace().join("tests/demo/guests/build")));
    workspace().join("target/policies")
});

/// The root of the checkout.
pub fn workspace() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        here.ancestors().nth(2).unwrap_or(here).to_owned()
    });
    &ROOT
}

/// The `plimsoll` binary, built from the sources as they are now.
pub fn binary() -> &'static Path {
    &BINARY
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

/// The directory with every sample policy and its sidecar, built from the sources as they are now.
pub fn policies() -> &'static Path {
    &POLICIES
}

/// A guest of the demo: `zone_drain_v1`, `zone_drain_v2`, `fragile`, or `machines` of the tests.
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

/// Runs a build; a test without what it tests cannot go on.
fn run(command: &mut Command) {
    // What cargo told this test about its own package would make `ring` and all that stands on it be built again.
    for (name, _) in std::env::vars_os() {
        let told = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(told) {
            command.env_remove(&name);
        }
    }
    let status = command.current_dir(workspace()).status();
    assert!(status.as_ref().is_ok_and(std::process::ExitStatus::success), "{command:?}: {status:?}");
}
