//! The policies of `/api/policies`.

use std::time::Instant;

use plimsoll_core::{Failure, Member, PolicyState, Roster, Verb};
use serde_json::{Value, json};

/// The state and configuration of a policy.
pub(super) fn describe(member: &Member, roster: &Roster) -> Value {
    let failure = failure_of(roster, &member.group, &member.name);
    let state = roster.state(member.id()).as_str();
    let config = &member.config;
    if member.is_stand_in() {
        return json!({
            "group": member.group,
            "name": member.name,
            "state": state,
            "error": failure.map(|failure| &failure.error),
            "mode": config.mode.as_str(),
            "onError": on_error(member),
        });
    }
    describe_loaded(member, state, failure)
}

fn describe_loaded(member: &Member, state: &str, failure: Option<&Failure>) -> Value {
    let config = &member.config;
    let circuit = if member.circuit.open_verbs(Instant::now()).is_empty() { "closed" } else { "open" };
    json!({
        "group": member.group,
        "name": member.name,
        "state": state,
        "error": failure.map(|failure| &failure.error),
        "mode": config.mode.as_str(),
        "order": config.order,
        "weight": config.weight,
        "onError": on_error(member),
        "timeout": humantime::format_duration(config.timeout).to_string(),
        "memory": config.memory,
        "verbs": member.policy.verbs().iter().map(Verb::as_str).collect::<Vec<_>>(),
        "digest": member.digest,
        "size": member.size,
        "version": member.version,
        "circuit": circuit,
        "cached": cached(member),
    })
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
