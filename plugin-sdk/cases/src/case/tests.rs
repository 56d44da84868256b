use plimsoll_core::{Read, Selector};

use super::*;

fn error(yaml: &str) -> String {
    Case::from_yaml("cases/a.yaml", yaml).unwrap_err().to_string()
}

#[test]
fn a_malformed_case_is_told_with_its_line_its_field_and_what_was_expected() {
    let table = [
        (
            "description: d\nexpect: {}\nnode: []",
            "cases/a.yaml:3:",
            "unknown key 'node': expected one of description, settings",
        ),
        ("description: d", "cases/a.yaml:", "the key 'expect' is missing"),
        (
            "description: d\nexpect:\n  filter: [a]",
            "cases/a.yaml:3: expect.filter",
            "expected a mapping of keys to values",
        ),
        (
            "description: d\nexpect:\n  score:\n    a: much",
            "cases/a.yaml:4: expect.score.a: ",
            "expected a whole number from 0 to 4294967295",
        ),
        ("description: d\nexpect:\n  filter:\n    a: no", "cases/a.yaml:4:", "expected `fits`"),
        ("description: d\nnodes: {}\nexpect: {}", "cases/a.yaml:2: nodes: ", "expected a list"),
        ("description: [d]\nexpect: {}", "cases/a.yaml:1: description: ", "expected text"),
        ("description: d\nfacts: {n1: 1, n1: 2}\nexpect: {}", "cases/a.yaml:2: ", "the key 'n1' is there twice"),
        ("description: d\npods: none\nexpect: {}", "cases/a.yaml:2:", "expected a list of placed pods, or `unknown`"),
        ("description: d\nnow: soon\nexpect: {}", "cases/a.yaml:2:", "'soon' is no time: expected Unix seconds"),
        ("description: d\nnow: [1]\nexpect: {}", "cases/a.yaml:2:", "expected Unix seconds"),
        ("description: d\nexpect: {}\n---\nexpect: {}", "cases/a.yaml:", "a second document starts here: expected one"),
        ("description: d\nexpect: {}\ndeviceClasses: {}", "cases/a.yaml:3: deviceClasses: ", "expected a list"),
        ("[", "cases/a.yaml:1: ", "unclosed bracket"),
    ];
    for (yaml, place, expected) in table {
        let error = error(yaml);
        assert!(error.starts_with(place) && error.contains(expected), "{yaml}\n{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn a_key_that_kubernetes_does_not_know_is_told_with_its_line() {
    let table = [
        (
            "pod:\n  metadata:\n    anotations: {a: b}",
            "5: pod.metadata: unknown key 'anotations': expected one of name, ",
        ),
        (
            "pod:\n  metadata:\n    annotations: {a: 3}",
            "5: pod.metadata.annotations.a: found integer `3`: expected text",
        ),
        ("pod: {specc: {}}", "3: pod: unknown key 'specc'"),
        ("nodes:\n- metadata: {lables: {}}", "4: nodes[0].metadata: unknown key 'lables'"),
        (
            "pods:\n- spec:\n    containers:\n    - resources: {request: {cpu: 1}}",
            "6: pods[0].spec.containers[0].resources: unknown key 'request': expected one of limits, requests, claims",
        ),
        ("namespaces: [{label: {}}]", "3: namespaces[0]: unknown key 'label'"),
        ("deviceClasses: [{spec: {cel: 1}}]", "3: deviceClasses[0].spec: unknown key 'cel'"),
    ];
    for (object, expected) in table {
        let error = error(&format!("description: d\nexpect: {{}}\n{object}"));
        assert!(error.starts_with(&format!("cases/a.yaml:{expected}")), "{error}");
    }
}

#[test]
fn an_invalid_object_is_told_with_its_line() {
    let table = [
        ("pod:\n  metadata: {name: [p]}", 3, "pod: "),
        ("nodes:\n- {metadata: {name: a}}\n- {metadata: {name: [b]}}", 4, "nodes[1]: "),
        ("nodes: [{metadata: {name: a}}]\npods:\n- metadata: {name: p}\n  spec: {nodeName: b}", 4, "pods[0] "),
        ("namespaces:\n\n- {metadata: {labels: a}}", 4, "namespaces[0]: "),
        ("nodes: []\nrequest:\n- a", 4, "request[0] names the node 'a'"),
        ("facts: [load]", 2, "facts: expected a map from each source"),
        ("facts:\n  load: {a: null}", 3, "facts: load: a: found null: expected a text, a number, true or false"),
    ];
    for (world, line, object) in table {
        let yaml = format!("description: d\n{world}\nexpect: {{}}");
        let case = Case::from_yaml("cases/a.yaml", &yaml).unwrap();
        let error = case.world_error(&case.world.view().unwrap_err()).to_string();
        assert!(error.starts_with(&format!("cases/a.yaml:{line}: {object}")), "{yaml}\n{error}");
        assert!(!error.contains("column"), "{error}");
    }
}

#[test]
fn a_candidate_that_names_what_is_not_there_is_told_with_its_line() {
    for (victims, error) in [
        ("node: b, victims: []", "candidates[1] names the node 'b'; there is no such node"),
        ("node: a, victims: [web/b]", "candidates[1] names the victim 'web/b'; no such pod is placed on 'a'"),
    ] {
        let candidates = format!("candidates:\n- {{node: a, victims: []}}\n- {{{victims}}}");
        let yaml = format!("description: d\nnodes: [{{metadata: {{name: a}}}}]\n{candidates}\nexpect: {{}}");
        let case = Case::from_yaml("cases/a.yaml", &yaml).unwrap();
        let told = case.world_error(&case.world.preempt_view().unwrap_err()).to_string();
        assert_eq!(told, format!("cases/a.yaml:5: {error}"));
    }
}

#[test]
fn an_invalid_expectation_is_told_with_what_may_stand_there() {
    let table = [
        ("filter: {busy: unschedulable}", "{unschedulable: the reason}`", "found `unschedulable`"),
        ("filter: {busy: {unschedulable: [x]}}", "expected `fits`", "found `unschedulable:` with something else"),
        ("preempt: {busy: {replace: web/a}}", "{replace: [namespace/name]}`", "found `replace:`"),
        ("bind: {busy: fits}", "{annotations: {KEY: \"VALUE\"}}`", "found `fits`"),
        ("bind: {busy: {}}", "(`{annotations: {}}` for none)", "one of them alone"),
    ];
    for (expect, expected, found) in table {
        let error = error(&format!("description: d\nexpect: {{{expect}}}"));
        assert!(error.contains(expected) && error.contains(found), "{expect}: {error}");
    }
}

#[test]
fn a_hostile_file_is_refused_at_once() {
    let deep = format!("description: d\nexpect: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let mut laughs = String::from("description: d\nexpect: {}\nsettings:\n  a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (name, of) in ["b", "c", "d", "e", "f", "g", "h", "i"].iter().zip(["a", "b", "c", "d", "e", "f", "g", "h"]) {
        let all = vec![format!("*{of}"); 10].join(", ");
        laughs.extend(["  ", name, ": &", name, " [", &all, "]\n"]);
    }
    let wide = format!("description: d\nexpect: {{}}\nsettings: [{}]", "1,".repeat(400_000));
    for yaml in [deep, laughs, wide] {
        assert!(error(&yaml).len() < 1_000);
    }
}

#[test]
fn an_error_is_short_whatever_it_quotes() {
    let long = "k".repeat(1 << 20);
    for yaml in ["expect: {filter: {a: LONG}}", "expect: {}\nnow: LONG", "expect: {filter: {LONG: no}}", "LONG: 1"] {
        let error = error(&format!("description: d\n{}", yaml.replace("LONG", &long)));
        assert!(error.len() < 1_200, "{yaml}: {}", error.len());
    }
}

#[test]
fn the_pod_itself_does_not_count_where_it_is_placed_already() {
    let pod = "{metadata: {name: p, namespace: t}, spec: {nodeName: n1}}";
    let read = |pods: &str| {
        let yaml =
            format!("description: d\npod: {pod}\nnodes: [{{metadata: {{name: n1}}}}]\npods: [{pods}]\nexpect: {{}}");
        let view = Case::from_yaml("a.yaml", &yaml).unwrap().world.view().map_err(|error| error.to_string())?;
        let number = |read| format!("{:?}", view.read(read).unwrap());
        Ok::<_, String>([number(Read::PlacedCount(0)), number(Read::ClusterCount(Selector::all()))])
    };
    let other = pod.replace("name: p", "name: q");
    assert_eq!(read(&format!("{pod}, {other}")).unwrap(), ["Number(1)", "Number(1)"]);
    assert_eq!(read(&format!("{other}, {other}")).unwrap_err(), "pods[1]: another pod is named 't/q' already");
}

#[test]
fn cases_may_end_with_yml_and_only_regular_files_are_read() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.yml"), "description: d\nexpect: {}").unwrap();
    std::fs::write(directory.path().join(".b.yml"), "no case").unwrap();
    assert_eq!(cases(directory.path()).unwrap().len(), 1);
    std::fs::create_dir(directory.path().join("c.yaml")).unwrap();
    let error = cases(directory.path()).unwrap_err().to_string();
    assert!(error.ends_with("c.yaml: is no regular file: expected a case in YAML"), "{error}");
    std::fs::remove_dir(directory.path().join("c.yaml")).unwrap();
    std::fs::write(directory.path().join("c.yaml"), vec![b'#'; MAX_FILE_BYTES as usize + 1]).unwrap();
    let error = cases(directory.path()).unwrap_err().to_string();
    assert!(error.contains("is larger than"), "{error}");
}

#[test]
fn settings_of_the_sidecar_stand_in_for_absent_ones_only() {
    let settings: Arc<str> = "{\"a\":1}".into();
    let of = |yaml: &str| {
        let case = Case::from_yaml("a.yaml", &format!("description: d\nexpect: {{}}\n{yaml}")).unwrap();
        case.with_default_settings(&settings).settings.to_string()
    };
    assert_eq!([of(""), of("settings:"), of("settings: {b: 2}")], ["{\"a\":1}", "null", "{\"b\":2}"]);
}
