//! A new rule in CEL: one file in a directory of policies, and its cases.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::{template::template, write};
use crate::output;

/// Writes the files into the current directory, where `plimsoll test` finds both.
pub(super) fn new(name: &str) -> Result<()> {
    let rule = PathBuf::from(format!("policies/{name}.yaml"));
    let cases = PathBuf::from(format!("cases/{name}"));
    for path in [&rule, &cases] {
        ensure!(!path.exists(), "{}: it exists: choose another name", path.display());
    }
    write(&rule, template!("cel/rule.yaml"))?;
    write(&cases.join("gold.yaml"), template!("cel/gold.yaml"))?;
    write(&cases.join("others.yaml"), template!("cel/others.yaml"))?;
    output::print(&format!(
        "policies/{name}.yaml is a policy in CEL, and cases/{name}/ has its cases. Edit both, and:

  plimsoll test   # puts the cases to the rule
  plimsoll run --policies policies --pod pod.yaml --sample   # asks it about a sample cluster
  plimsoll serve --policies policies --kubeconfig ~/.kube/config --no-bind   # answers for a cluster; an edit is in force at once
"
    ))
}
