//! Fine scores: the scale of each group, and weights with which every score counts as much as before.
//!
//! kube-scheduler adds `score x weight x 10` for each extender to `score x weight` for each of its own plugins. Where one
//! group answers on a scale that is `factor` times as fine, all other weights are multiplied by `factor`.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Result, ensure};
use plimsoll_core::{Group, Member, Roster, ScoreScale, Verb};
use serde::Serialize;
use serde_json::{Value, json};

use super::extender;
use crate::args::SchedulerConfigArgs;

/// The score plugins of kube-scheduler 1.37 with their default weights, as `--write-config-to` prints them.
///
/// Versions from 1.25 on have the same plugins; `DynamicResources` came with 1.26. `VolumeBinding` has no weight in the
/// list, which means 1; it scores only behind a feature gate.
const DEFAULT_WEIGHTS: [(&str, u32); 9] = [
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodeResourcesFit", 1),
    ("VolumeBinding", 1),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
];

/// The profile that kube-scheduler has if the configuration names none.
const DEFAULT_PROFILE: &str = "default-scheduler";

/// A profile of the scheduler, with weights if they differ from its own.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Profile {
    scheduler_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugins: Option<Value>,
}

/// The scales of the groups that have another than the coarse one.
pub(super) struct Scales {
    by_group: BTreeMap<String, ScoreScale>,
    /// By how much the weights of everything on the coarse scale are higher.
    factor: u32,
}

// === impl Scales ===

impl Scales {
    /// # Errors
    /// If a group does not exist or does not score.
    pub(super) fn new(args: &SchedulerConfigArgs, roster: &Roster) -> Result<Self> {
        let mut by_group = BTreeMap::new();
        for fine in &args.fine_scores {
            let group = roster.group(&fine.group).filter(|group| scores(group));
            ensure!(
                group.is_some(),
                "--fine-scores {}: expected a group with a policy that scores; there is {}",
                shown(&fine.group),
                scoring_groups(roster)
            );
            ensure!(
                by_group.insert(fine.group.clone(), fine.scale).is_none(),
                "--fine-scores names the group {} twice: choose one",
                shown(&fine.group)
            );
        }
        let factor = by_group.values().map(|scale| scale.factor()).max().unwrap_or(1);
        Ok(Self { by_group, factor })
    }

    /// The scale on which a group answers.
    pub(super) fn of(&self, group: &str) -> ScoreScale {
        self.by_group.get(group).copied().unwrap_or_default()
    }

    /// The weight of a group's extender, so that it counts as much as a coarse one with `weight` and the scheduler's
    /// plugins as they are.
    pub(super) fn weight_of(&self, group: &str, weight: u32) -> u64 {
        // Factors are powers of ten, and this is the highest of them.
        u64::from(weight) * u64::from(self.factor / self.of(group).factor())
    }

    /// The profiles that were named; with fine scores all, with the weights of the scheduler's score plugins.
    pub(super) fn profiles(&self, args: &SchedulerConfigArgs) -> Vec<Profile> {
        let mut names = args.profiles.clone();
        if names.is_empty() && self.are_fine() {
            names.push(DEFAULT_PROFILE.to_owned());
        }
        let enabled = DEFAULT_WEIGHTS.map(|(name, weight)| json!({"name": name, "weight": weight * self.factor}));
        // `multiPoint` enables a plugin at each of its extension points, where the scheduler's own are already.
        let plugins = self.are_fine().then(|| json!({"multiPoint": {"enabled": enabled}}));
        names.into_iter().map(|scheduler_name| Profile { scheduler_name, plugins: plugins.clone() }).collect()
    }

    /// Says above the configuration why the weights are so high; empty without fine scores.
    pub(super) fn comment(&self) -> String {
        if !self.are_fine() {
            return String::new();
        }
        let factor = self.factor;
        format!(
            "# --fine-scores: an extender below answers with scores up to {} instead of 10, so all other weights are\n\
             # {factor} times as high as usual, and everything counts as much as before. Do not use the extenders without\n\
             # these weights: they would outweigh all plugins. A weight of your own has to be {factor} times as high, too;\n\
             # delete a plugin that your kube-scheduler does not have.\n",
            u64::from(factor) * u64::from(ScoreScale::Coarse.max())
        )
    }

    /// Whether a group has other scores than the coarse ones.
    fn are_fine(&self) -> bool {
        !self.by_group.is_empty()
    }
}

/// Whether a policy of the group has a say in its scores.
pub(super) fn scores(group: &Group) -> bool {
    scorers(group).next().is_some()
}

fn scorers(group: &Group) -> impl Iterator<Item = &Arc<Member>> {
    let has_scores =
        |member: &&Arc<Member>| [Verb::Score, Verb::Rank].iter().any(|verb| member.policy.verbs().has(*verb));
    extender::asked(group).filter(has_scores)
}

fn scoring_groups(roster: &Roster) -> String {
    let names: Vec<&str> = roster.groups().filter(|(_, group)| scores(group)).map(|(name, _)| shown(name)).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The name of a group as users write it: the root's is empty.
fn shown(group: &str) -> &str {
    if group.is_empty() { "/" } else { group }
}
