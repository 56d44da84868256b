//! A gateway for commands that answer one question: policies from a directory, and one snapshot of a cluster.

use std::{
    fmt,
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
    args::{AskArgs, ClusterArgs, EngineArgs},
    commands::{PLUGIN_RUNNER, undeclared_sources},
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

/// The cluster that was asked about; every report names it.
#[derive(Debug, Clone)]
pub(super) struct ClusterOrigin {
    source: OriginSource,
    nodes: usize,
    pods: usize,
}

/// Where the cluster comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OriginSource {
    Sample,
    Snapshot(PathBuf),
    ApiServer { url: String },
}

/// Where the cluster is to come from.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Sample,
    Snapshot(PathBuf),
    ApiServer(Credentials),
}

/// The parts of the environment that select a cluster.
#[derive(Debug, Clone, Copy, Default)]
struct Environment {
    /// `$KUBECONFIG` names a file.
    kubeconfig: bool,
    in_pod: bool,
    service_account: bool,
}

// === impl OfflineGateway ===

impl OfflineGateway {
    /// The policies of a directory, and the cluster that was named.
    ///
    /// # Errors
    /// If a policy cannot be loaded, or the cluster cannot be read.
    pub(super) fn open(policies: &Path, cluster: &ClusterArgs, engine: &EngineArgs) -> Result<Self> {
        let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), TIMEOUT);
        let choice = Choice::of(cluster, Environment::look())?;
        let facts_snapshot = cluster.facts_snapshot.clone();
        let (cluster, source) = choice.read(cluster)?;
        let origin = ClusterOrigin { source, nodes: cluster.slots().len(), pods: cluster.pod_count() };
        if let Some(file) = &facts_snapshot {
            gateway.set_facts(&plimsoll_cluster::read_facts(file)?);
        }
        gateway.set_cluster(Arc::clone(&cluster));
        let roster = load_all(policies, engine)?;
        if roster.members().next().is_none() {
            bail!("{} holds no policies: expected .wasm files", policies.display());
        }
        gateway.set_roster(roster);
        Ok(Self { gateway, cluster, origin, facts_snapshot })
    }

    /// The same, for a question about one pod, which is hidden.
    ///
    /// # Errors
    /// If the pod cannot be read, or the group has no policies, too.
    pub(super) fn open_for(args: &AskArgs) -> Result<(Self, Arc<Pod>)> {
        let pod = Arc::new(read_pod(&args.pod)?);
        let mut offline = Self::open(&args.policies, &args.cluster, &args.engine)?;
        offline.hide(&pod);
        offline.check_group(&args.group)?;
        let roster = offline.gateway.roster();
        let asked = roster.group(&args.group).into_iter().flat_map(Group::members);
        offline.tell_of_undeclared_sources(asked.filter(|member| member.config.mode != Mode::Off));
        Ok((offline, pod))
    }

    /// Remarks on the sources of facts that these policies name and that have no facts here.
    pub(super) fn tell_of_undeclared_sources<'m>(&self, members: impl Iterator<Item = &'m Arc<Member>>) {
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

    /// A remark about groups with policies that are not asked here.
    pub(super) fn other_groups(&self, asked: &str) -> Option<String> {
        let roster = self.gateway.roster();
        let others: Vec<&str> = populated(&roster).filter(|name| *name != asked).collect();
        let groups = others.iter().map(|name| if name.is_empty() { "the root" } else { name });
        let groups = groups.collect::<Vec<_>>().join(", ");
        (!others.is_empty()).then(|| format!("policies of other groups are not asked: {groups} (--group)"))
    }

    /// Hides this pod if it is already placed, so that it does not count against itself.
    pub(super) fn hide(&mut self, pod: &Pod) {
        if let Some(without) = self.cluster.without(pod) {
            self.cluster = Arc::new(without);
            self.gateway.set_cluster(Arc::clone(&self.cluster));
        }
    }
}

// === impl Choice ===

impl Choice {
    fn of(args: &ClusterArgs, environment: Environment) -> Result<Self> {
        if args.sample {
            return Ok(Self::Sample);
        }
        if let Some(snapshot) = &args.snapshot {
            return Ok(Self::Snapshot(snapshot.clone()));
        }
        match &args.kubeconfig {
            Some(kubeconfig) => Ok(Self::ApiServer(Credentials::File(kubeconfig.clone()))),
            None if environment.kubeconfig => Ok(Self::ApiServer(Credentials::Environment)),
            None if environment.service_account => Ok(Self::ApiServer(Credentials::ServiceAccount)),
            None => bail!(
                "which cluster? --snapshot FILE takes nodes and pods from a file (`kubectl get nodes,pods -A -o json`), \
                 --kubeconfig FILE or $KUBECONFIG asks the API server, --sample takes an invented cluster{}",
                if environment.in_pod { "; this pod has no service account to ask with" } else { "" }
            ),
        }
    }

    fn read(self, args: &ClusterArgs) -> Result<(Arc<Cluster>, OriginSource)> {
        match self {
            Self::Sample => Ok((Arc::new(sample::cluster()), OriginSource::Sample)),
            Self::Snapshot(file) => {
                Ok((Arc::new(plimsoll_cluster::read_snapshot(&file)?), OriginSource::Snapshot(file)))
            }
            Self::ApiServer(credentials) => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(async {
                    let api = ApiServer::connect_with(&credentials, args.context.as_deref(), &PLUGIN_RUNNER)?;
                    let cluster = plimsoll_cluster::list_once(&api, args.timeout, output::remark).await?;
                    Ok((cluster, OriginSource::ApiServer { url: api.url().to_owned() }))
                })
            }
        }
    }
}

// === impl Environment ===

impl Environment {
    fn look() -> Self {
        Self {
            kubeconfig: Credentials::is_in_environment(),
            in_pod: ApiServer::is_in_pod(),
            service_account: ApiServer::is_in_cluster(),
        }
    }
}

// === impl ClusterOrigin ===

impl ClusterOrigin {
    /// The first line of a report.
    pub(super) fn as_line(&self) -> String {
        let mut line = String::new();
        text::push_line(&mut line, format_args!("cluster {self}"));
        line
    }

    pub(super) fn as_json(&self) -> Value {
        let mut json = json!({"nodes": self.nodes, "pods": self.pods});
        match &self.source {
            OriginSource::Sample => json["source"] = "sample".into(),
            OriginSource::Snapshot(file) => {
                json["source"] = "snapshot".into();
                json["file"] = file.display().to_string().into();
            }
            OriginSource::ApiServer { url } => {
                json["source"] = "api-server".into();
                json["url"] = url.as_str().into();
            }
        }
        json
    }
}

impl fmt::Display for ClusterOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nodes, pods) = (text::count(self.nodes, "node"), text::count(self.pods, "pod"));
        match &self.source {
            OriginSource::Sample => write!(f, "SAMPLE, not yours: {nodes} and {pods} that do not exist"),
            OriginSource::Snapshot(file) => write!(f, "{}: {nodes} and {pods}", file.display()),
            OriginSource::ApiServer { url } => write!(f, "{url}: {nodes} and {pods}"),
        }
    }
}

/// Fails if any policy cannot be loaded; names each of them.
fn refuse_failures(roster: &Roster) -> Result<()> {
    let text = |failure: &Failure| {
        if failure.is_of_directory() {
            failure.to_string()
        } else {
            format!("policy {} cannot be loaded: {}", failure.id(), failure.error)
        }
    };
    match roster.failures() {
        [] => Ok(()),
        [failure] => bail!("{}", text(failure)),
        failures => {
            for failure in failures {
                output::remark(&text(failure));
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
pub(super) fn load_all(policies: &Path, engine: &EngineArgs) -> Result<Arc<Roster>> {
    let loader = Arc::new(engine::loader_of_command(engine)?);
    let directory = DirectoryConfig { allow_empty: true, ..DirectoryConfig::new(policies.to_owned()) };
    let (_, RosterUpdate { roster, .. }) = Directory::open(directory, loader)?;
    refuse_failures(&roster)?;
    Ok(roster)
}

/// Reads a pod; `-` is standard input.
fn read_pod(path: &Path) -> Result<Pod> {
    Ok(plimsoll_cluster::read_pod(from_here(path))?)
}

/// Reads the pods of a file; `-` is standard input.
pub(super) fn read_pods(path: &Path) -> Result<Vec<Pod>> {
    Ok(plimsoll_cluster::read_pods(from_here(path))?)
}

fn from_here(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new("/dev/stdin") } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(args: &ClusterArgs, environment: Environment) -> Result<Choice, String> {
        Choice::of(args, environment).map_err(|error| error.to_string())
    }

    #[test]
    fn the_cluster_is_the_one_that_was_named_or_the_surroundings_have_and_never_an_invented_one() {
        let none = ClusterArgs {
            snapshot: None,
            facts_snapshot: None,
            kubeconfig: None,
            context: None,
            sample: false,
            timeout: Duration::MAX,
        };
        let everything = Environment { kubeconfig: true, in_pod: true, service_account: true };
        let file = PathBuf::from("file");
        let named = [
            (ClusterArgs { sample: true, ..none.clone() }, Choice::Sample),
            (ClusterArgs { snapshot: Some(file.clone()), ..none.clone() }, Choice::Snapshot(file.clone())),
            (
                ClusterArgs { kubeconfig: Some(file.clone()), ..none.clone() },
                Choice::ApiServer(Credentials::File(file)),
            ),
        ];
        for (args, expected) in named {
            assert_eq!(choose(&args, everything), Ok(expected));
        }
        assert_eq!(choose(&none, everything), Ok(Choice::ApiServer(Credentials::Environment)));
        let pod = Environment { kubeconfig: false, ..everything };
        assert_eq!(choose(&none, pod), Ok(Choice::ApiServer(Credentials::ServiceAccount)));
        let error = choose(&none, Environment { service_account: false, ..pod }).unwrap_err();
        for choice in ["--snapshot FILE", "--kubeconfig FILE", "--sample", "no service account"] {
            assert!(error.contains(choice), "{error}");
        }
        assert!(choose(&none, Environment::default()).is_err());
    }
}
