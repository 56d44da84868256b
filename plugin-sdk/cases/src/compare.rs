//! Compares answers with those that a case expects.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
};

use plimsoll_core::{ReadLine, Verb, View, bounded};

use crate::{Difference, call_error::CallError, expect::Lines};

/// Maximum bytes of an answer, or of an expectation, that a difference shows.
const MAX_SHOWN_BYTES: usize = 4 << 10;

/// Maximum bytes of all differences of a case.
pub(crate) const MAX_DIFFERENCES_BYTES: usize = 32 << 20;

/// A difference, with the reads that led to the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The difference.
    pub difference: Difference,
    /// In the order in which they were made; none if they were not wanted, or the call failed.
    pub reads: Vec<ReadLine>,
}

/// Collects the differences of a case. An answer is compared as a whole as it comes, and is not kept.
pub(crate) struct Comparison<'l> {
    lines: &'l Lines,
    /// Maximum bytes of a text that is kept.
    most: usize,
    bytes: usize,
    differences: Vec<Difference>,
}

// === impl Comparison ===

impl<'l> Comparison<'l> {
    /// For people: of long texts the beginnings are kept.
    pub(crate) fn of_excerpts(lines: &'l Lines) -> Self {
        Self { lines, most: MAX_SHOWN_BYTES, bytes: 0, differences: vec![] }
    }

    /// Keeps the whole texts.
    pub(crate) fn of_whole_texts(lines: &'l Lines) -> Self {
        Self { most: usize::MAX, ..Self::of_excerpts(lines) }
    }

    pub(crate) fn into_differences(self) -> Vec<Difference> {
        self.differences
    }

    /// The difference in the settings, which is the only one then.
    pub(crate) fn take_settings(&mut self, expected: &str, answered: &str) -> Result<(), CallError> {
        let line = self.lines.of(Verb::Validate, "");
        self.push(Difference {
            verb: Verb::Validate,
            node: None,
            line,
            expected: Some(self.shown(expected)),
            answered: self.shown(answered),
        })
    }

    /// Takes the answers about the nodes of a view, in order.
    pub(crate) fn take<E: PartialEq + fmt::Display>(
        &mut self,
        verb: Verb,
        view: &View,
        expected: &BTreeMap<String, E>,
        answers: impl Iterator<Item = Result<E, CallError>>,
    ) -> Result<(), CallError> {
        let names: Vec<&str> =
            (0..view.node_count() as u32).map(|node| view.node_name(node).map_or("?", AsRef::as_ref)).collect();
        let asked: HashSet<&str> = names.iter().copied().collect();
        for (name, expected) in expected.iter().filter(|(name, _)| !asked.contains(name.as_str())) {
            let answered = "nothing, since the case does not ask about such a node".to_owned();
            self.push_node(verb, name, Some(expected), answered)?;
        }
        for (name, answer) in names.into_iter().zip(answers) {
            let (expected, answer) = (expected.get(name), answer?);
            if expected != Some(&answer) {
                let answered = self.shown(&answer.to_string());
                self.push_node(verb, name, expected, answered)?;
            }
        }
        Ok(())
    }

    fn push_node<E: fmt::Display>(
        &mut self,
        verb: Verb,
        node: &str,
        expected: Option<&E>,
        answered: String,
    ) -> Result<(), CallError> {
        let expected = expected.map(|expected| self.shown(&expected.to_string()));
        let line = self.lines.of(verb, node);
        self.push(Difference { verb, node: Some(node.to_owned()), line, expected, answered })
    }

    fn push(&mut self, difference: Difference) -> Result<(), CallError> {
        let texts = [difference.node.as_ref(), difference.expected.as_ref(), Some(&difference.answered)];
        self.bytes += size_of::<Difference>() + texts.into_iter().flatten().map(String::len).sum::<usize>();
        if self.bytes > MAX_DIFFERENCES_BYTES {
            return Err(CallError::TooLarge);
        }
        self.differences.push(difference);
        Ok(())
    }

    /// The beginning of a text that may be long, and its length.
    fn shown(&self, text: &str) -> String {
        if text.len() <= self.most {
            return text.to_owned();
        }
        format!("{}… ({} bytes)", bounded(text, self.most), text.len())
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::{Ask, BindAnswer, Fault, MetadataEntry, Policy, Verbs};

    use crate::{Case, CutError};

    /// A policy that gives the pod an annotation of this many bytes.
    struct Long(usize);

    impl Policy for Long {
        fn verbs(&self) -> Verbs {
            std::iter::once(plimsoll_core::Verb::Bind).collect()
        }

        fn bind(&self, _: &Ask, _: u32) -> Result<BindAnswer, Fault> {
            Ok(Ok(vec![MetadataEntry::new("k", "v".repeat(self.0))].into()))
        }
    }

    fn case(nodes: usize) -> Case {
        let mut case = Case::from_yaml("a.yaml", "description: d\nexpect: {bind: {}}").unwrap();
        let node = |at: usize| serde_json::json!({"metadata": {"name": format!("n{at}")}});
        case.world.nodes = (0..nodes).map(node).collect();
        case
    }

    #[test]
    fn a_case_whose_differences_are_too_large_says_so() {
        let error = case(8_200).check(&Long(5_000)).unwrap_err().to_string();
        assert_eq!(error, "a.yaml: answers that differ have more than 32 MiB: ask about fewer nodes");
        let error = case(8_200).check(&Long(50)).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 8_201);
    }

    #[test]
    fn a_recorded_answer_is_whole_or_not_written() {
        let write = |nodes: usize, bytes: usize| {
            let settings = std::sync::Arc::from("null");
            let cut = crate::Cut {
                policy: &Long(bytes),
                settings: &settings,
                limits: crate::CallLimits::default(),
                description: "d",
                origin: "a test",
                keeps_nodes: false,
            };
            cut.write(case(nodes).world)
        };
        assert!(write(2, 5_000).unwrap().contains(&"v".repeat(5_000)));
        assert!(matches!(write(200, 200_000).unwrap_err(), CutError::LongAnswers));
    }
}
