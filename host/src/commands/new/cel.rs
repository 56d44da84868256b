//! A new rule in CEL: one file in a directory of policies, and its cases, where `plimsoll test` finds both.

use super::template::template;

/// The paths of the rule and of the folder of its cases, and all files with their texts, in the current directory.
pub(super) struct NewRule {
    pub(super) paths: [String; 2],
    pub(super) files: [(String, &'static str); 3],
}

// === impl NewRule ===

impl NewRule {
    pub(super) fn of(name: &str) -> Self {
        let (rule, cases) = (format!("policies/{name}.yaml"), format!("cases/{name}"));
        let files = [
            (rule.clone(), template!("cel/rule.yaml")),
            (format!("{cases}/gold.yaml"), template!("cel/gold.yaml")),
            (format!("{cases}/others.yaml"), template!("cel/others.yaml")),
        ];
        Self { paths: [rule, cases], files }
    }

    /// The files that were written, and the next commands.
    pub(super) fn report(&self) -> String {
        let [rule, cases] = &self.paths;
        format!(
            "{rule} is a policy in CEL, and {cases}/ has its cases. Edit both, and:

  plimsoll test   # puts the cases to the rule
  plimsoll run --policies policies --pod pod.yaml --sample   # asks it about a sample cluster
  plimsoll serve --policies policies --kubeconfig ~/.kube/config --no-bind --no-wake --no-nominate   # answers for a cluster, only reads; an edit is in force at once
"
        )
    }
}
