//! Loads a policy: reads its files, compiles, validates, and builds a member of the roster.

mod build;
mod program;

use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use plimsoll_core::{LoadError, LoadRequest, Loader, Member, Mode, Module, Policy};
use plimsoll_system::FileStamp;

pub(crate) use self::build::build;
use crate::{
    DirectoryError,
    config::ReadLimits,
    fact_pool::FactPool,
    known_modules::KnownModules,
    last_good::{LastGood, StagedVersion},
    refusal::FileRefusal,
    scan::{File, PolicyId, Scan, Sources},
    source::{Content, ContentDigests, ContentReader, Reading, SidecarSummary, Stamps, read_module},
};

/// A version of a policy, and the digests of its files.
#[derive(Debug, Clone)]
pub(crate) struct PolicyVersion {
    pub(crate) member: Arc<Member>,
    pub(crate) digests: ContentDigests,
}

/// The job of loading one policy from its current files.
pub(crate) struct LoadJob {
    pub(crate) id: PolicyId,
    /// Tells the job from earlier ones for this policy.
    pub(crate) number: u64,
    /// The number of the version that it creates.
    pub(crate) version: u64,
    pub(crate) sources: Sources,
    pub(crate) scan: Arc<Scan>,
    /// The version in force.
    pub(crate) current: Option<PolicyVersion>,
    /// Contents that were refused before and must not be tried again now.
    pub(crate) refused: Vec<ContentDigests>,
    /// Whether a version stored before a restart may be put in force if the files are refused.
    pub(crate) may_restore: bool,
    /// Whether it may take long, so that others may go first.
    pub(crate) is_slow: bool,
    /// Whether its files were refused before.
    pub(crate) is_retry: bool,
    /// The file of the module, as far as the scan knows.
    pub(crate) module: Option<ModuleFile>,
}

/// The file of a module as a scan has found it: another content is another value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ModuleFile {
    pub(crate) file: File,
    pub(crate) stamp: FileStamp,
}

/// The outcome of a load job.
pub(crate) struct LoadOutcome {
    pub(crate) id: PolicyId,
    pub(crate) number: u64,
    pub(crate) stamps: Stamps,
    pub(crate) summary: Option<SidecarSummary>,
    pub(crate) time: LoadTime,
    pub(crate) result: LoadResult,
    /// The version that is ready, written for a restart.
    pub(crate) staged: Option<StagedVersion>,
}

/// The duration of an attempt to load.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LoadTime {
    /// From the first file to the end.
    pub(crate) total: Duration,
    /// The part outside of the loader: within it modules wait for each other, and it bounds the cost of modules that
    /// fail again and again by itself.
    pub(crate) without_loader: Duration,
}

/// The loader of one job: it measures the time of another one, and passes on how urgent the job is.
struct JobLoader<'a> {
    loader: &'a dyn Loader,
    is_urgent: bool,
    taken: Mutex<Duration>,
}

/// The result of a load.
pub(crate) enum LoadResult {
    /// The files changed while they were read.
    Changing,
    /// The files are those of the version in force.
    InForce,
    /// The files were refused before.
    RefusedBefore(ContentDigests),
    /// The files are refused; the content is known if all of it could be read.
    Refused(FileRefusal, Option<ContentDigests>),
    /// A version is ready.
    Loaded {
        version: PolicyVersion,
        /// The last good version from before a restart, for a rollback.
        last_good: Option<PolicyVersion>,
    },
    /// The files are refused, and the last good version from before a restart is ready.
    Restored { last_good: PolicyVersion, refusal: FileRefusal, digests: Option<ContentDigests> },
}

/// The context in which load jobs run.
pub(crate) struct LoadContext {
    pub(crate) root: PathBuf,
    pub(crate) bounds: ReadLimits,
    pub(crate) loader: Arc<dyn Loader>,
    pub(crate) known_modules: KnownModules,
    pub(crate) fact_pool: FactPool,
    pub(crate) last_good: Option<Arc<LastGood>>,
}

// === impl PolicyVersion ===

impl PolicyVersion {
    /// Whether its sidecar switches it off.
    pub(crate) fn is_off(&self) -> bool {
        self.member.config.mode == Mode::Off
    }
}

// === impl ModuleFile ===

impl ModuleFile {
    /// Its bytes.
    pub(crate) const fn size(&self) -> u64 {
        match self.stamp {
            FileStamp::File { length, .. } => length,
            FileStamp::Dangling | FileStamp::Other => 0,
        }
    }
}

// === impl LoadContext ===

impl LoadContext {
    /// Loads a policy from its current files.
    pub(crate) fn carry_out(&self, job: LoadJob) -> LoadOutcome {
        let started = Instant::now();
        let loader = JobLoader { loader: self.loader.as_ref(), is_urgent: !job.is_slow, taken: Mutex::default() };
        let reader = ContentReader { known: &self.known_modules, loader: &loader, facts: &self.fact_pool };
        let reading = Reading::take(&self.root, &job.scan, &job.sources, &self.bounds, reader);
        let read = reading.content.as_ref().and_then(|content| content.as_ref().ok());
        let digests = read.map(|content| content.digests.clone());
        // Building it takes trial calls, so it is built at most once: both the attempt and a refusal may need it.
        let restored = OnceCell::new();
        let last_good = || restored.get_or_init(|| self.restore(&job, digests.as_ref(), &loader)).clone();
        let (result, staged) = match reading.content {
            None => (LoadResult::Changing, None),
            Some(Err(refusal)) => (LoadResult::Refused(refusal, None), None),
            Some(Ok(content)) => {
                let result = self.attempt(&job, &content, &loader, &last_good);
                let staged = self.stage_if_loaded(&job, &content, &result);
                (result, staged)
            }
        };
        let result = restore_if_refused(reading.summary.as_ref(), result, &last_good);
        let total = started.elapsed();
        let time = LoadTime { total, without_loader: total.saturating_sub(loader.taken()) };
        let LoadJob { id, number, .. } = job;
        LoadOutcome { id, number, stamps: reading.stamps, summary: reading.summary, time, result, staged }
    }

    fn attempt(
        &self,
        job: &LoadJob,
        content: &Content,
        loader: &dyn Loader,
        last_good: &dyn Fn() -> Option<PolicyVersion>,
    ) -> LoadResult {
        let digests = content.digests.clone();
        if job.current.as_ref().is_some_and(|version| version.digests == digests) {
            return LoadResult::InForce;
        }
        if job.refused.contains(&digests) {
            return LoadResult::RefusedBefore(digests);
        }
        if let Some((_, why)) = self.rolled_back(job).filter(|(bad, _)| *bad == digests) {
            return LoadResult::Refused(FileRefusal::rolled_back(why), Some(digests));
        }
        let last_good = last_good();
        // The version from before a restart has the first number.
        let version = job.version + u64::from(last_good.is_some());
        let current = job.current.as_ref().map(|version| version.member.as_ref());
        match build(&job.id, version, content, current, loader) {
            Ok(member) => {
                LoadResult::Loaded { version: PolicyVersion { member: Arc::new(member), digests }, last_good }
            }
            Err(refusal) => LoadResult::Refused(refusal, Some(digests)),
        }
    }

    /// Writes a version that is ready; whether it stays is decided when it comes into force.
    fn stage_if_loaded(&self, job: &LoadJob, content: &Content, result: &LoadResult) -> Option<StagedVersion> {
        let is_to_keep = matches!(result, LoadResult::Loaded { version, .. } if !version.is_off());
        self.last_good.as_ref().filter(|_| is_to_keep)?.stage(&job.id, content)
    }

    /// Loads the last good version from before a restart, if there is one, it is not that of the files, and it still loads.
    fn restore(&self, job: &LoadJob, files: Option<&ContentDigests>, loader: &dyn Loader) -> Option<PolicyVersion> {
        let last_good = self.last_good.as_ref().filter(|_| job.may_restore)?;
        let content = last_good.good(&job.id)?.restore(&job.id, &self.bounds, &self.fact_pool).ok()?;
        if content.sidecar.config.mode == Mode::Off || files == Some(&content.digests) {
            return None;
        }
        let member = build(&job.id, job.version, &content, None, loader).ok()?;
        Some(PolicyVersion { member: Arc::new(member), digests: content.digests })
    }

    /// The content that was rolled back before a restart, and why; `None` if no version was stored to go back to.
    fn rolled_back(&self, job: &LoadJob) -> Option<(ContentDigests, String)> {
        let last_good = self.last_good.as_ref().filter(|_| job.may_restore)?;
        last_good.good(&job.id)?;
        last_good.rolled_back(&job.id)
    }
}

/// Restores the version stored before a restart, unless the sidecar switches the policy off.
fn restore_if_refused(
    summary: Option<&SidecarSummary>,
    result: LoadResult,
    last_good: &dyn Fn() -> Option<PolicyVersion>,
) -> LoadResult {
    let LoadResult::Refused(refusal, digests) = result else { return result };
    let is_off = summary.is_some_and(|summary| summary.config.mode == Mode::Off);
    match last_good().filter(|_| !is_off) {
        Some(last_good) => LoadResult::Restored { last_good, refusal, digests },
        None => LoadResult::Refused(refusal, digests),
    }
}

// === impl LoadOutcome ===

impl LoadOutcome {
    /// Whether the files changed while they were read.
    pub(crate) fn is_changing(&self) -> bool {
        matches!(self.result, LoadResult::Changing)
    }

    /// The outcome of a job if plimsoll itself failed.
    pub(crate) fn failed(job: &LoadJob) -> Self {
        let stamps = job.sources.files().map(|file| (file.clone(), job.scan.files.get(file).copied())).collect();
        let refusal = FileRefusal::transient("plimsoll itself failed while it loaded the policy; its log says how");
        let result = LoadResult::Refused(refusal, None);
        Self {
            id: job.id.clone(),
            number: job.number,
            stamps,
            summary: None,
            time: LoadTime::default(),
            result,
            staged: None,
        }
    }
}

// === impl JobLoader ===

impl JobLoader<'_> {
    fn taken(&self) -> Duration {
        *self.taken.lock()
    }
}

impl Loader for JobLoader<'_> {
    fn load_for(&self, request: LoadRequest<'_>) -> Result<Arc<dyn Policy>, LoadError> {
        let started = Instant::now();
        let loaded = self.loader.load_for(LoadRequest { is_urgent: self.is_urgent, ..request });
        *self.taken.lock() += started.elapsed();
        loaded
    }

    fn preinitialize(&self, name: &str, version: u64, module: &Module, settings: &Arc<str>) {
        self.loader.preinitialize(name, version, module, settings);
    }

    fn refusal(&self, digest: &[u8; 32]) -> Option<LoadError> {
        self.loader.refusal(digest)
    }
}

/// Loads one policy from a module and, if there is one, its sidecar, as a directory would. The limits on facts hold for
/// the members that are alive and have the same pool.
///
/// # Errors
/// Says which file is refused, where in it, and the expected content.
pub fn load_one(
    module: &Path,
    sidecar: Option<&Path>,
    loader: &dyn Loader,
    facts: &FactPool,
) -> Result<Member, DirectoryError> {
    let stem = sidecar.unwrap_or(module).file_stem().unwrap_or_default().to_string_lossy();
    let id = PolicyId { group: Arc::from(""), name: Arc::from(stem.as_ref()) };
    Content::read(module, sidecar, &ReadLimits::default(), facts)
        .and_then(|content| build(&id, 1, &content, None, loader))
        .map_err(|refusal| DirectoryError::Refused(refusal.text))
}

/// Reads a module's file.
///
/// # Errors
/// If it is no regular file, larger than a module may be, or cannot be read.
pub fn module_at(path: &Path) -> Result<Module, DirectoryError> {
    read_module(None, path, &ReadLimits::default())
        .map(|read| read.module)
        .map_err(|refusal| DirectoryError::Refused(refusal.text))
}
