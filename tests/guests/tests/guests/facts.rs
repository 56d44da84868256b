//! Facts from outside, as a guest reads them.

use std::sync::Arc;

use plimsoll_core::{AbsentFacts, FactAccess, Facts, FaultKind, Loader, Verdict, View};
use plimsoll_guests::world;
use plimsoll_wasm::module_of;
use serde_json::json;

/// A view of three nodes with facts, for a policy that may read these sources.
fn view(facts: &serde_json::Value, sources: &[&str], absent: AbsentFacts) -> View {
    let cluster = Arc::into_inner(world::cluster(3)).unwrap();
    let cluster = Arc::new(cluster.with_facts(Arc::new(Facts::from_value(facts).unwrap())));
    let access = FactAccess::new(sources.iter().map(|source| (*source, *source)), absent);
    world::view(&cluster).with_fact_access(Arc::new(access))
}

#[test]
fn a_guest_reads_numbers_and_texts_and_their_absence() {
    let module = plimsoll_guests::compile("facts", include_str!("../../guests/good/facts.wat"));
    let policy = world::loader().load("", &module_of(&module)).unwrap();
    let facts = json!({"load": {"n0": 0.25, "n2": "much"}, "calendar": {"today": "é: closed"}});
    let ask =
        |facts: &serde_json::Value, absent| world::patient(world::ask(view(facts, &["load", "calendar"], absent)));
    let with_facts = ask(&facts, AbsentFacts::Default);
    assert_eq!(policy.score(&with_facts, &[0, 1, 2]).unwrap(), [25, 50, 50]);
    assert_eq!(policy.filter(&with_facts, &[0]).unwrap(), [Verdict::Unschedulable("é: closed".into())]);
    let without = ask(&json!({}), AbsentFacts::Default);
    assert_eq!(policy.filter(&without, &[0]).unwrap(), [Verdict::Fits]);
    for absent in [AbsentFacts::Ignore, AbsentFacts::Fail] {
        let fault = policy.score(&ask(&facts, absent), &[1]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::AbsentFact);
        let expected = "the source 'load' does not have the fact that the policy reads, or not as a number";
        assert!(fault.detail.starts_with(expected), "{fault}");
    }
    let undeclared = world::patient(world::ask(view(&facts, &["calendar"], AbsentFacts::Default)));
    let fault = policy.score(&undeclared, &[0]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Read);
    assert!(fault.detail.starts_with("the policy reads the source of facts 'load'"), "{fault}");
}
