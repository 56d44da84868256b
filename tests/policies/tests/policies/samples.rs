//! The sample policies in other languages than Rust: their own tests, and their cases with the modules.

use plimsoll_cases::cases;
use plimsoll_guests::toolchains::{Sample, c_sample, go_sample, python_sample, typescript_sample};
use plimsoll_harness::workspace;
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
}

#[test]
fn spot_cost_passes_its_tests_and_its_cases() {
    let Some(sample) = typescript_sample("spot-cost") else { return };
    assert_passes("spot-cost", &sample);
}

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

#[test]
fn numa_fit_passes_its_tests_and_its_cases() {
    let Some(sample) = c_sample("numa-fit") else { return };
    assert_passes("numa-fit", &sample);
}
