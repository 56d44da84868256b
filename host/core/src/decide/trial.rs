//! A trial call: does a policy fail whatever it is asked?
//!
//! A policy learns nothing but by reads. One that fails before it has read anything of pod or nodes would fail
//! every call in the same way, so that can be said after a single call about a sample. One that fails after it
//! has read something may not have expected just that, which says nothing of other pods and nodes: unless its sidecar
//! does not declare that read.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;

use super::explain::ask_one;
use crate::model::{
    Ask, CallClass, Candidate, Cluster, FactAccess, Fault, FaultKind, Limits, Node, Pod, Policy, Read, Recording, Verb,
    View,
};

const POD: &str = r#"{"metadata": {"name": "trial", "namespace": "default", "uid": "00000000-0000-4000-8000-000000000001",
 "labels": {"app": "trial"}}, "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "main",
 "image": "registry.example.com/trial:1", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}]}}"#;

const PLACED: &str = r#"{"metadata": {"name": "placed", "namespace": "default", "uid": "00000000-0000-4000-8000-000000000002",
 "labels": {"app": "placed"}}, "spec": {"nodeName": "trial", "containers": [{"name": "main",
 "image": "registry.example.com/placed:1", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}]}}"#;

const NODE: &str = r#"{"metadata": {"name": "trial", "labels": {"kubernetes.io/hostname": "trial", "kubernetes.io/os": "linux",
 "kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": "a", "topology.kubernetes.io/region": "a"}},
 "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}}}"#;

/// 2026-01-01T00:00:00Z.
const NOW: u64 = 1_767_225_600;

/// The time of a trial call while a policy is loaded: a longer `timeout` is cut to it, since other policies wait, and a
/// repeated call has this much at least.
pub const TRIAL_TIMEOUT: Duration = Duration::from_secs(1);

/// The settings and limits that a policy is tried with.
#[derive(Debug, Clone)]
pub struct TrialCall {
    /// The policy's name with its group, for its log lines.
    pub policy: Arc<str>,
    /// Its settings as JSON.
    pub settings: Arc<str>,
    /// The sources of facts that it may read; of the sample no fact is known, whatever absence means.
    pub fact_access: Arc<FactAccess>,
    /// The policy's timeout.
    pub timeout: Duration,
    /// The time after which a call is ended, if its timeout is longer.
    pub longest: Duration,
    /// Bytes of linear memory.
    pub memory: usize,
    /// As in [`PolicyConfig`](crate::PolicyConfig): whether its filter may count pods.
    pub counts: bool,
}

/// A verb that failed about the sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialFault {
    /// The verb that was asked.
    pub verb: Verb,
    /// The fault that ended the call.
    pub fault: Fault,
    /// It had read nothing of pod or nodes, or its sidecar does not declare a read, of a source of facts or a count: calls
    /// about other pods and nodes end in this way, too.
    pub is_certain: bool,
}

// === impl TrialCall ===

impl TrialCall {
    /// Asks each verb of a policy once, about a sample pod and a sample node, as the iterator comes to it; answers those
    /// that failed.
    ///
    /// A verb whose failure a busy machine may have caused is asked once more, with [`TRIAL_TIMEOUT`] at least. One that
    /// ran out of more time than that, or of less than its own timeout, is not.
    pub fn put_to<'p>(&'p self, policy: &'p dyn Policy) -> impl Iterator<Item = TrialFault> + 'p {
        let verbs = policy.verbs();
        verbs.iter().filter(|verb| *verb != Verb::Validate).filter_map(move |verb| self.try_verb(policy, verb))
    }

    fn try_verb(&self, policy: &dyn Policy, verb: Verb) -> Option<TrialFault> {
        let time = self.timeout.min(self.longest);
        let first = self.ask(policy, verb, time)?;
        let is_timeout = first.fault.kind == FaultKind::Timeout;
        if is_timeout && time < self.timeout {
            return Some(TrialFault { is_certain: false, ..first });
        }
        let had_time = is_timeout && time > TRIAL_TIMEOUT;
        if first.fault.kind.is_transient() && !had_time {
            self.ask(policy, verb, time.max(TRIAL_TIMEOUT))
        } else {
            Some(first)
        }
    }

    fn ask(&self, policy: &dyn Policy, verb: Verb, timeout: Duration) -> Option<TrialFault> {
        let recording = Recording::with_lines();
        let view =
            sample()?.with_settings(Arc::clone(&self.settings)).with_fact_access(self.fact_access.lenient().into());
        let view = view.with_counts(self.counts || verb != Verb::Filter).recorded(recording.clone());
        let limits = Limits::until(Instant::now() + timeout, self.memory);
        let ask = Ask::new(Arc::clone(&self.policy), Arc::new(view), limits);
        let ask = Ask { class: CallClass::Background, ..ask };
        let fault = ask_one(policy, &ask, verb, 0, &recording).err()?;
        let reads = recording.take_lines();
        let settings = Read::HostSettings.to_string();
        // Without room for the call, nobody has asked the policy.
        // The reads that a policy may make are in its sidecar, so a sample is as good as any pod.
        let is_undeclared = fault.kind == FaultKind::Read && recording.reads_undeclared();
        let is_blind = reads.iter().all(|line| line.read == settings);
        let is_certain = fault.kind != FaultKind::Busy && (is_blind || is_undeclared);
        Some(TrialFault { verb, fault, is_certain })
    }
}

/// One node with a pod on it that could be evicted; none if the samples were no objects, which a test rules out.
fn sample() -> Option<View> {
    let pod = |json: &'static str| Pod::from_json(Bytes::from_static(json.as_bytes())).ok();
    let node = Node::from_json(Bytes::from_static(NODE.as_bytes())).ok()?;
    let cluster = Cluster::from_objects(vec![node], vec![pod(PLACED)?]);
    let candidate = Candidate { victims: vec![0], pdb_violations: 0 };
    let view = View::new(Arc::new(pod(POD)?), Arc::new(cluster), Arc::from([0]), NOW);
    Some(view.with_candidates(Arc::from([candidate])))
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;
    use crate::model::{NodeRead, NodeSource, PlacedRead, PodRead, Value, Verbs, Verdict};

    /// Its filter runs out of time, and notes how much it had, in units of the timeout.
    struct Slow(Mutex<Vec<Duration>>);

    impl Policy for Slow {
        fn verbs(&self) -> Verbs {
            [Verb::Filter].into_iter().collect()
        }

        fn filter_each(&self, ask: &Ask, _: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
            let left = ask.limits.deadline.saturating_duration_since(Instant::now());
            self.0.lock().push(left);
            Err(Fault::new(FaultKind::Timeout, "too slow"))
        }
    }

    #[test]
    fn a_call_that_ran_out_of_time_is_repeated_unless_it_had_much_or_less_than_its_timeout() {
        // The policy's timeout, the longest call, the calls, and whether the fault is certain; times in milliseconds.
        let table = [
            (100, 1_000, &[100, 1_000][..], true),
            (1_000, 1_000, &[1_000, 1_000], true),
            (1_001, 1_000, &[1_000], false),
            (60_000, 60_000, &[60_000], true),
        ];
        for (timeout, longest, times, is_certain) in table {
            let policy = Slow(Mutex::default());
            let call = TrialCall {
                policy: "p".into(),
                settings: "null".into(),
                fact_access: Arc::default(),
                timeout: Duration::from_millis(timeout),
                longest: Duration::from_millis(longest),
                memory: 0,
                counts: true,
            };
            let fault = Fault::new(FaultKind::Timeout, "too slow");
            let expected = TrialFault { verb: Verb::Filter, fault, is_certain };
            assert_eq!(call.put_to(&policy).collect::<Vec<_>>(), [expected], "{timeout}");
            let had = policy.0.into_inner();
            let is_close = |(had, time): (&Duration, &u64)| {
                let time = Duration::from_millis(*time);
                *had <= time && *had > time / 2
            };
            assert!(had.len() == times.len() && had.iter().zip(times).all(is_close), "{timeout}: {had:?}");
        }
    }

    #[test]
    fn the_sample_is_one_node_with_one_pod_that_could_be_evicted() {
        let view = sample().unwrap();
        assert_eq!(view.read(Read::Pod(PodRead::Name)).unwrap(), Value::text("trial"));
        assert_eq!(view.read(Read::Node(0, NodeRead::Name)).unwrap(), Value::text("trial"));
        assert_eq!(view.read(Read::Placed(0, 0, PlacedRead::Name)).unwrap(), Value::text("placed"));
        assert_eq!(view.read(Read::CandidatesCount).unwrap(), Value::Number(1));
    }
}
