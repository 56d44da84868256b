//! What looks like a secret in a policy's settings is not shown.

use std::sync::Arc;

use super::fixture::*;
use crate::{DecideError, Fault, FaultKind, Member, Nodes, Read, Value, Verdict};

/// A policy with settings that hold a secret.
fn mk_licensed(policy: FakePolicy) -> Arc<Member> {
    let member = Arc::into_inner(mk_member("p", policy, |_| {})).unwrap();
    Arc::new(Member { settings: r#"{"licenseKey":"hunter2-hunter2","pool":"a"}"#.into(), ..member })
}

fn cluster() -> Arc<crate::Cluster> {
    mk_cluster(&[mk_node("n1", &[])], &[])
}

#[test]
fn an_explanation_shows_settings_without_their_secrets_and_the_policy_sees_them_whole() {
    let policy = FakePolicy::default().filter_each(|view, _| {
        let Ok(Value::Text(settings)) = view.read(Read::Settings) else { panic!("settings are text") };
        assert!(settings.contains("hunter2-hunter2"));
        Verdict::Fits
    });
    let fixture = Fixture::new(vec![mk_licensed(policy)], Some(cluster()));
    let names = cows(&["n1"]);
    let explanation = fixture.gateway.explain("", &fixture.query(Nodes::Names(&names)), 0).unwrap();
    let line = explanation.answers[0].reads.iter().find(|line| line.read == "host.settings");
    let told = format!("{:?}", line.unwrap());
    assert!(told.contains("<not shown>") && told.contains("pool"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
}

#[test]
fn a_fault_that_quotes_a_secret_is_told_without_it() {
    let failing = || Err(Fault::new(FaultKind::Panic, "cannot log in with hunter2-hunter2"));
    let policy = FakePolicy::default().filter(move |_, _| failing());
    let fixture = Fixture::new(vec![mk_licensed(policy)], Some(cluster()));
    let Err(DecideError::Policy { fault, .. }) = fixture.filter(&["n1"]) else { panic!("the policy fails") };
    assert_eq!(fault.detail, "cannot log in with <not shown>");
    assert!(!format!("{:?}", fixture.calls()).contains("hunter2"));
}
