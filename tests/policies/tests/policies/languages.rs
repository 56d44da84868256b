//! The policy `conformance` in every language, and the questions that the tests of one language ask it.

use std::sync::{Arc, OnceLock};

use plimsoll_conformance::world;
use plimsoll_core::{Ask, Fault, FaultKind, Policy, Verb, Verdict};
use plimsoll_guests::toolchains::{assemblyscript_example, c_example, go_example, python_example, typescript_example};
use plimsoll_harness::workspace;
use plimsoll_policies::{ask, load_bytes};
use plimsoll_policy::testing::{Native, World, node, pod};

#[path = "../../../../plugin-sdk/rust/examples/conformance/main.rs"]
#[allow(dead_code, unreachable_pub, reason = "an example of the SDK, here as a module")]
mod example;

/// A module, built and compiled once for all tests: that of Python has 18 megabytes.
pub(super) struct Compiled {
    build: fn() -> Option<Vec<u8>>,
    module: OnceLock<Option<Vec<u8>>>,
    policy: OnceLock<Arc<dyn Policy>>,
}

pub(super) static RUST: Compiled = Compiled::new(rust_example);
pub(super) static GO: Compiled = Compiled::new(|| go_example("conformance"));
pub(super) static C: Compiled = Compiled::new(|| c_example("conformance"));
pub(super) static PYTHON: Compiled = Compiled::new(|| python_example("conformance"));
pub(super) static TYPESCRIPT: Compiled = Compiled::new(|| typescript_example("conformance"));
pub(super) static ASSEMBLYSCRIPT: Compiled = Compiled::new(|| assemblyscript_example("conformance"));

// === impl Compiled ===

impl Compiled {
    const fn new(build: fn() -> Option<Vec<u8>>) -> Self {
        Self { build, module: OnceLock::new(), policy: OnceLock::new() }
    }

    /// The module; none where its toolchain is missing, and the test is reported as skipped.
    pub(super) fn module(&self) -> Option<&[u8]> {
        let module = self.module.get_or_init(self.build);
        if module.is_none() {
            // Each test is reported by itself.
            (self.build)();
        }
        module.as_deref()
    }

    /// The policy, where there is a module.
    pub(super) fn policy(&self) -> Option<Arc<dyn Policy>> {
        let module = self.module()?;
        Some(Arc::clone(self.policy.get_or_init(|| load_bytes("conformance", module))))
    }
}

/// `make policies` builds it.
#[expect(clippy::unnecessary_wraps, reason = "the toolchain of Rust is the one that is always there")]
fn rust_example() -> Option<Vec<u8>> {
    let module = workspace().join("target/wasm/wasm32-unknown-unknown/policy/examples/conformance.wasm");
    Some(std::fs::read(&module).unwrap_or_else(|error| panic!("{}: {error}", module.display())))
}

/// The policy in Rust, not compiled to WebAssembly.
pub(super) fn native() -> Arc<dyn Policy> {
    Arc::new(Native::<example::Conformance>::new())
}

/// A call about the nodes of the suite's world.
pub(super) fn asked(settings: &str) -> Ask {
    ask(world().view().unwrap(), settings)
}

/// The answer about the first node, for a topic.
pub(super) fn tell(policy: &dyn Policy, topic: &str) -> Result<String, Fault> {
    let ask = asked(&format!(r#"{{"topic": "{topic}"}}"#));
    match policy.filter(&ask, &[0])?.remove(0) {
        Verdict::Unschedulable(reason) => Ok(reason.to_string()),
        other => panic!("{topic}: {other:?}"),
    }
}

/// The example `needs-label` with its settings and with their defaults: the scores of two nodes, and those with 4Gi to spare.
pub(super) fn decides_by_labels(module: &[u8], scores: [u32; 2], with_spare: Option<[u32; 2]>) {
    let policy = load_bytes("needs-label", module);
    let world = World::new(pod("p").annotation("example.com/needs", "ssd"))
        .node(node("fast").label("ssd", "true").allocatable("memory", "16Gi"))
        .node(node("slow").allocatable("memory", "4Gi"))
        .placed(pod("a").request("memory", "8Gi").on("fast"));
    let lacking = || Verdict::Unresolvable("node lacks the label that the pod needs".into());
    let ask_with = |settings| ask(world.view().unwrap(), settings);
    assert_eq!(policy.verbs().iter().collect::<Vec<_>>(), [Verb::Filter, Verb::Score, Verb::Validate]);
    assert_eq!(policy.filter(&ask_with("null"), &[0, 1]).unwrap(), [Verdict::Fits, lacking()]);
    let other = ask_with(r#"{"annotation": "example.com/other"}"#);
    assert_eq!(policy.filter(&other, &[0, 1]).unwrap(), [Verdict::Fits, Verdict::Fits]);
    assert_eq!(policy.score(&ask_with("null"), &[0, 1]).unwrap(), scores);
    if let Some(scores) = with_spare {
        assert_eq!(policy.score(&ask_with(r#"{"spare": "4Gi"}"#), &[0, 1]).unwrap(), scores);
    }
}

/// Each topic ends as a fault of this kind, with this text.
pub(super) fn fails_as_said(policy: &dyn Policy, table: &[(&str, FaultKind, &str)]) {
    for (topic, kind, text) in table {
        let fault = tell(policy, topic).unwrap_err();
        assert_eq!((fault.kind, fault.detail.contains(text)), (*kind, true), "{topic}: {fault}");
    }
}
