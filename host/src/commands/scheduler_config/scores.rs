//! Fine scores: the scale of each group, and weights with which every score counts as much as before.
//!
//! kube-scheduler adds `score x weight x 10` for each extender to `score x weight` for each of its own plugins. Where one
//! group answers on a scale that is `factor` times as fine, all other weights are multiplied by `factor`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use anyhow::{Result, bail, ensure};
use plimsoll_core::{Group, Member, Roster, ScoreScale, Verb};
use serde_json::{Value, json};

use super::resources;
use crate::args::SchedulerConfigArgs;

/// The score plugins of kube-scheduler 1.36 with their default weights, as `--write-config-to` prints them.
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

/// A plugin's weight is an int32 in kube-scheduler's configuration.
const MAX_PLUGIN_WEIGHT: u64 = i32::MAX as u64;

/// The scales of the groups that have another than the coarse one.
pub(super) struct Scales {
    by_group: BTreeMap<String, ScoreScale>,
    /// By how much the weights of everything on the coarse scale are higher.
    factor: u32,
}

// === impl Scales ===

impl Scales {
    /// # Errors
    /// If a group does not exist or does not score, or a weight is too high for kube-scheduler.
    pub(super) fn new(args: &SchedulerConfigArgs, roster: &Roster) -> Result<Self> {
        let mut by_group = BTreeMap::new();
        for fine in &args.fine_scores {
            let group = roster.group(&fine.group).filter(|group| scores(group));
            ensure!(
                group.is_some(),
                "--fine-scores {fine}: expected a group with a policy that scores; there is {}",
                scoring_groups(roster)
            );
            ensure!(
                by_group.insert(fine.group.clone(), fine.scale).is_none(),
                "--fine-scores names the group {} twice: choose one",
                shown(&fine.group)
            );
        }
        let factor = by_group.values().map(|scale| scale.factor()).max().unwrap_or(1);
        let scales = Self { by_group, factor };
        scales.check(args)?;
        Ok(scales)
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

    /// Whether a group has other scores than the coarse ones.
    pub(super) fn are_fine(&self) -> bool {
        !self.by_group.is_empty()
    }

    /// The profiles with the weights of the scheduler's score plugins.
    ///
    /// `multiPoint` enables a plugin at each of its extension points. The scheduler's own are there already; others are
    /// enabled for scores alone.
    pub(super) fn profiles(&self, args: &SchedulerConfigArgs) -> Value {
        let default = [DEFAULT_PROFILE.to_owned()];
        let names = if args.profiles.is_empty() { &default[..] } else { &args.profiles[..] };
        let enabled =
            |(name, weight): (&str, u32)| json!({"name": name, "weight": u64::from(weight) * u64::from(self.factor)});
        let (built_in, others): (Vec<_>, Vec<_>) = plugin_weights(args).partition(|(name, _)| is_own(name));
        let built_in: Vec<Value> = built_in.into_iter().map(enabled).collect();
        let others: Vec<Value> = others.into_iter().map(enabled).collect();
        let mut plugins = json!({"multiPoint": {"enabled": built_in}});
        if !others.is_empty() {
            plugins["score"] = json!({"enabled": others});
        }
        names.iter().map(|name| json!({"schedulerName": name, "plugins": plugins})).collect()
    }

    /// Says above the weights why they are so high.
    pub(super) fn comment(&self) -> String {
        let factor = self.factor;
        format!(
            "--fine-scores: an extender below answers with scores up to {} instead of 10, so all other weights are\n\
             {factor} times as high as usual, and everything counts as much as before. Do not use the extenders without\n\
             these weights: they would outweigh all plugins. Another weight here has to be {factor} times as high, too;\n\
             --plugin-weight NAME=N does that, and NAME=0 leaves out a plugin that your kube-scheduler does not have.",
            u64::from(factor) * u64::from(ScoreScale::Coarse.max())
        )
    }

    /// Whether kube-scheduler takes the weights.
    fn check(&self, args: &SchedulerConfigArgs) -> Result<()> {
        if !self.are_fine() {
            return Ok(());
        }
        let mut named = BTreeSet::new();
        let twice = args.plugin_weights.iter().find(|given| !named.insert(given.name.as_str()));
        if let Some(twice) = twice {
            bail!("--plugin-weight names {} twice: choose one", twice.name);
        }
        let factor = u64::from(self.factor);
        for (name, weight) in plugin_weights(args) {
            let most = MAX_PLUGIN_WEIGHT / factor;
            ensure!(
                u64::from(weight) <= most,
                "--plugin-weight {name}={weight}: with --fine-scores it becomes {weight} x {factor}, and kube-scheduler takes at most {MAX_PLUGIN_WEIGHT}; expected at most {most}, or --fine-scores without a tie-break"
            );
        }
        Ok(())
    }
}

/// Whether kube-scheduler itself has the plugin.
fn is_own(name: &str) -> bool {
    DEFAULT_WEIGHTS.iter().any(|(plugin, _)| *plugin == name)
}

/// Whether a policy of the group has a say in its scores.
pub(super) fn scores(group: &Group) -> bool {
    scorers(group).next().is_some()
}

fn scorers(group: &Group) -> impl Iterator<Item = &Arc<Member>> {
    let has_scores =
        |member: &&Arc<Member>| [Verb::Score, Verb::Rank].iter().any(|verb| member.policy.verbs().has(*verb));
    resources::asked(group).filter(has_scores)
}

/// The weight of each score plugin: the default, or the user's; a plugin of weight 0 is left out.
fn plugin_weights(args: &SchedulerConfigArgs) -> impl Iterator<Item = (&str, u32)> {
    let given = |name: &str| args.plugin_weights.iter().find(|given| given.name == name);
    let defaults = DEFAULT_WEIGHTS.map(|(name, weight)| (name, given(name).map_or(weight, |given| given.weight)));
    let others: BTreeMap<&str, u32> = args
        .plugin_weights
        .iter()
        .filter(|given| !is_own(&given.name))
        .map(|given| (given.name.as_str(), given.weight))
        .collect();
    defaults.into_iter().chain(others).filter(|(_, weight)| *weight > 0)
}

fn scoring_groups(roster: &Roster) -> String {
    let names: Vec<&str> = roster.groups().filter(|(_, group)| scores(group)).map(|(name, _)| shown(name)).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The name of a group as users write it: the root's is empty.
fn shown(group: &str) -> &str {
    if group.is_empty() { "/" } else { group }
}
