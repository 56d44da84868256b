//! The policy file of Kubernetes 1.2 to 1.22, which kube-scheduler took as `--policy-config-file`.

use std::time::Duration;

use serde_json::{Map, Value, json};

/// The same extenders in the old file's terms.
///
/// Without `predicates` and `priorities` the scheduler keeps its own. Source: `Policy` and
/// `LegacyExtender` in `k8s.io/kube-scheduler/config/v1` of 1.18.
pub(super) fn policy(extenders: Vec<Value>, http_timeout: Duration) -> Value {
    let extenders: Vec<Value> = extenders.into_iter().map(|stanza| extender(stanza, http_timeout)).collect();
    json!({"kind": "Policy", "apiVersion": "v1", "extenders": extenders})
}

fn extender(stanza: Value, http_timeout: Duration) -> Value {
    let Value::Object(fields) = stanza else { return stanza };
    let renamed = fields.into_iter().map(|(key, value)| match key.as_str() {
        "enableHTTPS" => ("enableHttps".to_owned(), value),
        // A number of nanoseconds.
        "httpTimeout" => (key, json!(u64::try_from(http_timeout.as_nanos()).unwrap_or(u64::MAX))),
        _ => (key, value),
    });
    Value::Object(renamed.collect::<Map<_, _>>())
}
