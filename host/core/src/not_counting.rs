//! A policy whose filter counts no pods, as its sidecar says and its module does not.

use std::sync::Arc;

use crate::{Ask, BindAnswer, Fault, NodeSource, Policy, Preemption, Program, Verbs, Verdict, View};

/// Refuses a filter the reads of values that change when a pod is bound. So the sidecar's word holds, and nothing has to
/// wait for binds, or ask again at bind, on its account.
struct NotCountingPolicy {
    policy: Arc<dyn Policy>,
}

/// The policy with a filter that cannot count pods, for a module that imports more than it reads.
pub fn not_counting(policy: Arc<dyn Policy>) -> Arc<dyn Policy> {
    Arc::new(NotCountingPolicy { policy })
}

// === impl NotCountingPolicy ===

impl Policy for NotCountingPolicy {
    fn verbs(&self) -> Verbs {
        self.policy.verbs()
    }

    fn imports(&self) -> &[String] {
        self.policy.imports()
    }

    fn may_read_pods(&self) -> bool {
        false
    }

    fn undecorated(&self) -> Option<Arc<dyn Policy>> {
        Some(crate::undecorated(&self.policy))
    }

    fn program(&self) -> Option<&dyn Program> {
        self.policy.program()
    }

    fn validate(&self, ask: &Ask) -> Result<Result<(), String>, Fault> {
        self.policy.validate(ask)
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        let view = Arc::new(View::clone(&ask.view).without_counts());
        self.policy.filter_each(&Ask { view, ..ask.clone() }, nodes)
    }

    fn score_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        self.policy.score_each(ask, nodes)
    }

    fn rank(&self, ask: &Ask) -> Result<Vec<u32>, Fault> {
        self.policy.rank(ask)
    }

    fn preempt_each(&self, ask: &Ask, candidates: &mut dyn NodeSource<Preemption>) -> Result<(), Fault> {
        self.policy.preempt_each(ask, candidates)
    }

    fn bind(&self, ask: &Ask, node: u32) -> Result<BindAnswer, Fault> {
        self.policy.bind(ask, node)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{Cluster, FaultKind, Limits, Node, NodeRead, Pod, Read, ReadError, Selector, TrialCall, Value, Verb};

    const EVERY: Selector<&str> = Selector { namespace: None, label: None, annotation: None, node_label: None };

    /// Reads this, as its filter and as its score.
    struct Reading(Read<'static>, Vec<String>);

    impl Reading {
        fn answer(&self, ask: &Ask) -> Result<(), Fault> {
            ask.view
                .read(Read::Pod(crate::PodRead::Name))
                .map_err(|error| Fault::new(FaultKind::Read, error.to_string()))?;
            ask.view.read(self.0).map(drop).map_err(|error| Fault::new(FaultKind::Read, error.to_string()))
        }
    }

    impl Policy for Reading {
        fn verbs(&self) -> Verbs {
            [Verb::Filter, Verb::Score].into_iter().collect()
        }

        fn imports(&self) -> &[String] {
            &self.1
        }

        fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
            while nodes.next().is_some() {
                self.answer(ask)?;
                nodes.answer(Verdict::Fits);
            }
            Ok(())
        }

        fn score_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
            while nodes.next().is_some() {
                self.answer(ask)?;
                nodes.answer(0);
            }
            Ok(())
        }
    }

    fn reading(import: &str, read: Read<'static>) -> Arc<dyn Policy> {
        Arc::new(Reading(read, vec![import.to_owned()]))
    }

    fn asked() -> Ask {
        let node = Node::from_json(r#"{"metadata":{"name":"n1"}}"#.into()).unwrap();
        let cluster = Cluster::from_objects(vec![node], vec![]);
        let view = View::new(Arc::new(Pod::default()), Arc::new(cluster), Arc::from([0]), 0);
        Ask::new("p".into(), Arc::new(view), Limits::until(Instant::now() + Duration::from_secs(10), 1 << 20))
    }

    /// The names of imports and the reads themselves must agree on what counts: the one decides whether binds wait for a
    /// filter, the other what it can read.
    #[test]
    fn a_filter_is_refused_exactly_the_reads_for_which_its_module_would_count() {
        let table = [
            ("placed.count", Read::PlacedCount(0)),
            ("placed.known", Read::PlacedKnown(0)),
            ("placed.count-labelled", Read::PlacedCountLabelled { node: 0, namespace: "a", key: "b", value: "c" }),
            ("placed.counts-labelled", Read::PlacedCountsLabelled { namespace: "a", key: "b", value: "c" }),
            ("nodes.requested", Read::Node(0, NodeRead::Requested("cpu"))),
            ("nodes.label", Read::Node(0, NodeRead::Label("a"))),
            ("nodes.by-label", Read::NodesByLabel("a")),
            ("cluster.count", Read::ClusterCount(EVERY)),
            ("cluster.at-least", Read::ClusterAtLeast { selector: EVERY, n: 1 }),
            ("cluster.label-values", Read::ClusterLabelValues("a")),
            ("cluster.nodes-with-label", Read::ClusterNodesWithLabel { key: "a", value: "b" }),
            ("facts.text", Read::FactsText { source: "a", key: "b" }),
            ("host.now", Read::HostNow(60)),
        ];
        for (import, read) in table {
            let (policy, ask) = (reading(import, read), asked());
            assert!(policy.filter(&ask, &[0]).is_ok(), "{import}");
            let bound = not_counting(Arc::clone(&policy));
            let refused = bound.filter(&ask, &[0]).err().map(|fault| fault.detail);
            let expected = policy.may_read_pods().then(|| ReadError::Counts(read.to_string().into()).to_string());
            assert_eq!(refused, expected, "{import}");
            assert!(!bound.may_read_pods() && bound.imports() == policy.imports(), "{import}");
        }
    }

    #[test]
    fn other_verbs_may_count_and_the_filter_of_a_trial_may_not() {
        let bound = not_counting(reading("placed.count", Read::PlacedCount(0)));
        assert_eq!(bound.score(&asked(), &[0]).unwrap(), [0]);
        let (settings, fact_access) = (Arc::from("null"), Arc::default());
        let (timeout, memory) = (Duration::from_secs(1), 1 << 20);
        let trial = TrialCall { policy: "p".into(), settings, fact_access, timeout, longest: timeout, memory };
        let found = trial.put_to(bound.as_ref()).map(|found| (found.verb, found.is_certain));
        assert_eq!(found.collect::<Vec<_>>(), [(Verb::Filter, true)]);
    }

    #[test]
    fn the_module_is_found_behind_all_that_a_sidecar_puts_before_it() {
        let policy = reading("placed.count", Read::PlacedCount(0));
        let decorated = not_counting(Arc::clone(&policy));
        assert!(decorated.undecorated().is_some() && !decorated.may_read_pods());
        assert!(Arc::ptr_eq(&crate::undecorated(&decorated), &policy));
        assert!(matches!(asked().view.read(Read::PlacedCount(0)), Ok(Value::Number(0))));
    }
}
