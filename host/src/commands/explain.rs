//! `plimsoll explain`: each policy's answer about a pod and a node, and the values that it read.

use std::process::ExitCode;

use anyhow::Result;
use plimsoll_core::SchedulerRejection;
use serde_json::json;

use super::offline::OfflineGateway;
use crate::{
    args::ExplainArgs,
    logging,
    render::{
        answer::not_tried_text,
        explanation::{as_json, as_text, ask},
    },
};

pub(super) fn explain(ExplainArgs { node, ask: args }: &ExplainArgs) -> Result<ExitCode> {
    let (offline, pod) = OfflineGateway::open_for(args)?;
    logging::start_for_command();
    let explanation = ask(&offline.gateway, &args.group, &pod, &offline.cluster, node)?;
    let mut json = as_json(&pod, node, &explanation);
    let classes = offline.cluster.device_classes();
    let slot = offline.cluster.find(node).and_then(|at| offline.cluster.slots().get(at as usize));
    let filters = offline.scheduler_filters(&pod, args)?;
    let mut remarks = Vec::new();
    if let Some(why) = filters.not_tried() {
        remarks.push(not_tried_text(why));
        json["notTried"] = why.into();
    }
    if let Some(SchedulerRejection { plugin, reasons, .. }) = slot.and_then(|slot| filters.rejection(slot)) {
        remarks.push(format!("kube-scheduler: its filter {plugin} rejects the node: {}", reasons.join(", ")));
        json["kubeScheduler"] = json!({"fits": false, "plugin": plugin, "reasons": reasons});
    }
    let devices = slot.map(|slot| classes.remark(&pod, &slot.node)).unwrap_or_default();
    if !devices.is_empty() {
        remarks.push(format!("kube-scheduler: {devices}"));
        json["devices"] = devices.into();
    }
    let text = as_text(&pod, node, &explanation, &remarks);
    offline.print(args, &text, json, explanation.verdict.is_ok())
}
