//! `managedResources`: for which pods the scheduler need not call.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Result, ensure};
use plimsoll_core::{Group, Member, Mode};
use serde_json::{Value, json};

use crate::output;

const KEY: &str = "managedResources";

/// If every policy of the group asks for a resource, the scheduler need not call for other pods.
pub(super) fn managed(group: &Group) -> Option<Value> {
    let mut names: Vec<&str> = Vec::new();
    for member in asked(group) {
        names.extend(member.config.matches.resources.as_ref()?.iter().map(AsRef::as_ref));
    }
    names.sort_unstable();
    names.dedup();
    // kube-scheduler accepts only extended resources here: those with a domain.
    let fit = !names.is_empty() && names.iter().all(|name| name.contains('/'));
    fit.then(|| names.iter().map(|name| json!({"name": name, "ignoredByScheduler": false})).collect())
}

/// Keeps kube-scheduler's rule that only one extender manages a resource.
///
/// The one that binds, or else the first, keeps its list. Another with a resource in common goes without
/// one: it is called for every pod then, and its policies' `match` still says which they are asked about.
pub(super) fn keep_unique(extenders: &mut [Value]) {
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    let mut extenders: Vec<&mut Value> = extenders.iter_mut().collect();
    // An extender that binds is called to bind every pod that it is interested in.
    extenders.sort_by_key(|stanza| stanza.get("bindVerb").is_none());
    for stanza in extenders {
        let names: Vec<String> = names(stanza).map(ToOwned::to_owned).collect();
        let url = stanza["urlPrefix"].as_str().unwrap_or_default().to_owned();
        if let Some((name, owner)) = names.iter().find_map(|name| Some((name, owners.get(name)?))) {
            output::remark(&format!("{name} is managed by {owner}: {url} is called for every pod"));
            stanza.as_object_mut().map(|stanza| stanza.remove(KEY));
            continue;
        }
        owners.extend(names.into_iter().map(|name| (name, url.clone())));
    }
}

/// Marks the resources that the scheduler itself must not count.
///
/// # Errors
/// If no extender manages one of them.
pub(super) fn ignore(extenders: &mut [Value], ignored: &[String]) -> Result<()> {
    for name in ignored {
        let resources = extenders.iter_mut().filter_map(|stanza| stanza.get_mut(KEY)?.as_array_mut()).flatten();
        let mut found = false;
        for resource in resources.filter(|resource| resource["name"] == **name) {
            (found, resource["ignoredByScheduler"]) = (true, true.into());
        }
        ensure!(found, "--ignored-by-scheduler {name}: no group manages it; each of a group's policies must match it");
    }
    Ok(())
}

fn names(stanza: &Value) -> impl Iterator<Item = &str> {
    let resources = stanza.get(KEY).and_then(Value::as_array).into_iter().flatten();
    resources.filter_map(|resource| resource["name"].as_str())
}

/// The policies of a group that are ever asked.
pub(super) fn asked(group: &Group) -> impl Iterator<Item = &Arc<Member>> {
    group.members().iter().filter(|member| member.config.mode != Mode::Off)
}
