use plimsoll_harness::workspace;

/// The sample policies.
fn plugins() -> Vec<String> {
    let plugins = workspace().join("plugins").read_dir().unwrap().map(Result::unwrap);
    let folders = plugins.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn every_sample_policy_has_a_readme_and_a_sidecar() {
    for name in plugins() {
        let folder = workspace().join("plugins").join(&name);
        for file in ["README.md", &format!("{name}.yaml")] {
            assert!(folder.join(file).is_file(), "plugins/{name} has no {file}");
        }
    }
}
