//! `plimsoll explain`: each policy's answer about a pod and a node, and the values that it read.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use super::offline::OfflineGateway;
use crate::{
    args::ExplainArgs,
    logging,
    render::explanation::{as_json, as_text, ask},
    text::push_line,
};

pub(super) fn explain(ExplainArgs { node, ask: args }: &ExplainArgs) -> Result<ExitCode> {
    let (offline, pod) = OfflineGateway::open_for(args)?;
    logging::start_for_command();
    let explanation = ask(&offline.gateway, &args.group, &pod, &offline.cluster, node)?;
    let (mut text, mut json) = (as_text(&pod, node, &explanation), as_json(&pod, node, &explanation));
    let classes = offline.cluster.device_classes();
    let slot = offline.cluster.find(node).and_then(|at| offline.cluster.slots().get(at as usize));
    let filters = offline.scheduler_filters(&pod, args)?;
    if let Some(rejection) = slot.and_then(|slot| filters.rejection(slot)) {
        let reasons = rejection.reasons.join(", ");
        push_line(
            &mut text,
            format_args!("kube-scheduler: its filter {} rejects the node: {reasons}", rejection.plugin),
        );
        json["kubeScheduler"] = json!({"fits": false, "plugin": rejection.plugin, "reasons": rejection.reasons});
    }
    let devices = slot.map(|slot| classes.remark(&pod, &slot.node)).unwrap_or_default();
    if !devices.is_empty() {
        push_line(&mut text, format_args!("kube-scheduler: {devices}"));
        json["devices"] = devices.into();
    }
    offline.print(args, &text, json, explanation.verdict.is_ok())
}
