//! The parts of a sidecar that are different for a program that answers on standard output.

use std::sync::Arc;

use plimsoll_core::{PROGRAM_VERBS, Policy, PolicyConfig};

use crate::source::{Content, FileRefusal};

/// The settings of a policy without settings.
const NO_SETTINGS: &str = "null";

/// The policy with the verbs that its sidecar names, if it is a program, and its configuration.
///
/// # Errors
/// If the sidecar has a key that has no effect on this kind of module.
pub(super) fn configured(
    content: &Content,
    policy: Arc<dyn Policy>,
) -> Result<(Arc<dyn Policy>, PolicyConfig), FileRefusal> {
    let sidecar = &content.sidecar;
    let refused = |text: &str| Err(FileRefusal::new(format!("{}: {text}", content.sidecar_label)));
    let Some(program) = policy.program() else {
        return match sidecar.stdio {
            Some(_) => {
                refused("stdio: the module says by its exports which verbs it answers; this key is for a program")
            }
            None => Ok((policy, sidecar.config.clone())),
        };
    };
    if *sidecar.settings != *NO_SETTINGS {
        return refused("settings: a program on standard input gets no settings, only the verb as its argument");
    }
    if !sidecar.facts.is_empty() {
        return refused("facts: a program on standard input gets no facts, only the pod and the nodes");
    }
    let mut config = sidecar.config.clone();
    if !sidecar.has_timeout {
        config.timeout = PolicyConfig::default_of(policy.as_ref()).timeout;
    }
    // The policy may be that of the version before, with other verbs.
    Ok((program.answering(sidecar.stdio.unwrap_or(PROGRAM_VERBS)), config))
}
