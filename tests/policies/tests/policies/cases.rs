use plimsoll_policies::{build, load, workspace};
use plimsoll_policy::testing::cases;

/// The packages below `plugins/`.
fn plugins() -> Vec<String> {
    let plugins = workspace().join("plugins").read_dir().unwrap().map(Result::unwrap);
    let packages = plugins.filter(|entry| entry.path().join("Cargo.toml").is_file());
    packages.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn every_case_of_every_sample_policy_holds_for_its_module() {
    let plugins = plugins();
    let packages: Vec<&str> = plugins.iter().flat_map(|name| ["-p", name]).collect();
    let modules = build(&packages);
    assert_eq!(modules.len(), plugins.len());
    for name in plugins {
        let file = format!("{}.wasm", name.replace('-', "_"));
        let module = modules.iter().find(|module| module.ends_with(&file)).unwrap();
        let policy = load(module);
        for case in cases(workspace().join("plugins").join(&name).join("cases")).unwrap() {
            case.check(policy.as_ref()).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
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
