//! The values of all reads as lines of `key=value`.

use std::fmt::{Display, Write as _};

use plimsoll_policy::{Owner, prelude::*};

/// Lines of `key=value`; a value that is absent is `-`.
#[derive(Default)]
struct Lines(String);

pub(super) fn pod(pod: Pod) -> String {
    let mut lines = Lines::default();
    lines.add("name", pod.name());
    lines.add("namespace", pod.namespace());
    lines.add("uid", pod.uid());
    lines.some("label", pod.label("a"));
    lines.some("label-none", pod.label("none"));
    lines.some("annotation-empty", pod.annotation("empty"));
    lines.some("annotation-none", pod.annotation("none"));
    lines.add("priority", pod.priority());
    lines.some("priority-class", pod.priority_class());
    lines.some("controller", pod.controller().map(owner));
    lines.some("created", pod.created());
    lines.add("request-cpu", pod.request("cpu"));
    lines.add("request-memory", pod.request("memory"));
    lines.add("request-none", pod.request("none"));
    lines.add("images", pod.images().join(" "));
    lines.0
}

pub(super) fn node(node: &Node) -> String {
    let mut lines = Lines::default();
    let taint = |own: Taint| format!("{}={}:{}", own.key, own.value, own.effect);
    lines.add("name", node.name());
    lines.some("label", node.label("é"));
    lines.some("label-none", node.label("none"));
    lines.some("annotation", node.annotation("a"));
    lines.add("taints", node.taints().into_iter().map(taint).collect::<Vec<_>>().join(" "));
    lines.add("allocatable", node.allocatable("cpu"));
    lines.add("known", node.resource_known("cpu"));
    lines.add("known-device", node.resource_known("example.com/gpu"));
    lines.add("capacity", node.capacity("cpu"));
    lines.add("capacity-none", node.capacity("none"));
    lines.some("requested", node.requested("memory"));
    lines.some("requested-none", node.requested("none"));
    lines.some("image-size", node.image_size("web:1"));
    lines.some("image-size-none", node.image_size("none"));
    lines.some("condition", node.condition("Ready"));
    lines.some("condition-none", node.condition("none"));
    lines.add("unschedulable", node.unschedulable());
    lines.0
}

pub(super) fn placed(node: &Node) -> String {
    let mut lines = Lines::default();
    lines.add("known", node.placed_known());
    lines.add("count-labelled", node.count_labelled("web", "app", "web"));
    lines.add("count-active", node.count_active("web", "app", "web"));
    for (at, pod) in node.placed().enumerate() {
        lines.add(&format!("{at}.name"), pod.name());
        lines.add(&format!("{at}.namespace"), pod.namespace());
        lines.some(&format!("{at}.label"), pod.label("app"));
        lines.some(&format!("{at}.annotation"), pod.annotation("a"));
        lines.add(&format!("{at}.priority"), pod.priority());
        lines.some(&format!("{at}.priority-class"), pod.priority_class());
        lines.some(&format!("{at}.controller"), pod.controller().map(owner));
        lines.some(&format!("{at}.phase"), pod.phase());
        lines.add(&format!("{at}.terminating"), pod.terminating());
        lines.add(&format!("{at}.request"), pod.request("memory"));
        lines.some(&format!("{at}.created"), pod.created());
    }
    lines.0
}

pub(super) fn cluster(cluster: Cluster) -> String {
    let mut lines = Lines::default();
    let all = Selector::all();
    let (web, smiling) = (all.namespace("web").label("app", "web"), all.node_label("é", "😀"));
    lines.some("count", cluster.count(all));
    lines.some("count-web", cluster.count(web));
    lines.some("count-annotated", cluster.count(web.annotation("a", "x")));
    lines.some("count-up-to-1", cluster.count_up_to(all, 1));
    lines.some("count-smiling", cluster.count_up_to(smiling, 9));
    lines.some("at-least-2", cluster.at_least(all, 2));
    lines.some("at-least-4-web", cluster.at_least(web, 4));
    lines.some("requested", cluster.requested(all, "memory"));
    lines.some("requested-smiling", cluster.requested(smiling, "memory"));
    lines.some("nodes-with-label", cluster.nodes_with_label("é", "😀"));
    let values = cluster
        .label_values("group")
        .map(|values| values.iter().map(|own| format!("{}:{}", own.value, own.nodes)).collect::<Vec<_>>().join(" "));
    lines.some("label-values", values);
    lines.0
}

pub(super) fn namespace(pod: Pod) -> String {
    let mut lines = Lines::default();
    lines.add("known", pod.namespace_known());
    lines.some("label", pod.namespace_label("tenant"));
    lines.some("label-none", pod.namespace_label("none"));
    lines.0
}

pub(super) fn facts(node: &Node) -> String {
    let mut lines = Lines::default();
    let facts = node.facts();
    lines.some("text", facts.text("prices", "note"));
    lines.some("text-none", facts.text("prices", "none"));
    lines.some("number", facts.number("prices", "gpu").map(thousandths));
    lines.some("number-negative", facts.number("prices", "loss").map(thousandths));
    lines.some("number-of-text", facts.number("prices", "note").map(thousandths));
    lines.some("node-text", node.fact_text("load"));
    lines.some("node-number", node.fact_number("load").map(thousandths));
    lines.0
}

pub(super) fn field(pod: Pod, node: &Node) -> String {
    let mut lines = Lines::default();
    // A field of another type shows as a value that is in no table.
    lines.some("priority", pod.field::<i64>("/spec/priority").unwrap_or(Some(i64::MIN)));
    lines.some("name", node.field::<&str>("/metadata/name").unwrap_or(Some("no text")));
    lines.some("none", pod.field_text("/none"));
    lines.some("spec", node.field_text("/spec"));
    lines.0
}

pub(super) fn large(node: &Node) -> String {
    let mut lines = Lines::default();
    let large: Vec<&str> = (0..20).filter_map(|_| node.annotation("large")).collect();
    let sum: usize = large.iter().flat_map(|text| text.bytes()).map(usize::from).sum();
    lines.add("count", large.len());
    lines.add("sum", sum);
    lines.some("label", node.label("é"));
    lines.0
}

pub(super) fn time() -> String {
    let mut lines = Lines::default();
    lines.add("now-0", now(0));
    lines.add("now-60", now(60));
    lines.add("now-3600", now(3600));
    lines.0
}

/// The victims of a candidate, and the nodes of all candidates.
pub(super) fn eviction(candidate: &Candidate) -> String {
    let mut lines = Lines::default();
    let victims: Vec<&str> = candidate.victims().iter().map(Placed::name).collect();
    let nodes: Vec<&str> = candidate.all().iter().map(|other| other.node().name()).collect();
    lines.add("victims", victims.join(" "));
    lines.add("nodes", nodes.join(" "));
    lines.0
}

fn owner(own: Owner) -> String {
    format!("{} {} {} {}", own.api_version, own.kind, own.name, own.uid)
}

/// Not every language writes a fraction in the same way.
fn thousandths(number: f64) -> i64 {
    (number * 1000.0) as i64
}

// === impl Lines ===

impl Lines {
    fn add(&mut self, key: &str, value: impl Display) {
        let end = if self.0.is_empty() { "" } else { "\n" };
        // Writing to a String cannot fail.
        let _ = write!(self.0, "{end}{key}={value}");
    }

    fn some(&mut self, key: &str, value: Option<impl Display>) {
        match value {
            Some(value) => self.add(key, value),
            None => self.add(key, "-"),
        }
    }
}
