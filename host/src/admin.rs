//! The content of the admin listener: readiness, metrics and the policies in force.

mod policies;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use plimsoll_cluster::{ClusterWatch, Leadership};
use plimsoll_core::{
    Condition, DecideError, DecisionRow, DecisionTable, FAULTS_TO_OPEN, Failure, Gateway, LastFault, Member, Mode,
    ModelDifference, OPEN_TIME, Pod, Roster, Verb, quotable,
};
use plimsoll_http::Admin;
use plimsoll_wasm::WasmLoader;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::policies::PoliciesJson;
use crate::{
    binding::{LeaderJson, NOBODY_MAY_BIND},
    facts::{self, FactsFileFollower},
    metrics::{Metrics, Page},
    no_effect,
    pending::{PendingJson, PendingPodJson},
    readiness::Readiness,
    reload::{BLIND, empty_root, reads_placed_pods},
    render::{answer, explanation},
};

/// The end of a refusal by `/api/explain`.
const POD_EXPECTED: &str = "expected the pod's JSON, as `kubectl get pod NAME -o json` writes it";

/// A reminder that the rows of a decision table are not a rule.
const SEEN: &str = "combinations that were seen, not a rule: other values may lead to other answers";

/// The time for which `/readyz` has the last fault of a policy.
const TOLD_FOR: Duration = Duration::from_mins(15);

/// The state behind the admin listener.
pub(crate) struct AdminState {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) loader: WasmLoader,
    pub(crate) watch: Option<Arc<ClusterWatch>>,
    pub(crate) leadership: Option<Arc<Leadership>>,
    pub(crate) facts: Option<Arc<FactsFileFollower>>,
    /// Whether it would bind although no client may ask it to.
    pub(crate) binds_for_nobody: bool,
    /// Whether it tells kube-scheduler to try pods again.
    pub(crate) wakes: bool,
    /// It is not ready while the watch has been silent for longer.
    pub(crate) max_staleness: Duration,
    /// Whether the pods on nodes are known.
    pub(crate) sees_pods: bool,
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) draining: AtomicBool,
}

// === impl AdminState ===

impl AdminState {
    /// From now on /readyz answers 503.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Why the gateway is not ready; empty if it is.
    fn reasons(&self) -> Vec<String> {
        if self.draining.load(Ordering::Relaxed) {
            return vec!["shutting down".to_owned()];
        }
        let mut reasons = self.readiness.missing(&self.gateway.roster());
        reasons.extend(self.watch.iter().flat_map(|watch| watch.status().doubts(self.max_staleness)));
        reasons
    }

    /// Problems that do not prevent the gateway from answering.
    fn notes(&self) -> Vec<String> {
        let roster = self.gateway.roster();
        let binds = |member: &&Arc<Member>| {
            member.config.mode == Mode::Enforce && !member.is_stand_in() && member.policy.verbs().has(Verb::Bind)
        };
        let binder = roster.members().find(binds).filter(|_| self.binds_for_nobody);
        let binder = binder.map(|member| format!("policy {} binds, but {NOBODY_MAY_BIND}", member.id()));
        let blind = roster.members().filter(|member| self.is_blind(member));
        let blind = blind.map(|member| format!("policy {}: {BLIND}", member.id()));
        let without_effect = roster.members().flat_map(|member| {
            let texts = self.without_effect(&roster, member).into_iter();
            texts.map(|text| format!("policy {}: {text}", member.id())).collect::<Vec<_>>()
        });
        let now = Instant::now();
        let open = roster.members().flat_map(|member| {
            let verbs = member.circuit.open_verbs(now).iter().collect::<Vec<_>>();
            verbs.into_iter().map(|verb| format!("policy {}: its circuit is open for {verb} after {FAULTS_TO_OPEN} consecutive faults: for up to {OPEN_TIME:?} it is not called, and only its cached answers are used", member.id()))
        });
        let failed = roster.members().filter_map(|member| {
            let LastFault { at, verb, pod, fault } = member.calls.last_fault()?;
            let is_recent = at.elapsed().unwrap_or_default() < TOLD_FOR;
            let at = humantime::format_rfc3339_seconds(at);
            is_recent.then(|| format!("policy {}: its last fault, at {at}: {verb} of pod {pod}: {fault}", member.id()))
        });
        let gaps = self.watch.iter().flat_map(|watch| watch.status().gaps(self.max_staleness));
        let snapshot = self.metrics.snapshot_problem.load().as_deref().cloned();
        let empty_root = empty_root(&roster);
        binder
            .into_iter()
            .chain(empty_root)
            .chain(Self::refusals(&roster))
            .chain(blind)
            .chain(without_effect)
            .chain(open)
            .chain(failed)
            .chain(gaps)
            .chain(snapshot)
            .chain(self.metrics.wake_trouble.text())
            .chain(self.metrics.nomination_trouble.text())
            .chain(self.model_differences())
            .collect()
    }

    /// What kube-scheduler accepts and the model of its filters does not.
    fn model_differences(&self) -> impl Iterator<Item = String> {
        let text = |ModelDifference { scheduler, plugin, reason }| {
            format!(
                "kube-scheduler {scheduler} accepts nodes that plimsoll's model of its filter {plugin} rejects ({reason}): this reason does not count for it"
            )
        };
        self.gateway.model_differences().into_iter().map(text)
    }

    /// The files that are refused, each with its effect.
    fn refusals(roster: &Roster) -> Vec<String> {
        let refusal = |failure: &Failure| {
            let effect = match failure.kept {
                // Some texts say it themselves.
                true if ["stay in force", "version is in force"].iter().any(|end| failure.error.contains(end)) => "",
                true if failure.is_of_directory() => "; its policies that are in force stay in force",
                true => "; the last good version stays in force",
                false => "",
            };
            format!("{failure}{effect}")
        };
        roster.failures().iter().map(refusal).collect()
    }

    /// Why a pod is not among those that wait.
    fn why_not_pending(&self, namespace: &str, name: &str) -> String {
        let is_named = |pod: &&Arc<Pod>| pod.name() == name && pod.namespace() == namespace;
        let cluster = self.gateway.cluster().unwrap_or_default();
        let mut placed = cluster.slots().iter().flat_map(|slot| slot.placed.iter().flat_map(|placed| placed.pods()));
        if let Some(node) = placed.find(is_named).and_then(|pod| pod.node()) {
            return format!("pod {namespace}/{name} does not wait: it is on node {node}");
        }
        let why = if self.watch.is_some() {
            "it does not exist, has ended, or is not shown by the watch yet"
        } else {
            "kube-scheduler has not asked this replica about it lately, or a node was left"
        };
        format!("pod {namespace}/{name} is not known to wait for a node: {why}; /api/pending has those that wait")
    }

    /// What has no effect in the sidecar of a policy.
    fn without_effect(&self, roster: &Roster, member: &Member) -> Vec<String> {
        let is_declared = |source: &str| self.facts.as_ref().is_some_and(|facts| facts.has(source));
        no_effect::of(member, roster, self.gateway.cluster().as_deref(), is_declared)
    }

    /// Whether a policy reads pods that this gateway does not see.
    fn is_blind(&self, member: &Member) -> bool {
        !self.sees_pods && reads_placed_pods(member)
    }
}

impl Admin for AdminState {
    fn ready(&self) -> Result<Vec<String>, Vec<String>> {
        let reasons = self.reasons();
        if reasons.is_empty() { Ok(self.notes()) } else { Err(reasons) }
    }

    fn metrics(&self) -> String {
        let mut page = Page::new();
        let help = "Memory of the decision cache: cached answers and the node columns that index them";
        page.gauge("decision_cache_bytes", help, self.gateway.cached_bytes());
        page.gauge("ready", "1 while /readyz answers 200", usize::from(self.reasons().is_empty()));
        let blind = self.gateway.roster().members().filter(|member| self.is_blind(member)).count();
        let help = "Policies that read the pods on nodes although the gateway has no view of them";
        page.gauge("policies_without_pods", help, blind);
        page.pending(&self.gateway.roster(), &self.gateway.pending());
        page.guests(&self.loader);
        if let Some(watch) = &self.watch {
            page.watch(&watch.status(), self.max_staleness);
        }
        if let Some(leadership) = &self.leadership {
            page.leader(leadership);
        }
        if let Some(facts) = &self.facts {
            page.facts(&facts.statuses(), facts.refusal().is_some());
        }
        self.metrics.render(&page)
    }

    fn policies(&self) -> impl Serialize {
        let roster = self.gateway.roster();
        let binds = self.leadership.is_some() && !self.binds_for_nobody;
        PoliciesJson::new(&roster, binds, |member| self.is_blind(member), |member| self.without_effect(&roster, member))
    }

    fn leader(&self) -> impl Serialize {
        self.leadership.as_deref().map_or(LeaderJson::OFF, LeaderJson::new)
    }

    fn pending(&self) -> impl Serialize {
        PendingJson::new(&self.gateway.pending())
    }

    fn pending_pod(&self, namespace: &str, name: &str) -> Result<impl Serialize, String> {
        let pending = self.gateway.pending_pod(namespace, name).ok_or_else(|| self.why_not_pending(namespace, name))?;
        Ok(PendingPodJson::new(&pending, &self.gateway.roster(), self.wakes))
    }

    fn facts(&self) -> impl Serialize {
        facts::describe(self.facts.as_deref(), &self.gateway.roster())
    }

    fn fact_values(&self, sources: &[&str]) -> Result<impl Serialize, String> {
        let is_declared = |name: &str| self.facts.as_ref().is_some_and(|facts| facts.has(name));
        facts::values(sources, is_declared, &self.gateway.facts())
    }

    fn table(&self, policy: &str) -> Option<impl Serialize> {
        Some(tables_json(policy, &self.gateway.decision_tables(policy).ok()?))
    }

    fn explain(&self, group: &str, node: &str, pod: Bytes) -> Result<impl Serialize, String> {
        let pod = Arc::new(pod_to_explain(pod)?);
        let cluster = self.gateway.cluster().ok_or_else(|| DecideError::NoCluster.to_string())?;
        let explanation = explanation::ask(&self.gateway, group, &pod, &cluster, node);
        explanation
            .map(|explanation| explanation::as_json(&pod, node, &explanation))
            .map_err(|error| format!("{error:#}"))
    }
}

/// The decision tables of a policy: which values that were read led to which answer, by verb.
fn tables_json(policy: &str, tables: &[(Verb, DecisionTable)]) -> Value {
    let condition = |Condition { read, values, more }: &Condition| json!({"read": read, "values": values.iter().map(answer::value_json).collect::<Vec<_>>(), "more": more});
    let row = |DecisionRow { conditions, answer }: &DecisionRow| json!({"if": conditions.iter().map(condition).collect::<Vec<_>>(), "then": answer::json(answer)});
    let table = |(verb, table): &(Verb, DecisionTable)| {
        json!({
            "verb": verb.as_str(),
            "rows": table.rows.iter().map(row).collect::<Vec<_>>(),
            "truncated": table.truncated,
            "uncacheable": table.uncacheable,
        })
    };
    json!({"policy": policy, "note": SEEN, "tables": tables.iter().map(table).collect::<Vec<_>>()})
}

/// The posted pod. An object of another kind, such as the arguments of an extender, would be explained as an empty pod.
fn pod_to_explain(json: Bytes) -> Result<Pod, String> {
    #[derive(Deserialize)]
    struct Head {
        kind: Option<String>,
    }
    let kind = serde_json::from_slice(&json).ok().and_then(|head: Head| head.kind);
    let pod = Pod::from_json(json).map_err(|error| error.to_string())?;
    match kind.as_deref() {
        Some("Pod") if pod.name().is_empty() => Err(format!("the pod has no metadata.name: {POD_EXPECTED}")),
        Some("Pod") => Ok(pod),
        Some(kind) => Err(format!("kind {}: {POD_EXPECTED}", quotable(kind))),
        None => Err(format!("the key 'kind' is missing: {POD_EXPECTED}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_is_no_pod_with_a_name_is_not_explained() {
        let pod = r#"{"kind": "Pod", "metadata": {"name": "p"}}"#;
        assert_eq!(pod_to_explain(Bytes::from(pod)).unwrap().name(), "p");
        for (json, expected) in [
            (
                format!(r#"{{"Pod": {pod}, "NodeNames": ["n"]}}"#).as_str(),
                "the key 'kind' is missing: expected the pod",
            ),
            (r#"{"metadata": {"name": "p"}}"#, "the key 'kind' is missing: expected the pod"),
            (r#"{"kind": "Deployment", "metadata": {"name": "p"}}"#, "kind Deployment: expected the pod"),
            (r#"{"kind": "Pod", "metadata": {}}"#, "the pod has no metadata.name: expected the pod"),
        ] {
            let error = pod_to_explain(Bytes::copy_from_slice(json.as_bytes())).unwrap_err();
            assert!(error.starts_with(expected), "{json}: {error}");
        }
    }
}
