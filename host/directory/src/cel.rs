//! A policy whose rule is in its sidecar, in CEL: one module within this program interprets all of them.
//!
//! The interpreter gets the rule with the settings of the policy, and says once, as the policy is loaded, which verbs
//! the rule has and what it reads, or what is wrong with it.

use std::sync::Arc;

use plimsoll_core::{Ask, CallClass, InterpretedPolicy, Limits, Policy, ReadSet, Verb, Verbs, View};
use plimsoll_yaml::FieldError;
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
    let label = content.sidecar_label();
    let answer = interpreter.validate(&Ask { class: CallClass::Background, ..ask }).map_err(|fault| {
        let text = format!("{label}: cel: its expressions cannot be compiled: {fault}");
        FileRefusal::new(text).transient_if(fault.kind.is_transient())
    })?;
    let answer = answer.err().unwrap_or_default();
    let description = answer.strip_prefix(DESCRIPTION).ok_or_else(|| refusal(content, rule, &answer))?;
    let (verbs, reads) = parse(description).ok_or_else(|| refusal(content, rule, &answer))?;
    let (rule, settings) = (rule.clone(), Arc::clone(&sidecar.settings));
    let with_rule = move |settings: &str| Arc::from(passed(&rule, settings, &facts) + "}");
    Ok(Arc::new(InterpretedPolicy::new(interpreter, verbs, reads, settings, with_rule)))
}

/// What the interpreter gets as its settings, as JSON without the last brace.
fn passed(rule: &CelRule, settings: &str, facts: &Value) -> String {
    format!(r#"{{"cel":{},"settings":{settings},"facts":{facts}"#, rule.block)
}

fn parse(description: &str) -> Option<(Verbs, ReadSet)> {
    let Description { verbs, reads } = serde_json::from_str(description).ok()?;
    let verb = |name: &String| Verb::ALL.into_iter().find(|verb| verb.as_str() == name);
    let verbs: Option<Vec<Verb>> = verbs.iter().map(verb).collect();
    let settings = "host.settings".to_owned();
    Some((verbs?.into_iter().chain([Verb::Validate]).collect(), reads.into_iter().chain([settings]).collect()))
}

/// The errors of the interpreter, each with its place in the file: `cel: POINTER:LINE:COLUMN: TEXT`.
fn refusal(content: &Content, rule: &CelRule, answer: &str) -> FileRefusal {
    let label = content.sidecar_label();
    let source = content.sidecar.text.as_deref().unwrap_or_default();
    let error = |line: &str| {
        let mut parts = line.strip_prefix("cel: ")?.splitn(4, ':');
        let (pointer, line, column) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(rule.error(source, pointer, (line, column), parts.next()?.trim_start()))
    };
    let errors = answer.lines().take(MAX_ERRORS).map(|line| {
        let error = error(line).unwrap_or_else(|| FieldError::of_file(line));
        format!("{label}:{error}")
    });
    FileRefusal::new(errors.collect::<Vec<_>>().join("; "))
}
