//! The demo's own directory: copies of the sample policies, the cluster, and a pod to play with.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use plimsoll_harness::{binary, guest, policies, workspace};

/// In a directory that a demo has made.
const MARKER: &str = ".plimsoll-demo";

/// Where the demo's files are.
pub(crate) struct Stage {
    pub(crate) policies: PathBuf,
    snapshot: PathBuf,
    pod: PathBuf,
    /// Where the gateway caches compiled policies.
    cache: PathBuf,
}

/// A rule in CEL.
const DRAIN: &str = r#"# Keeps pods off a zone that is being drained.
order: 50
match:
  namespaces: [web]
cel:
  filter:
  - expression: node.labels["topology.kubernetes.io/zone"] != "c"
    message: zone c is being drained
"#;
const FRAGILE_SIDECAR: &str = "# Crashes for pods of the app `train`; its faults are ignored.\nonError: ignore\n";

// === impl Stage ===

impl Stage {
    /// Lays everything out, in place of an earlier demo's policies.
    pub(crate) fn lay(directory: &Path) -> Result<Self> {
        let shown = || directory.display().to_string();
        fs::create_dir_all(directory).with_context(shown)?;
        let is_own = directory.join(MARKER).exists() || fs::read_dir(directory)?.next().is_none();
        ensure!(is_own, "{} is not empty, and no demo has made it: name another --directory", shown());
        fs::write(directory.join(MARKER), "")?;
        let [own, snapshot, pod, cache] =
            ["policies", "cluster.json", "pod.json", "cache"].map(|name| directory.join(name));
        let stage = Self { policies: own, snapshot, pod, cache };
        if stage.policies.exists() {
            fs::remove_dir_all(&stage.policies)?;
        }
        fs::create_dir(&stage.policies)?;
        for entry in fs::read_dir(policies())? {
            let path = entry?.path();
            if path.is_file() {
                copy(&path, &stage.policies.join(path.file_name().unwrap_or_default()))?;
            }
        }
        fs::write(&stage.snapshot, plimsoll_sample::cluster().to_string())?;
        fs::write(&stage.pod, format!("{:#}\n", plimsoll_sample::pod("team-a", "api", 0)))?;
        fs::write(stage.policies.join("zone-drain.yaml"), DRAIN)?;
        Ok(stage)
    }

    /// The flags of `plimsoll serve`, besides the policies.
    pub(crate) fn flags(&self) -> Result<[&str; 4]> {
        Ok(["--snapshot", text(&self.snapshot)?, "--compile-cache", text(&self.cache)?])
    }

    /// The commands to type next.
    pub(crate) fn next_commands(&self) -> String {
        let program = binary().strip_prefix(workspace()).unwrap_or(binary()).display();
        let (policies, snapshot, pod) = (self.policies.display(), self.snapshot.display(), self.pod.display());
        format!(
            "\nNext:\n  {program} run --policies {policies} --snapshot {snapshot} --pod {pod}\n  \
             {program} check target/policies/*.wasm\n  {program} serve --policies {policies} --snapshot {snapshot}\n  \
             {program} scheduler-config --no-bind --policies {policies}"
        )
    }

    /// Edits the rule `zone-drain`, and returns its new lines.
    pub(crate) fn edit_zone_drain(&self) -> Result<String> {
        let edited = DRAIN.replace("\"c\"", "\"a\"").replace("zone c", "zone a");
        fs::write(self.policies.join("zone-drain.yaml"), &edited)?;
        Ok(edited.lines().skip(6).fold(String::new(), |lines, line| lines + "   " + line + "\n"))
    }

    /// Drops the policy that crashes.
    pub(crate) fn add_fragile(&self) -> Result<()> {
        fs::write(self.policies.join("fragile.yaml"), FRAGILE_SIDECAR)?;
        self.put("fragile", "fragile")
    }

    /// Puts a guest in place in one step, as a careful operator would.
    fn put(&self, name: &str, policy: &str) -> Result<()> {
        let unfinished = self.policies.join(format!(".{policy}.wasm"));
        copy(&guest(name), &unfinished)?;
        Ok(fs::rename(&unfinished, self.policies.join(format!("{policy}.wasm")))?)
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}
