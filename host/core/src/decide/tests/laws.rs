//! Laws that hold for every cluster, every request and every roster.

mod world;

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*};

use self::world::{NODES, Spec, World, any_roster, any_world};
use super::fixture::*;
use crate::{
    decide::{DecideError, FilterOutcome, NodeObject, Nodes, PreemptOutcome, Reason, Rejection, ScoreScale, TieBreak},
    model::{Mode, Verb, Verdict, View},
};

type Filtered = Result<Rejected, DecideError>;
type Decided = (Filtered, Result<Vec<u32>, DecideError>, Result<PreemptOutcome, DecideError>);

/// The rejected nodes of a filter request, and their reasons.
#[derive(Debug, Default, PartialEq)]
struct Rejected {
    rejected: Vec<Rejection>,
    reasons: Vec<Reason>,
}

impl Rejected {
    fn reason(&self, rejection: Rejection) -> &Reason {
        &self.reasons[rejection.reason as usize]
    }
}

impl From<FilterOutcome> for Rejected {
    fn from(FilterOutcome { rejected, reasons, .. }: FilterOutcome) -> Self {
        Self { rejected, reasons }
    }
}

fn filter(world: &World, roster: &[Spec]) -> Filtered {
    world.fixture(roster).filter_outcome(&as_strs(&world.names())).map(Rejected::from)
}

fn prioritize(world: &World, roster: &[Spec]) -> Result<Vec<u32>, DecideError> {
    world.fixture(roster).prioritize(&as_strs(&world.names()))
}

fn preempt(world: &World, roster: &[Spec]) -> Result<PreemptOutcome, DecideError> {
    world.fixture(roster).preempt(&world.candidates(false))
}

/// All three answers, each by a gateway that has not been asked before.
fn decide(world: &World, roster: &[Spec]) -> Decided {
    let scores = prioritize(world, roster);
    (filter(world, roster), scores, preempt(world, roster))
}

/// All three answers, with whole nodes and victims in the request.
fn decide_whole(world: &World, roster: &[Spec]) -> Decided {
    let objects: Vec<_> = world.objects().into_iter().map(NodeObject::Json).collect();
    let fixture = || world.fixture(roster);
    let query = |fixture: &Fixture| fixture.query(Nodes::Objects(&objects));
    let (filtering, prioritizing) = (fixture(), fixture());
    (
        filtering.gateway.filter("", &query(&filtering)).map(|(outcome, _)| outcome.into()),
        prioritizing.gateway.prioritize(ScoreScale::Coarse, "", &query(&prioritizing)).map(|(outcome, _)| outcome),
        fixture().preempt(&world.candidates(true)),
    )
}

fn as_strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// The policies whose answers to a verb count, in the order in which they are asked.
fn heard(roster: &[Spec], verb: Verb) -> Vec<&Spec> {
    let mut heard: Vec<&Spec> = roster.iter().filter(|spec| spec.counts(verb) && !spec.is_left_out(verb)).collect();
    heard.sort_by_key(|spec| (spec.order, spec.name.clone()));
    heard
}

/// The weighted sum of the scores of each node of the request, and the sum of the weights; none for a node that is not
/// known, or if no policy scores.
fn weighted(world: &World, roster: &[Spec]) -> (Vec<Option<u32>>, u32) {
    let (scoring, ranking) = (heard(roster, Verb::Score), heard(roster, Verb::Rank));
    let weights: u32 = scoring.iter().chain(&ranking).map(|spec| spec.weight).sum();
    let total = |node: usize| {
        let scored = scoring.iter().map(|spec| spec.weight * spec.scores[node]);
        scored.chain(ranking.iter().map(|spec| spec.weight * (100 - spec.scores[node]))).sum()
    };
    let totals = world.request.iter().map(|node| (*node < world.nodes && weights > 0).then(|| total(*node)));
    (totals.collect(), weights)
}

/// A view of the nodes of the request that exist, and their places in it.
fn mk_view(world: &World) -> (View, Vec<u32>) {
    let places = (0..world.request.len() as u32).filter(|at| world.request[*at as usize] < world.nodes);
    let places: Vec<u32> = places.collect();
    let slots = places.iter().map(|at| world.request[*at as usize] as u32).collect();
    (View::new(mk_pod(), world.cluster(), slots, START), places)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_rejected_node_is_listed_once_with_a_reason_of_its_policy(world in any_world(), roster in any_roster()) {
        let Ok(outcome) = filter(&world, &roster) else { return Ok(()) };
        prop_assert!(outcome.rejected.is_sorted_by(|a, b| a.node < b.node));
        prop_assert!(outcome.rejected.iter().all(|rejection| (rejection.node as usize) < world.request.len()));
        for rejection in &outcome.rejected {
            let text = outcome.reason(*rejection).to_string();
            let (policy, reason) = text.split_once(": ").unwrap();
            prop_assert!(policy == "plimsoll" || roster.iter().any(|spec| spec.name == policy && spec.counts(Verb::Filter)));
            prop_assert!(!reason.trim().is_empty() && !reason.contains(char::is_control), "{:?}", reason);
        }
        let used: BTreeSet<u32> = outcome.rejected.iter().map(|rejection| rejection.reason).collect();
        prop_assert_eq!(used.len(), outcome.reasons.len());
        prop_assert_eq!(outcome.reasons.iter().map(ToString::to_string).collect::<BTreeSet<_>>().len(), outcome.reasons.len());
    }

    #[test]
    fn the_first_policy_to_turn_a_node_down_decides(world in any_world(), roster in any_roster()) {
        let Ok(outcome) = filter(&world, &roster) else { return Ok(()) };
        let (heard, (view, places)) = (heard(&roster, Verb::Filter), mk_view(&world));
        for (node, place) in places.iter().enumerate() {
            let verdicts = heard.iter().map(|spec| (spec, spec.verdict(&view, node as u32)));
            let expected = verdicts.into_iter().find_map(|(spec, verdict)| match verdict {
                Verdict::Fits => None,
                Verdict::Unschedulable(_) => Some((spec.name.clone(), false)),
                Verdict::Unresolvable(_) => Some((spec.name.clone(), true)),
            });
            let found = outcome.rejected.iter().find(|rejection| rejection.node == *place);
            let by = |rejection: &Rejection| {
                let text = outcome.reason(*rejection).to_string();
                (text.split_once(':').unwrap().0.to_owned(), rejection.unresolvable)
            };
            prop_assert_eq!(found.map(by), expected);
        }
        let unknown = world.request.len() - places.len();
        let not_seen = outcome.rejected.iter().filter(|at| outcome.reason(**at).to_string() == "plimsoll: node not seen yet");
        // A policy is only left out once it has failed, so with no node to ask about, all of them count.
        let nobody = heard.is_empty() && !(places.is_empty() && roster.iter().any(|spec| spec.counts(Verb::Filter)));
        prop_assert_eq!(not_seen.count(), if nobody { 0 } else { unknown });
    }

    #[test]
    fn a_decision_fails_only_by_a_policy_whose_faults_fail_it(world in any_world(), roster in any_roster()) {
        let fatal = |verb| roster.iter().any(|spec| spec.is_fatal(verb));
        let (filtered, scored, preempted) = decide(&world, &roster);
        prop_assert!(filtered.is_ok() || fatal(Verb::Filter));
        prop_assert!(scored.is_ok() || fatal(Verb::Score) || fatal(Verb::Rank));
        prop_assert!(preempted.is_ok() || fatal(Verb::Filter) || fatal(Verb::Preempt));
        let asked = world.request.iter().any(|node| *node < world.nodes);
        if asked && (fatal(Verb::Score) || fatal(Verb::Rank)) {
            prop_assert!(scored.is_err());
        }
    }

    #[test]
    fn asking_again_about_the_survivors_keeps_them_all(world in any_world(), roster in any_roster()) {
        let Ok(first) = filter(&world, &roster) else { return Ok(()) };
        let mut again = world;
        let mut place = 0..;
        again.request.retain(|_| {
            let place = place.next();
            first.rejected.iter().all(|rejection| Some(rejection.node) != place)
        });
        prop_assert_eq!(filter(&again, &roster), Ok(Rejected::default()));
    }

    #[test]
    fn the_same_request_has_the_same_answer(world in any_world(), roster in any_roster()) {
        prop_assert_eq!(decide(&world, &roster), decide(&world, &roster));
    }

    #[test]
    fn names_and_whole_objects_have_the_same_answer(world in any_world(), roster in any_roster()) {
        let world = world.with_known_names();
        prop_assert_eq!(decide(&world, &roster), decide_whole(&world, &roster));
    }

    #[test]
    fn a_policy_that_is_not_enforced_or_does_not_match_changes_nothing(
        world in any_world(), roster in any_roster(), mode in prop_oneof![Just(Mode::Shadow), Just(Mode::Off), Just(Mode::Enforce)],
        at in any::<prop::sample::Index>(),
    ) {
        if roster.is_empty() {
            return Ok(());
        }
        let (mut with, mut without) = (roster.clone(), roster);
        let at = at.index(with.len());
        with[at].mode = mode;
        with[at].matches &= mode != Mode::Enforce;
        without.remove(at);
        prop_assert_eq!(decide(&world, &with), decide(&world, &without));
    }

    #[test]
    fn a_fault_that_is_ignored_leaves_the_policy_out(world in any_world(), roster in any_roster()) {
        let without = |verbs: &[Verb]| -> Vec<Spec> {
            let stays = |spec: &&Spec| !verbs.iter().any(|verb| spec.counts(*verb) && spec.is_left_out(*verb));
            roster.iter().filter(stays).cloned().collect()
        };
        let asked = world.request.iter().any(|node| *node < world.nodes);
        prop_assert!(!asked || filter(&world, &roster) == filter(&world, &without(&[Verb::Filter])));
        prop_assert_eq!(prioritize(&world, &roster), prioritize(&world, &without(&[Verb::Score, Verb::Rank])));
        let left = |verb| roster.iter().any(|spec| spec.counts(verb) && !spec.is_left_out(verb));
        // Where nobody is left the request comes back as it is, whether or not its victims are known.
        if left(Verb::Filter) || left(Verb::Preempt) {
            prop_assert_eq!(preempt(&world, &roster), preempt(&world, &without(&[Verb::Filter, Verb::Preempt])));
        }
    }

    #[test]
    fn the_score_is_the_mean_rounded_half_up_and_within_range(world in any_world(), roster in any_roster()) {
        let Ok(scores) = prioritize(&world, &roster) else { return Ok(()) };
        prop_assert_eq!(scores.len(), world.request.len());
        let (totals, weights) = weighted(&world, &roster);
        for (total, score) in totals.into_iter().zip(scores) {
            let mean = |total: u32| (f64::from(total) / f64::from(10 * weights) + 0.5).floor() as u32;
            let mean = total.map_or(0, mean);
            prop_assert_eq!(score, mean);
            prop_assert!(score <= 10);
        }
    }

    #[test]
    fn fine_scores_order_nodes_as_their_means_and_a_tie_break_decides_between_equals_alone(
        world in any_world(), roster in any_roster(), values in 1..102u32,
    ) {
        let mut roster = roster;
        // Few values make for many equal nodes.
        roster.iter_mut().flat_map(|spec| &mut spec.scores).for_each(|score| *score %= values);
        let (totals, weights) = weighted(&world, &roster);
        let score = |scale| {
            world.fixture(&roster).prioritize_on(scale, &as_strs(&world.names()))
        };
        let fine = ScoreScale::Fine;
        let (Ok(fine), Ok(named), Ok(spread)) =
            (score(fine), score(ScoreScale::FineWith(TieBreak::Name)), score(ScoreScale::FineWith(TieBreak::Spread)))
        else {
            prop_assert!(prioritize(&world, &roster).is_err());
            return Ok(());
        };
        let names = world.names();
        for (one, total) in totals.iter().enumerate() {
            let Some(total) = total else {
                prop_assert_eq!((fine[one], named[one], spread[one]), (0, 0, 0));
                continue;
            };
            // The same for the policies' means as for a reader with a pencil.
            prop_assert_eq!(u64::from(fine[one]), u64::from(*total) * 10_000 / u64::from(100 * weights));
            let known = |other: &usize| totals[*other].is_some();
            for other in (0..totals.len()).filter(known) {
                let order = Some(*total).cmp(&totals[other]);
                prop_assert_eq!(fine[one].cmp(&fine[other]), order);
                prop_assert_eq!(named[one].cmp(&named[other]), order.then(names[other].cmp(&names[one])));
                prop_assert_eq!(spread[one].cmp(&spread[other]).is_eq(), one == other);
                prop_assert!(order.is_eq() || spread[one].cmp(&spread[other]) == order);
            }
        }
    }

    #[test]
    fn the_order_of_policies_does_not_matter_for_the_score(
        world in any_world(), roster in any_roster(), orders in vec(-9..9i32, 5),
    ) {
        let mut other = roster.clone();
        for (spec, order) in other.iter_mut().zip(orders) {
            spec.order = order;
        }
        let (first, second) = (prioritize(&world, &roster), prioritize(&world, &other));
        prop_assert_eq!(first.is_err(), second.is_err());
        prop_assert!(first.is_err() || first == second);
    }

    #[test]
    fn a_better_score_for_one_node_never_lowers_it_nor_moves_others(
        world in any_world(), roster in any_roster(), at in any::<prop::sample::Index>(), node in 0..NODES, by in 0..101u32,
    ) {
        if roster.is_empty() {
            return Ok(());
        }
        let mut better = roster.clone();
        let spec = &mut better[at.index(roster.len())];
        // The rank of these policies falls where their score rises.
        if spec.counts(Verb::Rank) {
            return Ok(());
        }
        spec.scores[node] = (spec.scores[node] + by).min(100);
        let (Ok(before), Ok(after)) = (prioritize(&world, &roster), prioritize(&world, &better)) else { return Ok(()) };
        for ((own, before), after) in world.request.iter().zip(before).zip(after) {
            let lawful = if *own == node { after >= before } else { after == before };
            prop_assert!(lawful, "n{own}: {before} became {after}");
        }
    }

    #[test]
    fn preemption_keeps_or_drops_every_candidate_and_victims_stay_valid(world in any_world(), roster in any_roster()) {
        let Ok(outcome) = preempt(&world, &roster) else { return Ok(()) };
        let mut seen: Vec<u32> = outcome.kept.iter().map(|kept| kept.candidate).collect();
        prop_assert!(seen.is_sorted());
        seen.extend(outcome.dropped.iter().map(|dropped| dropped.0));
        seen.sort_unstable();
        let queries = world.candidates(false);
        prop_assert_eq!(seen, (0..queries.len() as u32).collect::<Vec<_>>());
        prop_assert!(outcome.dropped.iter().all(|(_, reason)| reason.contains(": ")));
        let cluster = world.cluster();
        for kept in &outcome.kept {
            let query = &queries[kept.candidate as usize];
            let slot = &cluster.slots()[cluster.find(&query.node).unwrap() as usize];
            let placed = slot.placed.as_ref().unwrap();
            let victims: Vec<u32> = kept.victims.iter().map(|uid| placed.position(uid).unwrap()).collect();
            prop_assert_eq!(victims.iter().collect::<BTreeSet<_>>().len(), victims.len());
            prop_assert!(victims.is_sorted_by_key(|at| -placed.pods()[*at as usize].priority()));
            let crate::decide::Victims::Uids(given) = &query.victims else { unreachable!() };
            prop_assert!(given.is_empty() || !victims.is_empty());
        }
    }

    #[test]
    fn a_candidate_that_stays_passes_every_filter_with_its_victims_gone(world in any_world(), roster in any_roster()) {
        let Ok(outcome) = preempt(&world, &roster) else { return Ok(()) };
        let (cluster, queries) = (world.cluster(), world.candidates(false));
        for kept in &outcome.kept {
            let slot = cluster.find(&queries[kept.candidate as usize].node).unwrap();
            let placed = cluster.slots()[slot as usize].placed.as_ref().unwrap();
            let mut gone: Vec<u32> = kept.victims.iter().map(|uid| placed.position(uid).unwrap()).collect();
            gone.sort_unstable();
            let view = View::new(mk_pod(), world.cluster(), [slot].into(), START).without([gone].into());
            for spec in heard(&roster, Verb::Filter) {
                prop_assert_eq!(spec.verdict(&view, 0), Verdict::Fits);
            }
        }
    }
}
