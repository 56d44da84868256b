//! `plimsoll test`: the policies and the cases that it finds.

use std::fs;

use plimsoll_harness::tempdir;

use crate::test::{CASE, lay_out, test};

#[test]
fn cases_are_found_where_authors_put_them() {
    let layouts: [(&str, &[&str], &str, &str); 9] = [
        ("zone.wasm", &[], "zone/cases/a.yaml", "zone.wasm"),
        ("zone.wasm", &[], "cases/zone/a.yml", "zone.wasm"),
        ("zone.wasm", &[], "cases/a.yaml", "zone.wasm"),
        ("zone/zone.wasm", &[], "zone/cases/a.yaml", "zone/zone.wasm"),
        // As Cargo builds the package my-zone: the module is far from the source, and its name has an underscore.
        ("target/release/my_zone.wasm", &["target/release"], "cases/a.yaml", "target/release/my_zone.wasm"),
        ("target/release/my_zone.wasm", &["target/release"], "my-zone/cases/a.yaml", "target/release/my_zone.wasm"),
        ("out/zone.wasm", &["out", "--cases", "policies"], "policies/zone/cases/a.yaml", "out/zone.wasm"),
        ("out/zone.wasm", &["out/zone.wasm", "--cases", "tests"], "tests/a.yaml", "out/zone.wasm"),
        ("out/zone.wasm", &["out/zone.wasm", "--cases", "bug.yaml"], "bug.yaml", "out/zone.wasm"),
    ];
    for (module, args, case, shown) in layouts {
        let directory = tempdir().unwrap();
        lay_out(directory.path(), &[(module, "wasm"), (case, CASE)]);
        let printed = test(directory.path(), args);
        let expected = format!("{shown}: 1 case passed\n1 policy, 1 case: 1 passed, 0 failed\n");
        assert_eq!((printed.code, printed.out), (Some(0), expected), "{module} {case}\n{}", printed.err);
    }
}

#[test]
fn what_is_skipped_is_named_and_fails_a_strict_run_only() {
    let directory = tempdir().unwrap();
    let files = [("a.wasm", "wasm"), ("a/cases/a.yaml", CASE), ("b.wasm", "wasm"), ("c/cases/c.yaml", CASE)];
    lay_out(directory.path(), &files);
    let printed = test(directory.path(), &[]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(printed.out.contains("b.wasm: skipped, it has no cases\n"), "{printed:?}");
    assert!(printed.out.contains("c/cases: skipped, there is no policy for 1 case\n"), "{printed:?}");
    assert!(printed.out.ends_with("1 policy, 1 case: 1 passed, 0 failed; 2 skipped\n"), "{printed:?}");
    assert_eq!(test(directory.path(), &["--strict"]).code, Some(1));
}

#[test]
fn a_run_that_tests_nothing_is_no_success() {
    let directory = tempdir().unwrap();
    let table: [(&[&str], &str); 4] = [
        (&[], "there is no policy in .: expected .wasm files"),
        (&["zone"], "there are no cases for the policies in zone"),
        (&["zone", "--filter", "x", "--cases", "other"], "no case matches --filter 'x'"),
        (&["absent"], "absent: there is no such file or directory"),
    ];
    fs::write(directory.path().join("notes.txt"), "").unwrap();
    for (args, expected) in table {
        let printed = test(directory.path(), args);
        assert_eq!(printed.code, Some(2), "{args:?} {printed:?}");
        assert!(printed.err.contains(expected), "{args:?} {printed:?}");
        lay_out(directory.path(), &[("zone/zone.wasm", "wasm"), ("zone/notes.yaml", "a: 1\n")]);
        fs::create_dir_all(directory.path().join("other")).unwrap();
    }
    assert_eq!(test(directory.path(), &["notes.txt"]).code, Some(2));
    lay_out(directory.path(), &[("case.yaml", CASE)]);
    let printed = test(directory.path(), &["case.yaml"]);
    assert!(printed.err.contains("case.yaml is a case: name its policy, and the case with --cases"), "{printed:?}");
}

/// Two policies of one module, by their sidecars; the module alone is none.
#[test]
fn policies_that_share_a_module_have_cases_of_their_own() {
    let directory = tempdir().unwrap();
    let of = |answer: &str| CASE.replace("n2: {unschedulable: not in zone a}", answer);
    let (right, wrong) = (of("n2: {unschedulable: not in zone a}"), of("n2: fits"));
    lay_out(
        directory.path(),
        &[
            ("p/shared.wasm", "wasm"),
            ("p/one.yaml", "module: shared.wasm\n"),
            ("p/gpu/two.yml", "module: ../shared.wasm\n"),
            ("p/notes.yaml", "no: sidecar\n"),
            ("cases/one/a.yaml", &right),
            ("cases/two/a.yaml", &wrong),
        ],
    );
    let printed = test(directory.path(), &["--strict", "p"]);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    let heads: Vec<&str> = printed.out.lines().filter(|line| !line.starts_with(' ')).collect();
    let summary = "2 policies, 2 cases: 1 passed, 1 failed";
    assert_eq!(heads, ["p/gpu/two.yml: FAILED, 1 of 1 case", "p/one.yaml: 1 case passed", summary], "{printed:?}");
}

#[test]
fn files_may_have_any_name_and_other_files_are_left_alone() {
    use std::os::unix::ffi::OsStrExt as _;
    let directory = tempdir().unwrap();
    let odd = directory.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9\n\x1b[2J"));
    lay_out(&odd, &[("zone.wasm", "wasm"), ("cases/a.yaml", CASE), ("a.yaml", "kind: ConfigMap\n"), (".b.wasm", "no")]);
    std::os::unix::fs::symlink("..", odd.join("cases/loop")).unwrap();
    std::os::unix::fs::symlink("absent", odd.join("cases/gone.yaml")).unwrap();
    fs::create_dir(odd.join("node_modules")).unwrap();
    fs::write(odd.join("node_modules/x.wasm"), "no module").unwrap();
    for output in ["text", "json"] {
        let printed = test(directory.path(), &["-o", output]);
        assert_eq!(printed.code, Some(1), "{printed:?}");
        assert!(printed.out.contains("cannot be read") && !printed.out.contains('\u{1b}'), "{printed:?}");
    }
    fs::remove_file(odd.join("cases/gone.yaml")).unwrap();
    assert_eq!(test(directory.path(), &["--strict"]).code, Some(0));
}

/// A file beside a directory, as an author tries one case.
#[test]
fn a_single_file_of_cases_is_for_the_policy_whose_module_is_only_shared() {
    let directory = tempdir().unwrap();
    lay_out(directory.path(), &[("p/shared.wasm", "wasm"), ("p/one.yaml", "module: shared.wasm\n"), ("a.yaml", CASE)]);
    let printed = test(directory.path(), &["p", "--cases", "a.yaml"]);
    assert!(printed.code == Some(0) && printed.out.starts_with("p/one.yaml: 1 case passed"), "{printed:?}");
}
