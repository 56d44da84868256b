use std::fmt::Write as _;

use super::{NODE, POD, pod_error, snapshot_error};

#[test]
fn a_bad_snapshot_is_told_with_place_and_expectation() {
    let table = [
        ("", "s.json is empty: expected the output of 'kubectl get nodes,pods -A -o json'"),
        (" \n", "s.json is empty: expected the output of 'kubectl get nodes,pods -A -o json'"),
        ("{", "s.json:1:1: EOF while parsing an object: expected JSON as kubectl writes it"),
        ("[]", "s.json: the key 'kind' is missing: expected a Node, a Pod or a List"),
        ("foo", r#"s.json: invalid type: string "foo", expected a Kubernetes object or list"#),
        ("a: [1", "s.json:1:4: unclosed bracket '[': expected YAML as kubectl writes it"),
        ("kind: List\nitems: 5", "s.json: invalid type: integer `5`, expected a sequence"),
        ("kind: Pod", "s.json has no Node: expected the output of 'kubectl get nodes,pods -A -o json'"),
        (r#"{"kind":5}"#, "s.json: invalid type: integer `5`, expected a string"),
        (
            "{\"kind\":\"List\",\n\"items\":[\n{\"kind\":\"Node\",\"metadata\":{\"name\":\"b\",\"labels\":5}}]}",
            "s.json: items[0] (b): Node: metadata.labels: invalid type: integer `5`, expected a map",
        ),
        (
            r#"{"kind":"List","items":[5]}"#,
            "s.json: items[0]: invalid type: integer `5`, expected a Kubernetes object or list",
        ),
        (r#"{"kind":"List","items":[{"kind":"Node"}]}"#, "s.json: items[0]: Node: missing field `metadata`"),
        (r#"{"items":[{}]}"#, "s.json: items[0]: the key 'kind' is missing: expected a Node, a Pod or a List"),
        (
            "kind: Node\nmetadata: {name: a}\n---\nkind: Node\nmetadata: {name: b, labels: 5}\n",
            "s.json: document 1: Node: metadata.labels: invalid type: integer `5`, expected a map",
        ),
        (
            "kind: List\nitems:\n- kind: Node\n  metadata: {name: b, labels: 5}\n",
            "s.json: items[0] (b): Node: metadata.labels: invalid type: integer `5`, expected a map",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(snapshot_error(text), expected, "{text}");
    }
}

#[test]
fn a_bad_pod_is_told_with_place_and_expectation() {
    let table = [
        ("", "p.yaml is empty: expected a Pod in YAML or JSON"),
        ("kind: Deployment", "p.yaml: kind Deployment: expected a Pod"),
        ("metadata: {name: x}", "p.yaml: the key 'kind' is missing: expected a Pod"),
        (&format!("{POD}{POD}"), "p.yaml has 2 pods: expected one"),
        (&format!("{POD}\n{NODE}"), "p.yaml: document 1: kind Node: expected a Pod"),
    ];
    for (text, expected) in table {
        assert_eq!(pod_error(text), expected, "{text}");
    }
}

#[test]
fn an_alias_that_stands_for_gigabytes_is_refused() {
    let mut text = String::from("kind: List\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let alias = format!("*a{}, ", level - 1).repeat(10);
        writeln!(text, "a{level}: &a{level} [{alias}]").unwrap();
    }
    assert!(snapshot_error(&text).contains("alias"), "{}", snapshot_error(&text));
}

#[test]
fn a_snapshot_cut_off_anywhere_is_an_error() {
    let text = format!("{{\"kind\":\"List\",\n\"items\":[{NODE},{POD}]}}");
    for length in 0..text.len() {
        snapshot_error(&text[..length]);
    }
}
