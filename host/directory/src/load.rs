//! From the content of a policy's files to a member of the roster.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, Circuit, FaultKind, Limits, Loader, Member, Mode, Policy, Traces, Verb, View};

use crate::{
    DirectoryError,
    config::Bounds,
    scan::Id,
    source::{Content, Refusal, parse_sidecar, read_sidecar},
};

/// How long a policy may take to say whether it accepts its settings.
const VALIDATE_FOR: Duration = Duration::from_secs(1);

/// Loads one policy from a module and, if there is one, its sidecar, as a directory would.
///
/// # Errors
/// Says which file is refused, where in it, and what was expected.
pub fn load_one(module: &Path, sidecar: Option<&Path>, loader: &dyn Loader) -> Result<Member, DirectoryError> {
    let stem = sidecar.unwrap_or(module).file_stem().unwrap_or_default().to_string_lossy();
    let id = Id { group: Arc::from(""), name: Arc::from(stem.as_ref()) };
    Content::read(module, sidecar, &Bounds::default())
        .and_then(|content| build(&id, content, None, loader))
        .map_err(|refusal| DirectoryError::Refused(refusal.text))
}

/// The module that a sidecar belongs to.
///
/// # Errors
/// If the sidecar cannot be read or is refused.
pub fn module_of(sidecar: &Path) -> Result<PathBuf, DirectoryError> {
    let named = read_sidecar(sidecar)
        .and_then(|text| parse_sidecar(Some(sidecar), Some(&text), &Bounds::default()))
        .map_err(|refusal| DirectoryError::Refused(refusal.text))?;
    let Some(module) = named.module else { return Ok(sidecar.with_extension("wasm")) };
    let folder = sidecar.parent().unwrap_or(Path::new(""));
    let folder = if module.in_root { folder.join("..") } else { folder.to_owned() };
    Ok(folder.join(&*module.name))
}

/// Compiles and validates; a member with the same module lends its compiled code.
pub(crate) fn build(
    id: &Id,
    content: Content,
    current: Option<&Member>,
    loader: &dyn Loader,
) -> Result<Member, Refusal> {
    let policy = match current.filter(|member| *member.digest == *content.digest) {
        Some(member) => Arc::clone(&member.policy),
        None => {
            loader.load(&content.module).map_err(|error| Refusal::new(format!("{}: {error}", content.module_label)))?
        }
    };
    let size = content.module.len() as u64;
    validate(id, &content, policy.as_ref())?;
    warn_of_idle_weight(id, &content, policy.as_ref());
    Ok(Member {
        id: Member::id_of(&id.group, &id.name),
        name: Arc::clone(&id.name),
        group: Arc::clone(&id.group),
        config: content.sidecar.config,
        settings: content.sidecar.settings,
        digest: content.digest.into(),
        size,
        version: current.map_or(0, |member| member.version) + 1,
        policy,
        circuit: Circuit::new(Instant::now()),
        traces: Traces::default(),
    })
}

/// Asks the policy whether it accepts its settings; one that is off is asked nothing.
fn validate(id: &Id, content: &Content, policy: &dyn Policy) -> Result<(), Refusal> {
    let config = &content.sidecar.config;
    if config.mode == Mode::Off || !policy.verbs().has(Verb::Validate) {
        return Ok(());
    }
    let view = Arc::new(View::empty(Arc::clone(&content.sidecar.settings)));
    let limits = Limits { deadline: Instant::now() + VALIDATE_FOR, memory: config.memory };
    match policy.validate(&Ask::new(Member::id_of(&id.group, &id.name), view, limits)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(text)) => Err(Refusal::new(format!("{}: settings refused: {text}", content.sidecar_label))),
        Err(fault) => {
            let text = format!("{}: validate failed: {fault}", content.module_label);
            let is_passing = matches!(fault.kind, FaultKind::Timeout | FaultKind::Start | FaultKind::Host);
            Err(if is_passing { Refusal::passing(text) } else { Refusal::new(text) })
        }
    }
}

fn warn_of_idle_weight(id: &Id, content: &Content, policy: &dyn Policy) {
    let verbs = policy.verbs();
    if content.sidecar.weighted && !verbs.has(Verb::Score) && !verbs.has(Verb::Rank) {
        tracing::warn!(policy = %id, "{}: the weight has no effect: the policy does not score", content.sidecar_label);
    }
}
