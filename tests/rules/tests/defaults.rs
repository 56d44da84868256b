//! A default is defined once, as the flag's. The copies in the chart and the harness are compared here with
//! `--help`, as the golden files of `tests/commands` have it.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the sources should stop")]

use std::{collections::BTreeMap, fs};

use plimsoll_harness::workspace;

#[test]
fn the_values_of_the_chart_are_the_defaults_of_the_flags() {
    let (flags, values) = (defaults("serve"), read("deploy/chart/values.yaml"));
    let listen = flags["--listen"].rsplit(':').next().unwrap();
    let pairs = [
        ("\nrequestTimeout: ", flags["--request-timeout"].as_str()),
        ("\ndrainSeconds: ", flags["--drain-timeout"].trim_end_matches('s')),
        ("\nlog: ", &flags["--log"]),
        ("\ncache:\n  sizeLimit: ", &flags["--compile-cache-size"]),
        ("\nservice:\n  port: ", listen),
        ("\n  clients: ", &format!("[{}]", flags["--bind-clients"])),
    ];
    for (key, expected) in pairs {
        let (_, value) = values.split_once(key).unwrap_or_else(|| panic!("values.yaml has no `{}`", key.trim()));
        assert_eq!(value.lines().next(), Some(expected), "values.yaml: `{}` is another than the flag's", key.trim());
    }
    // The ports of the container, and of what calls it from outside the chart.
    let (args, deployment) = (read("deploy/chart/templates/_pod.tpl"), read("deploy/chart/templates/deployment.yaml"));
    assert!(args.contains(&format!("--listen={{{{ include \"plimsoll.anywhere\" . }}}}:{listen}\n")), "_pod.tpl");
    assert!(deployment.contains(&format!("{{name: extender, containerPort: {listen}}}")), "deployment.yaml");
}

#[test]
fn commands_agree_on_the_defaults_of_a_flag() {
    let serve = defaults("serve");
    for command in COMMANDS {
        for (flag, default) in defaults(command) {
            let of_serve = serve.get(&flag).unwrap_or(&default);
            assert_eq!(&default, of_serve, "{flag} of {command} and of serve");
        }
    }
    assert_eq!(defaults("scheduler-config")["--url"], format!("http://{}", serve["--listen"]));
    assert_eq!(defaults("pending")["--server"], format!("http://{}", serve["--admin"]));
}

#[test]
fn the_ports_that_tests_avoid_are_the_defaults() {
    let (serve, ports) = (defaults("serve"), read("tests/harness/src/ports.rs"));
    let port = |flag: &str| serve[flag].rsplit(':').next().unwrap().to_owned();
    assert!(ports.contains(&format!("[{}, {}]", port("--listen"), port("--admin"))), "tests/harness/src/ports.rs");
}

const COMMANDS: [&str; 5] = ["serve", "check", "run", "explain", "scheduler-config"];

/// The default of each flag of a command that has a plain one: no sentence.
fn defaults(command: &str) -> BTreeMap<String, String> {
    let help = read(&format!("tests/commands/golden/help-{command}.txt"));
    let flags = help
        .split("\n      --")
        .chain(help.split("\n  -").skip(1).filter_map(|flag| flag.split_once(", --")?.1.into()));
    let default = |flag: &str| {
        let name = flag.split(|letter: char| !letter.is_ascii_lowercase() && letter != '-').next()?;
        let text = flag.split("\n  -").next()?.split_once("[default: ")?.1.split_once(']')?.0;
        (!text.contains(char::is_whitespace)).then(|| (format!("--{name}"), text.to_owned()))
    };
    flags.filter_map(default).collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap()
}
