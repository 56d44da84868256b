//! The policies of `/api/policies`.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use humantime::{format_duration, format_rfc3339_seconds};
use plimsoll_core::{LastFault, Match, Member, PolicyState, Roster, Verb};
use serde::Serialize;
use serde_json::Value;

use crate::counting::outrun;

#[derive(Serialize)]
pub(super) struct PoliciesJson {
    policies: Vec<PolicyJson>,
}

/// A policy, or a directory or module that is never called.
#[derive(Serialize)]
struct PolicyJson {
    group: Arc<str>,
    name: Arc<str>,
    state: &'static str,
    error: Option<String>,
    #[serde(flatten)]
    member: Option<MemberJson>,
}

/// A policy that requests are put to.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MemberJson {
    mode: &'static str,
    on_error: BTreeMap<&'static str, &'static str>,
    #[serde(flatten)]
    loaded: Option<LoadedJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_guaranteed: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    without_effect: Vec<String>,
}

/// The state and configuration of a policy that could be loaded.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LoadedJson {
    r#match: Match,
    order: i32,
    weight: u32,
    timeout: String,
    memory: usize,
    verbs: Vec<&'static str>,
    digest: Box<str>,
    size: u64,
    version: u64,
    circuit: &'static str,
    /// By verb: `true` if answers are cached, or the reason why not.
    cached: BTreeMap<&'static str, Value>,
    asked: u64,
    asked_since: String,
    last_fault: Option<LastFaultJson>,
}

#[derive(Serialize)]
struct LastFaultJson {
    at: String,
    verb: &'static str,
    pod: String,
    fault: &'static str,
    detail: String,
}

// === impl PoliciesJson ===

impl PoliciesJson {
    /// `is_blind`: whether a policy reads pods that this gateway, which binds or not, does not know.
    pub(super) fn new(
        roster: &Roster,
        binds: bool,
        is_blind: impl Fn(&Member) -> bool,
        without_effect: impl Fn(&Member) -> Vec<String>,
    ) -> Self {
        let policy = |group: &Arc<str>, name: &Arc<str>, state: PolicyState, member| {
            let failure = roster.failures().iter().find(|failure| failure.name == *name && failure.group == *group);
            let error = failure.map(|failure| failure.error.clone());
            PolicyJson { group: group.clone(), name: name.clone(), state: state.as_str(), error, member }
        };
        let members = roster.members().map(|member| {
            let mut shown = MemberJson::new(member, roster, binds, is_blind(member));
            shown.without_effect = without_effect(member);
            policy(&member.group, &member.name, roster.state(member.id()), Some(shown))
        });
        let has_member = |wanted: &str| roster.members().any(|member| member.id() == wanted);
        let of_states = roster.states().into_iter().filter(|(id, _)| !has_member(id)).map(|(id, state)| {
            let (group, name) = id.rsplit_once('/').unwrap_or(("", &id));
            policy(&group.into(), &name.into(), state, None)
        });
        // A problem of a directory or a name does not belong to a policy.
        let of_directories = roster.directory_failures().map(|failure| {
            let state = if failure.kept { PolicyState::Kept } else { PolicyState::Failed };
            PolicyJson { error: Some(failure.error.clone()), ..policy(&failure.group, &failure.name, state, None) }
        });
        Self { policies: members.chain(of_states).chain(of_directories).collect() }
    }
}

// === impl MemberJson ===

impl MemberJson {
    fn new(member: &Member, roster: &Roster, binds: bool, is_blind: bool) -> Self {
        // By verb: the effect of a fault, from the sidecar or by default.
        let verbs = member.policy.verbs().iter().filter(|verb| *verb != Verb::Validate);
        Self {
            mode: member.config.mode.as_str(),
            on_error: verbs.map(|verb| (verb.as_str(), member.config.on_error(verb).as_str())).collect(),
            loaded: (!member.is_stand_in()).then(|| LoadedJson::new(member)),
            missing: is_blind.then_some(["placed"]),
            not_guaranteed: outrun(member, roster, binds).filter(|_| !is_blind),
            without_effect: vec![],
        }
    }
}

// === impl LoadedJson ===

impl LoadedJson {
    fn new(Member { config, policy, digest, size, version, circuit, calls, cache, .. }: &Member) -> Self {
        let verbs = policy.verbs();
        let cached =
            |verb: Verb| (verb.as_str(), cache.disabled(verb).map_or(true.into(), |off| off.to_string().into()));
        let time = |at| format_rfc3339_seconds(at).to_string();
        Self {
            r#match: config.matches.clone(),
            order: config.order,
            weight: config.weight,
            timeout: format_duration(config.timeout).to_string(),
            memory: config.memory,
            verbs: verbs.iter().map(Verb::as_str).collect(),
            digest: digest.clone(),
            size: *size,
            version: *version,
            circuit: if circuit.open_verbs(Instant::now()).is_empty() { "closed" } else { "open" },
            cached: [Verb::Filter, Verb::Score].into_iter().filter(|verb| verbs.has(*verb)).map(cached).collect(),
            asked: calls.count(),
            asked_since: time(calls.since()),
            last_fault: calls.last_fault().map(|LastFault { at, verb, pod, fault }| LastFaultJson {
                at: time(at),
                verb: verb.as_str(),
                pod,
                fault: fault.kind.as_str(),
                detail: fault.detail,
            }),
        }
    }
}
