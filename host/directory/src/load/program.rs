//! The parts of a sidecar that depend on the kind of module: a program that answers on standard output, or not.

use std::sync::Arc;

use plimsoll_core::{PROGRAM_VERBS, Policy, PolicyConfig, not_counting};

use crate::{refusal::FileRefusal, source::Content};

/// The settings of a policy without settings.
const NO_SETTINGS: &str = "null";

/// The policy, restricted by its sidecar to some verbs (a program) or some reads (any other module), and its configuration.
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
            None if sidecar.counts => Ok((policy, sidecar.config.clone())),
            None => Ok((not_counting(policy), sidecar.config.clone())),
        };
    };
    if *sidecar.settings != *NO_SETTINGS {
        return refused("settings: a program on standard input gets no settings, only the verb as its argument");
    }
    if !sidecar.facts.is_empty() {
        return refused("facts: a program on standard input gets no facts, only the pod and the nodes");
    }
    if !sidecar.counts {
        return refused("counts: a program on standard input reads only the pod and the nodes, so it counts no pods");
    }
    let mut config = sidecar.config.clone();
    if !sidecar.has_timeout {
        config.timeout = PolicyConfig::default_of(policy.as_ref()).timeout;
    }
    // The loaded policy may be shared with a version whose sidecar names other verbs.
    Ok((program.answering(sidecar.stdio.unwrap_or(PROGRAM_VERBS)), config))
}
