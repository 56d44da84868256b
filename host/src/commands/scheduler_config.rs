//! `plimsoll scheduler-config`: a configuration for kube-scheduler.

mod extender;
mod scores;

use std::{net::IpAddr, path::PathBuf, process::ExitCode};

use anyhow::{Result, bail, ensure};
use plimsoll_core::{Group, PlaceMode, Roster, Verb};
use plimsoll_http::prioritize_verb;
use serde::Serialize;

use self::{
    extender::{Extender, TlsConfig},
    scores::{Profile, Scales},
};
use super::offline::load_all;
use crate::{
    args::{OutputFormat, REQUEST_TIMEOUT, SchedulerConfigArgs},
    counting::{binder, binding_group},
    output,
};

/// The fields of a `KubeSchedulerConfiguration` that plimsoll has a say in, in the order in which people write them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Configuration {
    api_version: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_connection: Option<ClientConnection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    profiles: Vec<Profile>,
    extenders: Vec<Extender>,
}

#[derive(Serialize)]
struct ClientConnection {
    kubeconfig: PathBuf,
}

pub(super) fn scheduler_config(args: &SchedulerConfigArgs) -> Result<ExitCode> {
    check_flags(args)?;
    let roster = load_all(&args.policies, &args.engine, args.output)?;
    if binds(args) {
        one_binder(&roster)?;
        one_giver_of_places(&roster)?;
    }
    let bind_group = bind_group(args, &roster);
    remark_on_limits(args, &roster, bind_group);
    let scales = Scales::new(args, &roster)?;
    let mut groups: Vec<_> = roster.groups().collect();
    // It leaves one node, which no extender after it may refuse.
    groups.sort_by_key(|(_, group)| gives_places(group));
    let groups = groups.into_iter();
    let mut extenders: Vec<Extender> =
        groups.filter_map(|(name, group)| extender(args, &scales, bind_group, name, group)).collect();
    if extenders.is_empty() {
        bail!("{} holds no policy that kube-scheduler could ask", args.policies.display());
    }
    remark_on_stranger(args, &extenders);
    if args.full_nodes && extenders.iter().any(|extender| extender.filter_verb.is_some()) {
        output::remark(EMPTY_NODES);
    }
    extender::keep_unique(&mut extenders);
    extender::ignore(&mut extenders, &args.ignored_by_scheduler)?;
    if args.pod_groups {
        extender::preempt_apart(&mut extenders);
    }
    let config = Configuration {
        api_version: "kubescheduler.config.k8s.io/v1",
        kind: "KubeSchedulerConfiguration",
        client_connection: args.kubeconfig.clone().map(|kubeconfig| ClientConnection { kubeconfig }),
        profiles: scales.profiles(args),
        extenders,
    };
    match args.output {
        OutputFormat::Json => output::print_json(&config)?,
        OutputFormat::Text => output::print(&(scales.comment() + &serde_saphyr::to_string(&config)?))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// kubernetes#141781; kube-scheduler takes the nodes that an extender returns in place of its own, without their pods.
const EMPTY_NODES: &str = "with --full-nodes kube-scheduler (1.33 and later) treats every node as empty in its own scores of resources, so pods gather on few nodes: leave the flag out where plimsoll has access to the API server";

/// Flags that contradict each other or kube-scheduler.
fn check_flags(args: &SchedulerConfigArgs) -> Result<()> {
    let needs_https = tls_config(args).is_some() && !args.url.starts_with("https://");
    ensure!(
        !needs_https,
        "--url is {}: a CA, a certificate or a server name needs one that begins with https://",
        args.url
    );
    if args.http_timeout <= REQUEST_TIMEOUT {
        output::remark(&format!(
            "--http-timeout {} is not above --request-timeout of `serve` ({} by default): kube-scheduler gives up before plimsoll answers; raise it, or lower --request-timeout",
            humantime::format_duration(args.http_timeout),
            humantime::format_duration(REQUEST_TIMEOUT)
        ));
    }
    Ok(())
}

/// Says that the configuration binds no pod, if plimsoll would refuse the scheduler's bind calls.
fn remark_on_stranger(args: &SchedulerConfigArgs, extenders: &[Extender]) {
    if extenders.iter().any(|extender| extender.bind_verb.is_some()) && is_stranger(args) {
        output::remark(&format!(
            "{NOT_BOUND} {}: give --cert-file and --key-file and an https URL, or --no-bind, or start plimsoll with --bind-without-authentication where the network is trusted",
            args.url
        ));
    }
}

fn tls_config(args: &SchedulerConfigArgs) -> Option<TlsConfig> {
    let config = TlsConfig {
        ca_file: args.ca_file.clone(),
        cert_file: args.cert_file.clone(),
        key_file: args.key_file.clone(),
        server_name: args.server_name.clone(),
    };
    (config != TlsConfig::default()).then_some(config)
}

/// Whether plimsoll may bind; without a view of the cluster it could bind nobody.
fn binds(args: &SchedulerConfigArgs) -> bool {
    !args.no_bind && !args.full_nodes
}

/// The start of the remark about a useless `bindVerb`.
const NOT_BOUND: &str = "with this configuration no pod is bound: without a client certificate nobody may bind at";

/// Whether plimsoll will not bind for this scheduler: it calls from another machine, and shows no certificate.
fn is_stranger(args: &SchedulerConfigArgs) -> bool {
    let authority = args.url.split_once("://").map_or(args.url.as_str(), |(_, rest)| rest);
    let authority = authority.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
    !is_local && args.cert_file.is_none()
}

/// kube-scheduler takes one extender with `bindVerb`.
fn one_binder(roster: &Roster) -> Result<()> {
    let mut binders = roster.groups().filter_map(|(_, group)| binder(group));
    if let (Some(first), Some(second)) = (binders.next(), binders.next()) {
        let (first, second) = (first.id(), second.id());
        bail!(
            "policies {first} and {second} bind, in two groups: kube-scheduler takes one extender with bindVerb, so put them into one group, or leave it out with --no-bind"
        );
    }
    Ok(())
}

/// Whether a filter of the group leaves some pods one node.
fn gives_places(group: &Group) -> bool {
    group.members().iter().any(|member| member.reads_pods() && member.config.places != PlaceMode::None)
}

/// Refuses two groups that each leave a pod one node: the second may refuse the one that the first has left.
fn one_giver_of_places(roster: &Roster) -> Result<()> {
    let groups: Vec<&str> = roster.groups().filter(|(_, group)| gives_places(group)).map(|(name, _)| &**name).collect();
    let [first, second, ..] = groups[..] else { return Ok(()) };
    let shown = |name: &str| if name.is_empty() { "the root".to_owned() } else { format!("group {name}") };
    bail!(
        "{} and {} both have filters that count pods: each would leave members of pod groups, and pods that wait for volumes, one node, which the other may refuse; move them into one group, or set `places: none` in the sidecars of one",
        shown(first),
        shown(second)
    )
}

/// The group that gets `bindVerb`. A filter that counts is no reason for it where nobody may bind: without it pods are
/// bound by kube-scheduler.
fn bind_group<'r>(args: &SchedulerConfigArgs, roster: &'r Roster) -> Option<&'r str> {
    let name = binding_group(roster).filter(|_| binds(args))?;
    (!is_stranger(args) || binder(roster.group(name)?).is_some()).then_some(name)
}

/// Says which filters count pods that plimsoll does not bind.
fn remark_on_limits(args: &SchedulerConfigArgs, roster: &Roster, bind_group: Option<&str>) {
    let outrun = roster.members().filter(|member| member.reads_pods() && bind_group != Some(&*member.group));
    let outrun: Vec<&str> = outrun.map(|member| member.id()).collect();
    if outrun.is_empty() {
        return;
    }
    let gangs = if bind_group.is_none() { ", and gangs can be bound in part" } else { "" };
    let why = match bind_group {
        Some(_) => "kube-scheduler takes one extender with bindVerb, which is another group's".to_owned(),
        None if binds(args) => format!("without a client certificate nobody may bind at {}", args.url),
        None => "this configuration has no bindVerb".to_owned(),
    };
    let outrun = outrun.join(", ");
    output::remark(&format!(
        "filters that count pods ({outrun}): pods that are bound at the same time can pass their limits, since {why}{gangs}"
    ));
}

/// The extender of a group; none if its policies have no verb that kube-scheduler asks.
fn extender(
    args: &SchedulerConfigArgs,
    scales: &Scales,
    bind_group: Option<&str>,
    name: &str,
    group: &Group,
) -> Option<Extender> {
    let has = |verb| extender::asked(group).any(|member| member.policy.verbs().has(verb));
    let (base, scores) = (args.url.trim_end_matches('/'), scores::scores(group));
    // Filters are asked about preemption candidates too, as if the victims were gone.
    let preempts = has(Verb::Preempt) || has(Verb::Filter);
    let binds = bind_group == Some(name);
    (preempts || scores || binds).then(|| Extender {
        url_prefix: if name.is_empty() { base.to_owned() } else { format!("{base}/{name}") },
        filter_verb: has(Verb::Filter).then_some("filter"),
        preempt_verb: preempts.then_some("preempt"),
        prioritize_verb: scores.then(|| prioritize_verb(scales.of(name))),
        bind_verb: binds.then_some("bind"),
        weight: scores.then(|| scales.weight_of(name, args.weight)),
        enable_https: args.ca_file.is_some().then_some(true),
        tls_config: tls_config(args),
        node_cache_capable: !args.full_nodes,
        ignorable: args.ignorable,
        http_timeout: humantime::format_duration(args.http_timeout).to_string(),
        managed_resources: extender::managed(group),
    })
}
