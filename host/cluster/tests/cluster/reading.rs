use super::{NODE, POD, write};
use plimsoll_cluster::{read_pod, read_snapshot};

const YAML: &str = "\
apiVersion: v1
kind: Node
metadata: {name: a, labels: {zone: z1}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ml, uid: u1}
spec: {nodeName: a, containers: []}
";

#[test]
fn every_form_that_kubectl_writes_is_read() {
    let list = format!(r#"{{"kind":"List","items":[{NODE},{POD}]}}"#);
    let typed = concat!(
        r#"{"kind":"NodeList","items":[{"metadata":{"name":"a","labels":{"zone":"z1"}}}]}"#,
        r#"{"kind":"PodList","items":[{"metadata":{"name":"p","namespace":"ml"},"spec":{"nodeName":"a"}}]}"#,
    );
    let yaml_list = "kind: List\nitems:\n- kind: Node\n  metadata: {name: a, labels: {zone: z1}}\n\
                     - kind: Pod\n  metadata: {name: p, namespace: ml}\n  spec: {nodeName: a}\n";
    let forms = [
        ("a list", list),
        ("typed lists, one after the other", typed.to_owned()),
        ("objects, one after the other", format!("{NODE}\n{POD}")),
        ("YAML documents", YAML.to_owned()),
        ("a YAML list", yaml_list.to_owned()),
        ("YAML with empty documents", format!("---\n{YAML}---\n")),
    ];
    for (form, text) in forms {
        let file = write("snapshot", &text);
        let cluster = read_snapshot(&file.path).unwrap_or_else(|error| panic!("{form}: {error}"));
        let slot = &cluster.slots()[cluster.find("a").expect(form) as usize];
        assert_eq!(slot.node.labels().get("zone"), Some("z1"), "{form}");
        assert_eq!(slot.placed.as_ref().unwrap().pods()[0].name(), "p", "{form}");
    }
}

#[test]
fn objects_that_people_write_get_the_defaults_of_the_api_server() {
    let yaml = "kind: Node\nmetadata: {name: a}\nstatus: {capacity: {cpu: '4'}}\n---\n\
                kind: Namespace\nmetadata: {name: web}\n---\n\
                kind: Pod\nmetadata: {name: p, namespace: web}\n\
                spec: {nodeName: a, containers: [{name: c, resources: {limits: {x/gpu: 2}}}]}\n";
    let cluster = read_snapshot(&write("s.yaml", yaml).path).unwrap();
    assert_eq!(cluster.slots()[0].node.allocatable().get("cpu"), 4000);
    assert_eq!(cluster.slots()[0].placed.as_ref().unwrap().requested().unwrap().get("x/gpu"), 2);
    let pod = yaml.rsplit("---\n").next().unwrap();
    assert_eq!(read_pod(&write("p.yaml", pod).path).unwrap().requests().get("x/gpu"), 2);
    // The API server has kept this one with its defaults, and another program has taken its requests away.
    let kept = pod.replace("{name: p,", "{name: p, resourceVersion: '7',");
    assert_eq!(read_pod(&write("p.yaml", &kept).path).unwrap().requests().get("x/gpu"), 0);
}

#[test]
fn other_kinds_are_passed_over() {
    let text = format!(r#"{{"kind":"List","items":[{{"kind":"Service","metadata":{{"name":"s"}}}},{NODE}]}}"#);
    assert_eq!(read_snapshot(&write("s.json", &text).path).unwrap().slots().len(), 1);
}

#[test]
fn the_later_of_two_objects_with_one_name_counts() {
    let later = NODE.replace("z1", "z2");
    let text = format!(r#"{{"kind":"List","items":[{NODE},{POD},{later},{POD}]}}"#);
    let cluster = read_snapshot(&write("s.json", &text).path).unwrap();
    assert_eq!(cluster.slots().len(), 1);
    assert_eq!(cluster.slots()[0].node.labels().get("zone"), Some("z2"));
    assert_eq!(cluster.pod_count(), 1);
}

#[test]
fn pods_that_ended_or_are_placed_nowhere_hold_nothing() {
    let ended = POD.replace(r#""spec""#, r#""status":{"phase":"Succeeded"},"spec""#).replace(r#""p""#, r#""q""#);
    let pending = POD.replace(r#""nodeName":"a","#, "").replace(r#""p""#, r#""r""#);
    let text = format!(r#"{{"kind":"List","items":[{NODE},{ended},{pending},{POD}]}}"#);
    assert_eq!(read_snapshot(&write("s.json", &text).path).unwrap().pod_count(), 1);
}

#[test]
fn a_pod_is_read_from_json_and_yaml() {
    let yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ml}\n";
    for text in [POD, yaml, &format!(r#"{{"kind":"List","items":[{POD}]}}"#)] {
        let pod = read_pod(&write("pod", text).path).unwrap();
        assert_eq!((pod.namespace(), pod.name()), ("ml", "p"));
        assert_eq!(pod.field("/kind"), Some(r#""Pod""#));
    }
}
