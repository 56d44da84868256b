//! `plimsoll demo`: the main job on a sample cluster, over real HTTP, with nothing else installed.

mod load;
pub(crate) mod sample;
mod scheduler;
mod stage;

use std::{
    collections::BTreeMap,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Result, bail, ensure};
use plimsoll_core::CacheLimit;
use plimsoll_directory::DirectoryConfig;
use plimsoll_http::WireConfig;
use plimsoll_wasm::{ChildConfig, EngineConfig, WasmLoader};

use crate::{
    args::DemoArgs,
    cluster::ClusterSource,
    runtimes::Runtimes,
    server::{Server, ServerConfig},
    text,
};
use load::Load;
use scheduler::{Scheduler, SchedulerDecision};
use stage::DemoStage;

/// How long the demo waits for something that it has just caused.
const PATIENCE: Duration = Duration::from_secs(10);

/// The story that is told.
struct Story {
    stage: DemoStage,
    scheduler: Scheduler,
    load: Load,
    nodes: Vec<String>,
    admin: String,
}

pub(crate) fn demo(args: &DemoArgs) -> Result<ExitCode> {
    let stage = DemoStage::lay(args)?;
    let config = config(args, &stage)?;
    let runtimes = Runtimes::start(config.wire.max_decisions)?;
    let mut server = runtimes.block_on(Server::start(config, runtimes.wire()))?;
    runtimes.block_on(server.loaded());
    say(&format!("plimsoll answers at http://{} on a sample cluster of 200 nodes and 1,000 pods.", server.wire));
    let mut story = Story {
        scheduler: Scheduler::new(server.wire),
        load: Load::start(server.wire),
        nodes: (0..sample::NODES).map(plimsoll_sample::node_name).collect(),
        admin: format!("http://{}", server.admin),
        stage,
    };
    let mut pods = plimsoll_sample::stream();
    let mut next = |count: u32| pods.by_ref().take(count as usize).collect::<Vec<_>>();
    story.place(&next(args.pods / 3), "1. A stream of pods, as a scheduler would send them")?;
    story.swap()?;
    story.place(&next(args.pods / 3), "   The same stream under the new version")?;
    story.crash()?;
    story.place(
        &next(args.pods - 2 * (args.pods / 3)),
        "   The policy crashes for every train pod; the others decide",
    )?;
    story.show_faults()?;
    story.preempt()?;
    story.end(args)?;
    runtimes.block_on(server.stop())?;
    Ok(ExitCode::SUCCESS)
}

fn config(args: &DemoArgs, stage: &DemoStage) -> Result<ServerConfig> {
    let cache = Some(args.directory.join("cache"));
    let engine = EngineConfig { cache, ..EngineConfig::new(ChildConfig::this_program()) };
    let anywhere = ([127, 0, 0, 1], 0).into();
    Ok(ServerConfig {
        directory: DirectoryConfig::new(stage.policies.clone()),
        loader: WasmLoader::new(engine)?,
        cluster: ClusterSource::Snapshot(stage.snapshot.clone()),
        max_staleness: Duration::MAX,
        listen: anywhere,
        admin: anywhere,
        probes: None,
        tls: None,
        lease: None,
        request_timeout: Duration::from_secs(4),
        traces: CacheLimit::default(),
        wire: WireConfig::default(),
    })
}

// === impl Story ===

impl Story {
    fn place(&mut self, pods: &[serde_json::Value], title: &str) -> Result<()> {
        say(&format!("\n{title}"));
        for pod in pods {
            let decision = self.scheduler.schedule(pod, &self.nodes)?;
            let (namespace, name) = (pod["metadata"]["namespace"].as_str(), pod["metadata"]["name"].as_str());
            say(&line(&format!("{}/{}", namespace.unwrap_or_default(), name.unwrap_or_default()), &decision));
        }
        Ok(())
    }

    fn swap(&mut self) -> Result<()> {
        say("\n2. Another version of `zone-drain` is dropped into the directory: it drains zone a instead of c");
        let dropped = Instant::now();
        self.stage.swap_zone_drain()?;
        let answered = wait_for("an answer by the new version", || self.load.answered_with("zone a is being drained"))?;
        let after = answered.saturating_duration_since(dropped);
        say(&format!("   first answer by it {} after the file appeared", text::duration(after)));
        Ok(())
    }

    fn crash(&mut self) -> Result<()> {
        say("\n3. A policy that crashes is dropped into the directory: `fragile`, onError: ignore");
        self.stage.add_fragile()?;
        let is_active = |policy: &serde_json::Value| policy["name"] == "fragile" && policy["state"] == "active";
        let in_force = || {
            let policies = self.policies().ok()?;
            policies["policies"].as_array()?.iter().any(is_active).then_some(())
        };
        wait_for("the policy to be in force", in_force)
    }

    fn show_faults(&self) -> Result<()> {
        let metrics = self.get("/metrics")?;
        let faults =
            metrics.lines().find(|line| line.starts_with("plimsoll_policy_calls_total") && line.contains("panic"));
        let Some(faults) = faults else { bail!("the metrics do not tell of the crash") };
        say(&format!("   its faults are counted: {faults}"));
        Ok(())
    }

    fn preempt(&self) -> Result<()> {
        say("\n4. A pod finds no room, and the scheduler offers six nodes with a victim each");
        let mut pod = plimsoll_sample::pod("team-a", "store", 4_711);
        pod["spec"]["priority"] = 1_000.into();
        let cluster = sample::cluster();
        let candidate = |slot: &plimsoll_core::Slot| {
            let victim = slot.placed.as_ref()?.pods().first()?.uid().to_owned();
            Some((slot.node.name().to_string(), vec![victim]))
        };
        let offered: BTreeMap<_, _> =
            cluster.slots().iter().skip(104).step_by(2).filter_map(candidate).take(6).collect();
        let kept = self.scheduler.preempt(&pod, &offered)?;
        for node in offered.keys() {
            let fate = if kept.contains(node) {
                "may be preempted"
            } else {
                "dropped: with the victim gone it would still be refused"
            };
            say(&format!("   {node:<10} {fate}"));
        }
        Ok(())
    }

    fn end(self, args: &DemoArgs) -> Result<()> {
        let totals = self.load.stop();
        say("\n5. In figures");
        for (verb, mut times) in
            [("filter", self.scheduler.filter_times), ("prioritize", self.scheduler.prioritize_times)]
        {
            times.sort_unstable();
            let at =
                |percent: usize| times.get(times.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default();
            say(&format!(
                "   {verb:<11} {} calls, p50 {}, p99 {}",
                times.len(),
                text::duration(at(50)),
                text::duration(at(99))
            ));
        }
        say(&format!("   meanwhile a second scheduler called {} times without a pause", totals.calls));
        ensure!(totals.failure.is_none(), "a call failed: {}", totals.failure.unwrap_or_default());
        say("   failed calls: 0");
        let program = std::env::args().next().unwrap_or_else(|| "plimsoll".to_owned());
        let (policies, snapshot, pod) =
            (self.stage.policies.display(), self.stage.snapshot.display(), self.stage.pod.display());
        say(&format!(
            "\nNext:\n  {program} run --policies {policies} --snapshot {snapshot} --pod {pod}\n  \
             {program} check {}/*.wasm\n  {program} serve --policies {policies} --snapshot {snapshot}\n  \
             {program} scheduler-config --policies {policies}",
            args.policies.display()
        ));
        Ok(())
    }

    fn policies(&self) -> Result<serde_json::Value> {
        Ok(serde_json::from_str(&self.get("/api/policies")?)?)
    }

    fn get(&self, path: &str) -> Result<String> {
        Ok(ureq::get(format!("{}{path}", self.admin)).call()?.body_mut().read_to_string()?)
    }
}

fn line(pod: &str, decision: &SchedulerDecision) -> String {
    let place = decision.node.as_deref().unwrap_or("no node");
    let score = decision.score.map_or_else(String::new, |score| format!("score {score}"));
    let reasons: Vec<String> = decision.reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let reasons = if reasons.is_empty() { "nobody objects".to_owned() } else { reasons.join(", ") };
    format!("   {pod:<16} -> {place:<9} {score:<9} {:>3} left; {reasons}", decision.left)
}

/// Asks again and again, within reason.
fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> Result<T> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(answer) = ask() {
            return Ok(answer);
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the demo asks a server over HTTP, which tells nobody of a change"
        )]
        std::thread::sleep(Duration::from_millis(2));
    }
    bail!("waited {} in vain for {what}", text::duration(PATIENCE))
}

#[expect(clippy::print_stdout, reason = "the demo talks to a person")]
fn say(line: &str) {
    println!("{line}");
}
