//! A policy whose rule is in its sidecar, in CEL: one module within this program interprets all of them.
//!
//! The interpreter gets the rule with the settings of the policy, and says once, as the policy is loaded, which verbs
//! the rule has and what it reads, or what is wrong with it.

use std::sync::Arc;

use plimsoll_core::{Ask, CallClass, InterpretedPolicy, Limits, Policy, ReadSet, Verb, Verbs, View};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    content::{Content, FileRefusal},
    sidecar::CelRule,
};

/// Maximum errors of one rule that are reported.
const MAX_ERRORS: usize = 10;

/// The beginning of the answer to a question about a rule.
const DESCRIPTION: &str = "describe: ";

/// What the interpreter says of a rule.
#[derive(Debug, Deserialize)]
struct Description {
    verbs: Vec<String>,
    /// As a module imports them.
    reads: Vec<String>,
    #[serde(default)]
    remarks: Vec<String>,
}

/// The policy of a rule.
///
/// # Errors
/// With all that the interpreter has found wrong.
pub(crate) fn interpreted(
    name: &Arc<str>,
    content: &Content,
    rule: &CelRule,
    interpreter: Arc<dyn Policy>,
    limits: Limits,
) -> Result<Arc<dyn Policy>, FileRefusal> {
    let sidecar = &content.sidecar.sidecar;
    let facts: Value = sidecar.facts.iter().map(|used| &*used.name).collect();
    let question = passed(rule, &sidecar.settings, &facts) + r#","describe":true}"#;
    let ask = Ask::new(Arc::clone(name), Arc::new(View::empty(question.into())), limits);
    let label = content.sidecar_label().to_owned();
    let answer = interpreter.validate(&Ask { class: CallClass::Background, ..ask }).map_err(|fault| {
        let text = format!("{label}: cel: its expressions cannot be compiled: {fault}");
        FileRefusal::new(text).transient_if(fault.kind.is_transient())
    })?;
    let answer = answer.err().unwrap_or_default();
    let (rule, source) = (Arc::new(rule.clone()), content.sidecar.text.clone().unwrap_or_default());
    let (own, settings) = (Arc::clone(&rule), Arc::clone(&sidecar.settings));
    let located = move |text: &str| located(&label, &source, &own, text);
    let described = answer.strip_prefix(DESCRIPTION).and_then(parse);
    let (verbs, reads, remarks) = described.ok_or_else(|| {
        FileRefusal::new(located(&answer).unwrap_or_else(|| format!("{}: {answer}", content.sidecar_label())))
    })?;
    let remarks: Vec<String> = remarks.iter().filter_map(|remark| located(remark)).collect();
    for remark in &remarks {
        tracing::warn!(policy = %name, "{remark}");
    }
    let with_rule = move |settings: &str| Arc::from(passed(&rule, settings, &facts) + "}");
    let policy = InterpretedPolicy::new(interpreter, verbs, reads, settings, with_rule, located);
    Ok(Arc::new(policy.with_remarks(remarks)))
}

/// What the interpreter gets as its settings, as JSON without the last brace.
fn passed(rule: &CelRule, settings: &str, facts: &Value) -> String {
    format!(r#"{{"cel":{},"settings":{settings},"facts":{facts}"#, rule.block)
}

fn parse(description: &str) -> Option<(Verbs, ReadSet, Vec<String>)> {
    let Description { verbs, reads, remarks } = serde_json::from_str(description).ok()?;
    let verb = |name: &String| Verb::ALL.into_iter().find(|verb| verb.as_str() == name);
    let verbs: Option<Vec<Verb>> = verbs.iter().map(verb).collect();
    let settings = "host.settings".to_owned();
    let verbs = verbs?.into_iter().chain([Verb::Validate]).collect();
    Some((verbs, reads.into_iter().chain([settings]).collect(), remarks))
}

/// The errors that a text of the interpreter has, `cel: POINTER:LINE:COLUMN: TEXT`, each with its place in the file.
fn located(label: &str, source: &str, rule: &CelRule, text: &str) -> Option<String> {
    let error = |line: &str| {
        let mut parts = line.strip_prefix("cel: ")?.splitn(4, ':');
        let (pointer, line, column) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(format!("{label}:{}", rule.error(source, pointer, (line, column), parts.next()?.trim_start())))
    };
    let errors: Option<Vec<_>> = text.lines().take(MAX_ERRORS).map(error).collect();
    errors.map(|errors| errors.join("; "))
}
