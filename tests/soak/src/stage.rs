//! The surroundings of a soak: an API server with the sample cluster, a directory of policies, and the gateway.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use plimsoll_harness::{Client, FakeApi, TempDir, tempdir, wait_until};
use plimsoll_random::Random;
use plimsoll_sample::{NODES, PODS, node, placed_pod};

use crate::{deep_guest, gate::Gate, gateway::Gateway, image, plan::Plan, tally::Tally, wide_guest};

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

pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
    pub(crate) api: FakeApi,
    pub(crate) gate: Gate,
    pub(crate) tally: Tally,
    seed: u64,
    /// Between two outages.
    pub(crate) outages: Duration,
    /// Variables of the gateway's environment beside those of the soak.
    pub(crate) environment: Vec<(String, String)>,
    directory: TempDir,
    /// Until when binds may be refused for want of an API server.
    trouble: Mutex<Option<Instant>>,
}

// === impl Stage ===

impl Stage {
    pub(crate) fn set(plan: &Plan) -> Result<Self> {
        let directory = tempdir()?;
        lay_policies(&plan.policies, directory.path())?;
        let api = FakeApi::start((0..NODES).map(node), (0..PODS).map(placed_pod))?;
        let mut command = Command::new(&plan.binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json"]);
        // Bounds that are met within the warm-up: growth beyond them is a leak.
        command.args(["--decision-cache-size", "2Mi", "--drain-timeout", "20s"]);
        let environment = image::environment()?;
        command.envs(environment.iter().cloned());
        command.arg("--policies").arg(directory.path().join("policies"));
        command.arg("--compile-cache").arg(directory.path().join("cache"));
        command.arg("--kubeconfig").arg(api.kubeconfig());
        let gateway = Gateway::start(&mut command, &plan.directory.join("plimsoll.log"))?;
        let stage = Self {
            gateway,
            api,
            gate: Gate::new(),
            tally: Tally::default(),
            seed: plan.seed,
            outages: plan.outages,
            environment,
            directory,
            trouble: Mutex::new(None),
        };
        wait_until("plimsoll to be ready", || (stage.get("/readyz").ok()?.0 == 200).then_some(()))?;
        wait_until("plimsoll to lead", || stage.get("/api/leader").ok()?.1.contains("\"leads\"").then_some(()))?;
        // A replica that has just begun to lead lists the cluster before it binds.
        stage.expect_trouble(Duration::ZERO);
        Ok(stage)
    }

    pub(crate) fn connect(&self) -> Result<Client> {
        Client::connect(self.gateway.wire)
    }

    /// A page of the admin listener: status and text.
    pub(crate) fn get(&self, path: &str) -> Result<(u16, String)> {
        plimsoll_harness::get(self.gateway.admin, path)
    }

    /// The folder of a group.
    pub(crate) fn group(&self, name: &str) -> PathBuf {
        self.directory.path().join("policies").join(name)
    }

    /// Bytes of the compiled-code cache.
    pub(crate) fn cache_bytes(&self) -> u64 {
        size(&self.directory.path().join("cache"))
    }

    /// The random numbers of one actor, by the soak's seed and the actor's name.
    pub(crate) fn random(&self, actor: &str) -> Random {
        // FNV-1a.
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Random::new(self.seed ^ actor.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
    }

    /// Notes that the API server is away for this long.
    pub(crate) fn expect_trouble(&self, time: Duration) {
        let until = Instant::now() + time + GRACE;
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        *trouble = Some(trouble.map_or(until, |earlier| earlier.max(until)));
    }

    /// Whether a bind may fail for want of an API server.
    pub(crate) fn is_in_trouble(&self) -> bool {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.is_some_and(|until| Instant::now() < until)
    }
}

fn lay_policies(samples: &Path, directory: &Path) -> Result<()> {
    let policies = directory.join("policies");
    fs::create_dir(&policies)?;
    for name in SAMPLES {
        let module = samples.join(format!("{name}.wasm"));
        fs::copy(&module, policies.join(format!("{name}.wasm")))
            .with_context(|| format!("{} is missing: run `make policies`", module.display()))?;
        let sidecar = fs::read_to_string(samples.join(format!("{name}.yaml"))).unwrap_or_default();
        // On a busy machine 100 ms may pass between two instructions of a guest.
        fs::write(policies.join(format!("{name}.yaml")), format!("{sidecar}\ntimeout: 3s\n"))?;
    }
    for group in [RELOAD, HOSTILE, DEEP, WIDE] {
        fs::create_dir(policies.join(group))?;
    }
    fs::write(policies.join(RELOAD).join("swapped.wasm"), plimsoll_reload::version("version 0")?)?;
    fs::write(policies.join(DEEP).join("deep.wasm"), deep_guest::module())?;
    fs::write(policies.join(DEEP).join("deep.yaml"), "onError: ignore\ntimeout: 3s\n")?;
    fs::write(policies.join(WIDE).join("wide.wasm"), wide_guest::module(0))?;
    fs::write(policies.join(WIDE).join("wide.yaml"), "timeout: 3s\n")?;
    Ok(fs::write(policies.join(HOSTILE).join("guest.wasm"), plimsoll_guests::zone())?)
}

fn size(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => size(&entry.path()),
        Ok(data) => data.len(),
        // Deleted since.
        Err(_) => 0,
    };
    entries.map(of).sum()
}
