//! Puts a case to a policy.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, Fault, FaultKind, Limits, Policy, Verb, View, check_answers};

use crate::{Case, Without, answer, world};

/// Time of a call; ample on a busy machine, since no case but `loop` is about time.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Bytes of linear memory of a call, as a sidecar has it by default.
const MEMORY: usize = 64 << 20;

/// The name of the policy in the texts of the host.
const POLICY: &str = "conformance";

/// The outcome of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The policy did as expected.
    Passed,
    /// It did something else.
    Failed(Mismatch),
}

/// The expected end of a call, and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The node whose answer differs; none where the call differs as a whole.
    pub node: Option<String>,
    /// The expected answer or faults.
    pub expected: String,
    /// The answer or the fault.
    pub answered: String,
    /// Whether the time of the call ran out.
    pub is_timeout: bool,
}

// === impl Outcome ===

impl Outcome {
    /// Whether the policy did as expected.
    pub const fn is_passed(&self) -> bool {
        matches!(self, Self::Passed)
    }
}

// === impl Case ===

impl Case {
    /// Asks a policy, native or compiled, and compares.
    pub fn put_to(&self, policy: &dyn Policy) -> Outcome {
        if !policy.verbs().has(self.verb) {
            let own: Vec<&str> = policy.verbs().iter().map(Verb::as_str).collect();
            let answered = format!("nothing: the module has no verb {}, only {}", self.verb, own.join(", "));
            return failed(None, self.expectation(), answered);
        }
        match self.answers_of(policy) {
            Ok(answers) => self.compare(&answers),
            Err(fault) if self.allows(&fault) => Outcome::Passed,
            Err(fault) => Outcome::Failed(Mismatch {
                node: None,
                expected: self.expectation(),
                answered: format!("fault {fault}"),
                is_timeout: fault.kind == FaultKind::Timeout,
            }),
        }
    }

    /// The expected end of the call, in words; of several answers the first.
    fn expectation(&self) -> String {
        let names: Vec<&str> = self.faults.iter().map(|kind| kind.as_str()).collect();
        let detail = self.detail.as_ref().map_or_else(String::new, |detail| format!(": …{detail}…"));
        let faults = (!names.is_empty()).then(|| format!("fault {}{detail}", names.join(" or ")));
        faults.into_iter().chain(self.answers().into_iter().take(1)).collect::<Vec<_>>().join(", or ")
    }

    fn compare(&self, answers: &[String]) -> Outcome {
        let expected = self.answers();
        if expected.len() != answers.len() {
            return failed(None, self.expectation(), answers.join(", "));
        }
        let differs = |at: &usize| !answer::is_as_expected(&expected[*at], &answers[*at]);
        match (0..expected.len()).find(differs) {
            None => Outcome::Passed,
            Some(at) => failed(self.nodes.get(at).cloned(), expected[at].clone(), answers[at].clone()),
        }
    }

    fn allows(&self, fault: &Fault) -> bool {
        let has_detail = self.detail.as_ref().is_none_or(|detail| fault.detail.contains(detail.as_str()));
        self.faults.contains(&fault.kind) && has_detail
    }

    fn answers_of(&self, policy: &dyn Policy) -> Result<Vec<String>, Fault> {
        let ask = self.ask()?;
        let all: Vec<u32> = (0..ask.view.node_count() as u32).collect();
        match self.verb {
            Verb::Filter => {
                let answers = policy.filter(&ask, &all)?;
                check_answers(&answers, all.len())?;
                Ok(answers.into_iter().map(answer::verdict).collect())
            }
            Verb::Score | Verb::Rank => {
                let scores = if self.verb == Verb::Rank { policy.rank(&ask)? } else { policy.score(&ask, &all)? };
                check_answers(&scores, all.len())?;
                Ok(scores.iter().map(ToString::to_string).collect())
            }
            Verb::Preempt => {
                let answers = policy.preempt(&ask, &all)?;
                check_answers(&answers, all.len())?;
                Ok(answers.into_iter().map(answer::preemption).collect())
            }
            Verb::Bind => {
                let answer = policy.bind(&ask, 0)?;
                check_answers(std::slice::from_ref(&answer), 1)?;
                Ok(vec![answer::binding(answer)])
            }
            Verb::Validate => Ok(vec![answer::validation(policy.validate(&ask)?)]),
        }
    }

    fn ask(&self) -> Result<Ask, Fault> {
        let view = self.view()?.with_settings(Arc::from(self.settings()));
        let timeout = self.milliseconds.map_or(TIMEOUT, Duration::from_millis);
        let limits = Limits::until(Instant::now() + timeout, MEMORY);
        Ok(Ask::new(Arc::from(POLICY), Arc::new(view), limits))
    }

    fn view(&self) -> Result<View, Fault> {
        let mut world = world();
        world.without_pods = self.without == Without::Pods;
        world.without_cluster = self.without == Without::Cluster;
        if self.without == Without::Namespaces {
            world.namespaces.clear();
        }
        world.request = Some(self.nodes.clone());
        world.candidates.retain(|candidate| self.nodes.contains(&candidate.node));
        let view = match self.verb {
            Verb::Validate => Ok(View::empty(Arc::from(""))),
            Verb::Preempt => world.preempt_view(),
            _ => world.view(),
        };
        // The cases are ours, and a test makes the view of each.
        view.map_err(|error| Fault::new(FaultKind::Host, format!("the case {}: {error}", self.name)))
    }
}

fn failed(node: Option<String>, expected: String, answered: String) -> Outcome {
    Outcome::Failed(Mismatch { node, expected, answered, is_timeout: false })
}

#[cfg(test)]
mod tests {
    use plimsoll_core::{NodeSource, Verbs};

    use super::*;
    use crate::cases;

    /// A filter that says the same of every node.
    struct Constant(&'static str);

    impl Policy for Constant {
        fn verbs(&self) -> Verbs {
            std::iter::once(Verb::Filter).collect()
        }

        fn filter_each(&self, _: &Ask, nodes: &mut dyn NodeSource<plimsoll_core::Verdict>) -> Result<(), Fault> {
            while nodes.next().is_some() {
                nodes.answer(plimsoll_core::Verdict::Unschedulable(self.0.into()));
            }
            Ok(())
        }
    }

    fn case(name: &str) -> &'static Case {
        cases().iter().find(|case| case.name == name).unwrap()
    }

    fn mismatch(case: &Case, policy: &dyn Policy) -> Mismatch {
        match case.put_to(policy) {
            Outcome::Failed(mismatch) => mismatch,
            Outcome::Passed => panic!("{} passed", case.name),
        }
    }

    #[test]
    fn every_case_is_about_a_view_that_there_can_be() {
        for case in cases() {
            let nodes = case.view().unwrap().node_count();
            assert_eq!(nodes, case.nodes.len(), "{}", case.name);
        }
    }

    #[test]
    fn an_answer_that_differs_is_shown_with_its_node() {
        let expected = Mismatch {
            node: Some("node-1".to_owned()),
            expected: "fits".to_owned(),
            answered: "unschedulable: another pool".to_owned(),
            is_timeout: false,
        };
        assert_eq!(mismatch(case("pool"), &Constant("another pool")), expected);
        let mut own = case("pool").clone();
        own.written = vec!["unschedulable: another pool".to_owned(); 2];
        assert!(own.put_to(&Constant("another pool")).is_passed());
    }

    #[test]
    fn an_answer_in_place_of_a_fault_is_shown_with_the_fault() {
        let found = mismatch(case("panic"), &Constant("well"));
        assert_eq!((&*found.expected, &*found.answered), ("fault panic: …no node-1 here…", "unschedulable: well"));
        let long = Box::leak("x".repeat(2000).into_boxed_str());
        assert!(case("long-reason").put_to(&Constant(long)).is_passed());
        assert!(case("missing-node").put_to(&Constant("impossible")).is_passed());
    }

    #[test]
    fn a_verb_that_is_not_there_is_named() {
        let found = mismatch(case("rank"), &Constant("well"));
        assert_eq!(found.answered, "nothing: the module has no verb rank, only filter");
    }
}
