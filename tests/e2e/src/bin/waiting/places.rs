//! Pods that have a node long before they bind, under "at most so many pods of an app on a node": volumes that bind late,
//! and gangs.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use plimsoll_e2e::pod;
use serde_json::{Value, json};

use crate::{
    api::Pods,
    extent::Extent,
    lab::{Lab, Policy, Setup, nodes},
    report::Figures,
    volumes::{self, mounts},
};

/// Nothing happens any more if no pod was bound for so long, and for so much longer for each pod: kube-scheduler looks
/// once a second for the volumes that it waits for, and tries a refused pod again after ten seconds at most.
const QUIET: [Duration; 2] = [Duration::from_secs(12), Duration::from_millis(100)];

/// For so much longer where a leader was killed: its lease, the start of the next one, and pauses of kube-scheduler.
const LEADERLESS: Duration = Duration::from_secs(20);

const ZONE: &str = "topology.kubernetes.io/zone";
const ZONES: [&str; 3] = ["a", "b", "c"];

/// Pods with a volume each, at once.
#[derive(Clone, Copy)]
pub(crate) struct Volumes {
    pub(crate) nodes: usize,
    pub(crate) pods: usize,
    /// The most on a node.
    pub(crate) most: u32,
    pub(crate) reach: Reach,
    /// Whether a service selects them, as for a `StatefulSet`.
    pub(crate) is_set: bool,
}

/// The nodes that reach a volume.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The volume is made for a node, and only that node reaches it.
    Node,
    /// The volume is made for a node, and the nodes of its zone reach it.
    Zone,
    /// The volume is made when the pod has a node, and every node reaches it.
    All,
    /// As before, but the volume is there before the pod.
    AllBefore,
}

/// Gangs of four or more and single pods, at once, at most one on a node.
#[derive(Clone, Copy)]
pub(crate) struct Gangs {
    pub(crate) nodes: usize,
    pub(crate) groups: usize,
    pub(crate) members: usize,
    pub(crate) singles: usize,
}

// === impl Volumes ===

impl Volumes {
    pub(crate) async fn run(self, extent: Extent) -> Result<Figures> {
        let mut all = nodes(self.nodes);
        for (number, node) in all.iter_mut().enumerate() {
            node["metadata"]["labels"][ZONE] = ZONES[number % ZONES.len()].into();
        }
        let setup = Setup::new(all, Policy::AtMost(self.most, String::new()));
        let lab = Lab::start(Setup { replicas: extent.replicas(), ..setup }).await?;
        let _provisioner = volumes::provisioner(&lab, self.reach.label()).await?;
        let before = lab.counts().await?;
        let mut outcomes = vec![];
        for run in 0..extent.runs {
            outcomes.push(self.once(&lab, &format!("run{run}"), extent.kill_leader).await?);
            lab.delete_pods("default").await?;
        }
        let mut figures = Figures::default();
        figures.add_outcomes(outcomes);
        figures.add_counts(&lab.counts().await?.since(&before));
        Ok(figures)
    }

    async fn once(self, lab: &Lab, app: &str, kills: bool) -> Result<String> {
        let names: Vec<String> = (0..self.pods).map(|number| format!("{app}-{number}")).collect();
        if self.is_set {
            // kube-scheduler spreads the pods of a service, so that they rarely meet.
            let service = json!({"metadata": {"name": app}, "spec": {"clusterIP": "None", "selector": {"app": app}}});
            lab.create("/api/v1/namespaces/default/services", [service]).await?;
        }
        if self.reach == Reach::AllBefore {
            volumes::create_bound(lab, "default", &names).await?;
        } else {
            volumes::create_late(lab, "default", &names).await?;
        }
        let owner =
            json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": app, "uid": app, "controller": true}]);
        let with_volume = |name: &String| {
            let mut pod = of_app(app, pod("default", name, "10m", &json!({"volumes": mounts(name)})));
            pod["metadata"]["ownerReferences"] = owner.clone();
            pod
        };
        lab.create_pods(names.iter().map(with_volume)).await?;
        settle(lab, &names, kills).await?;
        let provisioned = volumes::provisioned(lab).await?;
        let placed = lab.read(|pods| placed(pods, &names));
        let bound: usize = placed.values().sum();
        let is_tied = |pods: &Pods, name: &String| pods[name].waited.is_none() && provisioned.contains(name);
        let tied = lab.read(|pods| names.iter().filter(|name| is_tied(pods, name)).count());
        let most = placed.values().max().copied().unwrap_or(0);
        let of = format!("{bound} bound on {} nodes, {most} on one", placed.len());
        let zones: Vec<String> = in_zones(&placed).iter().map(|(zone, pods)| format!("{zone}{pods}")).collect();
        Ok(if self.reach == Reach::Node { format!("{of}, {tied} tied") } else { format!("{of}, {}", zones.join(" ")) })
    }
}

// === impl Reach ===

impl Reach {
    /// The label of the nodes that reach a volume which was made for a node.
    fn label(self) -> fn(&str) -> Option<(&'static str, String)> {
        match self {
            Self::Node => |node| Some(("kubernetes.io/hostname", node.to_owned())),
            Self::Zone => |node| Some((ZONE, zone(node).to_owned())),
            Self::All | Self::AllBefore => |_| None,
        }
    }
}

// === impl Gangs ===

impl Gangs {
    pub(crate) async fn run(self, gang_line: String, extent: Extent) -> Result<Figures> {
        let setup = Setup::new(nodes(self.nodes), Policy::AtMost(1, gang_line));
        let lab = Lab::start(Setup { has_groups: true, replicas: extent.replicas(), ..setup }).await?;
        let before = lab.counts().await?;
        let (mut outcomes, mut waits) = (vec![], vec![]);
        for run in 0..extent.runs {
            let (outcome, waited) = self.once(&lab, run, extent.kill_leader).await?;
            outcomes.push(outcome);
            waits.extend(waited);
            lab.delete_pods("default").await?;
        }
        let mut figures = Figures::default();
        figures.add_outcomes(outcomes);
        figures.add_waits("", &waits);
        figures.add_counts(&lab.counts().await?.since(&before));
        Ok(figures)
    }

    async fn once(self, lab: &Lab, run: usize, kills: bool) -> Result<(String, Vec<Option<Duration>>)> {
        let app = format!("run{run}");
        let group = |gang: usize| {
            json!({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": format!("{app}-{gang}")},
                "spec": {"schedulingPolicy": {"gang": {"minCount": self.members}}}})
        };
        let groups = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups";
        lab.create(groups, (0..self.groups).map(group)).await?;
        let name = |gang: usize, number: usize| format!("{app}-{gang}-{number}");
        let member = |gang: usize, number: usize| {
            let spec = json!({"schedulingGroup": {"podGroupName": format!("{app}-{gang}")}});
            of_app(&app, pod("default", &name(gang, number), "10m", &spec))
        };
        let singles: Vec<String> = (0..self.singles).map(|number| format!("{app}-single-{number}")).collect();
        let mut pods: Vec<Value> = (0..self.members)
            .flat_map(|number| (0..self.groups).map(move |gang| (gang, number)))
            .map(|(gang, number)| member(gang, number))
            .chain(singles.iter().map(|name| of_app(&app, pod("default", name, "10m", &Value::Null))))
            .collect();
        // Another one comes first in each run.
        let first = run % pods.len();
        pods.rotate_left(first);
        lab.create_pods(pods).await?;
        let gangs: Vec<Vec<String>> =
            (0..self.groups).map(|gang| (0..self.members).map(|number| name(gang, number)).collect()).collect();
        let all = [gangs.concat(), singles.clone()].concat();
        settle(lab, &all, kills).await?;
        Ok(lab.read(|pods| {
            let mut bound: Vec<usize> = gangs.iter().map(|gang| count_bound(pods, gang)).collect();
            bound.sort_unstable();
            let most = placed(pods, &all).into_values().max().unwrap_or(0);
            let outcome = format!(
                "bound {bound:?} of {} and {} singles, {most} on one",
                self.members,
                count_bound(pods, &singles)
            );
            (outcome, all.iter().map(|name| pods[name].waited).collect())
        }))
    }
}

/// Waits until all are bound, or none was bound for a while; kills the leader in between.
async fn settle(lab: &Lab, names: &[String], kills: bool) -> Result<()> {
    let (mut bound, mut quiet) = (0, QUIET[0] + QUIET[1] * names.len() as u32);
    if kills {
        lab.until(quiet, |pods| count_bound(pods, names) > 0).await;
        lab.kill_leader()?;
        quiet += LEADERLESS;
    }
    while bound < names.len() && lab.until(quiet, |pods| count_bound(pods, names) > bound).await {
        bound = lab.read(|pods| count_bound(pods, names));
    }
    Ok(())
}

fn count_bound(pods: &Pods, names: &[String]) -> usize {
    names.iter().filter(|name| pods[*name].waited.is_some()).count()
}

/// The number of these pods on each node.
fn placed(pods: &Pods, names: &[String]) -> BTreeMap<String, usize> {
    let mut placed = BTreeMap::new();
    for pod in names.iter().map(|name| &pods[name]).filter(|pod| pod.waited.is_some()) {
        *placed.entry(pod.node.clone()).or_default() += 1;
    }
    placed
}

fn in_zones(placed: &BTreeMap<String, usize>) -> BTreeMap<&'static str, usize> {
    let mut zones = BTreeMap::new();
    for (node, pods) in placed {
        *zones.entry(zone(node)).or_default() += pods;
    }
    zones
}

/// The zone of a node, by its number.
fn zone(node: &str) -> &'static str {
    let number: usize = node.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or_default();
    ZONES[number % ZONES.len()]
}

fn of_app(app: &str, mut pod: Value) -> Value {
    pod["metadata"]["labels"]["app"] = app.into();
    pod
}
