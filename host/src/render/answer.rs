//! Renders an answer of a policy: one JSON form for all commands and the admin listener, and one text form for people.

use plimsoll_core::{
    Additions, BindMetadata, DecideError, DryBind, Fault, FaultKind, NotBound, Shown, SurveyAnswer, Unbound, Verdict,
};
use serde_json::{Value, json};

use crate::text::one_line;

pub(crate) fn verdict_json(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Fits => json!({"verdict": "fits"}),
        Verdict::Unschedulable(reason) => json!({"verdict": "unschedulable", "reason": reason}),
        Verdict::Unresolvable(reason) => json!({"verdict": "unresolvable", "reason": reason}),
    }
}

pub(crate) fn json(answer: &SurveyAnswer) -> Value {
    match answer {
        SurveyAnswer::Verdict(verdict) => verdict_json(verdict),
        SurveyAnswer::Score(score) => json!({"score": score}),
        SurveyAnswer::Bind(Err(NotBound::Refused(reason))) => json!({"verdict": "refused", "reason": reason}),
        SurveyAnswer::Bind(Err(NotBound::Retry(reason))) => json!({"verdict": "retry", "reason": reason}),
        SurveyAnswer::Bind(Ok(given)) => additions_json(&additions(given)),
    }
}

fn additions(BindMetadata { annotations, labels }: &BindMetadata) -> Additions {
    Additions {
        annotations: annotations.iter().map(|one| (one.key.clone(), one.value.clone())).collect(),
        labels: labels.iter().map(|one| (one.key.clone(), one.value.clone())).collect(),
    }
}

/// Labels are rare: they stand there only where there are some.
fn additions_json(Additions { annotations, labels }: &Additions) -> Value {
    let mut json = json!({"annotations": annotations});
    if !labels.is_empty() {
        json["labels"] = json!(labels);
    }
    json
}

fn additions_text(Additions { annotations, labels }: &Additions) -> String {
    let annotations = annotations.iter().map(|(key, value)| format!("{key}={}", one_line(value)));
    let labels = labels.iter().map(|(key, value)| format!("label {key}={value}"));
    let all: Vec<String> = annotations.chain(labels).collect();
    if all.is_empty() { "no annotation".to_owned() } else { all.join(", ") }
}

pub(crate) fn fault_json(fault: &Fault) -> Value {
    json!({"fault": fault.kind.as_str(), "detail": fault.detail})
}

/// Why kube-scheduler does not try a pod.
pub(crate) fn not_tried_text(why: &str) -> String {
    format!("kube-scheduler does not try the pod: {why}")
}

/// A decision that was not made.
pub(crate) fn error_json(error: &DecideError) -> Value {
    let mut json = json!({"verdict": "error", "reason": error.to_string()});
    if let DecideError::Policy { policy, verb, fault } = error {
        json["policy"] = policy.as_str().into();
        json["verb"] = verb.as_str().into();
        json["fault"] = fault.kind.as_str().into();
        json["detail"] = fault.detail.as_str().into();
    }
    json
}

pub(crate) fn bind_json(bind: &DryBind) -> Value {
    match bind {
        Ok(additions) => additions_json(additions),
        Err(DecideError::Unbound(Unbound::Retry(reason))) => json!({"verdict": "retry", "reason": reason}),
        Err(DecideError::Unbound(why)) => json!({"verdict": "refused", "reason": why.to_string()}),
        Err(error) => error_json(error),
    }
}

/// A value that was read; a note is an object, because no value is one.
pub(crate) fn value_json(value: &Shown) -> Value {
    match value {
        Shown::Absent => Value::Null,
        Shown::Flag(flag) => json!(flag),
        Shown::Number(number) => json!(number),
        Shown::Real(real) => json!(real.get()),
        Shown::Text(text) => json!(text),
        Shown::List(items) => items.iter().map(value_json).collect(),
        Shown::Grouping(nodes, values) => {
            json!({"nodes": nodes, "values": values.iter().map(value_json).collect::<Vec<_>>()})
        }
        Shown::Note(note) => json!({"note": note}),
    }
}

pub(crate) fn verdict_text(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Fits => "fits".to_owned(),
        Verdict::Unschedulable(reason) => format!("unschedulable, {}", one_line(reason)),
        Verdict::Unresolvable(reason) => format!("unresolvable, {}", one_line(reason)),
    }
}

pub(crate) fn text(answer: &SurveyAnswer) -> String {
    match answer {
        SurveyAnswer::Verdict(verdict) => verdict_text(verdict),
        SurveyAnswer::Score(score) => score.to_string(),
        SurveyAnswer::Bind(Err(NotBound::Refused(reason))) => format!("refused, {}", one_line(reason)),
        SurveyAnswer::Bind(Err(NotBound::Retry(reason))) => format!("retry, {}", one_line(reason)),
        SurveyAnswer::Bind(Ok(given)) => additions_text(&additions(given)),
    }
}

pub(crate) fn bind_text(bind: &DryBind) -> String {
    match bind {
        Ok(additions) => additions_text(additions),
        Err(DecideError::Unbound(Unbound::Retry(reason))) => format!("retry, {}", one_line(reason)),
        Err(DecideError::Unbound(why)) => format!("refused, {}", one_line(&why.to_string())),
        Err(error) => no_decision(error),
    }
}

/// Why there is no decision, for people.
pub(crate) fn no_decision(error: &DecideError) -> String {
    match error {
        DecideError::Policy { policy, fault, .. } => {
            format!("no decision: policy {policy} failed ({}: fail): {fault}", setting_for(fault.kind))
        }
        error => format!("no decision: {error}"),
    }
}

/// The key of the sidecar that decides the effect of a fault.
pub(crate) const fn setting_for(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::AbsentFact => "absent",
        _ => "onError",
    }
}
