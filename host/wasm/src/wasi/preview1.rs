//! The functions of WASI preview 1 that a core module imports, and what it gets of each: for the report of `check`.

use std::collections::BTreeSet;

use wasmparser::{Parser, Payload};

/// The module name under which the runtimes of languages import preview 1.
pub(crate) const PREVIEW1: &str = "wasi_snapshot_preview1";

/// The functions that a module imports, by name, each with what it gets. The module was accepted.
///
/// Only commands call this: the gateway itself does not parse modules.
pub(super) fn imports(module: &[u8], is_program: bool) -> Vec<(String, &'static str)> {
    let sections = Parser::new(0).parse_all(module).map_while(Result::ok).filter_map(|payload| match payload {
        Payload::ImportSection(imports) => Some(imports.into_imports().flatten()),
        _ => None,
    });
    let functions = sections.flatten().filter(|import| import.module == PREVIEW1).map(|import| import.name);
    let functions: BTreeSet<&str> = functions.collect();
    functions.into_iter().map(|name| (format!("{PREVIEW1}.{name}"), gets(name, is_program))).collect()
}

/// The function of such an import.
pub(super) fn function(import: &str) -> Option<&str> {
    import.strip_prefix(PREVIEW1)?.strip_prefix('.')
}

/// The effect of a function, in words; it follows `componentize/adapter.wat`, `componentize/reactor.wat` and `componentize/command.wat`.
fn gets(function: &str, is_program: bool) -> &'static str {
    match (function, is_program) {
        ("args_get" | "args_sizes_get", false) => "one argument, `policy`",
        ("args_get" | "args_sizes_get", true) => "two arguments, `policy` and the verb",
        ("environ_get" | "environ_sizes_get", _) => "no variables",
        ("clock_time_get" | "clock_res_get", _) => "2020-01-01T00:00:00Z, always",
        ("random_get", _) => "the same bytes each time",
        ("fd_read", true) => "standard input is the request",
        ("fd_write", false) => "log lines: of standard output at level info, of standard error at level warn",
        ("fd_write", true) => "standard output is the answer; standard error becomes log lines at level warn",
        ("fd_fdstat_get", true) => "the standard streams alone are open",
        ("poll_oneoff", _) => "each event is there at once",
        ("sched_yield", _) => "nothing happens",
        ("proc_exit", false) => "the call ends as the fault `panic`",
        ("proc_exit", true) => "the program ends; with another code than 0 as the fault `panic`",
        ("proc_raise", _) => "an error: ENOSYS",
        _ => "an error: EBADF, since no file and no socket is open",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_imported_function_is_listed_once_with_what_it_gets() {
        let module = wat::parse_str(
            r#"(module
                (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
                (import "wasi_snapshot_preview1" "args_get" (func (param i32 i32) (result i32)))
                (import "wasi_snapshot_preview1" "args_get" (func (param i32 i32) (result i32)))
                (import "plimsoll:policy/host@0.1.0" "now" (func (result i64))))"#,
        )
        .unwrap();
        let told = |is_program| -> Vec<(String, &str)> {
            let imports = imports(&module, is_program).into_iter();
            imports.map(|(name, gets)| (function(&name).unwrap().to_owned(), gets)).collect()
        };
        let log_lines = "log lines: of standard output at level info, of standard error at level warn";
        let expected = [("args_get", "one argument, `policy`"), ("fd_write", log_lines)];
        assert_eq!(told(false), expected.map(|(name, gets)| (name.to_owned(), gets)));
        assert_eq!(told(true)[0].1, "two arguments, `policy` and the verb");
    }

    #[test]
    fn a_function_of_the_adapter_that_gets_an_answer_has_its_own_words() {
        let sources = [include_str!("../componentize/adapter.wat"), include_str!("../componentize/reactor.wat")];
        let mut functions = 0;
        for source in sources {
            for line in source.lines().filter_map(|line| line.trim().strip_prefix("(func (export \"")) {
                let (name, rest) = line.split_once('"').unwrap();
                let is_error = rest.ends_with("(i32.const 8))");
                assert_eq!(gets(name, false).contains("EBADF"), is_error, "{name}");
                functions += 1;
            }
        }
        assert!(functions > 10, "only {functions} functions were found");
    }
}
