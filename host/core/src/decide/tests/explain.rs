//! The explanation of a decision about one node.

use super::fixture::*;
use crate::model::{PodRead, Read, Verdict};

/// Each policy reads about 0.3 MB.
#[test]
fn the_reads_of_an_explanation_are_bounded_together_and_those_left_out_are_counted() {
    let policy = || {
        FakePolicy::default().filter_each(|view, _| {
            for n in 0..1_000 {
                let key = format!("{n:0490}");
                assert!(view.read(Read::Pod(PodRead::Label(&key))).is_ok());
                assert!(view.read(Read::HostSettings).is_ok());
            }
            Verdict::Fits
        })
    };
    let members = (0..24).map(|n| mk_member(&format!("p{n:02}"), policy(), |_| {})).collect();
    let fixture = Fixture::new(members, Some(mk_cluster(&[mk_node("n1", &[])], &[])));
    let answers = fixture.gateway.explain("", &mk_pod(), "n1").unwrap().answers;
    assert_eq!(answers.len(), 24);
    let text: usize = answers.iter().flat_map(|one| &one.reads).map(|line| line.read.len()).sum();
    assert!((1 << 20..4 << 20).contains(&text), "{text}");
    assert_eq!((answers[0].reads.len(), answers[0].reads_left_out), (1_000, 0));
    assert_eq!((answers[23].reads.len(), answers[23].reads_left_out), (0, 1_000));
    assert!(answers.iter().all(|one| one.reads.len() + one.reads_left_out == 1_000));
}
