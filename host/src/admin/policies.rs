//! The policies of `/api/policies`.

use std::time::Instant;

use humantime::{format_duration, format_rfc3339_seconds};
use plimsoll_core::{Failure, LastFault, Member, PolicyState, Roster, Verb};
use serde_json::{Value, json};

/// The state and configuration of a policy; of one that could not be loaded, what is known.
pub(super) fn describe(member: &Member, roster: &Roster) -> Value {
    let config = &member.config;
    let mut policy = json!({
        "group": member.group,
        "name": member.name,
        "state": roster.state(member.id()).as_str(),
        "error": failure_of(roster, &member.group, &member.name).map(|failure| &failure.error),
        "mode": config.mode.as_str(),
        "onError": on_error(member),
    });
    if !member.is_stand_in() {
        policy["match"] = json!(config.matches);
        policy["order"] = config.order.into();
        policy["weight"] = config.weight.into();
        policy["timeout"] = format_duration(config.timeout).to_string().into();
        policy["memory"] = config.memory.into();
        policy["verbs"] = member.policy.verbs().iter().map(Verb::as_str).collect();
        policy["digest"] = json!(member.digest);
        policy["size"] = member.size.into();
        policy["version"] = member.version.into();
        let is_closed = member.circuit.open_verbs(Instant::now()).is_empty();
        policy["circuit"] = if is_closed { "closed" } else { "open" }.into();
        policy["cached"] = cached(member);
        policy["asked"] = member.calls.count().into();
        policy["askedSince"] = format_rfc3339_seconds(member.calls.since()).to_string().into();
        policy["lastFault"] = member.calls.last_fault().map(|last| last_fault(&last)).into();
    }
    policy
}

/// Policies, directories and modules that are never called.
pub(super) fn not_asked(roster: &Roster) -> impl Iterator<Item = Value> {
    let has_member = |wanted: &str| roster.members().any(|member| member.id() == wanted);
    let of_states = roster.states().into_iter().filter(move |(id, _)| !has_member(id)).map(|(id, state)| {
        let (group, name) = id.rsplit_once('/').unwrap_or(("", &id));
        let error = failure_of(roster, group, name).map(|failure| &failure.error);
        json!({"group": group, "name": name, "state": state.as_str(), "error": error})
    });
    // A problem of a directory or a name does not belong to a policy.
    let of_directories = roster.directory_failures().map(|failure| {
        let state = if failure.kept { PolicyState::Kept } else { PolicyState::Failed };
        json!({"group": failure.group, "name": failure.name, "state": state.as_str(), "error": failure.error})
    });
    of_states.chain(of_directories)
}

fn last_fault(LastFault { at, verb, pod, fault }: &LastFault) -> Value {
    let (fault, detail) = (fault.kind.as_str(), &fault.detail);
    json!({"at": format_rfc3339_seconds(*at).to_string(), "verb": verb.as_str(), "pod": pod, "fault": fault, "detail": detail})
}

/// By verb: `true` if answers are cached, or the reason why not.
fn cached(member: &Member) -> Value {
    let verbs = member.policy.verbs();
    let of = |verb: Verb| {
        let off = member.cache.disabled(verb).map(|off| off.to_string());
        (verb.as_str().to_owned(), off.map_or(Value::Bool(true), Value::String))
    };
    Value::Object([Verb::Filter, Verb::Score].into_iter().filter(|verb| verbs.has(*verb)).map(of).collect())
}

/// By verb: the effect of a fault, from the sidecar or by default.
fn on_error(member: &Member) -> Value {
    let verbs = member.policy.verbs().iter().filter(|verb| *verb != Verb::Validate);
    let of = |verb: Verb| (verb.as_str().to_owned(), member.config.on_error(verb).as_str().into());
    Value::Object(verbs.map(of).collect())
}

fn failure_of<'r>(roster: &'r Roster, group: &str, name: &str) -> Option<&'r Failure> {
    roster.failures().iter().find(|failure| *failure.name == *name && *failure.group == *group)
}
