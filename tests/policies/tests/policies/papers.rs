use plimsoll_harness::workspace;

/// The packages below `plugins/`.
fn plugins() -> Vec<String> {
    let plugins = workspace().join("plugins").read_dir().unwrap().map(Result::unwrap);
    let packages = plugins.filter(|entry| entry.path().join("Cargo.toml").is_file());
    packages.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn every_sample_policy_comes_with_its_papers() {
    for name in plugins() {
        let folder = workspace().join("plugins").join(&name);
        for file in ["README.md", &format!("{name}.yaml")] {
            assert!(folder.join(file).is_file(), "plugins/{name} has no {file}");
        }
    }
}
