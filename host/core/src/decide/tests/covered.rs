//! Answers that do not cover every feasible node: plimsoll is at fault, and the decision fails.

use std::sync::Arc;

use super::fixture::*;
use crate::{
    Fault, FaultKind, NodeRead, Pod, PodRead, Read, Verdict, View,
    cache::{AnswerCache, Evaluated, Evaluation, RecentCombined, Recording, RowAnswers, RowClassAnswers, ViewSource},
    decide::{
        chain::{Chain, Reasons},
        feasible::{CachedByClass, FeasibleClasses, FeasibleNodes, PolicyAnswers},
    },
};

type Cache = AnswerCache<Verdict>;

fn view_of(team: &str) -> View {
    let pod = format!(r#"{{"metadata":{{"name":"p","labels":{{"team":"{team}"}}}}}}"#);
    View::new(Arc::new(Pod::from_json(pod.into()).unwrap()), mk_three(), Arc::from([0, 1, 2]), 0)
}

/// A cache that knows the answers about the pods of the team red, by node class.
fn mk_cache() -> Cache {
    let (cache, view) = (Cache::default(), view_of("red"));
    let source = || ViewSource::of(&view);
    let mut evaluation = Evaluation::of_rows(cache.lookup(&source(), 0..3), source(), Arc::clone(view.slots()));
    let recorded = view.clone().recorded(Recording::of(evaluation.log()));
    while let Some(node) = evaluation.next_miss() {
        recorded.read(Read::Pod(PodRead::Label("team"))).unwrap();
        recorded.read(Read::Node(node, NodeRead::Label("zone"))).unwrap();
        evaluation.record_answer(Verdict::Fits);
    }
    cache.insert(&evaluation.finish().1.unwrap()).unwrap();
    assert!(cache.lookup(&source(), 0..3).is_complete());
    cache
}

/// All nodes of the view by class, with what is known by class.
fn by_class(cache: &Cache, view: &View) -> (FeasibleClasses, RowClassAnswers<Verdict>) {
    let (known, recent) = (cache.lookup_by_row_class(&ViewSource::of(view)).unwrap(), RecentCombined::default());
    assert!(recent.get(&[&known]).is_none(), "the first request for a list only notes it");
    (FeasibleClasses::of(recent.get(&[&known]).unwrap(), view), known)
}

fn apply(feasible: FeasibleNodes, answers: &PolicyAnswers<Verdict>, view: &View) -> Result<(), Fault> {
    let (member, mut reasons) = (mk_member("one", FakePolicy::default(), |_| {}), Reasons::default());
    Chain::new(feasible, &mut reasons, None).apply(&member, answers, view)
}

fn kind<T>(result: Result<T, Fault>) -> Option<FaultKind> {
    result.err().map(|fault| fault.kind)
}

#[test]
fn a_class_without_an_answer_fails_the_decision() {
    let cache = mk_cache();
    for (team, expected) in [("red", None), ("blue", Some(FaultKind::Host))] {
        let view = view_of(team);
        let (classes, known) = by_class(&cache, &view);
        let answers = PolicyAnswers::ByClass(CachedByClass { column: 0, answers: known.clone() });
        assert_eq!(kind(PolicyAnswers::of(Evaluated::ByRowClass(known), Some((0, &classes)))), expected, "{team}");
        assert_eq!(kind(apply(FeasibleNodes::ByClass(classes), &answers, &view)), expected, "{team}");
    }
}

#[test]
fn answers_by_class_about_nodes_that_are_feasible_one_by_one_fail_the_decision() {
    let view = view_of("red");
    let known = by_class(&mk_cache(), &view).1;
    let answers = PolicyAnswers::ByClass(CachedByClass { column: 0, answers: known.clone() });
    assert_eq!(kind(apply(FeasibleNodes::all(&view), &answers, &view)), Some(FaultKind::Host));
    assert_eq!(kind(PolicyAnswers::of(Evaluated::ByRowClass(known), None)), Some(FaultKind::Host));
}

#[test]
fn a_node_without_an_answer_fails_the_decision() {
    let view = view_of("red");
    let nothing = Cache::default().lookup(&ViewSource::of(&view), 0..3).into_answers();
    let fits = |nodes| RowAnswers::plain(vec![Verdict::Fits; nodes]);
    for (answers, expected) in [
        (nothing, Some(FaultKind::Host)),
        (fits(2), Some(FaultKind::Host)),
        (fits(4), Some(FaultKind::Host)),
        (fits(3), None),
    ] {
        assert_eq!(kind(apply(FeasibleNodes::all(&view), &PolicyAnswers::ByNode(answers), &view)), expected);
    }
}
