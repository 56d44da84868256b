//! The demo's own directory: copies of the sample policies, the cluster, and a pod to play with.

mod marker;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use plimsoll_harness::binary;

use crate::args::Args;
use marker::{Marker, POLICIES};

/// Where the demo's files are.
pub(crate) struct Stage {
    pub(crate) policies: PathBuf,
    snapshot: PathBuf,
    pod: PathBuf,
    /// Where the gateway caches compiled policies.
    cache: PathBuf,
    guests: PathBuf,
}

const DRAIN_SIDECAR: &str = "# Keeps pods off a zone that is being drained.\norder: 50\nmatch:\n  namespaces: [web]\n";
const FRAGILE_SIDECAR: &str = "# Crashes for pods of the app `train`; its faults are ignored.\nonError: ignore\n";

// === impl Stage ===

impl Stage {
    /// Lays everything out.
    pub(crate) fn lay(args: &Args) -> Result<Self> {
        for directory in [&args.policies, &args.guests] {
            if !directory.is_dir() {
                bail!("{} is not there: run `make policies` first", directory.display());
            }
        }
        let stage = Self {
            policies: args.directory.join(POLICIES),
            snapshot: args.directory.join("cluster.json"),
            pod: args.directory.join("pod.json"),
            cache: args.directory.join("cache"),
            guests: args.guests.clone(),
        };
        let mut marker = Marker::claim(&args.directory)?;
        fs::create_dir_all(&stage.policies).with_context(|| stage.policies.display().to_string())?;
        for entry in fs::read_dir(&args.policies)? {
            let path = entry?.path();
            if path.is_file() {
                let name = path.file_name().unwrap_or_default();
                marker.note(&Path::new(POLICIES).join(name))?;
                copy(&path, &stage.policies.join(name))?;
            }
        }
        for policy in ["zone-drain", "fragile"] {
            for ending in ["wasm", "yaml"] {
                marker.note(&Path::new(POLICIES).join(format!("{policy}.{ending}")))?;
            }
        }
        fs::write(&stage.snapshot, plimsoll_sample::cluster().to_string())?;
        let pod = plimsoll_sample::pod("team-a", "api", 0);
        fs::write(&stage.pod, format!("{pod:#}\n"))?;
        fs::write(stage.policies.join("zone-drain.yaml"), DRAIN_SIDECAR)?;
        stage.put("zone_drain_v1", "zone-drain")?;
        Ok(stage)
    }

    /// The flags of `plimsoll serve`, besides the policies.
    pub(crate) fn flags(&self) -> Result<[&str; 4]> {
        Ok(["--snapshot", text(&self.snapshot)?, "--compile-cache", text(&self.cache)?])
    }

    /// The commands to type next.
    pub(crate) fn next_commands(&self, args: &Args) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        let program = binary().strip_prefix(here).unwrap_or(binary()).display();
        let (policies, snapshot, pod) = (self.policies.display(), self.snapshot.display(), self.pod.display());
        format!(
            "\nNext:\n  {program} run --policies {policies} --snapshot {snapshot} --pod {pod}\n  \
             {program} check {}/*.wasm\n  {program} serve --policies {policies} --snapshot {snapshot}\n  \
             {program} scheduler-config --no-bind --policies {policies}",
            args.policies.display()
        )
    }

    /// Drops the other version of `zone-drain` over the one in force.
    pub(crate) fn swap_zone_drain(&self) -> Result<()> {
        self.put("zone_drain_v2", "zone-drain")
    }

    /// Drops the policy that crashes.
    pub(crate) fn add_fragile(&self) -> Result<()> {
        fs::write(self.policies.join("fragile.yaml"), FRAGILE_SIDECAR)?;
        self.put("fragile", "fragile")
    }

    /// Puts a guest in place in one step, as a careful operator would.
    fn put(&self, guest: &str, policy: &str) -> Result<()> {
        let unfinished = self.policies.join(format!(".{policy}.wasm"));
        copy(&self.guests.join(format!("{guest}.wasm")), &unfinished)?;
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
