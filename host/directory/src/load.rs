//! From a policy's files to a member of the roster: read, compile, validate.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{
    Ask, CallClass, Circuit, DecisionCache, Fault, FaultKind, Limits, Loader, Member, Mode, Policy, Secrets, TrialCall,
    TrialFault, Verb, View, redacting, unredacted,
};

use crate::{
    DirectoryError,
    config::Bounds,
    last_good::LastGood,
    scan::{Id, Scan, Sources},
    source::{Content, Marks, Reading, Refusal, Stamps, Told, parse_sidecar, read_sidecar},
};

/// How long a policy may take to say whether it accepts its settings.
const VALIDATE_FOR: Duration = Duration::from_secs(1);

/// A version in force, and what it was made of.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) member: Arc<Member>,
    pub(crate) marks: Marks,
}

/// The task of loading one policy as its files stand.
pub(crate) struct Order {
    pub(crate) id: Id,
    /// Tells the order from earlier ones for this policy.
    pub(crate) number: u64,
    /// The number of the version that it makes.
    pub(crate) version: u64,
    pub(crate) sources: Sources,
    pub(crate) scan: Arc<Scan>,
    /// The version in force.
    pub(crate) current: Option<Version>,
    /// A content that was refused before and is not to be tried again now.
    pub(crate) refused: Vec<Marks>,
    /// If the files are refused, what was kept before a restart may be put in force.
    pub(crate) may_restore: bool,
    /// It may take long, and others may go before it.
    pub(crate) is_patient: bool,
}

/// What came of an order.
pub(crate) struct Outcome {
    pub(crate) id: Id,
    pub(crate) number: u64,
    pub(crate) stamps: Stamps,
    pub(crate) told: Option<Told>,
    pub(crate) took: Duration,
    pub(crate) result: Attempt,
}

/// How an attempt to load ended.
pub(crate) enum Attempt {
    /// The files changed while they were read.
    Changing,
    /// They are those of the version in force.
    InForce,
    /// They are those that were refused before.
    RefusedBefore(Marks),
    /// They are refused; the content is known if all of it could be read.
    Refused(Refusal, Option<Marks>),
    /// A version is ready; the other one is the last good one of before a restart, to go back to.
    Loaded(Version, Option<Version>),
    /// The files are refused, and the last good version of before a restart is ready.
    Restored(Version, Refusal, Option<Marks>),
}

/// What orders are carried out with.
pub(crate) struct Workshop {
    pub(crate) root: PathBuf,
    pub(crate) bounds: Bounds,
    pub(crate) loader: Arc<dyn Loader>,
    pub(crate) last_good: Option<Arc<LastGood>>,
}

// === impl Workshop ===

impl Workshop {
    /// Loads a policy as its files stand.
    pub(crate) fn carry_out(&self, order: Order) -> Outcome {
        let started = Instant::now();
        let reading = Reading::take(&self.root, &order.scan, &order.sources, &self.bounds);
        let result = match reading.content {
            None => Attempt::Changing,
            Some(Err(refusal)) => Attempt::Refused(refusal, None),
            Some(Ok(content)) => self.attempt(&order, &content),
        };
        let result = self.restore_if_refused(&order, reading.told.as_ref(), result);
        let Order { id, number, .. } = order;
        Outcome { id, number, stamps: reading.stamps, told: reading.told, took: started.elapsed(), result }
    }

    fn attempt(&self, order: &Order, content: &Content) -> Attempt {
        let marks = content.marks.clone();
        if order.current.as_ref().is_some_and(|version| version.marks == marks) {
            return Attempt::InForce;
        }
        if order.refused.contains(&marks) {
            return Attempt::RefusedBefore(marks);
        }
        if let Some((_, why)) = self.taken_back(order).filter(|(bad, _)| *bad == marks) {
            return Attempt::Refused(Refusal::taken_back(why), Some(marks));
        }
        let current = order.current.as_ref().map(|version| version.member.as_ref());
        match build(&order.id, order.version, content, current, self.loader.as_ref()) {
            Ok(member) => {
                let before = self.last_good_of(order).filter(|before| before.marks != marks);
                if let Some(last_good) = &self.last_good {
                    last_good.keep(&order.id, content);
                }
                Attempt::Loaded(Version { member: Arc::new(member), marks }, before)
            }
            Err(refusal) => Attempt::Refused(refusal, Some(marks)),
        }
    }

    /// What was kept before a restart goes on answering, unless the sidecar switches the policy off.
    fn restore_if_refused(&self, order: &Order, told: Option<&Told>, result: Attempt) -> Attempt {
        let Attempt::Refused(refusal, marks) = result else { return result };
        let is_off = told.is_some_and(|told| told.config.mode == Mode::Off);
        match self.last_good_of(order).filter(|before| !is_off && Some(&before.marks) != marks.as_ref()) {
            Some(version) => Attempt::Restored(version, refusal, marks),
            None => Attempt::Refused(refusal, marks),
        }
    }

    /// Loads the last good version of before a restart, if there is one, and it still loads.
    fn last_good_of(&self, order: &Order) -> Option<Version> {
        let last_good = self.last_good.as_ref().filter(|_| order.may_restore)?;
        let content = Content::of_kept(&order.id, last_good.good(&order.id)?, &self.bounds).ok()?;
        let member = build(&order.id, order.version, &content, None, self.loader.as_ref()).ok()?;
        Some(Version { member: Arc::new(member), marks: content.marks })
    }

    /// The content that was taken back before a restart, and why; of no interest if nothing was kept to go back to.
    fn taken_back(&self, order: &Order) -> Option<(Marks, String)> {
        let last_good = self.last_good.as_ref().filter(|_| order.may_restore)?;
        last_good.good(&order.id)?;
        last_good.taken_back(&order.id)
    }
}

// === impl Outcome ===

impl Outcome {
    /// Whether the files changed while they were read.
    pub(crate) fn is_changing(&self) -> bool {
        matches!(self.result, Attempt::Changing)
    }

    /// What came of an order if plimsoll itself failed.
    pub(crate) fn failed(order: &Order) -> Self {
        let stamps = order.sources.files().map(|file| (file.clone(), order.scan.files.get(file).copied())).collect();
        let refusal = Refusal::passing("plimsoll itself failed while it loaded the policy; its log says how");
        let result = Attempt::Refused(refusal, None);
        Self { id: order.id.clone(), number: order.number, stamps, told: None, took: Duration::ZERO, result }
    }
}

/// Loads one policy from a module and, if there is one, its sidecar, as a directory would.
///
/// # Errors
/// Says which file is refused, where in it, and what was expected.
pub fn load_one(module: &Path, sidecar: Option<&Path>, loader: &dyn Loader) -> Result<Member, DirectoryError> {
    let stem = sidecar.unwrap_or(module).file_stem().unwrap_or_default().to_string_lossy();
    let id = Id { group: Arc::from(""), name: Arc::from(stem.as_ref()) };
    Content::read(module, sidecar, &Bounds::default())
        .and_then(|content| build(&id, 1, &content, None, loader))
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
    version: u64,
    content: &Content,
    current: Option<&Member>,
    loader: &dyn Loader,
) -> Result<Member, Refusal> {
    let policy = match current.filter(|member| *member.digest == *content.marks.module) {
        Some(member) => unredacted(&member.policy),
        None => loader.load(&content.module).map_err(|error| refusal_of(content, &error))?,
    };
    let policy = redacting(policy, &content.sidecar.settings);
    let size = content.module.len() as u64;
    validate(id, content, policy.as_ref())?;
    put_on_trial(id, content, policy.as_ref())?;
    warn_of_idle_weight(id, content, policy.as_ref());
    Ok(Member {
        id: Member::id_of(&id.group, &id.name),
        name: Arc::clone(&id.name),
        group: Arc::clone(&id.group),
        config: content.sidecar.config.clone(),
        settings: Arc::clone(&content.sidecar.settings),
        digest: content.marks.module.as_str().into(),
        size,
        version,
        policy,
        circuit: Circuit::new(Instant::now()),
        cache: DecisionCache::default(),
    })
}

fn refusal_of(content: &Content, error: &plimsoll_core::LoadError) -> Refusal {
    let text = format!("{}: {error}", content.module_label);
    if error.is_transient() { Refusal::passing(text) } else { Refusal::new(text) }
}

/// Asks the policy whether it accepts its settings; one that is off is asked nothing.
fn validate(id: &Id, content: &Content, policy: &dyn Policy) -> Result<(), Refusal> {
    let config = &content.sidecar.config;
    if config.mode == Mode::Off || !policy.verbs().has(Verb::Validate) {
        return Ok(());
    }
    let view = Arc::new(View::empty(Arc::clone(&content.sidecar.settings)));
    let limits = Limits::until(Instant::now() + VALIDATE_FOR, config.memory);
    let ask = Ask::new(Member::id_of(&id.group, &id.name), view, limits);
    match policy.validate(&Ask { class: CallClass::Background, ..ask }) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(text)) => {
            // It may quote what it refuses.
            let text = Secrets::of(&content.sidecar.settings).hide(&text).into_owned();
            Err(Refusal::new(format!("{}: settings refused: {text}", content.sidecar_label)))
        }
        Err(fault) => {
            let fault = fault.without(&Secrets::of(&content.sidecar.settings));
            let text = format!("{}: validate failed: {fault}", content.module_label);
            Err(if is_passing(&fault) { Refusal::passing(text) } else { Refusal::new(text) })
        }
    }
}

/// Refuses a policy that fails whatever it is asked. In shadow, faults harm nobody, and are what is looked for.
fn put_on_trial(id: &Id, content: &Content, policy: &dyn Policy) -> Result<(), Refusal> {
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
            return Err(if is_passing(&fault) { Refusal::passing(text) } else { Refusal::new(text) });
        }
        tracing::warn!(policy = %id, %verb, %fault, "{label}: it failed on a sample pod and node; others may be no trouble");
    }
    Ok(())
}

/// Whether a fault may be the machine's.
fn is_passing(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Timeout | FaultKind::Start | FaultKind::Busy | FaultKind::Host)
}

fn warn_of_idle_weight(id: &Id, content: &Content, policy: &dyn Policy) {
    let verbs = policy.verbs();
    if content.sidecar.weighted && !verbs.has(Verb::Score) && !verbs.has(Verb::Rank) {
        tracing::warn!(policy = %id, "{}: the weight has no effect: the policy does not score", content.sidecar_label);
    }
}
