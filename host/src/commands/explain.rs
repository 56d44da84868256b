//! `plimsoll explain`: each policy's answer about a pod and a node, and the values that it read.

use std::process::ExitCode;

use anyhow::Result;

use super::offline::OfflineGateway;
use crate::{
    args::ExplainArgs,
    logging,
    render::explanation::{as_json, as_text, ask},
};

pub(super) fn explain(ExplainArgs { node, ask: args }: &ExplainArgs) -> Result<ExitCode> {
    let (offline, pod) = OfflineGateway::open_for(args)?;
    logging::start_for_command();
    let explanation = ask(&offline.gateway, &args.group, &pod, &offline.cluster, node)?;
    let (text, json) = (as_text(&pod, node, &explanation), as_json(&pod, node, &explanation));
    offline.print(args, &text, json, explanation.verdict.is_ok())
}
