//! Answers that do not cover every feasible node: plimsoll is at fault, and the decision fails.

use plimsoll_decision_cache::MISS;

use crate::{
    cache::Answers,
    decide::lookup::{FeasibleNodes, PolicyAnswers},
    model::{Fault, FaultKind, Verdict},
};

fn apply(answers: &PolicyAnswers<Verdict>) -> Result<(), Fault> {
    FeasibleNodes::<()>::one_by_one(3).apply(answers, |(), _| true)
}

#[test]
fn a_node_without_an_answer_fails_the_decision() {
    let numbered = |numbers: &[u32]| PolicyAnswers {
        answers: Answers::plain(vec![Verdict::Fits; 3]),
        numbers: numbers.to_vec(),
        is_by_group: false,
    };
    for (numbers, expected) in [
        (&[0, 1, MISS][..], Some(FaultKind::Host)),
        (&[0, 1, 3], Some(FaultKind::Host)),
        (&[0, 1], Some(FaultKind::Host)),
        (&[0, 1, 2, 0], Some(FaultKind::Host)),
        (&[2, 0, 0], None),
    ] {
        assert_eq!(apply(&numbered(numbers)).err().map(|fault| fault.kind), expected, "{numbers:?}");
    }
}
