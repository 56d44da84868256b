//! The policies that name sources of the gateway.

use std::collections::BTreeMap;

use plimsoll_core::Roster;

/// The message about a source that nobody has declared.
pub(crate) const NO_FACTS: &str = "no source of facts has this name: to the policy its facts are absent; declare it in --facts, or name a file of the sidecar's directory";

/// The policies that read each source of the gateway, by its name.
pub(crate) fn users(roster: &Roster) -> BTreeMap<String, Vec<String>> {
    let mut users = BTreeMap::<_, Vec<_>>::new();
    for member in roster.members() {
        let is_own = |global: &str| member.own_facts.iter().any(|(name, _)| **name == *global);
        for (_, global) in member.fact_access.names().filter(|(_, global)| !is_own(global)) {
            users.entry(global.to_owned()).or_default().push(member.id().to_owned());
        }
    }
    users
}
