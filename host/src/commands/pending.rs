//! `plimsoll pending`: asks a running gateway which pods wait for a node, or why one does.

use std::process::ExitCode;

use anyhow::{Context, Result};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    args::{OutputFormat, PendingArgs},
    output,
    pending::{PendingJson, PendingPodJson},
    render::pending::{as_list, as_text},
};

pub(super) fn pending(args: &PendingArgs) -> Result<ExitCode> {
    let path = args.pod.as_ref().map_or_else(|| "/api/pending".to_owned(), |pod| format!("/api/pending/{pod}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (is_found, page) = runtime.block_on(plimsoll_http::read_admin_page(&args.server, &path))?;
    if !is_found {
        output::remark(String::from_utf8_lossy(&page).trim_end());
        return Ok(ExitCode::from(1));
    }
    match args.pod {
        None => print(args, &page, |list: &PendingJson| as_list(list)),
        Some(_) => print(args, &page, |pod: &PendingPodJson| as_text(pod)),
    }
}

fn print<T: Serialize + DeserializeOwned>(args: &PendingArgs, page: &[u8], text: fn(&T) -> String) -> Result<ExitCode> {
    let read: T = serde_json::from_slice(page)
        .with_context(|| format!("{} (--server) answers otherwise than this version of plimsoll", args.server))?;
    match args.output {
        OutputFormat::Text => output::print(&text(&read))?,
        OutputFormat::Json => output::print_json(&read)?,
    }
    Ok(ExitCode::SUCCESS)
}
