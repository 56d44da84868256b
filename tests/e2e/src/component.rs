//! One process of the control plane.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::LazyLock,
};

use anyhow::{Context, Result};
use plimsoll_harness::workspace;

/// Where `make e2e` puts the control plane and helm. `make matrix` names the version of another one.
static BIN: LazyLock<PathBuf> = LazyLock::new(|| {
    let version = std::env::var("PLIMSOLL_KUBERNETES");
    workspace().join("target/e2e").join(version.as_deref().unwrap_or("bin"))
});

/// A running component; it is killed when dropped.
pub(crate) struct Component {
    child: Child,
}

// === impl Component ===

impl Component {
    /// Starts a component; its output goes to `NAME.log` in the directory.
    pub(crate) fn start(name: &str, directory: &Path, args: &[String]) -> Result<Self> {
        let log = File::create(directory.join(format!("{name}.log")))?;
        let child = Command::new(BIN.join(name))
            .args(args)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{name} in {}: run tests/e2e/control-plane/build", BIN.display()))?;
        Ok(Self { child })
    }
}

impl Drop for Component {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program of the control plane.
pub(crate) fn program(name: &str) -> PathBuf {
    BIN.join(name)
}
