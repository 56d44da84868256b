//! Builds a member of the roster from the content of its files: compiles, validates, and tries the policy.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{
    Ask, CallClass, FactAccess, Limits, Loader, Member, Mode, Policy, PolicyConfig, SidecarFacts, TRIAL_TIMEOUT,
    TrialCall, TrialFault, Verb, View, undecorated,
};
use plimsoll_system::digest::hex;

use super::program;
use crate::{
    fact_pool::FileContent,
    refusal::FileRefusal,
    scan::{File, PolicyId},
    sidecar::FactUse,
    source::Content,
};

/// Timeout of the call that validates a policy's settings.
const VALIDATE_TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes of a content's digest in the name of its facts: enough to tell the contents of one file apart.
const NAMED_DIGEST_BYTES: usize = 8;

/// Compiles and validates; reuses the compiled code of a member with the same module.
pub(crate) fn build(
    id: &PolicyId,
    version: u64,
    content: &Content,
    current: Option<&Member>,
    loader: &dyn Loader,
) -> Result<Member, FileRefusal> {
    let policy = match current.filter(|member| *member.digest == *content.digests.module) {
        Some(member) => undecorated(&member.policy),
        None => loader
            .load(&Member::id_of(&id.group, &id.name), &content.module)
            .map_err(|error| FileRefusal::of_module(&content.module_label, &error))?,
    };
    let (policy, config) = program::configured(content, policy)?;
    let size = content.module.bytes().len() as u64;
    validate(id, content, policy.as_ref())?;
    let fact_access = Arc::new(access_of(id, content));
    put_on_trial(id, content, &config, policy.as_ref(), &fact_access)?;
    warn_of_idle_weight(id, content, policy.as_ref());
    if config.mode != Mode::Off {
        let name = Member::id_of(&id.group, &id.name);
        loader.preinitialize(&name, version, &content.module, &content.sidecar.settings);
    }
    Ok(Member {
        settings: Arc::clone(&content.sidecar.settings),
        digest: content.digests.module.as_str().into(),
        size,
        version,
        fact_access,
        sidecar_facts: sidecar_facts_of(id, content),
        ..Member::new(Arc::clone(&id.group), Arc::clone(&id.name), config, policy)
    })
}

/// The name among all facts of a file with facts. Two groups may have two files of one name, and two versions in force
/// may have read one file at two moments: each has another name.
fn global_name(id: &PolicyId, file: &str, content: &FileContent) -> String {
    let file = File { group: Arc::clone(&id.group), name: file.into() };
    format!("file:{file}@{}", hex(&content.digest[..NAMED_DIGEST_BYTES]))
}

/// The sources of facts that the sidecar names.
fn access_of(id: &PolicyId, content: &Content) -> FactAccess {
    let global = |used: &FactUse| {
        let file = used.file.as_deref().and_then(|file| content.facts.sources.get_key_value(file));
        file.map_or_else(|| used.name.to_string(), |(file, content)| global_name(id, file, content))
    };
    let uses = &content.sidecar.facts;
    let names: Vec<(&str, String)> = uses.iter().map(|used| (&*used.name, global(used))).collect();
    FactAccess::new(names.iter().map(|(alias, global)| (*alias, global.as_str())), content.sidecar.config.absent_facts)
}

/// The facts of the files that the sidecar names.
fn sidecar_facts_of(id: &PolicyId, content: &Content) -> SidecarFacts {
    let files = content.facts.sources.iter();
    files.map(|(file, content)| (global_name(id, file, content).into(), Arc::clone(&content.facts))).collect()
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
        Ok(Err(text)) => Err(FileRefusal::new(format!("{}: settings refused: {text}", content.sidecar_label))),
        Err(fault) => Err(FileRefusal::of_fault(format!("{}: validate failed: {fault}", content.module_label), &fault)),
    }
}

/// The time after which no further verb is tried. Policies are loaded a few at a time, and one that loops in each of its
/// verbs must not delay others for long.
const MAX_TRIALS: Duration = Duration::from_secs(3);

/// Refuses a policy that fails on every sample. In shadow mode faults are harmless, and worth observing.
fn put_on_trial(
    id: &PolicyId,
    content: &Content,
    config: &PolicyConfig,
    policy: &dyn Policy,
    fact_access: &Arc<FactAccess>,
) -> Result<(), FileRefusal> {
    if config.mode != Mode::Enforce {
        return Ok(());
    }
    let settings = Arc::clone(&content.sidecar.settings);
    let (policy_name, fact_access) = (Member::id_of(&id.group, &id.name), Arc::clone(fact_access));
    let PolicyConfig { timeout, memory, .. } = *config;
    let call = TrialCall { policy: policy_name, settings, fact_access, timeout, longest: TRIAL_TIMEOUT, memory };
    let started = Instant::now();
    for TrialFault { verb, fault, is_certain, is_cut_short } in call.put_to(policy) {
        let label = &content.module_label;
        if is_certain {
            let text = format!("{label}: every call of {verb} would fail, as a trial did: {fault}");
            return Err(FileRefusal::of_fault(text, &fault));
        }
        if is_cut_short {
            tracing::warn!(policy = %id, %verb, "{label}: it did not answer a sample within {TRIAL_TIMEOUT:?}; its timeout is {timeout:?}");
        } else {
            tracing::warn!(policy = %id, %verb, %fault, "{label}: it failed on a sample pod and node; others may be no trouble");
        }
        if started.elapsed() >= MAX_TRIALS {
            break;
        }
    }
    Ok(())
}

fn warn_of_idle_weight(id: &PolicyId, content: &Content, policy: &dyn Policy) {
    let verbs = policy.verbs();
    if content.sidecar.weighted && !verbs.has(Verb::Score) && !verbs.has(Verb::Rank) {
        tracing::warn!(policy = %id, "{}: the weight has no effect: the policy does not score", content.sidecar_label);
    }
}
