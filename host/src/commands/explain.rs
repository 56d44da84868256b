//! `plimsoll explain`: each policy's answer about a pod and a node, and the values that it read.

use std::{process::ExitCode, sync::Arc};

use anyhow::Result;

use super::offline::{self, OfflineGateway};
use crate::{
    args::{ExplainArgs, OutputFormat},
    output,
    render::explanation::{as_json, as_text, ask},
};

pub(super) fn explain(args: &ExplainArgs) -> Result<ExitCode> {
    let pod = Arc::new(offline::read_pod(&args.pod)?);
    let mut offline = OfflineGateway::open(&args.policies, &args.cluster, &args.engine)?;
    offline.hide(&pod);
    offline.check_group(&args.group)?;
    let explanation = ask(&offline.gateway, &args.group, &pod, &offline.cluster, &args.node)?;
    match args.output {
        OutputFormat::Text => {
            let mut text = offline.origin.as_line() + &as_text(&pod, &args.node, &explanation);
            text.extend(offline.other_groups(&args.group).map(|remark| format!("\n{remark}\n")));
            output::print(&text)?;
        }
        OutputFormat::Json => {
            let mut json = as_json(&pod, &args.node, &explanation);
            json["cluster"] = offline.origin.as_json();
            json["group"] = args.group.as_str().into();
            output::print(&format!("{json:#}\n"))?;
        }
    }
    Ok(if explanation.verdict.is_err() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
