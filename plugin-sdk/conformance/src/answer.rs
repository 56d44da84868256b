//! Answers as texts that are the same for every language.

use plimsoll_core::{BindAnswer, NotBound, Preemption, Verdict};

/// `fits`, or `unschedulable: REASON`.
pub(crate) fn verdict(verdict: Verdict) -> String {
    match verdict {
        Verdict::Fits => "fits".to_owned(),
        Verdict::Unschedulable(reason) => format!("unschedulable: {reason}"),
        Verdict::Unresolvable(reason) => format!("unresolvable: {reason}"),
    }
}

/// `keep`, `reject: REASON`, or `replace: INDICES`.
pub(crate) fn preemption(answer: Preemption) -> String {
    match answer {
        Preemption::Keep => "keep".to_owned(),
        Preemption::Reject(reason) => format!("reject: {reason}"),
        Preemption::Replace(victims) => {
            let victims: Vec<String> = victims.iter().map(ToString::to_string).collect();
            format!("replace: {}", victims.join(" "))
        }
    }
}

/// `bound` with a line for each annotation and label, by key, or the reason why not.
pub(crate) fn binding(answer: BindAnswer) -> String {
    let line = |kind: &str, key: &str, value: &str| format!("\n{kind} {key}={}", value.replace('\n', "\\n"));
    match answer {
        Err(NotBound::Refused(reason)) => format!("refused: {reason}"),
        Err(NotBound::Retry(reason)) => format!("retry: {reason}"),
        Ok(metadata) => {
            let annotations = metadata.annotations.iter().map(|own| line("annotation", &own.key, &own.value));
            let labels = metadata.labels.iter().map(|own| line("label", &own.key, &own.value));
            // A map has no order in most languages.
            let mut lines: Vec<String> = annotations.chain(labels).collect();
            lines.sort();
            format!("bound{}", lines.concat())
        }
    }
}

/// `accepted`, or `refused: WHY`.
pub(crate) fn validation(answer: Result<(), String>) -> String {
    answer.map_or_else(|why| format!("refused: {why}"), |()| "accepted".to_owned())
}

/// Whether an answer is the expected one; an expected text that ends with `…` is the beginning of it.
pub(crate) fn is_as_expected(expected: &str, answer: &str) -> bool {
    expected.strip_suffix('…').map_or_else(|| expected == answer, |beginning| answer.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use plimsoll_core::{BindMetadata, MetadataEntry};

    use super::*;

    #[test]
    fn a_binding_is_the_same_in_any_order() {
        let (a, b) = (|| MetadataEntry::new("a", "1\n2"), || MetadataEntry::new("b", ""));
        let labels = || vec![MetadataEntry::new("c", "3")];
        let texts = [vec![a(), b()], vec![b(), a()]]
            .map(|annotations| binding(Ok(BindMetadata { annotations, labels: labels() })));
        assert_eq!(texts, ["bound\nannotation a=1\\n2\nannotation b=\nlabel c=3"; 2]);
        assert_eq!(binding(Ok(BindMetadata::default())), "bound");
    }

    #[test]
    fn an_expected_text_may_be_a_beginning() {
        assert!(is_as_expected("refused: topic…", "refused: topic: no"));
        assert!(!is_as_expected("refused: topic", "refused: topic: no"));
        assert!(!is_as_expected("refused: to…", "refused: a"));
    }
}
