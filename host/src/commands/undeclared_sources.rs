//! The remark of a command about sources of facts that have none there.

use std::{collections::BTreeMap, path::Path};

use plimsoll_core::{FactAccess, Facts};

/// One line about the sources that these policies name and that have no facts here, and the flag that brings them; none
/// if every source is there.
pub(super) fn remark<'p>(
    policies: impl IntoIterator<Item = (&'p str, &'p FactAccess)>,
    known: &Facts,
    snapshot: Option<&Path>,
) -> Option<String> {
    let mut users = BTreeMap::<&str, Vec<&str>>::new();
    for (policy, access) in policies {
        for (source, _) in access.names().filter(|(_, global)| known.source(global).is_none()) {
            users.entry(source).or_default().push(policy);
        }
    }
    let sources: Vec<String> = users.iter().map(|(source, policies)| named(source, policies)).collect();
    let sources = sources.join(", ");
    let remark = match snapshot {
        None => format!("there are no facts of {sources}: name them with --facts-snapshot FILE"),
        Some(file) => {
            format!("there are no facts of {sources}: expected them in {} (--facts-snapshot)", file.display())
        }
    };
    (!users.is_empty()).then_some(remark)
}

/// A source with the policies that name it.
fn named(source: &str, policies: &[&str]) -> String {
    match policies {
        [] => source.to_owned(),
        [policy] => format!("'{source}' (policy {policy})"),
        [policy, others @ ..] => format!("'{source}' (policy {policy} and {} more)", others.len()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_core::AbsentFacts;

    use super::*;

    #[test]
    fn sources_without_facts_are_named_with_their_policies_on_one_line() {
        let access =
            |names: &[&'static str]| FactAccess::new(names.iter().map(|name| (*name, *name)), AbsentFacts::Fail);
        let (one, other) = (access(&["budget", "load"]), access(&["load", "zones"]));
        let known = Facts::from_iter([(Arc::from("zones"), Arc::default())]);
        let remark = |snapshot| remark([("a", &one), ("gpu/b", &other)], &known, snapshot).unwrap();
        let sources = "there are no facts of 'budget' (policy a), 'load' (policy a and 1 more): ";
        assert_eq!(remark(None), format!("{sources}name them with --facts-snapshot FILE"));
        assert_eq!(remark(Some(Path::new("f.yaml"))), format!("{sources}expected them in f.yaml (--facts-snapshot)"));
        assert_eq!(super::remark([("b", &access(&["zones"]))], &known, None), None);
    }
}
