//! The report on one policy that was loaded.

use std::{path::PathBuf, sync::Arc, time::Duration};

use plimsoll_core::{Cluster, Fault, Match, Pod, Slot, Verb};
use plimsoll_wasm::{CONTRACT, Inspection, WasiImport};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    purity::Purity,
    trial::{ROUNDS, nodes_of},
};
use crate::text::{self, micros};

/// The remark about a filter that may count pods.
const LIMITS: &str = "the filter may count pods: its limits are exact for pods that plimsoll binds (bindVerb), and can be exceeded by others; if it counts nothing, its sidecar says counts: false";

/// Maximum functions of the contract that are listed by name. An SDK whose linker drops nothing imports all of them,
/// which says nothing about the policy.
const LISTED: usize = 16;

/// The report on one policy.
pub(super) struct CheckReport {
    pub(super) sidecar: Option<PathBuf>,
    /// Whether its rule is in the sidecar.
    pub(super) is_cel: bool,
    pub(super) inspection: Inspection,
    /// Why it was not called, if it could not be.
    pub(super) not_called: Option<String>,
    /// Whether its sidecar switches it off.
    pub(super) is_off: bool,
    /// The time of a call of each verb.
    pub(super) calls: Vec<(Verb, Result<Duration, Fault>)>,
    /// A reason of its filter that has the name of the node.
    pub(super) reason_with_node: Option<Arc<str>>,
    /// By verb; none unless `--purity` is given and the policy was called.
    pub(super) purity: Option<Vec<Purity>>,
    /// Whether its filter may count pods.
    pub(super) counts: bool,
    pub(super) remarks: Vec<String>,
    /// The weight of its scores, if they count.
    pub(super) weight: Option<u32>,
    /// A weight of a policy that gives no scores.
    pub(super) unused_weight: Option<u32>,
    /// None unless a cluster is named.
    pub(super) matches: Option<Matches>,
}

/// The pods that the `match` of a policy accepts, and all pods.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Matches {
    /// Pods on nodes.
    pods: usize,
    of: usize,
    /// The nodes of those pods.
    nodes: usize,
    of_nodes: usize,
    /// Pods that wait for a node.
    waiting: usize,
    of_waiting: usize,
}

// === impl CheckReport ===

impl CheckReport {
    pub(super) fn refusal(&self) -> Option<String> {
        let fault = self.calls.iter().find_map(|(verb, time)| Some((verb, time.as_ref().err()?)));
        let fault = fault.map(|(verb, fault)| match verb {
            Verb::Validate => format!("it fails to validate its settings: {fault}"),
            verb => format!("it fails to {verb} on a sample node: {fault}"),
        });
        let differs = self.purity.iter().flatten().find(|purity| purity.differs());
        fault.or_else(|| {
            differs.map(|purity| format!("its answers depend on what was asked before: {}", purity.as_text()))
        })
    }

    /// All fields but those that a refused policy has too.
    pub(super) fn as_json(&self) -> Value {
        let inspection = &self.inspection;
        let wasi = |import: &WasiImport| json!({"interface": import.name, "gets": import.gets});
        json!({
            "note": self.not_called,
            "verbs": inspection.verbs.iter().map(Verb::as_str).collect::<Vec<_>>(),
            "imports": inspection.imports,
            "wasi": inspection.wasi.iter().map(wasi).collect::<Vec<_>>(),
            "counts": self.counts,
            "remarks": self.remarks,
            "matches": self.matches,
            "reasonWithNode": self.reason_with_node.as_deref(),
            "cel": self.is_cel,
            "coreModule": inspection.is_core_module && !self.is_cel,
            "stdio": inspection.policy.program().is_some(),
            "size": inspection.size,
            "digest": inspection.digest,
            "compileMicroseconds": micros(inspection.compiled_in),
            "fromCache": inspection.from_cache,
            "sidecar": self.sidecar.as_ref().map(|sidecar| sidecar.display().to_string()),
            "purity": self.purity.iter().flatten().map(Purity::as_json).collect::<Vec<_>>(),
            "calls": self.calls.iter().map(call_as_json).collect::<Vec<_>>(),
        })
    }

    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let inspection = &self.inspection;
        let kind = match (inspection.policy.program(), inspection.is_core_module) {
            _ if self.is_cel => "CEL, which a module of plimsoll interprets",
            (Some(_), _) => "stdio command, made a component",
            (None, true) => "core module, made a component",
            (None, false) => "component",
        };
        let cached = if inspection.from_cache { " (from the cache)" } else { "" };
        let mut lines = vec![
            ("verbs", join(inspection.verbs.iter().map(Verb::as_str))),
            (if self.is_cel { "reads" } else { "imports" }, imports_text(inspection)),
            ("kind", kind.to_owned()),
            ("size", text::size(inspection.size)),
            ("digest", inspection.digest.clone()),
            ("compile", format!("{}{cached}", text::duration(inspection.compiled_in))),
        ];
        let wasi = inspection.wasi.iter().map(|import| ("wasi", format!("{}: {}", import.interface(), import.gets)));
        lines.splice(2..2, wasi);
        if self.counts {
            lines.push(("limits", LIMITS.to_owned()));
        }
        if let Some(reason) = &self.reason_with_node {
            lines.push((
                "reasons",
                format!("'{reason}' names its node: kube-scheduler counts nodes by reason, so leave the name out"),
            ));
        }
        if let Some(sidecar) = &self.sidecar {
            lines.push(("sidecar", sidecar.display().to_string()));
        }
        lines.extend(self.calls.iter().map(|call| ("call", call_text(call))));
        lines.extend(self.asked_for_lines());
        lines
    }

    /// What a directory's report says of each policy, too: what was asked for, and remarks.
    pub(super) fn asked_for_lines(&self) -> Vec<(&'static str, String)> {
        let matches = self.matches.as_ref().map(|matches| ("matches", matches.as_text()));
        let purity = match &self.purity {
            None => vec![],
            Some(none) if none.is_empty() => {
                vec![("purity", "nothing to compare: it has neither filter, score nor rank".to_owned())]
            }
            Some(all) => all.iter().map(|purity| ("purity", purity.as_text())).collect(),
        };
        let remarks = self.remarks.iter().map(|remark| ("remark", remark.clone()));
        remarks.chain(matches).chain(purity).collect()
    }
}

// === impl Matches ===

impl Matches {
    pub(super) fn of(wanted: &Match, cluster: &Cluster, waiting: &[Pod]) -> Self {
        let accepts = |pod: &Pod| wanted.accepts(pod, cluster.namespace(pod.namespace()));
        let accepted =
            |slot: &Slot| slot.placed.iter().flat_map(|placed| placed.pods()).filter(|pod| accepts(pod)).count();
        let by_node: Vec<usize> = cluster.slots().iter().map(accepted).collect();
        Self {
            pods: by_node.iter().sum(),
            of: cluster.pod_count(),
            nodes: by_node.iter().filter(|pods| **pods > 0).count(),
            of_nodes: by_node.len(),
            waiting: waiting.iter().filter(|pod| accepts(pod)).count(),
            of_waiting: waiting.len(),
        }
    }

    /// Says that it matches no pod of a cluster that has some.
    pub(super) fn none(&self) -> Option<String> {
        let is_none = self.pods + self.waiting == 0 && self.of + self.of_waiting > 0;
        is_none.then(|| {
            format!("its match has no effect: it matches none of {}", text::count(self.of + self.of_waiting, "pod"))
        })
    }

    fn as_text(&self) -> String {
        let Self { pods, of, nodes, of_nodes, waiting, of_waiting } = self;
        let (of, of_nodes) = (text::count(*of, "placed pod"), text::count(*of_nodes, "node"));
        let waits = match of_waiting {
            0 => String::new(),
            of => format!("; {waiting} of {}", text::count(*of, "waiting pod")),
        };
        format!("{pods} of {of}, on {nodes} of {of_nodes}{waits}")
    }
}

fn call_as_json((verb, time): &(Verb, Result<Duration, Fault>)) -> Value {
    match time {
        Ok(time) => json!({"verb": verb.as_str(), "nodes": nodes_of(*verb), "microseconds": micros(*time)}),
        Err(fault) => json!({"verb": verb.as_str(), "fault": fault.kind.as_str(), "detail": fault.detail}),
    }
}

fn call_text((verb, time): &(Verb, Result<Duration, Fault>)) -> String {
    match time {
        Ok(time) => {
            let (time, nodes) = (text::duration(*time), text::count(nodes_of(*verb) as usize, "node"));
            format!("{verb}: {time} for a fresh instance and {nodes} (best of {ROUNDS} calls)")
        }
        Err(fault) => format!("{verb}: FAULT {fault}"),
    }
}

fn join<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let text = texts.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "none".to_owned() } else { text }
}

/// The functions of the contract, in one line.
fn imports_text(inspection: &Inspection) -> String {
    let imports = &inspection.imports;
    if imports.len() <= LISTED {
        return if imports.is_empty() { "none".to_owned() } else { imports.join(", ") };
    }
    let mut interfaces: Vec<&str> = imports.iter().filter_map(|name| name.split('.').next()).collect();
    interfaces.dedup();
    format!("{} functions of {CONTRACT} ({}); --output json lists them", imports.len(), interfaces.join(", "))
}
