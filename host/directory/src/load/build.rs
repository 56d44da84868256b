//! Builds a member of the roster from the content of its files: compiles, validates, and tries the policy.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{
    Ask, CallClass, Limits, Loader, Member, Mode, Policy, Secrets, TrialCall, TrialFault, Verb, View, redacting,
    unredacted,
};

use crate::{
    scan::PolicyId,
    source::{Content, FileRefusal},
};

/// Timeout of the call that validates a policy's settings.
const VALIDATE_TIMEOUT: Duration = Duration::from_secs(1);

/// Compiles and validates; reuses the compiled code of a member with the same module.
pub(crate) fn build(
    id: &PolicyId,
    version: u64,
    content: &Content,
    current: Option<&Member>,
    loader: &dyn Loader,
) -> Result<Member, FileRefusal> {
    let policy = match current.filter(|member| *member.digest == *content.digests.module) {
        Some(member) => unredacted(&member.policy),
        None => loader.load(&content.module).map_err(|error| FileRefusal::of_module(&content.module_label, &error))?,
    };
    let policy = redacting(policy, &content.sidecar.settings);
    let size = content.module.len() as u64;
    validate(id, content, policy.as_ref())?;
    put_on_trial(id, content, policy.as_ref())?;
    warn_of_idle_weight(id, content, policy.as_ref());
    Ok(Member {
        settings: Arc::clone(&content.sidecar.settings),
        digest: content.digests.module.as_str().into(),
        size,
        version,
        ..Member::new(Arc::clone(&id.group), Arc::clone(&id.name), content.sidecar.config.clone(), policy)
    })
}

/// Calls the policy's validation of its settings, unless it is switched off.
fn validate(id: &PolicyId, content: &Content, policy: &dyn Policy) -> Result<(), FileRefusal> {
    let config = &content.sidecar.config;
    if config.mode == Mode::Off || !policy.verbs().has(Verb::Validate) {
        return Ok(());
    }
    let view = Arc::new(View::empty(Arc::clone(&content.sidecar.settings)));
    let limits = Limits::until(Instant::now() + VALIDATE_TIMEOUT, config.memory);
    let ask = Ask::new(Member::id_of(&id.group, &id.name), view, limits);
    match policy.validate(&Ask { class: CallClass::Background, ..ask }) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(text)) => {
            // The text may quote secrets of the settings.
            let text = Secrets::shared(&content.sidecar.settings).hide(&text).into_owned();
            Err(FileRefusal::new(format!("{}: settings refused: {text}", content.sidecar_label)))
        }
        Err(fault) => {
            let fault = fault.without(&Secrets::shared(&content.sidecar.settings));
            Err(FileRefusal::of_fault(format!("{}: validate failed: {fault}", content.module_label), &fault))
        }
    }
}

/// Refuses a policy that fails on every sample. In shadow mode faults are harmless, and worth observing.
fn put_on_trial(id: &PolicyId, content: &Content, policy: &dyn Policy) -> Result<(), FileRefusal> {
    let config = &content.sidecar.config;
    if config.mode != Mode::Enforce {
        return Ok(());
    }
    let settings = Arc::clone(&content.sidecar.settings);
    let policy_name = Member::id_of(&id.group, &id.name);
    let call = TrialCall { policy: policy_name, settings, timeout: config.timeout, memory: config.memory };
    for TrialFault { verb, fault, is_certain } in call.put_to(policy) {
        let label = &content.module_label;
        if is_certain {
            let text = format!("{label}: every call of {verb} would fail, as a trial did: {fault}");
            return Err(FileRefusal::of_fault(text, &fault));
        }
        tracing::warn!(policy = %id, %verb, %fault, "{label}: it failed on a sample pod and node; others may be no trouble");
    }
    Ok(())
}

fn warn_of_idle_weight(id: &PolicyId, content: &Content, policy: &dyn Policy) {
    let verbs = policy.verbs();
    if content.sidecar.weighted && !verbs.has(Verb::Score) && !verbs.has(Verb::Rank) {
        tracing::warn!(policy = %id, "{}: the weight has no effect: the policy does not score", content.sidecar_label);
    }
}
