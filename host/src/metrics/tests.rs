use std::time::Duration;

use plimsoll_core::{Disabled, Fault, FaultKind, Member, Observer, Outcome, Policy, PolicyConfig, Verb, Verbs};

use super::*;

struct NeverAsked;

impl Policy for NeverAsked {
    fn verbs(&self) -> Verbs {
        Verbs::default()
    }
}

fn member(name: &str) -> Arc<Member> {
    Arc::new(Member::new("", name, PolicyConfig::default(), Arc::new(NeverAsked)))
}

/// A pipeline may give each version of a policy a new name.
#[test]
fn policies_that_have_left_keep_no_series_for_ever() {
    let metrics = Metrics::new();
    let mut lines = Vec::new();
    for number in 0..500 {
        let member = member(&format!("p{number}"));
        let roster = Roster::of_root(vec![Arc::clone(&member)]);
        metrics.reloaded(&roster, &[PolicyChange::SwitchedOff { id: member.id().to_owned() }]);
        let answered = Outcome::Answered { asked: 1, rejected: 0, evaluated: 1 };
        metrics.policies.called(&member, Verb::Filter, answered, Duration::ZERO);
        let fault = Fault::new(FaultKind::Trap, "");
        metrics.policies.called(&member, Verb::Score, Outcome::Fault(&fault), Duration::ZERO);
        metrics.policies.circuit_opened(&member, Verb::Filter);
        metrics.policies.cache_disabled(&member, Verb::Filter, Disabled::TooManyReads);
        lines.push(metrics.render().lines().count());
    }
    let gone = metrics.render().lines().filter(|line| line.contains("policy=\"p1\"")).count();
    assert_eq!(gone, 0);
    assert_eq!(lines[300], lines[499], "the series of 100 policies that left, and of one that is there");
    let text = metrics.render();
    assert!(text.contains("policy=\"p450\""), "its last counts may not have been scraped yet");
}
