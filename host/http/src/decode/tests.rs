mod laws;

use plimsoll_core::Nodes;

use super::*;

fn args(json: &'static str) -> Result<(String, String), String> {
    let body = Bytes::from_static(json.as_bytes());
    let args = extender_args(&body, &NameIndex::default(), &KnownNodeOrder::default, 100_000)
        .map_err(|error| error.outside)?;
    let json = |at| String::from_utf8(args.nodes.json(at).to_vec()).unwrap();
    let nodes = (0..args.nodes.len()).map(json).collect::<Vec<_>>().join(", ");
    let mode = if args.nodes.are_objects() { "objects" } else { "names" };
    Ok((String::from_utf8(args.pod.to_vec()).unwrap(), format!("{mode} [{nodes}]")))
}

fn candidates(json: &'static str) -> Result<String, String> {
    let body = Bytes::from_static(json.as_bytes());
    let args = preempt_args(&body, 100_000).map_err(|error| error.outside)?;
    let candidate = |query: &CandidateQuery<'_>| match &query.victims {
        Victims::Uids(uids) => format!("{}: {uids:?} {}", query.node, query.pdb_violations),
        Victims::Pods(pods) => format!("{}: {pods:?} {}", query.node, query.pdb_violations),
    };
    Ok(args.candidates.iter().map(candidate).collect::<Vec<_>>().join(", "))
}

#[test]
fn both_modes_are_told_by_what_the_request_holds() {
    let table = [
        (r#"{"Pod":{},"Nodes":null,"NodeNames":["a","b"]}"#, r#"names ["a", "b"]"#),
        (r#"{"Pod":{},"Nodes":{"metadata":{},"items":[{"a":1}, 2]},"NodeNames":null}"#, r#"objects [{"a":1}, 2]"#),
        (r#"{"Pod":{},"Nodes":{"items":null},"NodeNames":["a"]}"#, "objects []"),
        (r#"{"Pod":{},"Nodes":{}}"#, "objects []"),
        (r#"{"Pod":{},"Nodes":null,"NodeNames":null}"#, "names []"),
        (r#"{"Pod":{}}"#, "names []"),
        (r#"{"Pod":{},"NodeNames":[]}"#, "names []"),
    ];
    for (json, expected) in table {
        assert_eq!(args(json).unwrap().1, expected, "{json}");
    }
}

#[test]
fn keys_match_in_any_case_the_last_wins_unknown_ones_are_skipped_and_null_is_absent() {
    let table = [
        (r#"{"pod":{"a":1},"nodes":null,"nodenames":["é\u0041\n"]}"#, r#"{"a":1}"#, r#"names ["éA\n"]"#),
        (r#"{"POD":1,"NODENAMES":["a"],"NodeNames":["b"],"Pod":2}"#, "2", r#"names ["b"]"#),
        (r#"{"Pod":1,"nodenames":["a"]}"#, "1", r#"names ["a"]"#),
        (r#"{"Pod":1,"Nodes":{"items":[2],"Items":[1],"kind":{}},"NodeNames":null,"":0}"#, "1", "objects [1]"),
        (r#"{"pod":1,"nodes":{"metadata":{},"items":[2]}}"#, "1", "objects [2]"),
        (r#"{"Pod":1,"Nodes":{"items":[2]},"nodes":null}"#, "1", "names []"),
    ];
    for (json, pod, nodes) in table {
        assert_eq!(args(json).unwrap(), (pod.to_owned(), nodes.to_owned()), "{json}");
    }
}

#[test]
fn an_error_says_what_was_expected_and_where() {
    let table = [
        ("", "the request is empty; expected an ExtenderArgs"),
        (" \r\n", "the request is empty; expected an ExtenderArgs"),
        (r#"{"Pod":null}"#, "the request is no ExtenderArgs: Pod is missing; expected an object"),
        (
            r#"{"Pod":{},"NodeNames":["a",5]}"#,
            "the request is no ExtenderArgs: NodeNames: invalid type: integer `5`, expected a string at line 1 column 6",
        ),
        (r#"{"Pod":{}} {}"#, "the request is no ExtenderArgs: trailing characters at line 1 column 12"),
    ];
    for (json, expected) in table {
        assert_eq!(args(json).unwrap_err(), expected, "{json}");
    }
}

#[test]
fn candidates_keep_their_order() {
    let table = [
        (
            r#"{"Pod":{},"NodeNameToMetaVictims":{"b":{"Pods":[{"UID":"u"},{"UID":"v"}],"NumPDBViolations":1},"a":{"Pods":null}}}"#,
            r#"b: ["u", "v"] 1, a: [] 0"#,
        ),
        (
            r#"{"Pod":{},"NodeNameToVictims":{"b":{"Pods":[{"metadata":{}}],"NumPDBViolations":2}},"NodeNameToMetaVictims":null}"#,
            r#"b: [b"{\"metadata\":{}}"] 2"#,
        ),
        (r#"{"Pod":{},"NodeNameToVictims":null,"NodeNameToMetaVictims":null}"#, ""),
    ];
    for (json, expected) in table {
        assert_eq!(candidates(json).unwrap(), expected, "{json}");
    }
    let lower = r#"{"pod":{},"nodenametovictims":null,"nodenametometavictims":{"a":{"pods":[{"uid":"u"}],"numpdbviolations":3}}}"#;
    assert_eq!(candidates(lower).unwrap(), r#"a: ["u"] 3"#);
    let error = candidates(r#"{"Pod":{},"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":5}]}}}"#).unwrap_err();
    assert!(error.starts_with("the request is no ExtenderPreemptionArgs: UID: invalid type: integer `5`"), "{error}");
}

#[test]
fn objects_are_slices_of_the_body() {
    let body = Bytes::from_static(br#"{"Pod":{},"Nodes":{"items":[ {"a" : 1} ]}}"#);
    let nodes = extender_args(&body, &NameIndex::default(), &KnownNodeOrder::default, 100_000).unwrap().nodes;
    assert_eq!((nodes.text().as_ptr(), nodes.stretch(0..1)), (body.as_ptr(), 29..38));
    assert_eq!(nodes.json(0), br#"{"a" : 1}"#);
}

#[test]
fn depth_costs_no_stack() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = Bytes::from(format!(r#"{{"x":{deep},"Pod":{deep},"Nodes":{{"items":[{deep}]}}}}"#));
    assert_eq!(extender_args(&body, &NameIndex::default(), &KnownNodeOrder::default, 100_000).unwrap().nodes.len(), 1);
}
