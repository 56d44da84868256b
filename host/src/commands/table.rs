//! `plimsoll table`: the decision table of a policy that is asked about some pods and all nodes.

use std::{borrow::Cow, process::ExitCode, sync::Arc};

use anyhow::{Context, Result, ensure};
use plimsoll_core::{
    DecideError, Group, Member, Mode, Nodes, OnError, Pod, PolicyConfig, Query, Roster, ScoreScale, Verb, Verbs,
};

use super::offline::{self, OfflineGateway};
use crate::{
    args::{OutputFormat, TableArgs},
    output,
    render::decision_table::{as_json, as_text},
    text::{count, push_line},
};

pub(super) fn table(args: &TableArgs) -> Result<ExitCode> {
    let pods = args.pods.iter().map(|path| offline::read_pods(path)).collect::<Result<Vec<_>>>()?;
    let pods: Vec<Arc<Pod>> = pods.into_iter().flatten().map(Arc::new).collect();
    ensure!(!pods.is_empty(), "--pod names no pod: there is nothing to ask about");
    let mut offline = OfflineGateway::open(&args.policies, &args.cluster, &args.engine, args.output)?;
    let member = find(&offline, args)?;
    offline.tell_of_undeclared_sources(std::iter::once(&member));
    let group = Group::new(vec![by_itself(&member)]);
    let alone = Roster::new([(Arc::clone(&member.group), group)].into(), vec![]);
    offline.gateway.set_roster(Arc::new(alone));
    let unmatched: Vec<String> =
        pods.iter().filter(|pod| !member.config.matches.accepts(pod)).map(|pod| full_name(pod)).collect();
    let mut remarks = remarks(&member, pods.len(), &unmatched);
    for pod in &pods {
        remarks.extend(ask(&mut offline, &member, pod)?);
    }
    print(args, &offline, &remarks)?;
    Ok(ExitCode::SUCCESS)
}

/// Asks the policy about a pod and all nodes; returns a remark for each call that failed.
fn ask(offline: &mut OfflineGateway, member: &Member, pod: &Arc<Pod>) -> Result<Vec<String>> {
    offline.hide(pod);
    let names: Vec<Cow<'_, str>> =
        offline.cluster.slots().iter().map(|slot| Cow::Borrowed(slot.node.name().as_ref())).collect();
    let query = || Query::new(Arc::clone(pod), Nodes::Names(&names));
    let filtered = offline.gateway.filter(&member.group, &query()).map(|(_, rest)| rest.run());
    let scored = offline.gateway.prioritize(ScoreScale::Coarse, &member.group, &query()).map(|(_, rest)| rest.run());
    let failed = [filtered, scored].into_iter().map(|result| no_answer(result, pod, names.len()));
    Ok(failed.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

fn print(args: &TableArgs, offline: &OfflineGateway, remarks: &[String]) -> Result<()> {
    let tables = offline.gateway.decision_tables(&args.policy)?;
    match args.output {
        OutputFormat::Text => {
            let mut text = offline.origin.as_line();
            for remark in remarks {
                push_line(&mut text, remark);
            }
            output::print(&format!("{text}\n{}", as_text(&tables)))
        }
        OutputFormat::Json => {
            let mut json = as_json(&args.policy, &tables);
            json["cluster"] = offline.origin.as_json();
            json["remarks"] = remarks.into();
            output::print(&format!("{json:#}\n"))
        }
    }
}

fn find(offline: &OfflineGateway, args: &TableArgs) -> Result<Arc<Member>> {
    let roster = offline.gateway.roster();
    let member = roster.members().find(|member| member.id() == args.policy);
    member.cloned().with_context(|| {
        let all: Vec<&str> = roster.members().map(|member| member.id()).collect();
        format!("{} has no policy '{}'; it has {}", args.policies.display(), args.policy, all.join(", "))
    })
}

/// A remark about a call that failed: its nodes have no rows. Any other error is passed on.
fn no_answer(result: Result<(), DecideError>, pod: &Pod, nodes: usize) -> Result<Option<String>> {
    match result {
        Ok(()) => Ok(None),
        Err(DecideError::Policy { policy, verb, fault }) => {
            let (pod, nodes) = (full_name(pod), count(nodes, "node"));
            Ok(Some(format!("policy {policy} failed to {verb} for pod {pod}: {nodes} had no answer: {fault}")))
        }
        Err(error) => Err(error.into()),
    }
}

/// The policy by itself: it is asked about every node, in enforce mode, and no other policy rejects nodes before. Its
/// faults are errors, so that they can be reported.
fn by_itself(member: &Member) -> Arc<Member> {
    let mode = if member.config.mode == Mode::Shadow { Mode::Enforce } else { member.config.mode };
    let config = PolicyConfig { mode, on_error: Some(OnError::Fail), ..member.config.clone() };
    Arc::new(Member {
        settings: Arc::clone(&member.settings),
        digest: member.digest.clone(),
        size: member.size,
        version: member.version,
        fact_access: Arc::clone(&member.fact_access),
        sidecar_facts: Arc::clone(&member.sidecar_facts),
        ..Member::new(Arc::clone(&member.group), Arc::clone(&member.name), config, Arc::clone(&member.policy))
    })
}

/// Why a table may have fewer rows than expected.
fn remarks(member: &Member, pods: usize, unmatched: &[String]) -> Vec<String> {
    let id = member.id();
    let mut remarks = Vec::new();
    if member.config.mode == Mode::Off {
        remarks.push(format!("policy {id} is off (mode: off): it is asked about no pod"));
    }
    match unmatched {
        [] => {}
        all if all.len() == pods && pods > 1 => remarks.push(format!("policy {id} matches none of the {pods} pods")),
        some => remarks.push(format!("policy {id} does not match {}", some.join(", "))),
    }
    if member.policy.program().is_some() {
        remarks
            .push(format!("policy {id} is a program that reads all nodes for each answer: its answers are not cached"));
    } else if !has_tables(member.policy.verbs()) {
        remarks.push(format!("policy {id} has neither filter nor score: answers to other verbs are not cached"));
    }
    remarks
}

fn has_tables(verbs: Verbs) -> bool {
    verbs.has(Verb::Filter) || verbs.has(Verb::Score)
}

fn full_name(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace(), pod.name())
}
