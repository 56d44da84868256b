//! `plimsoll test`: puts test cases in YAML to policies, and shows the differences.

mod find;
mod record;
mod report;
mod request;
mod run;

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode, thread, time::Duration};

use anyhow::{Result, bail};
use plimsoll_system::FileStamp;

use self::{find::Found, report::TestReport, run::Tester};
use crate::{
    args::{ReportFormat, TestArgs},
    engine, logging, output,
    render::junit,
    text::count,
};

/// The interval at which `--watch` compares files. They must stay as they are for one: a compiler writes a module in
/// several steps.
const POLL: Duration = Duration::from_millis(300);

/// The files of a run with their stamps.
type Stamps = BTreeMap<PathBuf, FileStamp>;

pub(super) fn test(args: &TestArgs) -> Result<ExitCode> {
    let loader = engine::loader_of_command(&args.engine, args.output == ReportFormat::Text)?;
    if let Some(target) = &args.record.target {
        return record::record(args, target, &loader);
    }
    if args.explain {
        logging::start_for_command();
    }
    let tester = Tester { args, loader: &loader };
    if args.watch {
        watch(&tester);
    }
    let report = report(&find::find(args)?, &tester)?;
    print(&report, args.output)?;
    Ok(if report.is_passed(args.strict) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Runs the cases that were found.
///
/// # Errors
/// If that tests nothing: a command in CI that looks in the wrong place must not succeed.
fn report(found: &Found, tester: &Tester<'_>) -> Result<TestReport> {
    let (report, args) = (tester.run(found), tester.args);
    if report.is_empty() {
        let places = args.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
        for skipped in &report.skipped {
            output::remark(&skipped.as_line());
        }
        match &args.filter {
            Some(filter) => bail!("no case matches --filter '{filter}'"),
            None if found.subjects.is_empty() => bail!("there is no policy in {places}: expected .wasm files"),
            None => bail!(
                "there are no cases for the policies in {places}: expected YAML files in NAME/cases or cases/NAME \
                 beside NAME.wasm or in the current directory, or --cases DIR"
            ),
        }
    }
    Ok(report)
}

fn print(report: &TestReport, format: ReportFormat) -> Result<()> {
    match format {
        ReportFormat::Text => output::print(&report.as_text()),
        ReportFormat::Json => output::print(&format!("{:#}\n", report.as_json())),
        ReportFormat::Junit => output::print(&junit::document(&report.as_suites())),
    }
}

/// Tests again whenever a file changes.
fn watch(tester: &Tester<'_>) -> ! {
    let args = tester.args;
    loop {
        let found = find::find(args);
        // From before the run: a file that is written while it lasts is tested again.
        let before = stamps(&found);
        let printed = found.and_then(|found| report(&found, tester)).and_then(|report| print(&report, args.output));
        if let Err(error) = printed {
            output::complain(&error);
        }
        output::remark(&format!("watching {}; a change tests again", count(before.len(), "file")));
        let mut last = before.clone();
        loop {
            #[expect(clippy::disallowed_methods, reason = "files are polled")]
            thread::sleep(POLL);
            let now = stamps(&find::find(args));
            if now == last && now != before {
                break;
            }
            last = now;
        }
    }
}

/// The files of policies and cases; none while they cannot be found.
fn stamps(found: &Result<Found>) -> Stamps {
    let subjects = found.iter().flat_map(|found| &found.subjects);
    let files = subjects.flat_map(|subject| {
        let files = subject.files.iter().flat_map(|files| [Some(files.module.clone()), files.sidecar.clone()]);
        files.flatten().chain([subject.file.clone()]).chain(subject.cases.iter().cloned())
    });
    files.map(|file| (file.clone(), FileStamp::of(&file))).collect()
}
