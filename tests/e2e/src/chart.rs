//! The Helm chart of `deploy/chart`, rendered by a real helm.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use plimsoll_harness::workspace;
use serde_json::Value;

use crate::component::program;

/// Runs helm, and tells what it prints.
pub fn helm(args: &[&str]) -> Result<String> {
    let output = Command::new(program("helm")).args(args).output().context("run tests/e2e/helm/build")?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "helm {args:?}: {}{text}", String::from_utf8_lossy(&output.stdout));
    Ok(String::from_utf8(output.stdout)?)
}

/// Where the chart is.
pub fn chart() -> PathBuf {
    workspace().join("deploy/chart")
}

/// Every set of values that the chart is tried with, beside its defaults.
pub fn value_files() -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(chart().join("ci"))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    files.sort();
    Ok(files)
}

/// The chart as one text, installed as `plimsoll` into the namespace `plimsoll`.
pub fn render(values: Option<&Path>) -> Result<String> {
    let chart = chart().display().to_string();
    let mut args = vec!["template", "plimsoll", &chart, "--namespace", "plimsoll"];
    let file = values.map(|file| file.display().to_string());
    args.extend(file.iter().flat_map(|file| ["--values", file]));
    helm(&args)
}

/// The objects of a text of several YAML documents.
pub fn objects(manifest: &str) -> Result<Vec<Value>> {
    let documents = manifest.split("\n---\n").map(|document| document.trim_start_matches("---\n"));
    documents.map(|document| serde_saphyr::from_str(document).with_context(|| document.to_owned())).collect()
}

/// The configuration of the chart's second scheduler.
pub fn scheduler_config(objects: &[Value]) -> Value {
    let is_its = |object: &&Value| object["kind"] == "ConfigMap" && object["metadata"]["name"] == "plimsoll-scheduler";
    let text = objects.iter().find(is_its).and_then(|object| object["data"]["config.yaml"].as_str());
    serde_saphyr::from_str(text.unwrap_or_default()).unwrap_or_default()
}

/// The first object of a kind, by name.
pub fn of_kind<'o>(objects: &'o [Value], kind: &str) -> Result<&'o Value> {
    objects.iter().find(|object| object["kind"] == kind).with_context(|| format!("there is no {kind}"))
}
