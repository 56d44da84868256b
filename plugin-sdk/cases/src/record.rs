//! Cuts a case out of a cluster: the values that the policy reads, and its answers now.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use plimsoll_core::{Fault, Policy, ReadLine, Verb};
use serde_json::{Value, json};

use crate::{
    CallLimits, Case, Difference, Expectations, World, WorldError,
    call_error::CallError,
    caller::Caller,
    compare::{Comparison, MAX_DIFFERENCES_BYTES},
    emit::{entry, list, push},
    expect::Lines,
    object::{node_of, text},
    reduce::Reducer,
};

/// Maximum nodes that a case is cut for, if the policy compares them; else there is one for each different answer.
const MAX_NODES: usize = 200;

/// Maximum different answers that a case is cut for.
const MAX_ANSWERS: usize = 20;

/// Maximum bytes of a case that is written.
const MAX_CASE_BYTES: usize = 2 << 20;

/// The verbs that a request of kube-scheduler may lead to.
const OF_REQUEST: [Verb; 4] = [Verb::Filter, Verb::Score, Verb::Rank, Verb::Bind];

/// The policy, its settings and the texts that a case is cut from.
#[derive(Clone, Copy)]
pub struct Cut<'a> {
    /// The policy that answers.
    pub policy: &'a dyn Policy,
    /// Its settings as JSON.
    pub settings: &'a Arc<str>,
    /// Its limits.
    pub limits: CallLimits,
    /// The sentence about the case.
    pub description: &'a str,
    /// Where it comes from, for a comment.
    pub origin: &'a str,
    /// Whether the request names the nodes: none is left out.
    pub keeps_nodes: bool,
}

/// Why no case can be cut.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// An object is invalid, or names an object that is not there.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The policy fails, so it answers nothing that a case could expect.
    #[error("the policy failed to {verb}: {fault}")]
    Fault {
        /// The verb that was asked.
        verb: Verb,
        /// The fault that ended the call.
        fault: Fault,
    },
    /// The policy refuses its settings.
    #[error("the policy was not asked: its settings are {0}")]
    Refused(String),
    /// The policy has no verb for the request.
    #[error("the policy has no verb for this request: expected {0}")]
    NoVerb(&'static str),
    /// The policy sees too many nodes together.
    #[error("the answers depend on {0} nodes; choose at most {MAX_NODES} with --node")]
    TooManyNodes(usize),
    /// The policy reads too much.
    #[error("the case would have {0} bytes, since the policy reads that much: choose nodes with --node")]
    TooLarge(usize),
    /// The policy answers too much.
    #[error("the answers have more than {} MiB: choose nodes with --node", MAX_DIFFERENCES_BYTES >> 20)]
    LongAnswers,
    /// The policy gives other answers to the case than to the request.
    #[error("the case does not hold when it is run again: is the policy deterministic? {0}")]
    Unstable(String),
}

impl From<CallError> for CutError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::World(error) => Self::World(error),
            CallError::Fault(verb, fault) => Self::Fault { verb, fault },
            CallError::TooLarge => Self::LongAnswers,
        }
    }
}

/// The answers of a policy, as a case writes them: by verb, and by node in the order of the request.
type Answers = BTreeMap<Verb, Vec<(String, String)>>;

/// All that a policy answers and reads about some nodes.
#[derive(PartialEq)]
struct Observed {
    answers: Answers,
    reads: Vec<Vec<ReadLine>>,
}

// === impl Cut ===

impl Cut<'_> {
    /// Cuts a case out of a world, as small as it answers the same, and writes it.
    ///
    /// # Errors
    /// If the policy fails, has no such verb, or reads too much.
    pub fn write(&self, mut world: World) -> Result<String, CutError> {
        let verbs = self.verbs(&world)?;
        clean(&mut world);
        let answers = self.answers(&world, &verbs)?;
        let world = self.narrowed(world, &verbs, &answers);
        let names = world.request.clone().unwrap_or_default();
        if names.len() > MAX_NODES {
            return Err(CutError::TooManyNodes(names.len()));
        }
        let observed = self.observe(&world, &verbs)?;
        let is_same = |world: &World| self.observe(world, &verbs).is_ok_and(|now| now == observed);
        let world = Reducer::new(world, is_same).run();
        let text = self.text(&world, &observed.answers);
        if text.len() > MAX_CASE_BYTES {
            return Err(CutError::TooLarge(text.len()));
        }
        let again = Case::from_yaml("the case", &text).map(|case| case.with_default_settings(self.settings));
        match again.and_then(|case| case.check_within(self.policy, self.limits)) {
            Ok(()) => Ok(text),
            Err(error) => Err(CutError::Unstable(plimsoll_core::one_line(&error.to_string()).into_owned())),
        }
    }

    fn verbs(&self, world: &World) -> Result<Vec<Verb>, CutError> {
        let has = |verb: &Verb| self.policy.verbs().has(*verb);
        if !world.candidates.is_empty() {
            return if has(&Verb::Preempt) { Ok(vec![Verb::Preempt]) } else { Err(CutError::NoVerb("preempt")) };
        }
        let verbs: Vec<Verb> = OF_REQUEST.into_iter().filter(has).collect();
        if verbs.is_empty() { Err(CutError::NoVerb("filter, score, rank or bind")) } else { Ok(verbs) }
    }

    /// The world with one node for each different answer, if the policy answers the same about them.
    fn narrowed(&self, world: World, verbs: &[Verb], answers: &Answers) -> World {
        if verbs == [Verb::Preempt] {
            return world;
        }
        let names: Vec<String> = answers.values().next().into_iter().flatten().map(|(node, _)| node.clone()).collect();
        let all = World { request: Some(names.clone()), ..world };
        let mut seen = BTreeSet::new();
        let differs =
            |at: &usize| seen.insert(answers.values().map(|by_node| by_node[*at].1.as_str()).collect::<Vec<_>>());
        let few: Vec<usize> = (0..names.len()).filter(differs).take(MAX_ANSWERS).collect();
        if self.keeps_nodes && names.len() <= MAX_NODES || few.len() == names.len() {
            return all;
        }
        let request = Some(few.iter().map(|at| names[*at].clone()).collect());
        let narrowed = World { request, ..all.clone() };
        let expected: Answers = answers
            .iter()
            .map(|(verb, by_node)| (*verb, few.iter().map(|at| by_node[*at].clone()).collect()))
            .collect();
        let is_same = self.answers(&narrowed, verbs).is_ok_and(|now| now == expected);
        if is_same { narrowed } else { all }
    }

    fn observe(&self, world: &World, verbs: &[Verb]) -> Result<Observed, CutError> {
        let caller = self.caller(world);
        let answers = Self::answers_of(&caller, verbs)?;
        let mut reads = Vec::new();
        for (verb, by_node) in &answers {
            // A rank is one answer about all nodes.
            for (node, _) in by_node.iter().take(if *verb == Verb::Rank { 1 } else { usize::MAX }) {
                reads.push(caller.reads(*verb, Some(node))?);
            }
        }
        Ok(Observed { answers, reads })
    }

    fn answers(&self, world: &World, verbs: &[Verb]) -> Result<Answers, CutError> {
        Self::answers_of(&self.caller(world), verbs)
    }

    /// The answers, which the differences from no expectation at all tell.
    fn answers_of(caller: &Caller<'_>, verbs: &[Verb]) -> Result<Answers, CutError> {
        let has = |verb: Verb| verbs.contains(&verb);
        let expect = Expectations {
            refused: None,
            filter: has(Verb::Filter).then(BTreeMap::new),
            score: has(Verb::Score).then(BTreeMap::new),
            rank: has(Verb::Rank).then(BTreeMap::new),
            preempt: has(Verb::Preempt).then(BTreeMap::new),
            bind: has(Verb::Bind).then(BTreeMap::new),
        };
        let mut answers: Answers = verbs.iter().map(|verb| (*verb, vec![])).collect();
        let lines = Lines::default();
        for Difference { verb, node, answered, .. } in
            caller.differences(&expect, Comparison::of_whole_texts(&lines))?
        {
            // The settings alone are of no node.
            let Some(node) = node else { return Err(CutError::Refused(answered)) };
            answers.entry(verb).or_default().push((node, answered));
        }
        Ok(answers)
    }

    fn caller<'w>(&'w self, world: &'w World) -> Caller<'w> {
        Caller::new(world, self.settings, self.policy, self.limits)
    }

    fn text(&self, world: &World, answers: &Answers) -> String {
        let mut text = String::new();
        push(&mut text, format_args!("# {}", plimsoll_core::one_line(self.origin)));
        entry(&mut text, "description", &json!(self.description), 0);
        self.push_settings(&mut text);
        if world.now > 0 {
            let time = jiff::Timestamp::from_second(i64::try_from(world.now).unwrap_or(i64::MAX));
            entry(&mut text, "now", &time.map_or_else(|_| json!(world.now), |time| json!(time.to_string())), 0);
        }
        push_world(&mut text, world);
        push(&mut text, format_args!("expect:"));
        for (verb, by_node) in answers {
            push(&mut text, format_args!("  {verb}:"));
            for (node, answer) in by_node {
                push(&mut text, format_args!("    {}: {answer}", crate::scalar::scalar(node)));
            }
        }
        text
    }

    fn push_settings(&self, text: &mut String) {
        let settings = serde_json::from_str::<Value>(self.settings).unwrap_or_default();
        if !settings.is_null() {
            entry(text, "settings", &settings, 0);
        }
    }
}

/// The pod, the cluster and the question.
fn push_world(text: &mut String, world: &World) {
    entry(text, "pod", &world.pod, 0);
    push(text, format_args!("nodes:{}", if world.nodes.is_empty() { " []" } else { "" }));
    list(text, &world.nodes, 0);
    let names: Vec<&str> = world.nodes.iter().filter_map(|node| node["metadata"]["name"].as_str()).collect();
    if let Some(request) = world.request.as_ref().filter(|request| **request != names) {
        entry(text, "request", &json!(request), 0);
    }
    if world.without_pods {
        push(text, format_args!("pods: unknown"));
    } else if !world.pods.is_empty() {
        push(text, format_args!("pods:"));
        list(text, &world.pods, 0);
    }
    if !world.facts.is_null() {
        entry(text, "facts", &world.facts, 0);
    }
    if !world.namespaces.is_empty() {
        push(text, format_args!("namespaces:"));
        list(text, &world.namespaces, 0);
    }
    if !world.device_classes.is_empty() {
        push(text, format_args!("deviceClasses:"));
        list(text, &world.device_classes, 0);
    }
    if !world.candidates.is_empty() {
        push(text, format_args!("candidates:"));
        let candidate = |one: &crate::ProposedVictims| json!({"node": one.node, "victims": one.victims, "pdbViolations": one.pdb_violations});
        list(text, &world.candidates.iter().map(candidate).collect::<Vec<_>>(), 0);
    }
}

/// Takes out objects and fields that no policy reads: bookkeeping, the pod itself if it is placed, and pods that count
/// nowhere.
fn clean(world: &mut World) {
    let World { pod, nodes, pods, namespaces, device_classes, .. } = world;
    let names: BTreeSet<String> = nodes.iter().filter_map(|node| text(node, "/metadata/name")).collect();
    let name = |pod: &Value| (text(pod, "/metadata/namespace"), text(pod, "/metadata/name"));
    let own = name(pod);
    pods.retain(|placed| {
        let has_ended = matches!(text(placed, "/status/phase").as_deref(), Some("Succeeded" | "Failed"));
        !has_ended && name(placed) != own && node_of(placed).is_some_and(|node| names.contains(&node))
    });
    for object in nodes.iter_mut().chain(pods).chain(namespaces).chain(device_classes).chain([pod]) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { continue };
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    }
}
