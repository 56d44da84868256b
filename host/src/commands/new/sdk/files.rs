//! The files of the SDKs that this program has within it.

/// Files with their paths in the folder of the SDK.
pub(super) type Files = &'static [(&'static str, &'static str)];

macro_rules! files {
    ($folder:literal: $($path:literal,)*) => {
        &[$(($path, include_str!(concat!("../../../../../plugin-sdk/", $folder, "/", $path)))),*]
    };
}

pub(super) const ASSEMBLYSCRIPT: Files = files!["assemblyscript":
    "LICENSE",
    "README.md",
    "assembly/answers.ts",
    "assembly/fault.ts",
    "assembly/generated-imports.ts",
    "assembly/generated-views.ts",
    "assembly/generated.ts",
    "assembly/guest.ts",
    "assembly/index.ts",
    "assembly/json.ts",
    "assembly/log.ts",
    "assembly/memory.ts",
    "assembly/quantity.ts",
    "assembly/settings.ts",
    "assembly/some.ts",
    "assembly/verbs.ts",
    "assembly/views.ts",
    "bin/plimsoll-asc.mjs",
    "builder/command.mjs",
    "builder/compile.mjs",
    "builder/entry.mjs",
    "builder/policy.mjs",
    "package.json",
    "testing/abi.mjs",
    "testing/answers.mjs",
    "testing/cluster.mjs",
    "testing/generated.mjs",
    "testing/index.d.mts",
    "testing/index.mjs",
    "testing/known.mjs",
    "testing/metadata.mjs",
    "testing/objects.mjs",
    "testing/policy.mjs",
    "testing/quantity.mjs",
    "testing/reads.mjs",
    "tsconfig.base.json",
];

pub(super) const C: Files = files!["c":
    "LICENSE",
    "README.md",
    "plimsoll.h",
    "plimsoll_generated.h",
    "plimsoll_test.h",
];

pub(super) const GO: Files = files!["go":
    "LICENSE",
    "README.md",
    "bind/bind.go",
    "bind/export_wasip1.go",
    "filter/export_wasip1.go",
    "filter/filter.go",
    "go.mod",
    "hostlog/default_wasip1.go",
    "hostlog/hostlog.go",
    "internal/abi/answer_wasip1.go",
    "internal/abi/area_wasip1.go",
    "internal/abi/doc.go",
    "internal/bridge/bridge.go",
    "internal/guest/guest.go",
    "internal/guest/guest_wasip1.go",
    "internal/settings/prepare.go",
    "internal/settings/settings.go",
    "plimsoll/answer.go",
    "plimsoll/bind.go",
    "plimsoll/bind_wasip1.go",
    "plimsoll/doc.go",
    "plimsoll/generated.go",
    "plimsoll/generated_host.go",
    "plimsoll/generated_wasip1.go",
    "plimsoll/guest_wasip1.go",
    "plimsoll/hostcalls_native.go",
    "plimsoll/hostcalls_wasip1.go",
    "plimsoll/log.go",
    "plimsoll/quantity.go",
    "plimsoll/views.go",
    "plimsolltest/cluster.go",
    "plimsolltest/host.go",
    "plimsolltest/metadata.go",
    "plimsolltest/objects.go",
    "plimsolltest/world.go",
    "preempt/export_wasip1.go",
    "preempt/preempt.go",
    "rank/export_wasip1.go",
    "rank/rank.go",
    "score/export_wasip1.go",
    "score/score.go",
];

pub(super) const PYTHON: Files = files!["python":
    "LICENSE",
    "README.md",
    "plimsoll/__init__.py",
    "plimsoll/__main__.py",
    "plimsoll/_generated.py",
    "plimsoll/_guest.py",
    "plimsoll/policy.py",
    "plimsoll/policy.wit",
    "plimsoll/py.typed",
    "plimsoll/quantity.py",
    "plimsoll/settings.py",
    "plimsoll/testing/__init__.py",
    "plimsoll/testing/metadata.py",
    "plimsoll/testing/objects.py",
    "plimsoll/testing/reads.py",
    "plimsoll/types.py",
    "plimsoll/views.py",
    "pyproject.toml",
];

pub(super) const TYPESCRIPT: Files = files!["typescript":
    "LICENSE",
    "README.md",
    "bin/plimsoll-build.mjs",
    "package.json",
    "policy.wit",
    "src/answers.ts",
    "src/builder/command.ts",
    "src/builder/source-map.ts",
    "src/console.ts",
    "src/generated-host.ts",
    "src/generated-modules.d.ts",
    "src/generated-views.ts",
    "src/generated.ts",
    "src/guest.ts",
    "src/index.ts",
    "src/policy.ts",
    "src/quantity.ts",
    "src/settings.ts",
    "src/testing/cluster.ts",
    "src/testing/index.ts",
    "src/testing/known.ts",
    "src/testing/metadata.ts",
    "src/testing/objects.ts",
    "src/testing/reads.ts",
    "src/trace.ts",
    "src/tsconfig.json",
    "src/views.ts",
    "tsconfig.base.json",
];

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn the_sdks_within_the_program_are_complete() {
        let all =
            [("c", C), ("go", GO), ("python", PYTHON), ("typescript", TYPESCRIPT), ("assemblyscript", ASSEMBLYSCRIPT)];
        for (language, files) in all {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin-sdk").join(language);
            let listed: BTreeSet<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
            assert_eq!(listed, files_of(&root, &root), "{language}");
        }
    }

    /// The files of an SDK without those for its development, and those that a build made.
    fn files_of(root: &Path, folder: &Path) -> BTreeSet<String> {
        const FOLDERS: [&str; 7] = ["__pycache__", "build", "dist", "examples", "node_modules", "test", "tests"];
        const FILES: [&str; 2] = ["package-lock.json", "tsconfig.json"];
        let mut files = BTreeSet::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let relative = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !FOLDERS.contains(&&*name) && !name.starts_with('.') && !name.ends_with(".egg-info") {
                files.append(&mut files_of(root, &path));
            } else if path.is_file() && !name.ends_with("_test.go") && !FILES.contains(&&*relative) {
                files.insert(relative);
            }
        }
        files
    }
}
