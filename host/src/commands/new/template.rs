//! The files of a new policy, in each language.

use super::sdk::{BRANCH, Sdk};
use crate::args::Language;

/// The script that builds a policy in Rust.
pub(super) const BUILD_WASM: &str = "build-wasm";

/// The text of a template.
macro_rules! template {
    ($path:expr) => {
        include_str!(concat!("../../../../plugin-sdk/templates/", $path, ".in"))
    };
}

pub(super) use template;

/// For a language whose modules import every function of the contract, whichever the policy calls.
const COUNTS: &str = "\
# The filter does not count pods: a read of placed pods, of requests on a node or of a count would be a fault. Remove this
# line to let it count.
counts: false
";

/// The templates of a language.
pub(super) struct Template {
    /// The language's name.
    pub(super) language: &'static str,
    /// The file with the policy.
    pub(super) source: &'static str,
    /// The file with its tests.
    pub(super) tests: &'static str,
    /// The end of a sentence about the tests.
    pub(super) about_tests: &'static str,
    /// The part of the Makefile that builds the module and runs the native tests.
    makefile: &'static str,
    /// The steps of the workflow that bring the tools of the language.
    workflow: &'static str,
    /// The step of the workflow that brings the SDK, if it is that of a checkout.
    checkout: &'static str,
    /// The lines of `.gitignore` about files that the tools of the language make.
    ignored: &'static str,
    /// Further lines of the sidecar.
    sidecar: &'static str,
    /// Further files.
    files: &'static [(&'static str, &'static str)],
}

/// The template of a language whose files are in this folder of the templates.
macro_rules! language {
    ($folder:literal, $language:literal, $source:literal, $tests:literal: [$($file:literal),*], $($rest:tt)*) => {
        Template {
            language: $language,
            source: $source,
            tests: $tests,
            makefile: template!(concat!($folder, "/Makefile")),
            workflow: template!(concat!($folder, "/workflow.yml")),
            files: &[$(($file, template!(concat!($folder, "/", $file)))),*],
            $($rest)*
        }
    };
}

const OTHER: Template = Template {
    language: "",
    source: "",
    tests: "",
    about_tests: "which need no WebAssembly",
    makefile: "",
    workflow: "",
    checkout: "",
    ignored: "",
    sidecar: "",
    files: &[],
};

static RUST: Template = Template {
    language: "Rust",
    source: "src/lib.rs",
    tests: "src/lib.rs",
    makefile: template!("rust/Makefile"),
    workflow: template!("rust/workflow.yml"),
    checkout: template!("rust/checkout.yml"),
    ignored: template!("rust/gitignore"),
    files: &[
        ("Cargo.toml", template!("rust/Cargo.toml")),
        ("src/lib.rs", template!("rust/lib.rs")),
        (BUILD_WASM, include_str!("../../../../plugin-sdk/rust/build-wasm")),
    ],
    ..OTHER
};

static GO: Template = language!("go", "Go", "main.go", "main_test.go": ["go.mod", "main.go", "main_test.go"], ..OTHER);

static C: Template = language!("c", "C", "policy.c", "policy_test.c": ["policy.c", "policy_test.c"], ..OTHER);

static PYTHON: Template = language!("python", "Python", "policy.py", "test_policy.py": ["policy.py", "test_policy.py"],
    ignored: template!("python/gitignore"), sidecar: COUNTS, ..OTHER);

static TYPESCRIPT: Template = language!("typescript", "TypeScript", "policy.ts", "policy.test.ts":
    ["package.json", "tsconfig.json", "policy.ts", "policy.test.ts"],
    ignored: template!("typescript/gitignore"), sidecar: COUNTS, ..OTHER);

static ASSEMBLYSCRIPT: Template = language!("assemblyscript", "AssemblyScript", "policy.ts", "policy.test.mjs":
    ["package.json", "tsconfig.json", "policy.ts", "policy.test.mjs"],
    about_tests: "which run the module in Node.js", ignored: template!("assemblyscript/gitignore"), ..OTHER);

// === impl Template ===

impl Template {
    pub(super) fn of(language: Language) -> &'static Self {
        match language {
            Language::Rust => &RUST,
            Language::Go => &GO,
            Language::C => &C,
            Language::Python => &PYTHON,
            Language::Typescript => &TYPESCRIPT,
            Language::Assemblyscript => &ASSEMBLYSCRIPT,
            // It has files of its own.
            Language::Cel => &OTHER,
        }
    }

    /// The files with their paths in the folder of the policy.
    pub(super) fn files(&self, name: &str, sdk: &Sdk) -> Vec<(String, String)> {
        let checkout = if sdk.is_checkout { format!("\n{}", self.checkout.trim_end()) } else { String::new() };
        // Replaced in this order: a text may contain keys that come after it.
        let values = [
            ("@MAKEFILE@", self.makefile.trim_end()),
            ("@WORKFLOW@", self.workflow.trim_end()),
            ("@CHECKOUT@", &checkout),
            ("@IGNORED@", self.ignored.trim_end()),
            ("@SIDECAR@", self.sidecar),
            ("@NAME@", name),
            ("@SOURCE@", self.source),
            ("@TESTS@", self.tests),
            ("@ABOUT_TESTS@", self.about_tests),
            ("@SDK@", &sdk.reference),
            ("@SDK_NOTE@", &sdk.note),
            ("@BRANCH@", BRANCH),
        ];
        let filled = |text: &str| values.iter().fold(text.to_owned(), |text, (key, value)| text.replace(key, value));
        let common = [
            ("Makefile".to_owned(), template!("common/Makefile")),
            ("README.md".to_owned(), template!("common/README.md")),
            (format!("{name}.yaml"), template!("common/sidecar.yaml")),
            ("cases/needs.yaml".to_owned(), template!("common/needs.yaml")),
            ("pods/needs-gpu.yaml".to_owned(), template!("common/needs-gpu.yaml")),
            ("cases/misspelt.yaml".to_owned(), template!("common/misspelt.yaml")),
            (".gitignore".to_owned(), template!("common/gitignore")),
            (".github/workflows/policy.yml".to_owned(), template!("common/workflow.yml")),
        ];
        let of_language = self.files.iter().map(|(path, text)| ((*path).to_owned(), *text));
        common.into_iter().chain(of_language).map(|(path, text)| (path, filled(text))).collect()
    }
}
