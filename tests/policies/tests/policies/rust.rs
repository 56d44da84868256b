//! The Rust SDK beyond the conformance suite: the texts of its policy, and the verbs of a module.

use plimsoll_core::FaultKind;

use super::languages::{RUST, asked, native, tell};

#[test]
fn settings_of_no_topic_are_refused_with_the_topics_that_there_are() {
    for policy in [RUST.policy().unwrap(), native()] {
        let error = policy.validate(&asked(r#"{"topic": "pods"}"#)).unwrap().unwrap_err();
        assert!(error.starts_with("topic: expected pod, node, placed, "), "{error}");
        assert!(error.ends_with(" or log-flood, found \"pods\""), "{error}");
    }
}

#[test]
fn a_panic_is_a_fault_with_its_text_and_place() {
    let fault = tell(&*RUST.policy().unwrap(), "panic").unwrap_err();
    assert_eq!(fault.kind, FaultKind::Panic);
    assert!(fault.detail.contains("no node-1 here, at "), "{}", fault.detail);
    assert!(fault.detail.contains("conformance/misbehave.rs:"), "{}", fault.detail);
    assert_eq!(tell(&*native(), "panic").unwrap_err().kind, FaultKind::Panic);
}

#[test]
fn a_native_policy_has_the_verbs_of_the_compiled_one() {
    assert_eq!(native().verbs(), RUST.policy().unwrap().verbs());
}
