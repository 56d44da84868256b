//! Runs the cases of policies, with the limits that `serve` has.

use std::{sync::Arc, time::Instant};

use plimsoll_cases::{CallLimits, Case, CaseError, Explained};
use plimsoll_core::{FactAccess, Loader, Policy, PolicyConfig, SidecarFacts};
use plimsoll_directory::PolicyFiles;
use plimsoll_wasm::WasmLoader;

use super::{
    find::{Found, Subject},
    report::{CaseReport, MAX_SHOWN, PolicyReport, Skipped, TestReport},
};
use crate::{args::TestArgs, logging::CASE};

/// After this many cases in which its time ran out, a policy is not asked any more: it may have thousands.
const MAX_TIMEOUTS: usize = 5;

/// Tests policies for one command.
pub(super) struct Tester<'a> {
    pub(super) args: &'a TestArgs,
    pub(super) loader: &'a WasmLoader,
}

/// A policy that is loaded.
pub(super) struct Loaded {
    pub(super) policy: Arc<dyn Policy>,
    pub(super) settings: Arc<str>,
    pub(super) limits: CallLimits,
    /// The sources that its sidecar names.
    pub(super) fact_access: Arc<FactAccess>,
    /// Those of them that are files beside the sidecar.
    pub(super) sidecar_facts: SidecarFacts,
}

// === impl Tester ===

impl Tester<'_> {
    pub(super) fn run(&self, found: &Found) -> TestReport {
        let mut skipped = Vec::new();
        let mut policies = Vec::new();
        for subject in &found.subjects {
            match &subject.files {
                Ok(_) if subject.cases.is_empty() => {
                    let file = subject.file.display().to_string();
                    skipped.push(Skipped { file, why: "it has no cases".to_owned() });
                }
                Ok(files) => policies.extend(self.run_policy(subject, files)),
                Err(why) if self.is_wanted(&[&subject.file.to_string_lossy()]) => {
                    policies.push(PolicyReport::refused(&subject.file, None, why.clone()));
                }
                Err(_) => {}
            }
        }
        skipped.extend(found.skipped.iter().cloned());
        if self.args.filter.is_some() {
            skipped.clear();
        }
        TestReport::new(policies, skipped)
    }

    /// The report on one policy; none if the filter leaves no case. Of thousands of files one is in memory at a time.
    fn run_policy(&self, subject: &Subject, files: &PolicyFiles) -> Option<PolicyReport> {
        let mut kept: Option<Loaded> = None;
        let mut timeouts = 0;
        let mut reports = Vec::new();
        for file in &subject.cases {
            let case = Case::read(file);
            let description = case.as_ref().map_or_else(|_| String::new(), |case| case.description.clone());
            if !self.is_wanted(&[&file.to_string_lossy(), &description, &subject.file.to_string_lossy()]) {
                continue;
            }
            let policy = match &mut kept {
                Some(policy) => policy,
                none => match Loaded::of(files, self.loader) {
                    Ok(loaded) => none.insert(loaded),
                    Err(why) => return Some(PolicyReport::refused(&subject.file, Some(files), why)),
                },
            };
            if timeouts >= MAX_TIMEOUTS {
                let why = format!("not run: the policy ran out of time in {MAX_TIMEOUTS} cases before");
                reports.push(CaseReport::not_run(file, description, why));
                continue;
            }
            let _case = tracing::info_span!(target: CASE, "case", file = %file.display()).entered();
            let started = Instant::now();
            let outcome = policy.outcome(case, self.args.explain);
            let report = CaseReport::new(file, description, outcome, started.elapsed());
            timeouts += usize::from(report.is_timeout());
            reports.push(report);
        }
        (!reports.is_empty()).then(|| PolicyReport::new(&subject.file, Some(files), reports))
    }

    /// Whether one of these texts contains that of the filter.
    fn is_wanted(&self, texts: &[&str]) -> bool {
        self.args.filter.as_ref().is_none_or(|filter| texts.iter().any(|text| text.contains(filter.as_str())))
    }
}

// === impl Loaded ===

impl Loaded {
    /// Loads a policy as a directory would; without a sidecar it has the default limits.
    pub(super) fn of(files: &PolicyFiles, loader: &WasmLoader) -> Result<Self, String> {
        let limits = |config: &PolicyConfig| CallLimits { timeout: config.timeout, memory: config.memory };
        if files.sidecar.is_some() {
            let member = plimsoll_directory::load_one(files, loader).map_err(|error| error.to_string())?;
            let limits = limits(&member.config);
            let (policy, settings) = (Arc::clone(&member.policy), Arc::clone(&member.settings));
            let (fact_access, sidecar_facts) = (Arc::clone(&member.fact_access), Arc::clone(&member.sidecar_facts));
            return Ok(Self { policy, settings, limits, fact_access, sidecar_facts });
        }
        let (file, content) = (files.rule().display(), files.module().map_err(|error| error.to_string())?);
        let policy = loader.load(&file.to_string(), &content).map_err(|error| format!("{file}: {error}"))?;
        let limits = limits(&PolicyConfig::default_of(policy.as_ref()));
        let (fact_access, sidecar_facts) = (Arc::default(), SidecarFacts::from([]));
        Ok(Self { policy, settings: Arc::from("null"), limits, fact_access, sidecar_facts })
    }

    fn outcome(&self, case: Result<Case, CaseError>, explain: bool) -> Result<Vec<Explained>, CaseError> {
        let case = case?.with_default_settings(&self.settings);
        case.explain_within(self.policy.as_ref(), self.limits, if explain { MAX_SHOWN } else { 0 })
    }
}
