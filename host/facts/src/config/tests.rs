//! A facts file as in the docs, and each way to get it wrong.

use std::time::Duration;

use super::*;

fn parse(text: &str) -> FactsConfig {
    FactsConfig::parse(text, Path::new("/etc/plimsoll")).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The error without the colon before it.
fn error(text: &str) -> String {
    let error = FactsConfig::parse(text, Path::new("/etc/plimsoll")).unwrap_err().to_string();
    error.trim_start().to_owned()
}

#[test]
fn a_file_has_sources_of_each_kind() {
    let config = parse(
        "load: {prometheus: {url: 'http://p:9090', query: 'a:b', node: instance, every: 10s}, maxAge: 2m, round: 0.05}\n\
         budget: {configMap: {namespace: finance, name: budgets}}\n\
         carbon: {http: {url: 'https://c/zones.json?key=x', every: 5m, bearerTokenFile: token, caFile: /ca.crt}}\n\
         racks: {file: {path: racks.csv}}\n",
    );
    let [budget, carbon, load, racks] = config.sources.as_slice() else { panic!("{config:?}") };
    assert_eq!((budget.every, budget.timeout, budget.max_age), (30, 10, 150).map_seconds());
    assert_eq!(budget.kind.place(), "finance/budgets");
    assert_eq!((carbon.every, carbon.timeout, carbon.max_age), (300, 10, 1500).map_seconds());
    assert_eq!(carbon.kind.place(), "https://c/zones.json");
    let SourceKind::Http(http) = &carbon.kind else { panic!("{carbon:?}") };
    assert_eq!(http.login, Some(Login::Bearer("/etc/plimsoll/token".into())));
    assert_eq!(http.ca_file.as_deref(), Some(Path::new("/ca.crt")));
    assert_eq!((load.every, load.timeout, load.max_age), (10, 10, 120).map_seconds());
    assert_eq!(load.round, Round::to(0.05));
    let SourceKind::Prometheus(prometheus, SampleKey::Node(label)) = &load.kind else { panic!("{load:?}") };
    assert_eq!(prometheus.url.to_string(), "http://p:9090/api/v1/query?query=a%3Ab");
    assert_eq!(&**label, "instance");
    assert_eq!(racks.kind, SourceKind::File("/etc/plimsoll/racks.csv".into()));
    assert_eq!((config.first_config_map(), parse("{}").first_config_map()), (Some("budget"), None));
}

#[test]
fn an_error_names_line_and_field() {
    let prometheus = |rest: &str| format!("a: {{prometheus: {{url: 'http://p', query: q{rest}}}}}\n");
    let table = [
        ("# nothing\n".to_owned(), "the file is empty: expected sources by name, or '{}' for none"),
        ("[]".to_owned(), "1:1: expected a mapping of keys to values"),
        (
            "load:\n  prometeus: {}\n".to_owned(),
            "2:3: load: unknown key 'prometeus': expected one of prometheus, http, configMap, file, maxAge, round",
        ),
        ("a: {http: {}}\n".to_owned(), "1:11: a.http: the key 'url' is missing"),
        ("a: {}\n".to_owned(), "1:4: a: expected exactly one of the keys prometheus, http, configMap and file"),
        (
            "a: {file: {path: a.csv}, http: {url: 'http://b'}}\n".to_owned(),
            "1:4: a: expected exactly one of the keys prometheus, http, configMap and file",
        ),
        (
            "\"a b\": {file: {path: a.csv}}\n".to_owned(),
            "1:8: a b: expected the name of a source: letters, digits, '.', '_' and '-', at most 63",
        ),
        (
            "a: {http: {url: 'ftp://b'}}\n".to_owned(),
            "1:17: a.http.url: its scheme is neither http nor https: expected a URL such as https://host:9090/path, without user and password",
        ),
        (
            "a: {http: {url: 'http://u:hunter2@b'}}\n".to_owned(),
            "1:17: a.http.url: it has a user or a password: expected a URL such as https://host:9090/path, without user and password",
        ),
        (
            prometheus(", every: 10"),
            "1:52: a.prometheus.every: found '10': expected a duration such as 30s, from 1s to 1day",
        ),
        (
            prometheus(", every: 999ms"),
            "1:52: a.prometheus.every: found '999ms': expected a duration such as 30s, from 1s to 1day",
        ),
        (
            prometheus(", timeout: 61s"),
            "1:54: a.prometheus.timeout: found '61s': expected a duration such as 30s, from 100ms to 1m (at most maxAge less every)",
        ),
        (
            prometheus(", node: a, key: b"),
            "1:59: a.prometheus.key: found 'b': expected either `node` or `key`, not both",
        ),
        (
            prometheus("}, maxAge: 59s, x: {"),
            "1:59: a: unknown key 'x': expected one of prometheus, http, configMap, file, maxAge, round",
        ),
        (
            "a: {file: {path: a.csv}, maxAge: 59s}\n".to_owned(),
            "1:34: a.maxAge: found '59s': expected a duration such as 30s, from 1m to 30days (at least twice every)",
        ),
        (
            "a: {file: {path: a.csv}, round: 0}\n".to_owned(),
            "1:33: a.round: found 0: expected a step from 0.000000001 to 1000000000",
        ),
        (
            "a: {file: {path: a.txt}}\n".to_owned(),
            "1:18: a.file.path: found 'a.txt': expected the path of a .csv or .json file",
        ),
        (
            "a: {http: {url: 'http://b', bearerTokenFile: t}}\n".to_owned(),
            "1:46: a.http.bearerTokenFile: the secret would be sent in the clear: expected a url with https, or on this machine",
        ),
        (
            prometheus(", basicAuth: {username: u, passwordFile: p}"),
            "1:84: a.prometheus.basicAuth.passwordFile: the secret would be sent in the clear: expected a url with https, or on this machine",
        ),
        (
            prometheus(", basicAuth: {username: u, passwordFile: p}, bearerTokenFile: t"),
            "1:56: a.prometheus.basicAuth: expected either bearerTokenFile or basicAuth, not both",
        ),
        (
            prometheus(", basicAuth: {username: 'u:v', passwordFile: p}"),
            "1:67: a.prometheus.basicAuth.username: found 'u:v': expected a name without ':'",
        ),
        (
            prometheus(", headers: {Authorization: x}"),
            "1:70: a.prometheus.headers.Authorization: plimsoll writes this header itself: expected bearerTokenFile or basicAuth for a secret",
        ),
        (prometheus(", headers: {'a b': x}"), "1:62: a.prometheus.headers.a b: expected the name of a header"),
        (prometheus(", certFile: c"), "1:55: a.prometheus.certFile: found 'c': expected keyFile beside it"),
        (prometheus(", certFile: c, keyFile: k"), "1:55: a.prometheus.certFile: expected a url with https"),
        ("a: {file: {path: a.csv}}\na: {file: {path: b.csv}}\n".to_owned(), "2:1: the key 'a' is there twice"),
    ];
    for (text, expected) in table {
        assert_eq!(error(&text), expected, "{text}");
    }
}

#[test]
fn each_limit_holds_and_one_more_is_refused() {
    let many =
        |count: usize| (0..count).map(|at| format!("s{at}: {{file: {{path: a.csv}}}}\n")).collect::<Vec<_>>().concat();
    assert_eq!(parse(&many(64)).names().count(), 64);
    assert_eq!(error(&many(65)), "65 sources: expected at most 64");
    let query = |bytes: usize| format!("a: {{prometheus: {{url: 'http://p', query: '{}'}}}}\n", "q".repeat(bytes));
    assert_eq!(parse(&query(4096)).names().count(), 1);
    assert!(error(&query(4097)).ends_with("a.prometheus.query: 4097 bytes: expected a query of 1 to 4096"));
    assert!(error(&query(0)).ends_with("a.prometheus.query: 0 bytes: expected a query of 1 to 4096"));
    // A source survives one failed fetch.
    assert_eq!(parse("a: {file: {path: a.csv, every: 1s}, maxAge: 2s}\n").names().count(), 1);
}

#[test]
fn a_token_may_be_sent_to_this_machine_without_tls() {
    for url in ["http://127.0.0.1:1/", "http://localhost/", "https://b/"] {
        parse(&format!("a: {{http: {{url: '{url}', bearerTokenFile: t}}}}\n"));
    }
}

trait MapSeconds {
    fn map_seconds(self) -> (Duration, Duration, Duration);
}

impl MapSeconds for (u64, u64, u64) {
    fn map_seconds(self) -> (Duration, Duration, Duration) {
        (Duration::from_secs(self.0), Duration::from_secs(self.1), Duration::from_secs(self.2))
    }
}
