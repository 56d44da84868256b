//! The sample policies in other languages than Rust: their own tests, and their cases with the modules.

use std::fs;

use plimsoll_cases::cases;
use plimsoll_guests::toolchains::{Sample, go_sample};
#[cfg(feature = "nightly")]
use plimsoll_guests::toolchains::{c_sample, python_sample, typescript_sample};
use plimsoll_harness::{command, tempdir, workspace};
use plimsoll_policies::load_bytes;

fn assert_passes(name: &str, sample: &Sample) {
    for output in &sample.tests {
        let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat();
        assert!(output.status.success(), "{name}: {text}");
    }
    let policy = load_bytes(name, &sample.module);
    let cases = cases(workspace().join(format!("plugins/{name}/cases"))).unwrap();
    let failed: Vec<String> =
        cases.iter().filter_map(|case| case.check(&*policy).err()).map(|error| error.to_string()).collect();
    assert!(failed.is_empty(), "{} of {} cases failed:\n{}", failed.len(), cases.len(), failed.join("\n"));
    assert_passes_beside_its_sidecar(name, sample);
}

/// As its README says: `plimsoll test` takes the sidecar beside the module for cases without settings.
fn assert_passes_beside_its_sidecar(name: &str, sample: &Sample) {
    let (folder, own) = (tempdir().unwrap(), workspace().join("plugins").join(name));
    for entry in fs::read_dir(&own).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|ending| ending == "yaml" || ending == "csv") {
            fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
    }
    let module = folder.path().join(format!("{name}.wasm"));
    fs::write(&module, &sample.module).unwrap();
    let output = command().arg("test").arg(module).arg("--cases").arg(own.join("cases")).output().unwrap();
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat();
    assert!(output.status.success(), "{name}: {text}");
}

#[cfg(feature = "nightly")]
#[test]
fn spot_cost_passes_its_tests_and_its_cases() {
    let Some(sample) = typescript_sample("spot-cost") else { return };
    assert_passes("spot-cost", &sample);
}

#[cfg(feature = "nightly")]
#[test]
fn maintenance_window_passes_its_tests_and_its_cases() {
    let Some(sample) = python_sample("maintenance-window") else { return };
    assert_passes("maintenance-window", &sample);
}

#[test]
fn licence_seats_passes_its_tests_and_its_cases() {
    let Some(sample) = go_sample("licence-seats") else { return };
    assert_passes("licence-seats", &sample);
}

#[cfg(feature = "nightly")]
#[test]
fn numa_fit_passes_its_tests_and_its_cases() {
    let Some(sample) = c_sample("numa-fit") else { return };
    assert_passes("numa-fit", &sample);
}
