use serde_json::json;

use super::*;

#[test]
fn what_is_needed_stays_and_all_else_goes() {
    let labels = json!({"app": "a", "team": "b"});
    let pod = |name: &str, node: &str| {
        json!({"kind": "Pod", "metadata": {"name": name, "namespace": "n", "labels": labels, "uid": name},
               "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]}})
    };
    let node = |name: &str| json!({"metadata": {"name": name, "labels": labels}, "spec": {"taints": [{"key": "k"}]}});
    let world = World {
        pod: pod("p", "n0"),
        nodes: (0..40).map(|at| node(&format!("n{at}"))).collect(),
        pods: (0..100).map(|at| pod(&format!("p{at}"), &format!("n{}", at % 40))).collect(),
        request: Some(vec!["n3".to_owned()]),
        now: 5,
        ..World::default()
    };
    // As if a policy read the images of p, the label `app` of n3, and of the two pods on n17 and on n3.
    let is_same = |world: &World| {
        let node = |name: &str| world.nodes.iter().find(|node| node["metadata"]["name"] == name);
        let pods = world.pods.iter().filter(|pod| pod["metadata"]["labels"]["app"] == "a");
        let on = |name: &str| pods.clone().filter(|pod| pod["spec"]["nodeName"] == name).count();
        node("n3").is_some_and(|node| node["metadata"]["labels"]["app"] == "a")
            && (on("n3"), on("n17"), node("n17").is_some()) == (3, 3, true)
            && world.pod["spec"]["containers"][1]["image"] == "i"
    };
    let small = Reducer::new(world, is_same).run();
    assert_eq!(
        small.pod,
        json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [{"image": "i"}, {"image": "i"}]}})
    );
    let labelled = |name: &str| json!({"metadata": {"name": name, "labels": {"app": "a"}}});
    assert_eq!(small.nodes, [labelled("n3"), labelled("n17")]);
    assert_eq!((small.pods.len(), small.now), (6, 0));
    assert_eq!(
        small.pods[0],
        json!({"metadata": {"name": "p3", "namespace": "n", "labels": {"app": "a"}}, "spec": {"nodeName": "n3"}})
    );
}
