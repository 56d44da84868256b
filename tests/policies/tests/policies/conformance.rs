//! The conformance suite, run against the policy `conformance` in every language.

use std::{collections::BTreeSet, fs, sync::Arc, time::Instant};

use plimsoll_conformance::{Outcome, cases};
use plimsoll_core::{Ask, BindAnswer, Fault, Loader as _, NodeSource, Policy, Preemption, Verb, Verbs, Verdict};
use plimsoll_harness::workspace;
use plimsoll_wasm::{EngineConfig, WasmLoader, module_of};

use super::languages::{ASSEMBLYSCRIPT, C, Compiled, GO, PYTHON, RUST, TYPESCRIPT, native};

/// A policy that is pre-initialised with the settings of each call before it.
struct PreinitializedPolicy<'m> {
    module: &'m [u8],
    loader: WasmLoader,
    policy: Arc<dyn Policy>,
}

fn passes_every_case(policy: &dyn Policy) {
    passes(policy, 1);
}

/// Passes every `step`th case.
fn passes(policy: &dyn Policy, step: usize) {
    let failed = cases().iter().step_by(step).filter_map(|case| match case.put_to(policy) {
        Outcome::Passed => None,
        Outcome::Failed(mismatch) => {
            Some(format!("{}: expected {}\n  answered {}", case.name, mismatch.expected, mismatch.answered))
        }
    });
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{} of {} cases:\n{}", failed.len(), cases().len(), failed.join("\n"));
}

fn compiled_passes_every_case(language: &Compiled) {
    let Some(policy) = language.policy() else { return };
    assert_eq!(policy.verbs().iter().collect::<Vec<_>>(), Verb::ALL);
    passes_every_case(&*policy);
}

#[test]
fn rust_passes_every_case() {
    compiled_passes_every_case(&RUST);
}

#[test]
fn go_passes_every_case() {
    compiled_passes_every_case(&GO);
}

#[test]
fn c_passes_every_case() {
    compiled_passes_every_case(&C);
}

#[test]
fn python_passes_every_case() {
    compiled_passes_every_case(&PYTHON);
}

#[test]
fn typescript_passes_every_case() {
    compiled_passes_every_case(&TYPESCRIPT);
}

#[test]
fn assemblyscript_passes_every_case() {
    compiled_passes_every_case(&ASSEMBLYSCRIPT);
}

/// As [`compiled_passes_every_case`], for every `step`th case.
fn passes_when_preinitialized(language: &Compiled, step: usize) {
    let Some(module) = language.module() else { return };
    let loader = WasmLoader::new(EngineConfig::in_process()).unwrap();
    let policy = loader.load("", &module_of(module)).unwrap();
    passes(&PreinitializedPolicy { module, loader, policy }, step);
}

#[test]
fn small_modules_pass_every_case_when_they_are_pre_initialised() {
    for language in [&RUST, &C, &ASSEMBLYSCRIPT] {
        passes_when_preinitialized(language, 1);
    }
}

/// Each case has settings of its own, and so a compile of seconds.
#[test]
fn go_passes_cases_when_it_is_pre_initialised() {
    passes_when_preinitialized(&GO, 8);
}

// === impl PreinitializedPolicy ===

impl PreinitializedPolicy<'_> {
    /// The policy, and the question with as much time as it had before the compile.
    #[expect(clippy::disallowed_methods, reason = "the compile must not take time of the call")]
    fn prepared(&self, ask: &Ask) -> (&dyn Policy, Ask) {
        let started = Instant::now();
        // Where the settings are refused, or `validate` fails, the call says so.
        let _ = self.loader.preinitialize_now(&module_of(self.module), ask.view.settings());
        let mut ask = ask.clone();
        ask.limits.deadline += started.elapsed();
        (&*self.policy, ask)
    }
}

impl Policy for PreinitializedPolicy<'_> {
    fn verbs(&self) -> Verbs {
        self.policy.verbs()
    }

    fn validate(&self, ask: &Ask) -> Result<Result<(), String>, Fault> {
        let (policy, ask) = self.prepared(ask);
        policy.validate(&ask)
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        let (policy, ask) = self.prepared(ask);
        policy.filter_each(&ask, nodes)
    }

    fn score_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        let (policy, ask) = self.prepared(ask);
        policy.score_each(&ask, nodes)
    }

    fn rank(&self, ask: &Ask) -> Result<Vec<u32>, Fault> {
        let (policy, ask) = self.prepared(ask);
        policy.rank(&ask)
    }

    fn preempt_each(&self, ask: &Ask, candidates: &mut dyn NodeSource<Preemption>) -> Result<(), Fault> {
        let (policy, ask) = self.prepared(ask);
        policy.preempt_each(&ask, candidates)
    }

    fn bind(&self, ask: &Ask, node: u32) -> Result<BindAnswer, Fault> {
        let (policy, ask) = self.prepared(ask);
        policy.bind(&ask, node)
    }
}

/// A function that is added to the contract needs a line in a topic.
#[test]
fn the_policy_calls_every_function_of_the_contract() {
    let policy = RUST.policy().unwrap();
    let called: BTreeSet<&str> = policy.imports().iter().map(String::as_str).collect();
    let wit = fs::read_to_string(workspace().join("plugin-sdk/wit/v0.1.0/policy.wit")).unwrap();
    let (mut interface, mut functions) = ("", BTreeSet::new());
    for line in wit.lines() {
        if let Some(name) = line.strip_prefix("interface ") {
            interface = name.split(' ').next().unwrap();
        } else if let Some((function, _)) = line.split_once(": func(") {
            functions.insert(format!("{interface}.{}", function.trim()));
        }
    }
    assert!(functions.len() > 50, "{functions:?}");
    assert_eq!(functions.iter().map(String::as_str).collect::<BTreeSet<_>>(), called);
}

/// A native policy has no limits, and cannot be stopped: only answers are compared.
#[test]
fn the_native_policy_in_rust_gives_every_answer() {
    let policy: Arc<dyn Policy> = native();
    let answers = cases().iter().filter(|case| case.faults.is_empty() && !case.name.starts_with("log"));
    let mut asked = 0;
    for case in answers {
        assert_eq!(case.put_to(&*policy), Outcome::Passed, "{}", case.name);
        asked += 1;
    }
    assert!(asked > 20, "{asked} cases");
}
