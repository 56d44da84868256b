//! The policies that name sources of the gateway.

use std::collections::BTreeMap;

use plimsoll_core::Roster;

/// The message about a source that nobody has declared.
pub(crate) const UNDECLARED_SOURCE: &str = "no source of facts has this name: to the policy its facts are absent; declare it in --facts, or name a file of the sidecar's directory";

/// The policies that read each source of the gateway, by its name.
pub(crate) fn policies_by_source(roster: &Roster) -> BTreeMap<String, Vec<String>> {
    let mut policies = BTreeMap::<_, Vec<_>>::new();
    for member in roster.members() {
        for (_, global) in member.gateway_sources() {
            policies.entry(global.to_owned()).or_default().push(member.id().to_owned());
        }
    }
    policies
}
