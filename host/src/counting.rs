//! Filters that count pods: their limits hold for pods that plimsoll binds, since it asks them again then.

use plimsoll_core::{Group, Member, Mode, Roster, Verb};

/// Why a limit may be passed where this plimsoll does not bind.
const NOT_BOUND: &str = "its filter counts pods, and this plimsoll does not bind: pods that are bound at the same time can pass its limit, and gangs can be bound in part";

/// The same where kube-scheduler binds through another group.
const OTHER_GROUP: &str = "its filter counts pods, and kube-scheduler takes one extender with bindVerb, which is another group's: pods that are bound at the same time can pass its limit";

/// The first policy of a group that has a say in a binding; one in shadow must not make plimsoll bind.
pub(crate) fn binder(group: &Group) -> Option<&Member> {
    let binds = |member: &&Member| member.config.mode == Mode::Enforce && member.policy.verbs().has(Verb::Bind);
    group.members().iter().map(AsRef::as_ref).find(binds)
}

/// The one group whose stanza has `bindVerb`: the one with a policy that binds, or else the first with a filter that counts.
pub(crate) fn binding_group(roster: &Roster) -> Option<&str> {
    let binds = roster.groups().find(|(_, group)| binder(group).is_some());
    let counts = || roster.groups().find(|(_, group)| group.members().iter().any(|member| member.reads_pods()));
    binds.or_else(counts).map(|(name, _)| &**name)
}

/// Why pods that are bound at the same time can pass the limit of a policy, if they can.
pub(crate) fn outrun(member: &Member, roster: &Roster, binds: bool) -> Option<&'static str> {
    if !member.reads_pods() {
        return None;
    }
    match binding_group(roster) {
        _ if !binds => Some(NOT_BOUND),
        Some(group) if *group != *member.group => Some(OTHER_GROUP),
        _ => None,
    }
}
