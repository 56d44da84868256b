//! Why is it so? Each policy's answer about one node, with what it read on the way.

use std::sync::Arc;

use crate::{Fault, Group, Member, Mode, ReadLine, Verb, Verdict};

use super::{
    Caller, DecideError, Scene, SurveyAnswer,
    again::{Told, tell},
};

/// What each policy says about one node, by itself and asked anew.
#[derive(Debug, Default)]
pub struct Explanation {
    /// One for each policy and verb, in the order in which they are asked.
    pub answers: Vec<Explained>,
    /// The policies of the group that are not asked about this pod, and why.
    pub not_asked: Vec<(Arc<Member>, &'static str)>,
}

/// One answer, and where it comes from.
#[derive(Debug)]
pub struct Explained {
    /// Who answers.
    pub member: Arc<Member>,
    /// What it was asked.
    pub verb: Verb,
    /// The answer.
    pub answer: Result<SurveyAnswer, Fault>,
    /// Every read in order; of a very long list the beginning.
    pub reads: Vec<ReadLine>,
    /// Whether such an answer is remembered; otherwise the policy is asked each time.
    pub is_remembered: bool,
}

/// Asks each policy that is not off about the node with this index in the request.
pub(crate) fn explain(caller: &Caller, group: &Group, scene: &Scene, index: u32) -> Result<Explanation, DecideError> {
    let node = scene.known_index(index).ok_or(DecideError::UnknownNode)?;
    let mut explanation = Explanation { answers: vec![], not_asked: super::survey::not_asked(group, scene.pod()) };
    for verb in [Verb::Filter, Verb::Score] {
        for mode in [Mode::Enforce, Mode::Shadow] {
            for member in group.answering(mode, verb, scene.pod()) {
                explanation.answers.push(explain_one(caller, member, verb, scene, node));
            }
        }
    }
    Ok(explanation)
}

fn explain_one(caller: &Caller, member: &Arc<Member>, verb: Verb, scene: &Scene, node: u32) -> Explained {
    let view = scene.stage().view(&scene.stage().everyone());
    let Told { answer, reads, reads_whole } = if verb == Verb::Filter {
        tell::<Verdict>(caller, member, verb, &view, node).map(SurveyAnswer::Verdict)
    } else {
        tell::<u32>(caller, member, verb, &view, node).map(SurveyAnswer::Score)
    };
    let is_remembered = !reads_whole && member.traces.off(verb).is_none();
    Explained { member: Arc::clone(member), verb, answer, reads, is_remembered }
}
