//! Snapshot files as kubectl writes them, and as they should not be; and an API server that is no better.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test says by a panic what is wrong"
)]

use std::{fs, path::PathBuf, time::Duration};

use plimsoll_cluster::{ApiServer, Credentials, read_pod, read_snapshot};
use plimsoll_harness::FakeApi;

mod api_watch;
mod binding;
mod connecting;
mod errors;
mod nominating;
mod reading;
mod snapshot_watch;

const NODE: &str = r#"{"kind":"Node","metadata":{"name":"a","labels":{"zone":"z1"}}}"#;
const POD: &str =
    r#"{"kind":"Pod","metadata":{"name":"p","namespace":"ml","uid":"u1"},"spec":{"nodeName":"a","containers":[]}}"#;

/// A test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(1);

fn connect(api: &FakeApi) -> ApiServer {
    ApiServer::connect(&Credentials::File(api.kubeconfig()), None).unwrap()
}

/// A file in a directory of its own.
struct Written {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn write(name: &str, text: &str) -> Written {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, text).unwrap();
    Written { _directory: directory, path }
}

/// The error of a snapshot with this text, without the directory.
fn snapshot_error(text: &str) -> String {
    let file = write("s.json", text);
    without_directory(&file, &read_snapshot(&file.path).unwrap_err())
}

/// The error of a pod's file with this text, without the directory.
fn pod_error(text: &str) -> String {
    let file = write("p.yaml", text);
    without_directory(&file, &read_pod(&file.path).unwrap_err())
}

fn without_directory(file: &Written, error: &plimsoll_cluster::SnapshotError) -> String {
    let directory = format!("{}/", file.path.parent().unwrap().display());
    error.to_string().replace(&directory, "")
}
