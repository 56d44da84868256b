//! A filter that counts pods is not outrun by a burst, though kube-scheduler binds later than it decides.

use plimsoll_e2e::Burst;

#[test]
#[allow(clippy::print_stdout, reason = "the numbers are what the test is run for")]
fn at_most_four_pods_run_on_a_node_though_200_come_at_once() {
    let outcome = Burst::of(60, 200).run().unwrap();
    println!("{outcome:?}");
    assert_eq!(outcome.too_many, 0, "{outcome:?}");
    // On a machine that is busy with other things a bind call may come late; the bind refuses such a pod.
    assert!(outcome.refused <= 40, "{outcome:?}");
}
