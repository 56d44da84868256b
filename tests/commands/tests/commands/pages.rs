//! The pages about languages: who types what they say gets what they show.

use std::{fs, path::Path};

use plimsoll_harness::workspace;

use crate::{
    page::Page,
    tools::{has_clang, has_go, has_npm_packages, has_packages, link_npm_packages},
};

/// An SDK on npm: its folder, its package, and the programs that its packages have.
struct Npm {
    sdk: &'static str,
    package: &'static str,
    programs: &'static [(&'static str, &'static str)],
}

const TYPESCRIPT: Npm = Npm {
    sdk: "typescript",
    package: "plimsoll",
    programs: &[
        ("componentize-qjs", "componentize-qjs/bin/componentize-qjs"),
        ("plimsoll-build", "plimsoll/bin/plimsoll-build.mjs"),
        ("tsc", "typescript/bin/tsc"),
    ],
};

const ASSEMBLYSCRIPT: Npm = Npm {
    sdk: "assemblyscript",
    package: "plimsoll-assemblyscript",
    programs: &[("plimsoll-asc", "plimsoll-assemblyscript/bin/plimsoll-asc.mjs")],
};

// === impl Npm ===

impl Npm {
    /// The page and its folder after `npm install`; none where the packages are missing, and the test is reported as skipped.
    fn open(&self, page: &str) -> Option<Page> {
        if !has_npm_packages(self.sdk) {
            return None;
        }
        let page = Page::open(page);
        let package = workspace().join("plugin-sdk").join(self.sdk);
        link_npm_packages(&page.folder(), self.sdk, (self.package, &package), self.programs);
        Some(page)
    }
}

/// A line that was done already.
const DONE: &str = ":";

fn contains(printed: &str, expected: &[&str]) {
    for text in expected {
        assert!(printed.contains(text), "{text:?} is missing in\n{printed}");
    }
}

#[test]
fn a_component_is_made_without_an_sdk_as_the_page_says() {
    let Some(page) = TYPESCRIPT.open("any") else { return };
    let install = ("npm install componentize-qjs", DONE);
    for file in ["zone.js", "cases/zone.yaml"] {
        page.write(file);
    }
    let commands = page.commands("A component");
    let printed = page.follow(commands, &[install]);
    contains(
        &printed,
        &["zone.wasm: accepted\n", "  verbs    filter\n", "  kind     component\n", "the filter may count"],
    );
    let printed = page.follow(page.commands("Is it right?"), &[]);
    contains(&printed, &["1 policy, 1 case: 1 passed, 0 failed"]);

    let build = commands.lines().find(|line| line.starts_with("npx ")).unwrap();
    let refused = page.run(commands, &[install, (build, &build.replace("--sync ", ""))]);
    assert!(!refused.succeeded);
    contains(&refused.printed, &["zone.wasm: REFUSED, it uses asynchronous functions"]);

    page.write("wit/policy.wit");
    let script = format!("{}\n{}", page.file("zone.js"), page.file("settings"));
    fs::write(page.folder().join("zone.js"), script).unwrap();
    let printed = page.follow(page.commands("A world of several verbs"), &[]);
    contains(&printed, &["zone.wasm: accepted\n", "  verbs    filter, validate\n"]);
    fs::write(page.folder().join("zone.yaml"), "settings: {zone: a}\n").unwrap();
    let refused = page.run("plimsoll check zone.wasm", &[]);
    assert!(!refused.succeeded);
    contains(&refused.printed, &["zone has no settings"]);
}

#[test]
fn the_page_about_typescript_shows_the_files_of_a_new_policy_and_commands_that_build_them() {
    let Some(page) = TYPESCRIPT.open("typescript") else { return };
    shows_files_of_new(&page, "typescript", &["policy.ts", "policy.test.ts"]);
    let sdk = ["(cd /path/to/plimsoll/plugin-sdk/typescript && npm ci && npm run build)"; 2];
    let built = sdk[1].replace("/path/to", "..").replace("npm ci && ", "");
    let install = ("npm install /path/to/plimsoll/plugin-sdk/typescript typescript", DONE);
    let printed = page.follow(page.commands("4. Build the module"), &[(sdk[0], &built), install]);
    contains(&printed, &["policies/needs-label.wasm: accepted\n", "  verbs    filter, validate\n"]);
}

#[test]
fn the_page_about_assemblyscript_shows_the_files_of_a_new_policy_and_commands_that_build_them() {
    let modules = [(), ()].map(|()| {
        let page = ASSEMBLYSCRIPT.open("assemblyscript")?;
        shows_files_of_new(&page, "assemblyscript", &["policy.ts", "policy.test.mjs"]);
        let sdk = ("(cd /path/to/plimsoll/plugin-sdk/assemblyscript && npm ci)", DONE);
        let install = ("npm install /path/to/plimsoll/plugin-sdk/assemblyscript", DONE);
        let printed = page.follow(page.commands("4. Build the module"), &[sdk, install]);
        contains(&printed, &["policies/needs-label.wasm: accepted\n", "  verbs    filter, validate\n"]);
        Some(module(&page, "policies"))
    });
    assert!(modules[0] == modules[1], "two builds of one source differ");
}

#[test]
fn the_page_about_c_shows_a_policy_its_tests_and_commands_that_build_it() {
    if !has_clang() {
        return;
    }
    let modules = [(), ()].map(|()| {
        let page = Page::open("c");
        let begin = page.commands("1. Make the folder");
        let make = format!("(cd .. && {})", begin.lines().next().unwrap());
        page.follow(begin, &[(begin.lines().next().unwrap(), &make), ("cd needs-label", DONE)]);
        for file in ["policy.c", "policy_test.c"] {
            page.write(file);
        }
        let printed = page.follow("make test", &[]);
        contains(&printed, &["ok     a_node_without_the_label_is_refused", "2 cases: 2 passed"]);
        let build = page.commands("4. Build the module by hand");
        contains(&page.follow(build, &[]), &["build/needs-label.wasm: accepted\n"]);
        refuses_settings_as_shown(&page, "build");
        module(&page, "build")
    });
    assert!(modules[0] == modules[1], "two builds of one source differ");
}

#[test]
fn the_page_about_go_makes_a_policy_from_an_empty_folder() {
    if !has_go() {
        return;
    }
    let modules = [(), ()].map(|()| {
        let page = Page::open("go");
        page.follow(page.commands("By hand"), &[("mkdir needs-label && cd needs-label", DONE)]);
        for file in ["main.go", "main_test.go"] {
            page.write(file);
        }
        contains(&page.follow(page.commands("3. Test it natively"), &[]), &["ok  \texample.com/needs-label"]);
        let build = page.commands("4. Build the module");
        contains(&page.follow(build, &[]), &["policies/needs-label.wasm: accepted\n", "  verbs    filter, validate\n"]);
        let module = module(&page, "policies");
        refuses_settings_as_shown(&page, "policies");
        let command = page.run(&build.replace("-buildmode=c-shared ", ""), &[]);
        assert!(!command.succeeded);
        let hint = "it was built as a command: build it with -buildmode=c-shared";
        contains(&command.printed, &["wasmexport function called before runtime initialization", hint]);
        module
    });
    assert!(modules[0] == modules[1], "two builds of one source differ");
}

/// Without the last command: a module of Python takes half a minute to compile, and the test of `new` does it.
#[test]
fn the_page_about_python_shows_a_policy_its_tests_and_commands_that_build_it() {
    let advice = "make a venv with plugin-sdk/python[test] in target/python";
    if !has_packages(&workspace().join("target/python/bin/componentize-py"), advice) {
        return;
    }
    let page = Page::open("python");
    for file in ["needs_label.py", "test_needs_label.py"] {
        page.write(file);
    }
    let installed = "export PATH=\"$PWD/../plimsoll/target/python/bin:$PATH\"\n\
        export PYTHONPATH=../plimsoll/plugin-sdk/python MYPYPATH=../plimsoll/plugin-sdk/python\n";
    let tests = installed.to_owned() + page.commands("3. Test it natively");
    let as_modules =
        [("pytest", "python -m pytest"), ("mypy --strict needs_label.py", "python -m mypy --strict needs_label.py")];
    contains(&page.follow(&tests, &as_modules), &["1 passed", "Success: no issues found"]);
    let build = installed.to_owned() + page.commands("4. Build the module");
    page.follow(&build, &[("plimsoll check policies/needs-label.wasm", DONE)]);
    assert!(module(&page, "policies").starts_with(b"\0asm"));
}

/// `plimsoll new` writes these files, and its own test builds and tests them.
fn shows_files_of_new(page: &Page, language: &str, files: &[&str]) {
    for file in files {
        let template = workspace().join(format!("plugin-sdk/templates/{language}/{file}.in"));
        assert_eq!(page.file(file), fs::read_to_string(&template).unwrap().trim_end(), "{}", template.display());
        page.write(file);
    }
}

fn refuses_settings_as_shown(page: &Page, folder: &str) {
    fs::write(page.folder().join(folder).join("needs-label.yaml"), "settings: {annotation: 5}\n").unwrap();
    let refused = page.run(&format!("plimsoll check {folder}/needs-label.wasm"), &[]);
    assert!(!refused.succeeded && refused.printed.lines().any(|line| page.shows(line)), "{refused:?}");
}

fn module(page: &Page, folder: &str) -> Vec<u8> {
    fs::read(page.folder().join(Path::new(folder)).join("needs-label.wasm")).unwrap()
}
