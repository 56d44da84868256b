//! `plimsoll scheduler-config`: what to paste into kube-scheduler's configuration.

use std::{fmt::Write, process::ExitCode, sync::Arc};

use anyhow::{Result, bail};
use plimsoll_core::{Group, Mode, Verb};
use plimsoll_directory::{Directory, DirectoryConfig};
use serde_json::{Map, Value, json};

use crate::args::{Output, SchedulerConfigArgs};

/// The order in which people write the fields of an extender.
const FIELDS: [&str; 9] = [
    "urlPrefix",
    "filterVerb",
    "preemptVerb",
    "prioritizeVerb",
    "weight",
    "nodeCacheCapable",
    "ignorable",
    "httpTimeout",
    "managedResources",
];

pub(super) fn scheduler_config(args: &SchedulerConfigArgs) -> Result<ExitCode> {
    let loader = Arc::new(super::loader(&args.engine)?);
    let (_, update) = Directory::open(DirectoryConfig::new(args.policies.clone()), loader)?;
    if let Some(failure) = update.roster.failures().first() {
        bail!("policy {} cannot be loaded: {}", failure.name, failure.error);
    }
    let groups = update.roster.groups();
    let extenders: Vec<Value> = groups.filter_map(|(name, group)| extender(args, name, group)).collect();
    if extenders.is_empty() {
        bail!("{} holds no policy that kube-scheduler could ask", args.policies.display());
    }
    let mut config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": extenders,
    });
    if let Some(kubeconfig) = &args.kubeconfig {
        config["clientConnection"] = json!({ "kubeconfig": kubeconfig });
    }
    match args.output {
        Output::Json => super::print(&format!("{config:#}\n"))?,
        Output::Text => super::print(&yaml(&config))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The stanza of one group: its URL, and the verbs that its policies have.
fn extender(args: &SchedulerConfigArgs, name: &str, group: &Group) -> Option<Value> {
    let members = || group.members().iter().filter(|member| member.config.mode != Mode::Off);
    let has = |verb| members().any(|member| member.policy.verbs().has(verb));
    let base = args.url.trim_end_matches('/');
    let mut stanza = Map::new();
    let url = if name.is_empty() { base.to_owned() } else { format!("{base}/{name}") };
    stanza.insert("urlPrefix".into(), url.into());
    if has(Verb::Filter) {
        stanza.insert("filterVerb".into(), "filter".into());
    }
    // A filter answers preemption too: candidates are put to it as if their victims were gone.
    if has(Verb::Preempt) || has(Verb::Filter) {
        stanza.insert("preemptVerb".into(), "preempt".into());
    }
    if has(Verb::Score) || has(Verb::Rank) {
        stanza.insert("prioritizeVerb".into(), "prioritize".into());
        stanza.insert("weight".into(), args.weight.into());
    }
    if stanza.len() == 1 {
        return None;
    }
    stanza.insert("nodeCacheCapable".into(), (!args.full_nodes).into());
    stanza.insert("ignorable".into(), args.ignorable.into());
    stanza.insert("httpTimeout".into(), humantime::format_duration(args.http_timeout).to_string().into());
    if let Some(resources) = managed_resources(group) {
        let resource = |name: &str| json!({"name": name, "ignoredByScheduler": false});
        stanza.insert("managedResources".into(), resources.iter().map(|name| resource(name)).collect());
    }
    Some(Value::Object(stanza))
}

/// If every policy of the group asks for a resource, the scheduler need not call for other pods.
fn managed_resources(group: &Group) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for member in group.members().iter().filter(|member| member.config.mode != Mode::Off) {
        names.extend(member.config.matches.resources.as_ref()?.iter().map(AsRef::as_ref));
    }
    names.sort_unstable();
    names.dedup();
    // kube-scheduler takes extended resources alone here: those with a domain.
    (!names.is_empty() && names.iter().all(|name| name.contains('/'))).then_some(names)
}

/// YAML of the few shapes that this file has.
fn yaml(config: &Value) -> String {
    let mut text = String::new();
    for key in ["apiVersion", "kind"] {
        line(&mut text, "", key, &config[key]);
    }
    if let Some(connection) = config.get("clientConnection") {
        text.push_str("clientConnection:\n");
        line(&mut text, "  ", "kubeconfig", &connection["kubeconfig"]);
    }
    text.push_str("extenders:\n");
    for stanza in config["extenders"].as_array().into_iter().flatten() {
        let mut indent = "- ";
        for (key, value) in FIELDS.iter().filter_map(|key| Some((key, stanza.get(key)?))) {
            line(&mut text, indent, key, value);
            indent = "  ";
        }
    }
    text
}

fn line(text: &mut String, indent: &str, key: &str, value: &Value) {
    // JSON is YAML: what is not plainly safe stays quoted.
    let plain = value.as_str().filter(|value| value.chars().all(|c| c.is_ascii_alphanumeric() || "/:._-".contains(c)));
    let value = plain.filter(|value| !value.is_empty()).map_or_else(|| value.to_string(), ToOwned::to_owned);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{indent}{key}: {value}");
}
