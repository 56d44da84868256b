//! `plimsoll scheduler-config`: a configuration for kube-scheduler.

mod resources;
mod scores;
mod yaml;

use std::{net::IpAddr, process::ExitCode};

use anyhow::{Result, bail, ensure};
use plimsoll_core::{Group, Roster, Verb};
use plimsoll_http::prioritize_verb;
use serde_json::{Map, Value, json};

use self::scores::Scales;
use super::offline::load_all;
use crate::{
    args::{OutputFormat, REQUEST_TIMEOUT, SchedulerConfigArgs},
    counting::{binder, binding_group},
    output,
};

pub(super) fn scheduler_config(args: &SchedulerConfigArgs) -> Result<ExitCode> {
    let tls = tls_config(args)?;
    check_flags(args)?;
    let roster = load_all(&args.policies, &args.engine, args.output)?;
    if binds(args) {
        one_binder(&roster)?;
    }
    let bind_group = bind_group(args, &roster);
    remark_on_limits(args, &roster, bind_group);
    let scales = Scales::new(args, &roster)?;
    let groups = roster.groups();
    let mut extenders: Vec<Value> =
        groups.filter_map(|(name, group)| extender(args, &scales, bind_group, name, group)).collect();
    if extenders.is_empty() {
        bail!("{} holds no policy that kube-scheduler could ask", args.policies.display());
    }
    remark_on_stranger(args, &extenders);
    resources::keep_unique(&mut extenders);
    resources::ignore(&mut extenders, &args.ignored_by_scheduler)?;
    add_tls(&mut extenders, tls.as_ref());
    let config = configuration(args, &scales, &extenders);
    match args.output {
        OutputFormat::Json => output::print(&format!("{config:#}\n"))?,
        OutputFormat::Text if scales.are_fine() => {
            output::print(&yaml::with_comment(&yaml::of(&config), "profiles", &scales.comment()))?;
        }
        OutputFormat::Text => output::print(&yaml::of(&config))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Flags that contradict each other or kube-scheduler.
fn check_flags(args: &SchedulerConfigArgs) -> Result<()> {
    let repeated = args.profiles.iter().enumerate().find(|(at, name)| args.profiles[..*at].contains(name));
    if let Some((_, name)) = repeated {
        bail!("--profile {name} is given twice: kube-scheduler refuses two profiles of one name");
    }
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
fn remark_on_stranger(args: &SchedulerConfigArgs, extenders: &[Value]) {
    if extenders.iter().any(|stanza| stanza.get("bindVerb").is_some()) && is_stranger(args) {
        output::remark(&format!(
            "{NOT_BOUND} {}: give --cert-file and --key-file and an https URL, or --no-bind, or start plimsoll with --bind-without-authentication where the network is trusted",
            args.url
        ));
    }
}

fn add_tls(extenders: &mut [Value], tls: Option<&Value>) {
    let Some(tls) = tls else { return };
    for stanza in extenders {
        stanza["tlsConfig"] = tls.clone();
        // Without a CA this key turns the check of plimsoll's certificate off.
        if tls.get("caFile").is_some() {
            stanza["enableHTTPS"] = true.into();
        }
    }
}

fn configuration(args: &SchedulerConfigArgs, scales: &Scales, extenders: &[Value]) -> Value {
    let mut config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": extenders,
    });
    if let Some(kubeconfig) = &args.kubeconfig {
        config["clientConnection"] = json!({ "kubeconfig": kubeconfig });
    }
    if scales.are_fine() {
        config["profiles"] = scales.profiles(args);
    } else if !args.profiles.is_empty() {
        config["profiles"] = args.profiles.iter().map(|name| json!({ "schedulerName": name })).collect();
    }
    config
}

/// The TLS part for an https URL. Its files are on the scheduler's machine, so they are not opened.
fn tls_config(args: &SchedulerConfigArgs) -> Result<Option<Value>> {
    let mut tls = Map::new();
    let files = [("caFile", &args.ca_file), ("certFile", &args.cert_file), ("keyFile", &args.key_file)];
    for (key, file) in files.into_iter().filter_map(|(key, file)| Some((key, file.as_ref()?))) {
        tls.insert(key.to_owned(), json!(file));
    }
    if let Some(name) = &args.server_name {
        tls.insert("serverName".to_owned(), json!(name));
    }
    if tls.is_empty() {
        return Ok(None);
    }
    let https = args.url.starts_with("https://");
    ensure!(https, "--url is {}: a CA, a certificate or a server name needs one that begins with https://", args.url);
    Ok(Some(tls.into()))
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
    let why = match bind_group {
        Some(_) => "kube-scheduler takes one extender with bindVerb, which is another group's".to_owned(),
        None if binds(args) => format!("without a client certificate nobody may bind at {}", args.url),
        None => "this configuration has no bindVerb".to_owned(),
    };
    let outrun = outrun.join(", ");
    output::remark(&format!(
        "filters that count pods ({outrun}): pods that are bound at the same time can pass their limits, since {why}"
    ));
}

/// The stanza of one group: its URL, and the verbs that its policies have.
fn extender(
    args: &SchedulerConfigArgs,
    scales: &Scales,
    bind_group: Option<&str>,
    name: &str,
    group: &Group,
) -> Option<Value> {
    let has = |verb| resources::asked(group).any(|member| member.policy.verbs().has(verb));
    let base = args.url.trim_end_matches('/');
    let mut stanza = Map::new();
    let url = if name.is_empty() { base.to_owned() } else { format!("{base}/{name}") };
    stanza.insert("urlPrefix".into(), url.into());
    if has(Verb::Filter) {
        stanza.insert("filterVerb".into(), "filter".into());
    }
    // Filters are asked about preemption candidates too, as if the victims were gone.
    if has(Verb::Preempt) || has(Verb::Filter) {
        stanza.insert("preemptVerb".into(), "preempt".into());
    }
    if scores::scores(group) {
        stanza.insert("prioritizeVerb".into(), prioritize_verb(scales.of(name)).into());
        stanza.insert("weight".into(), scales.weight_of(name, args.weight).into());
    }
    if bind_group == Some(name) {
        stanza.insert("bindVerb".into(), "bind".into());
    }
    if stanza.len() == 1 {
        return None;
    }
    stanza.insert("nodeCacheCapable".into(), (!args.full_nodes).into());
    stanza.insert("ignorable".into(), args.ignorable.into());
    stanza.insert("httpTimeout".into(), humantime::format_duration(args.http_timeout).to_string().into());
    if let Some(resources) = resources::managed(group) {
        stanza.insert("managedResources".into(), resources);
    }
    Some(Value::Object(stanza))
}
