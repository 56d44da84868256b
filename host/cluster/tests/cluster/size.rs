use std::{fmt::Write as _, time::Instant};

use super::write;
use plimsoll_cluster::read_snapshot;

/// A cluster of the size that the budgets speak of; the time is printed, not asserted.
#[test]
fn five_thousand_nodes_with_fifty_thousand_pods_are_read() {
    let mut text = String::from(r#"{"kind":"List","items":["#);
    for node in 0..5_000 {
        let padding = "x".repeat(4_000);
        let _ =
            write!(text, r#"{{"kind":"Node","metadata":{{"name":"node-{node}","labels":{{"zone":"z{}"}}}},"#, node % 3);
        let _ = writeln!(text, r#""status":{{"allocatable":{{"cpu":"8","memory":"32Gi"}},"padding":"{padding}"}}}},"#);
    }
    for pod in 0..50_000 {
        let (node, padding) = (pod % 5_000, "x".repeat(1_000));
        let comma = if pod == 49_999 { "" } else { "," };
        let _ = write!(text, r#"{{"kind":"Pod","metadata":{{"name":"pod-{pod}","namespace":"ml","uid":"{pod}"}},"#);
        let _ = write!(
            text,
            r#""spec":{{"nodeName":"node-{node}","containers":[{{"resources":{{"requests":{{"cpu":"100m"}}}}}}]}},"#
        );
        let _ = writeln!(text, r#""status":{{"padding":"{padding}"}}}}{comma}"#);
    }
    text.push_str("]}");
    let file = write("large.json", &text);
    let started = Instant::now();
    let cluster = read_snapshot(&file.path).unwrap();
    println!("{} MB read in {:?}", text.len() / 1_000_000, started.elapsed());
    assert_eq!((cluster.slots().len(), cluster.pod_count()), (5_000, 50_000));
}
