//! Brings the policies of the directory into force, and logs it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use plimsoll_core::{Failure, Gateway, Member, Mode, PolicyState, Roster};
use plimsoll_directory::{ChangeKind, PolicyChange, RosterUpdate};
use tracing::{error, info, warn};

use crate::{
    counting::outrun,
    facts::{FactsFileFollower, UNDECLARED_SOURCE},
    metrics::Metrics,
    readiness::Readiness,
};

/// The message about a policy that reads placed pods or the whole cluster if the gateway knows none.
pub(crate) const BLIND: &str = "it reads the pods on nodes or the whole cluster, and this gateway has no view of them: every node looks empty to it; \
    start plimsoll with --kubeconfig or --snapshot";

/// Where updates of the directory go.
pub(crate) struct Reload {
    gateway: Arc<Gateway>,
    metrics: Arc<Metrics>,
    readiness: Arc<Readiness>,
    /// Whether every policy that was there at the start is loaded or refused; the log says so once.
    all_tried: AtomicBool,
    /// Whether the log says that the root has no policies.
    is_root_empty: AtomicBool,
    /// Whether the pods on nodes are known: not where nodes come whole, from the scheduler.
    sees_pods: bool,
    /// Whether it binds.
    binds: bool,
    /// The sources of `--facts`.
    facts: Option<Arc<FactsFileFollower>>,
}

// === impl Reload ===

impl Reload {
    pub(crate) fn new(
        gateway: &Arc<Gateway>,
        metrics: &Arc<Metrics>,
        readiness: &Arc<Readiness>,
        facts: Option<Arc<FactsFileFollower>>,
        sees_pods: bool,
        binds: bool,
    ) -> Self {
        let (gateway, metrics, readiness) = (Arc::clone(gateway), Arc::clone(metrics), Arc::clone(readiness));
        let (all_tried, is_root_empty) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { gateway, metrics, readiness, all_tried, is_root_empty, sees_pods, binds, facts }
    }

    /// Puts a roster in force.
    pub(crate) fn apply(&self, update: &RosterUpdate) {
        let roster = Arc::clone(&update.roster);
        self.metrics.reloaded(&roster);
        self.gateway.set_roster(Arc::clone(&roster));
        self.readiness.observe(&roster);
        // Logged last, so that the log never runs ahead.
        update.changes.iter().for_each(log_change);
        if self.sees_pods {
            warn_of_outrun(update, self.binds);
        } else {
            warn_of_blind(update);
        }
        warn_of_undeclared_sources(update, self.facts.as_deref());
        let empty_root = empty_root(&roster);
        let was_empty = self.is_root_empty.swap(empty_root.is_some(), Ordering::Relaxed);
        if let Some(text) = empty_root.filter(|_| !was_empty) {
            warn!("{text}");
        }
        if !is_loading(&roster) && !self.all_tried.swap(true, Ordering::Relaxed) {
            let states = roster.states();
            let count = |wanted| states.values().filter(|state| **state == wanted).count();
            let kept = count(PolicyState::Kept) + count(PolicyState::RolledBack);
            let refused = count(PolicyState::Failed);
            let loaded = roster.members().filter(|member| !member.is_stand_in()).count();
            info!(loaded, refused, kept, "all policies were tried");
        }
    }
}

/// The warning about a root without policies beside groups that have some: most likely a `urlPrefix` lacks the group.
pub(crate) fn empty_root(roster: &Roster) -> Option<String> {
    let mut groups =
        roster.groups().filter(|(_, group)| !group.members().is_empty()).map(|(name, _)| &**name).peekable();
    // The root is the first in order.
    if groups.peek().is_none_or(|name| name.is_empty()) {
        return None;
    }
    let groups: Vec<&str> = groups.collect();
    let text = format!(
        "all policies are in groups ({}): requests to the root URL are asked of no policy and pass every node; urlPrefix must end with the name of a group",
        groups.join(", ")
    );
    Some(text)
}

/// Whether a policy reads pods that are placed on nodes, or counts over the cluster; one that is off reads nothing.
pub(crate) fn reads_placed_pods(member: &Member) -> bool {
    member.config.mode != Mode::Off && member.policy.reads().looks_beyond_node()
}

/// Without a view of pods every node looks empty to such a policy, so it may accept everything.
fn warn_of_blind(update: &RosterUpdate) {
    for member in new_members(update).filter(|member| reads_placed_pods(member)) {
        warn!(policy = member.id(), "{BLIND}");
    }
}

/// A source is a file of the sidecar's directory, or one of `--facts`.
fn warn_of_undeclared_sources(update: &RosterUpdate, sources: Option<&FactsFileFollower>) {
    for member in new_members(update) {
        let is_declared = |global: &str| sources.is_some_and(|sources| sources.has(global));
        for (source, _) in member.gateway_sources().filter(|(_, global)| !is_declared(global)) {
            warn!(policy = member.id(), source, "{UNDECLARED_SOURCE}");
        }
    }
}

/// Where plimsoll does not bind, limits are not exact.
fn warn_of_outrun(update: &RosterUpdate, binds: bool) {
    for member in new_members(update) {
        if let Some(why) = outrun(member, &update.roster, binds) {
            warn!(policy = member.id(), "{why}");
        }
    }
}

fn new_members(update: &RosterUpdate) -> impl Iterator<Item = &Arc<Member>> {
    let is_new = |id: &str| {
        update.changes.iter().any(|change| matches!(change.kind, ChangeKind::Loaded { .. }) && change.id == id)
    };
    update.roster.members().filter(move |member| is_new(member.id()))
}

fn is_loading(roster: &Roster) -> bool {
    roster.states().values().any(|state| *state == PolicyState::Loading)
}

/// The messages are written out: documentation and alerts quote them.
fn log_problem(id: &str, error: &str, kept: bool) {
    if kept {
        error!(name = id, error, "the policy directory has a problem: the policies that are in force stay");
    } else if id == Failure::DIRECTORY {
        error!(name = id, error, "the policy directory has a problem: no policy of it is in force");
    } else {
        error!(
            name = id,
            error,
            "the policy directory has a problem: nothing of this name is in force; other policies are not affected"
        );
    }
}

fn log_change(PolicyChange { id, kind }: &PolicyChange) {
    match kind {
        ChangeKind::Loaded { mode, digest, sidecar, only_settings, version, took } => {
            let (sidecar, took) = (sidecar.as_deref().unwrap_or("none"), crate::text::duration(*took));
            let what =
                if *only_settings { "policy loaded: only its sidecar or its facts changed" } else { "policy loaded" };
            info!(policy = id, mode = mode.as_str(), digest, sidecar, version, %took, "{what}");
        }
        ChangeKind::Refused { error, kept: true } => {
            error!(policy = id, error, "policy refused: its last good version stays in force");
        }
        ChangeKind::Refused { error, kept: false } => {
            error!(policy = id, error, "policy refused: it is not in force");
        }
        ChangeKind::Problem { error, kept } => log_problem(id, error, *kept),
        ChangeKind::Ignored { why } => warn!(file = id, "a file of the policy directory is ignored: {why}"),
        ChangeKind::Cleared { error } => info!(name = id, error, "this problem of the directory is over"),
        ChangeKind::Unchanged => info!(policy = id, "the last good version is back in place"),
        ChangeKind::Removed { was_kept: true } => {
            warn!(policy = id, "policy removed: it was kept without its files only until a policy was loaded");
        }
        ChangeKind::Removed { was_kept: false } => warn!(policy = id, "policy removed"),
        ChangeKind::RolledBack { version, back, digest, error } => {
            error!(
                policy = id,
                version, back, digest, error, "policy rolled back: the last good version is in force again"
            );
        }
        ChangeKind::SwitchedOff => warn!(policy = id, "policy switched off by its sidecar"),
        ChangeKind::Library => {
            warn!(
                policy = id,
                "the policy is a library now and is not asked, because a sidecar of another policy names its module"
            );
        }
    }
}
