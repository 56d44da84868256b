//! Loads a policy: reads its files, compiles, validates, tries each verb, and builds a member of the roster.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{
    Ask, CallClass, FactAccess, FaultKind, Limits, Loader, Member, Mode, Module, PROGRAM_VERBS, PlaceMode, Policy,
    PolicyConfig, TRIAL_TIMEOUT, TrialCall, TrialFault, Verb, View,
};

use crate::{
    DirectoryConfig, DirectoryError,
    cel::interpreted,
    content::{Content, ContentDigests, FileRefusal, SidecarFile, Stamps, id_of_file, lost_sidecar, read_module},
    last_good::LastGood,
    listing::PolicyFiles,
    scan::{PolicyId, Scan, Sources},
};

/// Timeout of the call that validates a policy's settings.
const VALIDATE_TIMEOUT: Duration = Duration::from_secs(1);

/// The time after which no further verb is tried: a policy that loops in each of its verbs must not delay others for long.
const MAX_TRIALS: Duration = Duration::from_secs(3);

/// The settings of a policy without settings.
const NO_SETTINGS: &str = "null";

/// A loaded version of a policy.
#[derive(Clone)]
pub(crate) struct Version {
    pub(crate) member: Arc<Member>,
    pub(crate) digests: ContentDigests,
    /// Its files, until they are saved as the last good version.
    pub(crate) unsaved: Option<Arc<Content>>,
}

/// The job of loading one policy from its current files.
pub(crate) struct LoadJob {
    pub(crate) id: PolicyId,
    /// Tells the job from all others.
    pub(crate) number: u64,
    /// The number of the version that it creates.
    pub(crate) version: u64,
    pub(crate) sources: Sources,
    pub(crate) scan: Arc<Scan>,
    pub(crate) sidecar: Result<Arc<SidecarFile>, FileRefusal>,
    /// The version in force.
    pub(crate) current: Option<Version>,
    /// The content that was refused before and must not be tried again, and why.
    pub(crate) refused: Option<(ContentDigests, FileRefusal)>,
    /// Whether the last good version from before a restart is needed.
    pub(crate) may_restore: bool,
}

/// The outcome of a load job.
pub(crate) struct LoadOutcome {
    pub(crate) id: PolicyId,
    pub(crate) number: u64,
    pub(crate) stamps: Stamps,
    pub(crate) took: Duration,
    pub(crate) result: LoadResult,
    /// The last good version from before a restart, unless it is that of the files.
    pub(crate) restored: Option<Version>,
}

/// The result of a load.
pub(crate) enum LoadResult {
    /// The files changed while they were read.
    Changing,
    /// The files are those of the version in force.
    Same,
    /// The files are refused; the content is known if all of it could be read.
    Refused(FileRefusal, Option<ContentDigests>),
    /// A version is ready.
    Loaded(Version),
}

/// The context in which load jobs run.
pub(crate) struct LoadContext {
    pub(crate) config: Arc<DirectoryConfig>,
    pub(crate) loader: Arc<dyn Loader>,
    pub(crate) last_good: Option<Arc<LastGood>>,
}

// === impl LoadContext ===

impl LoadContext {
    /// Loads a policy from its current files.
    pub(crate) fn carry_out(&self, job: &LoadJob) -> LoadOutcome {
        let started = Instant::now();
        let (stamps, content) = Content::read(&self.config, &job.scan, &job.sources, job.sidecar.clone());
        let stored = self.last_good.as_ref().filter(|_| job.may_restore && content.is_some());
        let stored = stored.and_then(|last_good| last_good.read(&job.id, &self.config));
        let (good, rejected) = stored.unzip();
        // First, since the version of the files is compared with it.
        let of_files = content.as_ref().and_then(|read| Some(&read.as_ref().ok()?.digests));
        let to_restore = good.as_ref().filter(|good| of_files != Some(&good.digests));
        let restored = to_restore.and_then(|good| self.restore(job, good));
        let current = job.current.as_ref().map(|version| &version.digests);
        let had_sidecar =
            current.or(good.as_ref().map(|good| &good.digests)).is_some_and(|known| known.sidecar.is_some());
        let result = match content {
            None => LoadResult::Changing,
            Some(Err(refusal)) => LoadResult::Refused(refusal, None),
            Some(Ok(content)) if content.digests.sidecar.is_none() && (had_sidecar || self.config.require_sidecars) => {
                LoadResult::Refused(lost_sidecar(&self.config, &job.sources), None)
            }
            Some(Ok(content)) => {
                let refused = job.refused.iter().chain(rejected.iter().flatten());
                self.load(job, content, good.as_ref(), restored.as_ref(), refused)
            }
        };
        let (id, number, took) = (job.id.clone(), job.number, started.elapsed());
        LoadOutcome { id, number, stamps, took, result, restored }
    }

    fn load<'r>(
        &self,
        job: &LoadJob,
        content: Content,
        good: Option<&Content>,
        restored: Option<&Version>,
        mut refused: impl Iterator<Item = &'r (ContentDigests, FileRefusal)>,
    ) -> LoadResult {
        let digests = content.digests.clone();
        if job.current.as_ref().is_some_and(|version| version.digests == digests) {
            return LoadResult::Same;
        }
        if let Some((_, refusal)) = refused.find(|(refused, _)| *refused == digests) {
            return LoadResult::Refused(refusal.clone(), Some(digests));
        }
        // The version from before a restart has the first number.
        let is_stored = good.is_some_and(|good| good.digests == digests);
        let number = job.version + u64::from(good.is_some() && !is_stored);
        let current = job.current.as_ref().or(restored).map(|version| version.member.as_ref());
        match build(&job.id, number, &content, current, self.loader.as_ref()) {
            Ok(member) => {
                let is_to_save = self.last_good.is_some() && !is_stored;
                let unsaved = is_to_save.then(|| Arc::new(content));
                LoadResult::Loaded(Version { member: Arc::new(member), digests, unsaved })
            }
            Err(refusal) => LoadResult::Refused(refusal, Some(digests)),
        }
    }

    fn restore(&self, job: &LoadJob, good: &Content) -> Option<Version> {
        let member = build(&job.id, job.version, good, None, self.loader.as_ref());
        let member = member.inspect_err(|refusal| {
            tracing::warn!(policy = %job.id, error = refusal.text, "its last good version does not load any more");
        });
        Some(Version { member: Arc::new(member.ok()?), digests: good.digests.clone(), unsaved: None })
    }
}

// === impl LoadOutcome ===

impl LoadOutcome {
    /// The outcome of a job if plimsoll itself failed.
    pub(crate) fn failed(job: &LoadJob) -> Self {
        let stamps = job.sources.files().map(|file| (file.clone(), job.scan.files.get(file).copied())).collect();
        let refusal =
            FileRefusal::new("plimsoll itself failed while it loaded the policy; its log says how").transient_if(true);
        let (result, took) = (LoadResult::Refused(refusal, None), Duration::ZERO);
        Self { id: job.id.clone(), number: job.number, stamps, took, result, restored: None }
    }
}

/// Loads one policy from its files, as a directory would.
///
/// # Errors
/// Says which file is refused, where in it, and the expected content.
pub fn load_one(files: &PolicyFiles, loader: &dyn Loader) -> Result<Member, DirectoryError> {
    let sidecar = files.sidecar.as_deref();
    let id = id_of_file(sidecar.unwrap_or(files.rule()));
    let config = DirectoryConfig::new(sidecar.and_then(Path::parent).unwrap_or(Path::new("")));
    SidecarFile::at(sidecar, &config)
        .and_then(|sidecar| Content::of_files(&config, &id.group, Arc::new(sidecar), files.source.module()))
        .and_then(|content| build(&id, 1, &content, None, loader))
        .map_err(|refusal| DirectoryError::Refused(refusal.text))
}

/// Reads a module's file.
///
/// # Errors
/// If it is no regular file, larger than a module may be, or cannot be read.
pub fn module_at(path: &Path) -> Result<Module, DirectoryError> {
    read_module(path, &DirectoryConfig::new("")).map_err(|refusal| DirectoryError::Refused(refusal.text))
}

/// Compiles and validates; reuses the compiled code of a member with the same module.
fn build(
    id: &PolicyId,
    version: u64,
    content: &Content,
    current: Option<&Member>,
    loader: &dyn Loader,
) -> Result<Member, FileRefusal> {
    let name = Member::id_of(&id.group, &id.name);
    let rule = content.sidecar.sidecar.cel.as_ref();
    let policy = match current.filter(|member| rule.is_none() && *member.digest == *content.digests.module) {
        Some(member) => Arc::clone(&member.policy),
        None => loader.load(&name, &content.module).map_err(|error| {
            FileRefusal::new(format!("{}: {error}", content.module_label)).transient_if(error.is_transient())
        })?,
    };
    let policy = match rule {
        Some(rule) => {
            let limits = Limits::until(Instant::now() + VALIDATE_TIMEOUT, content.sidecar.sidecar.config.memory);
            interpreted(&name, content, rule, policy, limits)?
        }
        None => policy,
    };
    let (policy, config) = configured(content, policy)?;
    if rule.is_none() {
        validate(&name, content, policy.as_ref())?;
    }
    let fact_access = Arc::new(access_of(content));
    put_on_trial(id, content, &config, policy.as_ref(), &fact_access, current)?;
    let (verbs, sidecar) = (policy.verbs(), &content.sidecar.sidecar);
    if sidecar.weighted && !verbs.has(Verb::Score) && !verbs.has(Verb::Rank) {
        tracing::warn!(policy = %id, "{}: the weight has no effect: the policy does not score", content.sidecar_label());
    }
    Ok(Member {
        settings: Arc::clone(&sidecar.settings),
        digest: content.digests.module.as_str().into(),
        size: rule.map_or_else(|| content.module.bytes().len(), |rule| rule.block.len()) as u64,
        version,
        fact_access,
        sidecar_facts: content.facts.values().map(|(name, facts)| (name.as_str().into(), Arc::clone(facts))).collect(),
        ..Member::new(Arc::clone(&id.group), Arc::clone(&id.name), config, policy)
    })
}

/// The policy, if it is a program of the verbs that its sidecar names, and its configuration.
///
/// # Errors
/// If the sidecar has a key that has no effect on this kind of module.
fn configured(content: &Content, policy: Arc<dyn Policy>) -> Result<(Arc<dyn Policy>, PolicyConfig), FileRefusal> {
    let sidecar = &content.sidecar.sidecar;
    let mut config = sidecar.config.clone();
    let counts = config.counts && policy.reads().counts_pods() && policy.verbs().has(Verb::Filter);
    let text = match (policy.program(), sidecar.stdio) {
        (None, Some(_)) => "stdio: the module says by its exports which verbs it answers; this key is for a program",
        _ if config.places != PlaceMode::default() && !counts => {
            "places: this key is for a module whose filter counts pods; this one has none"
        }
        (None, None) => return Ok((policy, config)),
        (Some(_), _) if *sidecar.settings != *NO_SETTINGS => {
            "settings: a program on standard input gets no settings, only the verb as its argument"
        }
        (Some(_), _) if !sidecar.facts.is_empty() => {
            "facts: a program on standard input gets no facts, only the pod and the nodes"
        }
        (Some(_), _) if !config.counts => {
            "counts: a program on standard input reads only the pod and the nodes, so it counts no pods"
        }
        (Some(program), verbs) => {
            if !sidecar.has_timeout {
                config.timeout = PolicyConfig::default_of(policy.as_ref()).timeout;
            }
            // The loaded policy may be shared with a version whose sidecar names other verbs.
            return Ok((program.answering(verbs.unwrap_or(PROGRAM_VERBS)), config));
        }
    };
    Err(FileRefusal::new(format!("{}: {text}", content.sidecar_label())))
}

/// The sources of facts that the sidecar names.
fn access_of(content: &Content) -> FactAccess {
    let sidecar = &content.sidecar.sidecar;
    let names = sidecar.facts.iter().map(|used| {
        let of_file = used.file.as_deref().and_then(|file| content.facts.get(file));
        (&*used.name, of_file.map_or(&*used.name, |(global, _)| global.as_str()))
    });
    FactAccess::new(names, sidecar.config.absent_facts)
}

/// Calls the policy's validation of its settings, unless it is switched off.
fn validate(name: &Arc<str>, content: &Content, policy: &dyn Policy) -> Result<(), FileRefusal> {
    let sidecar = &content.sidecar.sidecar;
    if sidecar.config.mode == Mode::Off || !policy.verbs().has(Verb::Validate) {
        return Ok(());
    }
    let view = Arc::new(View::empty(Arc::clone(&sidecar.settings)));
    let limits = Limits::until(Instant::now() + VALIDATE_TIMEOUT, sidecar.config.memory);
    let ask = Ask::new(Arc::clone(name), view, limits);
    match policy.validate(&Ask { class: CallClass::Background, ..ask }) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(text)) => Err(FileRefusal::new(format!("{}: settings refused: {text}", content.sidecar_label()))),
        Err(fault) => {
            let text = format!("{}: validate failed: {fault}", content.module_label);
            Err(FileRefusal::new(text).transient_if(fault.kind.is_transient()))
        }
    }
}

/// Refuses a policy that fails on every sample, or crashes on one that the version in force can answer. In shadow mode
/// faults are harmless, and worth observing.
fn put_on_trial(
    id: &PolicyId,
    content: &Content,
    config: &PolicyConfig,
    policy: &dyn Policy,
    fact_access: &Arc<FactAccess>,
    current: Option<&Member>,
) -> Result<(), FileRefusal> {
    if config.mode != Mode::Enforce {
        return Ok(());
    }
    let name = Member::id_of(&id.group, &id.name);
    let call = trial_of(&name, config, &content.sidecar.sidecar.settings, fact_access);
    let crashes_too = |member: &Member, verb: Verb| {
        let call = trial_of(&name, &member.config, &member.settings, &member.fact_access);
        call.put_to(member.policy.as_ref()).any(|known| known.verb == verb && is_crash(known.fault.kind))
    };
    let started = Instant::now();
    for TrialFault { verb, fault, is_certain } in call.put_to(policy) {
        let label = &content.module_label;
        let text = if is_certain {
            format!("{label}: every call of {verb} would fail, as a trial did: {fault}")
        } else if is_crash(fault.kind) && current.is_some_and(|member| !crashes_too(member, verb)) {
            format!("{label}: {verb} failed on a sample pod and node, and the version in force did not: {fault}")
        } else {
            tracing::warn!(policy = %id, %verb, %fault, "{label}: it failed on a sample pod and node; others may be no trouble");
            if started.elapsed() >= MAX_TRIALS {
                break;
            }
            continue;
        };
        return Err(FileRefusal::new(text).transient_if(fault.kind.is_transient()));
    }
    Ok(())
}

fn trial_of(name: &Arc<str>, config: &PolicyConfig, settings: &Arc<str>, facts: &Arc<FactAccess>) -> TrialCall {
    TrialCall {
        policy: Arc::clone(name),
        settings: Arc::clone(settings),
        fact_access: Arc::clone(facts),
        timeout: config.timeout,
        longest: TRIAL_TIMEOUT,
        memory: config.memory,
        counts: config.counts,
    }
}

/// Whether the guest could not go on, whatever the contract says about its answer.
const fn is_crash(kind: FaultKind) -> bool {
    use FaultKind::{Memory, Panic, Rule, Stack, Timeout, Trap};
    matches!(kind, Timeout | Panic | Rule | Trap | Memory | Stack)
}
