//! `plimsoll explain`: each policy's answer about a pod and a node, and the values that it read.

use std::process::ExitCode;

use anyhow::Result;

use super::offline::OfflineGateway;
use crate::{
    args::{ExplainArgs, OutputFormat},
    logging, output,
    render::explanation::{as_json, as_text, ask},
};

pub(super) fn explain(ExplainArgs { node, ask: args }: &ExplainArgs) -> Result<ExitCode> {
    let (offline, pod) = OfflineGateway::open_for(args)?;
    logging::start_for_command();
    let explanation = ask(&offline.gateway, &args.group, &pod, &offline.cluster, node)?;
    match args.output {
        OutputFormat::Text => {
            let mut text = offline.origin.line.clone() + &as_text(&pod, node, &explanation);
            text.extend(offline.remarks(&args.group).map(|remark| format!("\n{remark}\n")));
            output::print(&text)?;
        }
        OutputFormat::Json => {
            let mut json = as_json(&pod, node, &explanation);
            offline.add_json(&mut json, &args.group);
            output::print(&format!("{json:#}\n"))?;
        }
    }
    Ok(if explanation.verdict.is_ok() && offline.left_out(&args.group).is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}
