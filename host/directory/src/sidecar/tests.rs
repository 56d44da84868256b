use std::{fmt::Write as _, time::Duration};

use plimsoll_core::{AbsentFacts, Match, Mode, OnError, Operator, PlaceMode, Requirement, Verb};

use super::*;

const MAX: usize = 1 << 30;

fn parse(text: &str) -> Result<Sidecar, String> {
    Sidecar::parse(text, MAX).map_err(|error| error.to_string())
}

fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
    Requirement { key: key.into(), operator, values: values.iter().map(|value| (*value).into()).collect() }
}

#[test]
fn every_key_has_its_meaning() {
    let text = "
module: shared.wasm
mode: shadow
order: -5
weight: 3
onError: ignore
timeout: 1s 500ms
memory: 32Mi
digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
match:
  namespaces: [ml, batch]
  schedulerNames: [gpu-scheduler]
  podSelector:
    matchLabels: {team: vision}
    matchExpressions:
    - {key: tier, operator: NotIn, values: [test]}
    - {key: gpu, operator: Exists}
  resources: [example.com/gpu-mem]
  namespaceSelector: {matchLabels: {tier: gold}}
  exclude: {namespaces: [kube-system], namespaceSelector: {matchExpressions: [{key: ci, operator: Exists}]}}
settings: {pools: [a, b], strict: true}
facts: [load, prices.csv]
absent: fail
places: all
";
    let sidecar = parse(text).unwrap();
    let requirements = vec![
        requirement("team", Operator::In, &["vision"]),
        requirement("tier", Operator::NotIn, &["test"]),
        requirement("gpu", Operator::Exists, &[]),
    ];
    let config = PolicyConfig {
        mode: Mode::Shadow,
        order: -5,
        weight: 3,
        on_error: Some(OnError::Ignore),
        absent_facts: AbsentFacts::Fail,
        timeout: Duration::from_millis(1500),
        memory: 32 << 20,
        matches: Match {
            namespaces: Some(vec!["ml".into(), "batch".into()]),
            scheduler_names: Some(vec!["gpu-scheduler".into()]),
            pod_selector: Some(requirements),
            resources: Some(vec!["example.com/gpu-mem".into()]),
            namespace_selector: Some(vec![requirement("tier", Operator::In, &["gold"])]),
            exclude: Some(Box::new(Match {
                namespaces: Some(vec!["kube-system".into()]),
                namespace_selector: Some(vec![requirement("ci", Operator::Exists, &[])]),
                ..Match::default()
            })),
        },
        counts: true,
        places: PlaceMode::All,
    };
    assert_eq!(sidecar.config, config);
    assert_eq!(sidecar.module, Some(ModulePath { name: "shared.wasm".into(), in_root: false }));
    assert!(sidecar.digest.unwrap().starts_with("sha256:0123"));
    assert_eq!(&*sidecar.settings, r#"{"pools":["a","b"],"strict":true}"#);
    let fact = |name: &str, file: Option<&str>| FactUse { name: name.into(), file: file.map(Into::into) };
    assert_eq!(sidecar.facts, [fact("load", None), fact("prices", Some("prices.csv"))]);
    assert!(sidecar.config.counts && !parse("counts: false").unwrap().config.counts);
}

#[test]
fn a_source_is_a_name_or_a_csv_file_of_the_same_directory() {
    let table = [
        ("facts: [a/b]", "1:9: facts: found 'a/b'"),
        ("facts: ['']", "facts: found ''"),
        ("facts: load", "expected a list"),
        ("facts: {p: {}}", "expected a list"),
        ("facts: [{p: {}}]", "facts[0]: expected text"),
        ("facts: [../prices.csv]", "facts: found '../prices.csv'"),
        ("facts: [/etc/prices.csv]", "facts: found"),
        ("facts: [.csv]", "facts: found '.csv'"),
        ("absent: never", "expected one of default, ignore, fail"),
    ];
    for (text, expected) in table {
        let error = parse(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let many = format!("facts: [{}]", (0..17).map(|at| format!("s{at}")).collect::<Vec<_>>().join(", "));
    assert!(parse(&many).unwrap_err().contains("17 sources: expected at most 16"));
}

#[test]
fn keys_without_value_and_no_keys_mean_the_defaults() {
    assert_eq!(parse("{}"), Ok(Sidecar::default()));
    let nulls = "module:\nmode:\norder:\nweight:\nonError:\ntimeout:\nmemory:\ndigest:\nmatch:\nsettings:\nfacts:\nabsent:\ncounts:\nplaces:\n";
    assert_eq!(parse(nulls), Ok(Sidecar::default()));
}

#[test]
fn settings_are_the_json_of_their_yaml() {
    let table = [
        ("settings: text", r#""text""#),
        ("settings: [1, -2, 2.5, 1e3]", "[1,-2,2.5,1000.0]"),
        ("settings: {yes: no, on: off}", r#"{"on":"off","yes":"no"}"#),
        ("settings: [true, ~, '5', \"é\\n\"]", r#"[true,null,"5","é\n"]"#),
        ("settings:\n  text: |\n    two\n    lines\n", r#"{"text":"two\nlines\n"}"#),
        ("settings: {a: &a [1], b: *a}", r#"{"a":[1],"b":[1]}"#),
    ];
    for (text, expected) in table {
        let settings = parse(text).unwrap().settings;
        let found: serde_json::Value = serde_json::from_str(&settings).unwrap();
        assert_eq!(found, serde_json::from_str::<serde_json::Value>(expected).unwrap(), "{text}");
    }
}

#[test]
fn each_mistake_is_told_with_place_field_and_expectation() {
    let keys = "module, mode, order, weight, onError, timeout, memory, digest, facts, absent, counts, places, stdio, match, cel, settings";
    let timeout = "expected a duration such as 100ms or 2s, more than 0 and at most 60s";
    let memory = "expected a quantity such as 64Mi, at least 64Ki and at most 1024Mi (--max-policy-memory)";
    let digest = "expected sha256: and 64 hexadecimal digits in lower case";
    let module = "expected a .wasm file of the same directory, or ../name.wasm for one of the root";
    let names = "an empty list matches no pod: expected at least one name; without the key every pod matches";
    let expressions = "match.podSelector.matchExpressions[0]";
    let table = [
        ("", " the file is empty: expected at least one key, or '{}' for the defaults".to_owned()),
        ("# later\n", " the file is empty: expected at least one key, or '{}' for the defaults".to_owned()),
        ("~", "1:1: expected a mapping of keys to values".to_owned()),
        ("[]", "1:1: expected a mapping of keys to values".to_owned()),
        ("order: 1\norder: 2", "2:1: the key 'order' is there twice".to_owned()),
        ("onerror: fail", format!("1:1: unknown key 'onerror': expected one of {keys}")),
        (
            "match: {namespace: [a]}",
            "1:9: match: unknown key 'namespace': expected one of namespaces, namespaceSelector, schedulerNames, podSelector, resources, exclude"
                .to_owned(),
        ),
        ("mode: of", "1:7: mode: found 'of': expected one of enforce, shadow, off".to_owned()),
        ("mode: [off]", "1:7: mode: expected text".to_owned()),
        ("order: soon", "1:8: order: expected a whole number from -2147483648 to 2147483647".to_owned()),
        ("weight: -1", "1:9: weight: expected a whole number from 0 to 4294967295".to_owned()),
        ("weight: 1.5", "1:9: weight: expected a whole number from 0 to 4294967295".to_owned()),
        ("onError: retry", "1:10: onError: found 'retry': expected one of fail, ignore".to_owned()),
        ("timeout: 5", format!("1:10: timeout: found '5': {timeout}")),
        ("timeout: 0s", format!("1:10: timeout: found '0s': {timeout}")),
        ("timeout: 61s", format!("1:10: timeout: found '61s': {timeout}")),
        ("timeout: -1s", format!("1:10: timeout: found '-1s': {timeout}")),
        ("timeout: 9999999999999y", format!("1:10: timeout: found '9999999999999y': {timeout}")),
        ("timeout: [1s]", "1:10: timeout: expected text".to_owned()),
        ("memory: 1KB", format!("1:9: memory: found '1KB': {memory}")),
        ("memory: 1Ki", format!("1:9: memory: found '1Ki': {memory}")),
        ("memory: 2Gi", format!("1:9: memory: found '2Gi': {memory}")),
        ("memory: -64Mi", format!("1:9: memory: found '-64Mi': {memory}")),
        ("digest: abc", format!("1:9: digest: found 'abc': {digest}")),
        ("digest: sha256:ABC", format!("1:9: digest: found 'sha256:ABC': {digest}")),
        ("module: /x.wasm", format!("1:9: module: found '/x.wasm': {module}")),
        ("module: ../../x.wasm", format!("1:9: module: found '../../x.wasm': {module}")),
        ("module: gpu/x.wasm", format!("1:9: module: found 'gpu/x.wasm': {module}")),
        ("module: x.wat", format!("1:9: module: found 'x.wat': {module}")),
        ("module: .wasm", format!("1:9: module: found '.wasm': {module}")),
        ("match: {namespaces: []}", format!("1:21: match.namespaces: {names}")),
        ("match: {schedulerNames: []}", format!("1:25: match.schedulerNames: {names}")),
        ("match: {resources: []}", format!("1:20: match.resources: {names}")),
        ("match: {namespaces: ml}", "1:21: match.namespaces: expected a list".to_owned()),
        ("match: {namespaces: [a, {}]}", "1:25: match.namespaces[1]: expected text".to_owned()),
        (
            "match: {schedulerNames: ['a b']}",
            "1:26: match.schedulerNames[0]: found 'a b': expected a name without spaces".to_owned(),
        ),
        // Values that no object can have, so that they match nothing.
        ("match: {namespaces: [a, 'team-*']}", format!("1:25: match.namespaces[1]: found 'team-*': {NAMESPACE}")),
        ("match: {namespaces: [Web]}", format!("1:22: match.namespaces[0]: found 'Web': {NAMESPACE}")),
        ("match: {namespaces: [a.b]}", format!("1:22: match.namespaces[0]: found 'a.b': {NAMESPACE}")),
        ("match: {resources: [gpu*]}", format!("1:21: match.resources[0]: found 'gpu*': {QUALIFIED}")),
        ("match: {resources: [a/b/c]}", format!("1:21: match.resources[0]: found 'a/b/c': {QUALIFIED}")),
        (
            "match: {podSelector: {matchLabels: {team: 'a b'}}}",
            format!("1:43: match.podSelector.matchLabels.team: found 'a b': {LABEL_VALUE}"),
        ),
        (
            "match: {namespaceSelector: {matchExpressions: [{key: -a, operator: Exists}]}}",
            format!("1:54: match.namespaceSelector.matchExpressions[0].key: found '-a': {QUALIFIED}"),
        ),
        (
            "match: {namespaceSelector: {matchExpressions: [{key: a, operator: NotIn, values: [b, 'c*']}]}}",
            format!("1:86: match.namespaceSelector.matchExpressions[0].values: found 'c*': {LABEL_VALUE}"),
        ),
        ("match: {exclude: {}}", "1:18: match.exclude: it leaves every pod out: expected at least one part".to_owned()),
        ("match: {exclude: {namespaces: [A]}}", format!("1:32: match.exclude.namespaces[0]: found 'A': {NAMESPACE}")),
        (
            "match: {podSelector: {matchExpressions: [{key: a, operator: In}]}}",
            format!("1:42: {expressions}.values: In with no values: expected at least one"),
        ),
        (
            "match: {podSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}",
            format!("1:78: {expressions}.values: Exists with values: expected none"),
        ),
        (
            "match: {podSelector: {matchExpressions: [{key: a, operator: in}]}}",
            format!("1:61: {expressions}.operator: found 'in': expected one of In, NotIn, Exists, DoesNotExist"),
        ),
        (
            "match: {podSelector: {matchExpressions: [{key: a}]}}",
            format!("1:43: {expressions}: the key 'operator' is missing"),
        ),
        ("settings: .inf", "1:11: settings: found .inf: expected a number from -1.8e308 to 1.8e308".to_owned()),
        (
            "settings: {share: 1e400}",
            "1:19: settings.share: found 1e400: expected a number from -1.8e308 to 1.8e308".to_owned(),
        ),
        ("order: 'x", "1:8: unclosed quote".to_owned()),
        ("mode: off\n---\nmode: off", "2:1: a second document starts here: expected one".to_owned()),
    ];
    for (text, expected) in table {
        assert_eq!(parse(text).map_err(|error| error.trim_end().to_owned()).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn an_alias_that_stands_for_gigabytes_is_refused() {
    let mut text = String::from("settings:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let alias = format!("*a{}, ", level - 1).repeat(10);
        writeln!(text, "  a{level}: &a{level} [{alias}]").unwrap();
    }
    assert!(parse(&text).unwrap_err().contains("alias"));
}

#[test]
fn settings_over_the_limit_are_refused() {
    let long = "x".repeat(9_000);
    let aliases = "*a, ".repeat(99);
    assert!(parse(&format!("settings: [&a {long}, {aliases}]")).is_ok());
    let long = "x".repeat(11_000);
    let error = parse(&format!("settings: [&a {long}, {aliases}]")).unwrap_err();
    assert_eq!(error, " settings: 1100301 bytes as JSON: expected at most 1048576");
}

#[test]
fn deep_nesting_is_refused() {
    for text in [format!("settings: {}", "[".repeat(100_000)), format!("settings: {}1", "- ".repeat(100_000))] {
        assert!(parse(&text).is_err());
    }
}

#[test]
fn a_sidecar_cut_off_anywhere_is_read_or_refused() {
    let text = "mode: shadow\nmatch: {namespaces: [ml]}\nsettings: {é: [1, 'two']}\n";
    for (length, _) in text.char_indices() {
        let _ = parse(&text[..length]);
    }
}

#[test]
fn a_program_is_asked_the_verbs_that_its_sidecar_names() {
    let verbs = |text: &str| parse(text).unwrap().stdio.map(|verbs| verbs.iter().collect::<Vec<_>>());
    assert_eq!(verbs("stdio: {verbs: [prioritize, filter]}"), Some(vec![Verb::Filter, Verb::Rank]));
    assert_eq!(verbs("stdio: {verbs: [prioritize]}"), Some(vec![Verb::Rank]));
    assert_eq!(verbs("stdio: {}"), Some(vec![Verb::Filter]));
    assert_eq!(verbs("order: 1"), None);
    assert!(!parse("order: 1").unwrap().has_timeout && parse("timeout: 100ms").unwrap().has_timeout);
    for (text, error) in [
        ("stdio: {verbs: []}", "1:16: stdio.verbs: an empty list"),
        ("stdio: {verbs: [preempt]}", "stdio.verbs[0]: found 'preempt': expected one of filter, prioritize"),
        ("stdio: {verb: filter}", "unknown key 'verb': expected one of verbs"),
    ] {
        let found = parse(text).unwrap_err();
        assert!(found.contains(error), "{text}: {found}");
    }
}

#[test]
fn the_schema_in_the_documentation_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.schema.json");
    let current = format!("{}\n", serde_json::to_string_pretty(&sidecar_schema()).unwrap());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, &current).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == current, "run `UPDATE_SCHEMA=1 cargo test -p plimsoll-directory schema` and commit the file");
}

#[test]
fn no_text_about_a_sidecar_quotes_a_secret() {
    for value in [
        "!!int hunter2",
        "'hunter2",
        "\"hunter2",
        "*hunter2",
        "&hunter2 *hunter2",
        "!hunter2 x",
        "\"\\xhunter2\"",
        "@hunter2",
        "`hunter2`",
        "{hunter2",
        "[hunter2",
        "%hunter2",
        "| hunter2",
        "hunter2: x",
        ".inf",
        "{a: hunter2, a: hunter2}",
        "? hunter2",
        "!!float hunter2",
        "!!bool hunter2",
        "!!binary hunter2-",
        "!!timestamp hunter2",
        "<<: hunter2",
    ] {
        for text in [
            format!("settings:\n  password: {value}\n"),
            format!("settings: {{password: {value}}}\n"),
            format!("settings: {{b: {{password: {value}}}}}"),
        ] {
            assert!(parse(&text).err().is_none_or(|error| !error.contains("hunter2")), "{text}");
        }
    }
}
