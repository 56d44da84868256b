//! The surroundings of a soak: an API server with the sample cluster, a directory of policies, and the gateway.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use plimsoll_harness::{Client, FakeApi, Plimsoll, TempDir, command, policies, tempdir, wait_until};
use plimsoll_sample::{NODES, PODS, node, placed_pod};

use crate::{gate::Gate, modules, tally::Tally};

/// The sample policies that correct requests are decided by.
const SAMPLES: [&str; 5] = ["gpu-binpack", "preempt-guard", "tenant-pool", "warm-image", "zone-spread"];

/// A group whose only policy is replaced all the time.
pub(crate) const RELOAD: &str = "reload";

/// A group whose only policy is a hostile guest.
pub(crate) const HOSTILE: &str = "hostile";

/// A group whose only policy fills the stack of its thread.
pub(crate) const DEEP: &str = "deep";

/// A group whose only policy writes to much of its memory, and is replaced all the time.
pub(crate) const WIDE: &str = "wide";

/// After an outage nobody may bind until the Lease is renewed, or has run out and is acquired again.
const GRACE: Duration = Duration::from_secs(25);

/// With the settings of the image, the allocator keeps tens of MiB that were freed, and takes hours to find that size,
/// which looks like a leak. With these, RSS follows what is in use: large blocks go back to the system at once, a thread
/// has no blocks of its own, and there is only one heap. Decision 43 says why users do not get them.
const ALLOCATOR: [(&str, &str); 4] = [
    ("MALLOC_MMAP_THRESHOLD_", "131072"),
    ("MALLOC_TRIM_THRESHOLD_", "131072"),
    ("MALLOC_ARENA_MAX", "1"),
    ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"),
];

pub(crate) struct Stage {
    pub(crate) gateway: Plimsoll,
    pub(crate) api: FakeApi,
    pub(crate) gate: Gate,
    pub(crate) tally: Tally,
    pub(crate) seed: u64,
    /// Between two outages.
    pub(crate) outages: Duration,
    directory: TempDir,
    /// Until when binds may be refused for want of an API server.
    trouble: Mutex<Instant>,
}

// === impl Stage ===

impl Stage {
    pub(crate) fn set(seed: u64, outages: Duration) -> Result<Self> {
        let directory = tempdir()?;
        lay_policies(directory.path())?;
        let api = FakeApi::start((0..NODES).map(node), (0..PODS).map(placed_pod))?;
        let mut command = command();
        command.args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json"]);
        // A bound that is met within the warm-up: growth beyond it is a leak.
        command.args(["--decision-cache-size", "2Mi", "--drain-timeout", "20s"]);
        command.arg("--policies").arg(directory.path().join("policies"));
        command.arg("--compile-cache").arg(directory.path().join("cache"));
        command.arg("--kubeconfig").arg(api.kubeconfig());
        let gateway = Plimsoll::spawn(command.envs(ALLOCATOR))?;
        // A replica that has just begun to lead lists the cluster before it binds.
        let trouble = Mutex::new(Instant::now() + GRACE);
        let stage =
            Self { gateway, api, gate: Gate::default(), tally: Tally::default(), seed, outages, directory, trouble };
        let get = |path: &str| plimsoll_harness::get(stage.gateway.admin, path).ok();
        wait_until("plimsoll to be ready", || (get("/readyz")?.0 == 200).then_some(()))?;
        wait_until("plimsoll to lead", || get("/api/leader")?.1.contains("\"leads\"").then_some(()))?;
        Ok(stage)
    }

    pub(crate) fn connect(&self) -> Result<Client> {
        Client::connect(self.gateway.wire)
    }

    /// The folder of a group.
    pub(crate) fn group(&self, name: &str) -> PathBuf {
        self.directory.path().join("policies").join(name)
    }

    /// Notes that the API server is away for this long.
    pub(crate) fn expect_trouble(&self, time: Duration) {
        let until = Instant::now() + time + GRACE;
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        *trouble = until.max(*trouble);
    }

    /// Whether a bind may fail for want of an API server.
    pub(crate) fn is_in_trouble(&self) -> bool {
        Instant::now() < *self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends SIGTERM and waits for the end; none: it has to be killed.
    pub(crate) fn terminate(&mut self) -> Option<ExitStatus> {
        self.gateway.signal("TERM").and_then(|()| self.gateway.wait()).ok()
    }
}

fn lay_policies(directory: &Path) -> Result<()> {
    let own = directory.join("policies");
    fs::create_dir(&own)?;
    for name in SAMPLES {
        let module = policies().join(format!("{name}.wasm"));
        fs::copy(&module, own.join(format!("{name}.wasm")))
            .with_context(|| format!("{} is missing: run `make policies`", module.display()))?;
        let sidecar = fs::read_to_string(policies().join(format!("{name}.yaml"))).unwrap_or_default();
        // On a busy machine 100 ms may pass between two instructions of a guest.
        fs::write(own.join(format!("{name}.yaml")), format!("{sidecar}\ntimeout: 3s\n"))?;
    }
    for (group, file, module, sidecar) in [
        (RELOAD, "swapped", plimsoll_reload::version("version 0")?, "timeout: 3s\n"),
        (HOSTILE, "guest", plimsoll_guests::zone(), "mode: shadow\n"),
        (DEEP, "deep", modules::recursive(), "onError: ignore\ntimeout: 3s\n"),
        (WIDE, "wide", modules::filling(0), "timeout: 3s\n"),
    ] {
        fs::create_dir(own.join(group))?;
        fs::write(own.join(group).join(format!("{file}.wasm")), module)?;
        fs::write(own.join(group).join(format!("{file}.yaml")), sidecar)?;
    }
    Ok(())
}
