//! The extender of a group, and its `managedResources`: for which pods the scheduler need not call.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use anyhow::{Result, ensure};
use plimsoll_core::{Group, Member, Mode};
use plimsoll_http::PREEMPT_POD_GROUPS;
use serde::Serialize;

use crate::output;

/// The extender of one group: its URL, and the verbs that its policies have.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Extender {
    pub(super) url_prefix: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) filter_verb: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preempt_verb: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prioritize_verb: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bind_verb: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weight: Option<u64>,
    /// Without a CA this key turns the check of plimsoll's certificate off.
    #[serde(rename = "enableHTTPS", skip_serializing_if = "Option::is_none")]
    pub(super) enable_https: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tls_config: Option<TlsConfig>,
    pub(super) node_cache_capable: bool,
    pub(super) ignorable: bool,
    pub(super) http_timeout: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) managed_resources: Vec<ManagedResource>,
}

/// The TLS part for an https URL. Its files are on the scheduler's machine, so they are not opened.
#[derive(Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TlsConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ca_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cert_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server_name: Option<String>,
}

/// A resource; the scheduler calls only for pods that ask for one of its extender's.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ManagedResource {
    name: String,
    ignored_by_scheduler: bool,
}

/// If every policy of the group asks for a resource, the scheduler need not call for other pods.
pub(super) fn managed(group: &Group) -> Vec<ManagedResource> {
    let mut names: Vec<&str> = Vec::new();
    for member in asked(group) {
        let Some(resources) = &member.config.matches.resources else { return vec![] };
        names.extend(resources.iter().map(AsRef::as_ref));
    }
    names.sort_unstable();
    names.dedup();
    // kube-scheduler accepts only extended resources here: those with a domain.
    if !names.iter().all(|name| name.contains('/')) {
        return vec![];
    }
    names.into_iter().map(|name| ManagedResource { name: name.to_owned(), ignored_by_scheduler: false }).collect()
}

/// Keeps kube-scheduler's rule that only one extender manages a resource.
///
/// The one that binds, or else the first, keeps its list. Another with a resource in common goes without
/// one: it is called for every pod then, and its policies' `match` still says which they are asked about.
pub(super) fn keep_unique(extenders: &mut [Extender]) {
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    let mut extenders: Vec<&mut Extender> = extenders.iter_mut().collect();
    // An extender that binds is called to bind every pod that it is interested in.
    extenders.sort_by_key(|extender| extender.bind_verb.is_none());
    for Extender { url_prefix, managed_resources, .. } in extenders {
        let mut names = managed_resources.iter().map(|resource| &resource.name);
        if let Some((name, owner)) = names.find_map(|name| Some((name, owners.get(name)?))) {
            output::remark(&format!("{name} is managed by {owner}: {url_prefix} is called for every pod"));
            managed_resources.clear();
        }
        owners.extend(managed_resources.iter().map(|resource| (resource.name.clone(), url_prefix.clone())));
    }
}

/// Marks the resources that the scheduler itself must not count.
///
/// # Errors
/// If no extender manages one of them.
pub(super) fn ignore(extenders: &mut [Extender], ignored: &[String]) -> Result<()> {
    for name in ignored {
        let resources = extenders.iter_mut().flat_map(|extender| &mut extender.managed_resources);
        let found = resources.filter(|resource| resource.name == *name);
        let marked = found.map(|resource| resource.ignored_by_scheduler = true).count();
        ensure!(
            marked > 0,
            "--ignored-by-scheduler {name}: no group manages it; each of a group's policies must match it"
        );
    }
    if !ignored.is_empty() {
        output::remark(
            "ignoredByScheduler replaces the ignoredResources of your own NodeResourcesFitArgs: add those to managedResources, with ignoredByScheduler: true",
        );
    }
    Ok(())
}

/// Gives each `preemptVerb` an extender of its own that is ignorable.
///
/// kube-scheduler keeps victims on other nodes than the candidate's only where such an extender answers with an error.
pub(super) fn preempt_apart(extenders: &mut Vec<Extender>) {
    let mut apart = vec![];
    for extender in &mut *extenders {
        let preempt_verb = extender.preempt_verb.take().map(|_| PREEMPT_POD_GROUPS);
        apart.extend(preempt_verb.map(|verb| Extender {
            preempt_verb: Some(verb),
            filter_verb: None,
            prioritize_verb: None,
            bind_verb: None,
            weight: None,
            ignorable: true,
            // A resource has one extender: this one is called about all pods.
            managed_resources: vec![],
            ..extender.clone()
        }));
    }
    extenders.retain(|one| one.filter_verb.is_some() || one.prioritize_verb.is_some() || one.bind_verb.is_some());
    extenders.extend(apart);
}

/// The policies of a group that are ever asked.
pub(super) fn asked(group: &Group) -> impl Iterator<Item = &Arc<Member>> {
    group.members().iter().filter(|member| member.config.mode != Mode::Off)
}
