mod laws;

use plimsoll_core::Nodes;

use super::*;

fn args(json: &'static str) -> Result<(String, String), String> {
    let body = Bytes::from_static(json.as_bytes());
    let args = extender_args(&body, &NameIndex::default(), &KnownNodeOrder::default).map_err(|error| error.outside)?;
    let json = |at| String::from_utf8(args.nodes.json(at).to_vec()).unwrap();
    let nodes = (0..args.nodes.len()).map(json).collect::<Vec<_>>().join(", ");
    let mode = if args.nodes.are_objects() { "objects" } else { "names" };
    Ok((String::from_utf8(args.pod.to_vec()).unwrap(), format!("{mode} [{nodes}]")))
}

fn candidates(json: &'static str) -> Result<String, String> {
    let body = Bytes::from_static(json.as_bytes());
    let args = preempt_args(&body).map_err(|error| error.outside)?;
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
fn keys_match_in_any_case_the_last_wins_and_null_is_absent() {
    let table = [
        (r#"{"pod":{"a":1},"nodenames":["é\u0041\n"]}"#, r#"{"a":1}"#, r#"names ["éA\n"]"#),
        (r#"{"POD": [] ,"NODES":{"ITEMS":[{}]}}"#, "[]", "objects [{}]"),
        (r#"{"Pod":1,"pod":2,"NodeNames":["a"],"nodeNames":["b"]}"#, "2", r#"names ["b"]"#),
        (r#"{"Pod":1,"NodeNames":["a"],"NODENAMES":null,"x":[{"y":[]}],"":0}"#, "1", "names []"),
        (r#"{"Pod":1,"Nodes":{"items":[1],"Items":[2],"kind":{}}}"#, "1", "objects [2]"),
    ];
    for (json, pod, nodes) in table {
        assert_eq!(args(json).unwrap(), (pod.to_owned(), nodes.to_owned()), "{json}");
    }
}

#[test]
fn an_error_says_where_it_is_and_what_was_expected() {
    let table = [
        ("", "the request is empty; expected an ExtenderArgs"),
        (" \r\n", "the request is empty; expected an ExtenderArgs"),
        (
            "[]",
            "the request is no ExtenderArgs: invalid type: sequence, expected an object with Pod and Nodes or NodeNames at line 1 column 0",
        ),
        ("{}", "the request is no ExtenderArgs: Pod is missing; expected an object"),
        (r#"{"Pod":null}"#, "the request is no ExtenderArgs: Pod is missing; expected an object"),
        (
            r#"{"Pod":{},"NodeNames":"a"}"#,
            r#"the request is no ExtenderArgs: NodeNames: invalid type: string "a", expected a list at line 1 column 25"#,
        ),
        (
            r#"{"Pod":{},"NodeNames":["a",5]}"#,
            "the request is no ExtenderArgs: NodeNames[1]: invalid type: integer `5`, expected a string at line 1 column 28",
        ),
        (
            r#"{"Pod":{},"Nodes":[]}"#,
            "the request is no ExtenderArgs: Nodes: invalid type: sequence, expected a NodeList at line 1 column 18",
        ),
        (
            r#"{"Pod":{},"Nodes":{"items":{}}}"#,
            "the request is no ExtenderArgs: Nodes.items: invalid type: map, expected a list at line 1 column 29",
        ),
        (
            "{\"Pod\":{},\n\"Nodes\":{\"items\":[{},x]}}",
            "the request is no ExtenderArgs: Nodes.items[1]: expected value at line 2 column 22",
        ),
        (r#"{"Pod":{}} {}"#, "the request is no ExtenderArgs: trailing characters at line 1 column 12"),
        (r#"{"Pod":{}"#, "the request is no ExtenderArgs: EOF while parsing an object at line 1 column 9"),
    ];
    for (json, expected) in table {
        assert_eq!(args(json).unwrap_err(), expected, "{json}");
    }
}

#[test]
fn candidates_keep_their_order_and_the_last_of_a_duplicate_wins() {
    let table = [
        (
            r#"{"Pod":{},"NodeNameToMetaVictims":{"b":{"Pods":[{"UID":"u"},{"uid":"v"}],"NumPDBViolations":1},"a":{"Pods":null}}}"#,
            r#"b: ["u", "v"] 1, a: [] 0"#,
        ),
        (
            r#"{"pod":{},"nodenametovictims":{"b":{"pods":[{"metadata":{}}],"numpdbviolations":2}},"nodenametometavictims":null}"#,
            r#"b: [b"{\"metadata\":{}}"] 2"#,
        ),
        (
            r#"{"Pod":{},"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"1"}]},"b":null,"a":{"Pods":[{"UID":"2"}]}}}"#,
            r#"a: ["2"] 0, b: [] 0"#,
        ),
        (r#"{"Pod":{},"NodeNameToVictims":null,"NodeNameToMetaVictims":null}"#, ""),
    ];
    for (json, expected) in table {
        assert_eq!(candidates(json).unwrap(), expected, "{json}");
    }
}

#[test]
fn an_error_in_a_candidate_names_its_node() {
    let table = [
        (
            r#"{"Pod":{},"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":5}]}}}"#,
            r#"NodeNameToMetaVictims["n1"].Pods[0].UID: invalid type: integer `5`, expected a string at line 1 column 57"#,
        ),
        (
            r#"{"Pod":{},"NodeNameToMetaVictims":{"n1":{"NumPDBViolations":5.0}}}"#,
            r#"NodeNameToMetaVictims["n1"].NumPDBViolations: invalid type: floating point `5.0`, expected i64 at line 1 column 63"#,
        ),
        (
            r#"{"Pod":{},"NodeNameToMetaVictims":{"n1":{"Pods":[null]}}}"#,
            r#"NodeNameToMetaVictims["n1"].Pods[0]: invalid type: null, expected an object with UID at line 1 column 53"#,
        ),
        (
            r#"{"Pod":{},"NodeNameToVictims":[]}"#,
            "NodeNameToVictims: invalid type: sequence, expected an object with victims by node name at line 1 column 30",
        ),
    ];
    for (json, expected) in table {
        assert_eq!(candidates(json).unwrap_err(), format!("the request is no ExtenderPreemptionArgs: {expected}"));
    }
}

#[test]
fn objects_are_slices_of_the_body() {
    let body = Bytes::from_static(br#"{"Pod":{},"Nodes":{"items":[ {"a" : 1} ]}}"#);
    let nodes = extender_args(&body, &NameIndex::default(), &KnownNodeOrder::default).unwrap().nodes;
    assert_eq!((nodes.text().as_ptr(), nodes.stretch(0..1)), (body.as_ptr(), 29..38));
    assert_eq!(nodes.json(0), br#"{"a" : 1}"#);
}

#[test]
fn depth_costs_no_stack() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = Bytes::from(format!(r#"{{"x":{deep},"Pod":{deep},"Nodes":{{"items":[{deep}]}}}}"#));
    assert_eq!(extender_args(&body, &NameIndex::default(), &KnownNodeOrder::default).unwrap().nodes.len(), 1);
}
