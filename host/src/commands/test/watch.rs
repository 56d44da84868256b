//! `plimsoll test --watch`: tests again whenever a file changes.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::Result;
use plimsoll_directory::ChangeWatch;
use plimsoll_system::FileStamp;

use super::{find, find::Found, once, run::Tester};
use crate::{args::TestArgs, output, text::count};

/// The interval at which files are compared where the system does not report changes, as on some network file systems.
const POLL: Duration = Duration::from_secs(2);

/// The time that files must stay as they are: a compiler writes a module in several steps.
const SETTLE: Duration = Duration::from_millis(150);

/// The files of a run with their stamps.
type Stamps = BTreeMap<PathBuf, FileStamp>;

pub(super) fn watch(tester: &Tester<'_>) -> Result<ExitCode> {
    let args = tester.args;
    let mut watch = ChangeWatch::new();
    loop {
        let found = find::find(args);
        // From before the run: a file that is written while it lasts is tested again.
        let stamps = stamps(&found);
        let printed =
            found.and_then(|found| once::report(&found, tester)).and_then(|report| once::print(&report, args.output));
        if let Err(error) = printed {
            output::complain(&error);
        }
        if let Some(lines) = tester.lines {
            lines.restart();
        }
        output::remark(&format!("watching {}; a change tests again", count(stamps.len(), "file")));
        wait_for_change(args, &mut watch, &stamps);
    }
}

/// Returns once the files are others than these, and have settled.
fn wait_for_change(args: &TestArgs, watch: &mut ChangeWatch, before: &Stamps) {
    let mut last = before.clone();
    let mut longest = POLL;
    loop {
        watch.follow(last.keys().filter_map(|file| file.parent()).map(folder).chain(args.files.iter().cloned()));
        watch.wait(longest);
        let now = stamps(&find::find(args));
        let is_settled = now == last;
        if is_settled && now != *before {
            return;
        }
        longest = if is_settled { POLL } else { SETTLE };
        last = now;
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

fn folder(parent: &Path) -> PathBuf {
    if parent == Path::new("") { PathBuf::from(".") } else { parent.to_owned() }
}
