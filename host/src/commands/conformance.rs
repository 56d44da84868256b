//! `plimsoll conformance`: puts the cases of the conformance suite to a module.

mod report;

use std::{path::Path, process::ExitCode, time::Instant};

use anyhow::{Result, bail};
use plimsoll_conformance::{Case, Outcome, cases, page};
use plimsoll_core::Policy;
use plimsoll_wasm::{Inspection, WasmLoader};

use self::report::{CaseEnd, CaseReport, ConformanceReport};
use crate::{
    args::{ConformanceArgs, OutputFormat},
    engine, output,
};

/// After this many calls that ran out of time without being meant to, the module is not asked any more.
const MAX_TIMEOUTS: usize = 3;

pub(super) fn conformance(args: &ConformanceArgs) -> Result<ExitCode> {
    let Some(file) = args.file.as_deref().filter(|_| !args.print_spec) else {
        output::print(page::PAGE)?;
        return Ok(ExitCode::SUCCESS);
    };
    let wanted = wanted(args.filter.as_deref())?;
    let loader = engine::loader_of_command(&args.engine, args.output == OutputFormat::Text)?;
    let report = match inspect(file, &loader)? {
        Err(why) => ConformanceReport::refused(file, why),
        Ok(inspection) => {
            let cases = put_all(&wanted, inspection.policy.as_ref());
            ConformanceReport::new(file, cases)
        }
    };
    match args.output {
        OutputFormat::Text => output::print(&report.as_text())?,
        OutputFormat::Json => output::print(&format!("{:#}\n", report.as_json()))?,
    }
    Ok(if report.is_passed() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The cases to run; none is a mistake of the caller.
fn wanted(filter: Option<&str>) -> Result<Vec<&'static Case>> {
    let has = |case: &&Case| filter.is_none_or(|text| case.name.contains(text) || case.verb.as_str().contains(text));
    let wanted: Vec<&Case> = cases().iter().filter(has).collect();
    match filter {
        Some(filter) if wanted.is_empty() => bail!("no case matches --filter '{filter}'"),
        _ => Ok(wanted),
    }
}

/// The loaded module, or why it is refused.
///
/// # Errors
/// If the file cannot be read.
fn inspect(file: &Path, loader: &WasmLoader) -> Result<Result<Inspection, String>> {
    let module = plimsoll_directory::module_at(file)?;
    Ok(loader.inspect(&file.display().to_string(), &module).map_err(|error| error.to_string()))
}

fn put_all(wanted: &[&'static Case], policy: &dyn Policy) -> Vec<CaseReport> {
    let mut timeouts = 0;
    let put = |case: &&'static Case| {
        let started = Instant::now();
        let end = if timeouts >= MAX_TIMEOUTS {
            CaseEnd::NotRun(format!("the module ran out of time in {MAX_TIMEOUTS} cases before"))
        } else {
            CaseEnd::Run(case.put_to(policy))
        };
        timeouts += usize::from(matches!(&end, CaseEnd::Run(Outcome::Failed(mismatch)) if mismatch.is_timeout));
        CaseReport { case, end, took: started.elapsed() }
    };
    wanted.iter().map(put).collect()
}
