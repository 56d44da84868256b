//! A gateway for commands that answer one question: policies from a directory, and one snapshot of a cluster.

use std::{path::Path, process::ExitCode, sync::Arc, time::Duration};

use anyhow::{Result, bail};
use plimsoll_cluster::{ApiServer, Credentials};
use plimsoll_core::{
    Cluster, FactAccess, Facts, Failure, Gateway, Group, Mode, NoObserver, Pod, Roster, SchedulerFilters, SystemClock,
};
use plimsoll_directory::{Directory, DirectoryConfig, RosterUpdate};
use serde_json::{Value, json};

use crate::{
    args::{AskArgs, ClusterArgs, EngineArgs, OutputFormat},
    commands::source_folder,
    engine, output, sample, text,
};

/// Longer than for a scheduler, since only a person waits here.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Where a cluster comes from: the first line of a report, and the same for programs.
pub(super) type Origin = (String, Value);

/// A gateway over a cluster that does not change.
pub(super) struct OfflineGateway {
    pub(super) gateway: Gateway,
    pub(super) cluster: Arc<Cluster>,
    /// Whether the pod was placed; it is hidden.
    pub(super) pod_is_placed: bool,
    origin: Origin,
}

// === impl OfflineGateway ===

impl OfflineGateway {
    /// The policies of a directory, the cluster that was named, and the pod. A pod that is placed already is hidden, so
    /// that it does not count against itself.
    ///
    /// # Errors
    /// If a file cannot be read, no policy can be loaded, or the group has none. Policies that cannot be loaded beside
    /// others are left out, with a remark.
    pub(super) fn open_for(args: &AskArgs) -> Result<(Self, Arc<Pod>)> {
        let pod = Arc::new(read_pod(&args.pod)?);
        let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), TIMEOUT);
        let (mut cluster, _, origin) = read_cluster(&args.cluster, false)?;
        let facts_snapshot = args.facts_snapshot.as_deref();
        if let Some(file) = facts_snapshot {
            gateway.set_facts(&plimsoll_cluster::read_facts(file)?);
        }
        let without = cluster.without(&pod);
        let pod_is_placed = without.is_some();
        if let Some(without) = without {
            cluster = Arc::new(without);
        }
        gateway.set_cluster(Arc::clone(&cluster));
        let roster = load(&args.policies, &args.engine, args.output)?;
        if roster.members().next().is_none() {
            refuse_failures(&roster)?;
            bail!("{} holds no policies: expected .wasm files, or .yaml files with `cel`", args.policies.display());
        }
        // A gateway would not stop for them either: the last good version goes on, or the policy's `onError` decides.
        roster.failures().iter().for_each(|failure| output::remark(&text_of(failure)));
        gateway.set_roster(Arc::clone(&roster));
        let asked = asked(&roster, &args.group)?;
        for member in asked.members().iter().filter(|member| member.config.mode != Mode::Off) {
            remark_on_facts(member.id(), &member.fact_access, &gateway.facts(), facts_snapshot);
        }
        Ok((Self { gateway, cluster, pod_is_placed, origin }, pod))
    }

    /// kube-scheduler's own filters about the pod.
    ///
    /// # Errors
    /// If the pod has a field that they cannot read.
    pub(super) fn scheduler_filters<'p>(&'p self, pod: &'p Pod, args: &'p AskArgs) -> Result<SchedulerFilters<'p>> {
        let filters = SchedulerFilters::new(pod, &self.cluster, &args.ignored_by_scheduler)?;
        Ok(if self.pod_is_placed { filters.without_node_name() } else { filters })
    }

    /// Prints an answer, with the cluster and the policies of the group that are left out; returns the exit code.
    pub(super) fn print(&self, args: &AskArgs, answer: &str, mut json: Value, is_decided: bool) -> Result<ExitCode> {
        let roster = self.gateway.roster();
        let of_group = |failure: &&Failure| *failure.group == *args.group && !failure.is_of_directory();
        let left_out: Vec<&Failure> = roster.failures().iter().filter(of_group).collect();
        let (line, cluster) = &self.origin;
        match args.output {
            OutputFormat::Text => {
                let mut text = format!("{line}{answer}");
                for failure in &left_out {
                    let id = failure.id();
                    text::push_line(&mut text, format_args!("policy {id} is left out: it cannot be loaded"));
                }
                output::print(&text)?;
            }
            OutputFormat::Json => {
                let policy = |failure: &&Failure| json!({"policy": failure.id(), "error": failure.error});
                json["cluster"] = cluster.clone();
                json["group"] = args.group.as_str().into();
                json["leftOut"] = left_out.iter().map(policy).collect();
                output::print_json(&json)?;
            }
        }
        Ok(if is_decided && left_out.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

/// The policies of a group. Without any every node would fit, since nobody is asked.
fn asked<'r>(roster: &'r Roster, group: &str) -> Result<&'r Group> {
    if let Some(group) = roster.group(group).filter(|group| !group.members().is_empty()) {
        return Ok(group);
    }
    let populated = roster.groups().filter(|(_, group)| !group.members().is_empty());
    let others: Vec<&str> = populated.map(|(name, _)| if name.is_empty() { "(root)" } else { &**name }).collect();
    let others = others.join(", ");
    match group {
        "" => bail!("the policies are in groups: {others}; choose one with --group NAME"),
        name => bail!("there are no policies in the group '{name}'; there are some in {others}"),
    }
}

/// Remarks on the sources of facts that a policy names and that have no facts here, and on the flag that brings them.
pub(super) fn remark_on_facts(policy: &str, access: &FactAccess, known: &Facts, snapshot: Option<&Path>) {
    let is_absent = |(_, global): &(&str, &str)| known.source(global).is_none();
    let absent: Vec<String> = access.names().filter(is_absent).map(|(source, _)| format!("'{source}'")).collect();
    if absent.is_empty() {
        return;
    }
    let absent = absent.join(", ");
    let expected = match snapshot {
        None => "name them with --facts-snapshot FILE".to_owned(),
        Some(file) => format!("expected them in {} (--facts-snapshot)", file.display()),
    };
    output::remark(&format!("policy {policy}: there are no facts of {absent}: {expected}"));
}

/// The cluster that was named, or that the environment selects; never an invented one unasked. If they are wanted, with
/// the pods that wait for a node.
pub(super) fn read_cluster(args: &ClusterArgs, with_waiting: bool) -> Result<(Arc<Cluster>, Vec<Pod>, Origin)> {
    let mut waiting = vec![];
    let (cluster, name, remark, mut json) = if args.sample {
        let cluster = Arc::new(sample::cluster());
        (cluster, "SAMPLE, not yours".to_owned(), " that do not exist", json!({"source": "sample"}))
    } else if let Some(file) = &args.snapshot {
        let name = file.display().to_string();
        let json = json!({"source": "snapshot", "file": name});
        let (cluster, pods) = plimsoll_cluster::read_snapshot_and_waiting(file)?;
        waiting = pods;
        (Arc::new(cluster), name, "", json)
    } else {
        let credentials = match &args.kubeconfig {
            Some(kubeconfig) => Credentials::File(kubeconfig.clone()),
            None if Credentials::is_in_environment() => Credentials::Environment,
            None if ApiServer::is_in_cluster() => Credentials::ServiceAccount,
            None => bail!(
                "which cluster? --snapshot FILE takes nodes and pods from a file (`kubectl get nodes,pods -A -o json`), \
                 --kubeconfig FILE, $KUBECONFIG or the pod's service account asks the API server, --sample takes an \
                 invented cluster"
            ),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (cluster, url) = runtime.block_on(async {
            let api = ApiServer::connect(&credentials, args.context.as_deref())?;
            let cluster = plimsoll_cluster::list_once(&api, args.timeout, output::remark).await?;
            if with_waiting {
                waiting = plimsoll_cluster::list_waiting(&api).await.map_err(anyhow::Error::msg)?;
            }
            anyhow::Ok((cluster, api.url().to_owned()))
        })?;
        let json = json!({"source": "api-server", "url": url});
        (cluster, url, "", json)
    };
    let (nodes, pods) = (cluster.slots().len(), cluster.pod_count());
    (json["nodes"], json["pods"]) = (nodes.into(), pods.into());
    let (nodes, pods) = (text::count(nodes, "node"), text::count(pods, "pod"));
    let mut line = String::new();
    text::push_line(&mut line, format_args!("cluster {name}: {nodes} and {pods}{remark}"));
    Ok((cluster, waiting, (line, json)))
}

fn text_of(failure: &Failure) -> String {
    if failure.is_of_directory() {
        failure.to_string()
    } else {
        format!("policy {} cannot be loaded: {}", failure.id(), failure.error)
    }
}

/// Fails if any policy cannot be loaded; names each of them.
fn refuse_failures(roster: &Roster) -> Result<()> {
    match roster.failures() {
        [] => Ok(()),
        [failure] => bail!("{}", text_of(failure)),
        failures => {
            for failure in failures {
                output::remark(&text_of(failure));
            }
            bail!("{} policies cannot be loaded", failures.len())
        }
    }
}

/// Loads every policy of a directory, which may be empty.
///
/// # Errors
/// If one cannot be loaded.
pub(super) fn load_all(policies: &Path, engine: &EngineArgs, output: OutputFormat) -> Result<Arc<Roster>> {
    let roster = load(policies, engine, output)?;
    refuse_failures(&roster)?;
    Ok(roster)
}

/// The same, without those that cannot be loaded.
fn load(policies: &Path, engine: &EngineArgs, output: OutputFormat) -> Result<Arc<Roster>> {
    if let Some(mistake) = source_folder::mistaken(policies) {
        bail!(mistake);
    }
    let loader = Arc::new(engine::loader_of_command(engine, output == OutputFormat::Text)?);
    let directory = DirectoryConfig { allow_empty: true, ..DirectoryConfig::new(policies.to_owned()) };
    let (_, RosterUpdate { roster, .. }) = Directory::open(directory, loader)?;
    Ok(roster)
}

/// Reads a pod; `-` is standard input.
fn read_pod(path: &Path) -> Result<Pod> {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    Ok(plimsoll_cluster::read_pod(path)?)
}
