//! A gateway for commands that answer one question: policies from a directory, and one snapshot of a cluster.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Result, bail};
use plimsoll_cluster::{ApiServer, Credentials};
use plimsoll_core::{Cluster, Failure, Gateway, Group, Member, Mode, NoObserver, Pod, Roster, SystemClock};
use plimsoll_directory::{Directory, DirectoryConfig, RosterUpdate};
use serde_json::{Value, json};

use crate::{
    args::{AskArgs, ClusterArgs, EngineArgs, OutputFormat},
    commands::{source_folder, undeclared_sources},
    engine, output, sample, text,
};

/// Longer than for a scheduler, since only a person waits here.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A gateway over a cluster that does not change.
pub(super) struct OfflineGateway {
    pub(super) gateway: Gateway,
    pub(super) cluster: Arc<Cluster>,
    pub(super) origin: ClusterOrigin,
    /// The file with the facts, if one was named.
    facts_snapshot: Option<PathBuf>,
}

/// Where the cluster comes from; every report names it.
pub(super) struct ClusterOrigin {
    /// The first line of a report.
    pub(super) line: String,
    json: Value,
}

// === impl OfflineGateway ===

impl OfflineGateway {
    /// The policies of a directory, and the cluster that was named.
    ///
    /// # Errors
    /// If no policy can be loaded, or the cluster cannot be read. Policies that cannot be loaded beside others are left
    /// out, with a remark.
    fn open(policies: &Path, cluster: &ClusterArgs, engine: &EngineArgs, output: OutputFormat) -> Result<Self> {
        let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), TIMEOUT);
        let facts_snapshot = cluster.facts_snapshot.clone();
        let (cluster, origin) = read_cluster(cluster)?;
        if let Some(file) = &facts_snapshot {
            gateway.set_facts(&plimsoll_cluster::read_facts(file)?);
        }
        gateway.set_cluster(Arc::clone(&cluster));
        let roster = load(policies, engine, output)?;
        if roster.members().next().is_none() {
            refuse_failures(&roster)?;
            bail!("{} holds no policies: expected .wasm files", policies.display());
        }
        // A gateway would not stop for them either: the last good version goes on, or the policy's `onError` decides.
        roster.failures().iter().for_each(|failure| output::remark(&text_of(failure)));
        gateway.set_roster(roster);
        Ok(Self { gateway, cluster, origin, facts_snapshot })
    }

    /// The same, for a question about one pod, which is hidden.
    ///
    /// # Errors
    /// If the pod cannot be read, or the group has no policies, too.
    pub(super) fn open_for(args: &AskArgs) -> Result<(Self, Arc<Pod>)> {
        let pod = Arc::new(read_pod(&args.pod)?);
        let mut offline = Self::open(&args.policies, &args.cluster, &args.engine, args.output)?;
        offline.hide(&pod);
        offline.check_group(&args.group)?;
        let roster = offline.gateway.roster();
        let asked = roster.group(&args.group).into_iter().flat_map(Group::members);
        offline.tell_of_undeclared_sources(asked.filter(|member| member.config.mode != Mode::Off));
        Ok((offline, pod))
    }

    /// Remarks on the sources of facts that these policies name and that have no facts here.
    fn tell_of_undeclared_sources<'m>(&self, members: impl Iterator<Item = &'m Arc<Member>>) {
        let members = members.map(|member| (member.id(), member.fact_access.as_ref()));
        if let Some(remark) = undeclared_sources::remark(members, &self.gateway.facts(), self.facts_snapshot.as_deref())
        {
            output::remark(&remark);
        }
    }

    /// Fails for a group without policies: every node would fit, since nobody is asked.
    fn check_group(&self, group: &str) -> Result<()> {
        let roster = self.gateway.roster();
        if roster.group(group).is_some_and(|group| !group.members().is_empty()) {
            return Ok(());
        }
        let others: Vec<&str> = populated(&roster).map(|name| if name.is_empty() { "(root)" } else { name }).collect();
        let others = others.join(", ");
        match group {
            "" => bail!("the policies are in groups: {others}; choose one with --group NAME"),
            name => bail!("there are no policies in the group '{name}'; there are some in {others}"),
        }
    }

    /// Remarks on policies that are not asked here: those that are left out, and those of other groups.
    pub(super) fn remarks(&self, asked: &str) -> impl Iterator<Item = String> {
        let left_out = self.left_out(asked).into_iter();
        let left_out = left_out.map(|(policy, _)| format!("policy {policy} is left out: it cannot be loaded"));
        left_out.chain(self.other_groups(asked))
    }

    /// Adds what every answer in JSON has: the cluster, the group, and the policies that are left out.
    pub(super) fn add_json(&self, json: &mut Value, asked: &str) {
        let left_out =
            self.left_out(asked).into_iter().map(|(policy, error)| json!({"policy": policy, "error": error}));
        json["cluster"] = self.origin.json.clone();
        json["group"] = asked.into();
        json["leftOut"] = left_out.collect();
    }

    /// A remark about groups with policies that are not asked here.
    fn other_groups(&self, asked: &str) -> Option<String> {
        let roster = self.gateway.roster();
        let others: Vec<&str> = populated(&roster).filter(|name| *name != asked).collect();
        let groups = others.iter().map(|name| if name.is_empty() { "the root" } else { name });
        let groups = groups.collect::<Vec<_>>().join(", ");
        (!others.is_empty()).then(|| format!("policies of other groups are not asked: {groups} (--group)"))
    }

    /// The policies of a group that are left out because they cannot be loaded, by name, and why.
    pub(super) fn left_out(&self, group: &str) -> Vec<(String, String)> {
        let roster = self.gateway.roster();
        let of_group =
            roster.failures().iter().filter(|failure| &*failure.group == group && !failure.is_of_directory());
        of_group.map(|failure| (failure.id().to_string(), failure.error.clone())).collect()
    }

    /// Hides this pod if it is already placed, so that it does not count against itself.
    fn hide(&mut self, pod: &Pod) {
        if let Some(without) = self.cluster.without(pod) {
            self.cluster = Arc::new(without);
            self.gateway.set_cluster(Arc::clone(&self.cluster));
        }
    }
}

/// The cluster that was named, or that the environment selects; never an invented one unasked.
fn read_cluster(args: &ClusterArgs) -> Result<(Arc<Cluster>, ClusterOrigin)> {
    let (cluster, name, remark, json) = if args.sample {
        let cluster = Arc::new(sample::cluster());
        (cluster, "SAMPLE, not yours".to_owned(), " that do not exist", json!({"source": "sample"}))
    } else if let Some(file) = &args.snapshot {
        let name = file.display().to_string();
        let json = json!({"source": "snapshot", "file": name});
        (Arc::new(plimsoll_cluster::read_snapshot(file)?), name, "", json)
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
            anyhow::Ok((cluster, api.url().to_owned()))
        })?;
        let json = json!({"source": "api-server", "url": url});
        (cluster, url, "", json)
    };
    let (nodes, pods) = (cluster.slots().len(), cluster.pod_count());
    let mut origin = ClusterOrigin { line: String::new(), json };
    (origin.json["nodes"], origin.json["pods"]) = (nodes.into(), pods.into());
    let (nodes, pods) = (text::count(nodes, "node"), text::count(pods, "pod"));
    text::push_line(&mut origin.line, format_args!("cluster {name}: {nodes} and {pods}{remark}"));
    Ok((cluster, origin))
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

/// The names of the groups that have policies; the root's is empty.
fn populated(roster: &Roster) -> impl Iterator<Item = &str> {
    roster.groups().filter(|(_, group)| !group.members().is_empty()).map(|(name, _)| &**name)
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
    Ok(plimsoll_cluster::read_pod(from_here(path))?)
}

fn from_here(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new("/dev/stdin") } else { path }
}
