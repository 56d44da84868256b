//! A text in a policy's settings that looks like a secret is not shown.

use std::sync::Arc;

use super::fixture::*;
use crate::{DecideError, Explained, Fault, FaultKind, Member, Nodes, PodRead, Preemption, Read, Value, Verdict};

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
        let Ok(Value::Text(settings)) = view.read(Read::HostSettings) else { panic!("settings are text") };
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

#[test]
fn a_reason_that_quotes_a_secret_is_told_without_it_everywhere() {
    let policy = || {
        FakePolicy::default().filter_each(|view, _| {
            // A secret may be used as a key, too.
            let _ = view.read(Read::Pod(PodRead::Label("hunter2-hunter2")));
            Verdict::Unschedulable("no seat at hunter2-hunter2".into())
        })
    };
    let member = Arc::into_inner(mk_licensed(policy())).unwrap();
    let settings = Arc::clone(&member.settings);
    let member = Arc::new(Member { policy: crate::redacting(member.policy, &settings), ..member });
    let fixture = Fixture::new(vec![Arc::clone(&member)], Some(cluster()));
    let outcome = fixture.filter(&["n1"]).unwrap();
    assert_eq!(outcome["n1"].0, "p: no seat at <not shown>");
    let names = cows(&["n1"]);
    let explanation = fixture.gateway.explain("", &fixture.query(Nodes::Names(&names)), 0).unwrap();
    let Explained { answer, reads, .. } = &explanation.answers[0];
    assert!(reads.iter().any(|line| line.read == "pod.label(\"<not shown>\")"), "{reads:?}");
    let told = format!("{:?} {answer:?}", explanation.verdict);
    assert!(told.contains("<not shown>") && !told.contains("hunter2"), "{told}");
    assert!(!format!("{:?}", fixture.gateway.decision_tables("p").unwrap()).contains("hunter2"));
    // The bytes of one module serve with other settings later on.
    assert!(member.policy.undecorated().is_some() && crate::undecorated(&member.policy).undecorated().is_none());
    let open = crate::redacting(crate::undecorated(&member.policy), r#"{"pool":"a"}"#);
    assert!(open.undecorated().is_none(), "without secrets nothing stands in between");
}

/// A guest's time ends between two of its answers, so that the search in each of them is bounded by it.
#[test]
fn the_reasons_of_a_call_are_searched_one_by_one_as_they_come() {
    use std::cell::Cell;
    struct Source<'s>(u32, &'s Cell<u32>);
    impl crate::NodeSource<Preemption> for Source<'_> {
        fn next(&mut self) -> Option<u32> {
            self.0 = self.0.checked_sub(1)?;
            Some(self.0)
        }
        fn answer(&mut self, answer: Preemption) {
            assert_eq!(answer, Preemption::Reject("no seat at <not shown>".into()));
            self.1.set(self.1.get() + 1);
        }
    }
    struct Failing;
    impl crate::Policy for Failing {
        fn verbs(&self) -> crate::Verbs {
            [crate::Verb::Preempt].into_iter().collect()
        }
        fn preempt_each(
            &self,
            _: &crate::Ask,
            candidates: &mut dyn crate::NodeSource<Preemption>,
        ) -> Result<(), Fault> {
            while candidates.next() != Some(0) {
                candidates.answer(Preemption::Reject("no seat at hunter2-hunter2".into()));
            }
            Err(Fault::new(FaultKind::Timeout, "its time is over"))
        }
    }
    let policy = crate::redacting(Arc::new(Failing), r#"{"licenseKey":"hunter2-hunter2"}"#);
    let limits = crate::Limits::until(std::time::Instant::now(), 0);
    let ask = crate::Ask::new("p".into(), Arc::new(crate::View::empty("null".into())), limits);
    let answered = Cell::new(0);
    assert_eq!(policy.preempt_each(&ask, &mut Source(5, &answered)).unwrap_err().kind, FaultKind::Timeout);
    assert_eq!(answered.get(), 4);
}

/// A verb that it has no method for would be answered by itself, and not by the policy behind it.
#[test]
fn a_policy_around_another_one_passes_on_every_verb() {
    struct Behind;
    impl crate::Policy for Behind {
        fn verbs(&self) -> crate::Verbs {
            crate::Verb::ALL.into_iter().collect()
        }
        fn lacks(&self, verb: crate::Verb) -> Fault {
            Fault::new(FaultKind::NotLoaded, verb.as_str())
        }
    }
    let policy = crate::redacting(Arc::new(Behind), r#"{"licenseKey":"hunter2-hunter2"}"#);
    let timeout = std::time::Duration::from_secs(1);
    let call = crate::TrialCall {
        policy: "p".into(),
        settings: "null".into(),
        fact_access: Arc::default(),
        timeout,
        longest: timeout,
        memory: 0,
    };
    let mut faults: Vec<Fault> = call.put_to(policy.as_ref()).map(|trial| trial.fault).collect();
    let limits = crate::Limits::until(std::time::Instant::now(), 0);
    let ask = crate::Ask::new("p".into(), Arc::new(crate::View::empty("null".into())), limits);
    faults.extend(policy.validate(&ask).err());
    let expected = crate::Verb::ALL.map(|verb| Fault::new(FaultKind::NotLoaded, verb.as_str()));
    assert_eq!(faults, expected);
}

#[test]
fn a_text_that_breaks_its_bound_is_not_searched_to_its_end() {
    let long = || "x".repeat(crate::MAX_REASON_BYTES) + " hunter2-hunter2";
    let policy = FakePolicy::default().bind(move |_, _| Ok(Err(long())));
    let policy = crate::redacting(Arc::new(policy), r#"{"licenseKey":"hunter2-hunter2"}"#);
    let limits = crate::Limits::until(std::time::Instant::now(), 0);
    let ask = crate::Ask::new("p".into(), Arc::new(crate::View::empty("null".into())), limits);
    let reason = policy.bind(&ask, 0).unwrap().unwrap_err();
    assert_eq!(reason.reason().len(), long().len(), "it is a fault, which says only how long it is");
}

#[test]
fn what_stands_for_a_secret_breaks_no_bound() {
    let policy = FakePolicy::default()
        .filter_each(|_, _| Verdict::Unschedulable("12345678 ".repeat(crate::MAX_REASON_BYTES / 9).into()));
    let policy = crate::redacting(Arc::new(policy), r#"{"pin_secret":"12345678"}"#);
    let member = mk_member("p", FakePolicy::default(), |_| {});
    let member = Member { policy, ..Arc::into_inner(member).unwrap() };
    let fixture = Fixture::new(vec![Arc::new(member)], Some(cluster()));
    let outcome = fixture.filter(&["n1"]).unwrap();
    assert!(outcome["n1"].0.len() <= crate::MAX_REASON_BYTES + 3 && !outcome["n1"].0.contains("1234"));
}
