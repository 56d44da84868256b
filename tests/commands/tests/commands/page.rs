//! A page of the documentation: its files and commands are run as they stand there.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use plimsoll_harness::{TempDir, binary, tempdir, workspace};

/// The lines of a page, and the folder in which a reader follows it.
pub(crate) struct Page {
    text: String,
    parent: TempDir,
}

/// A command that was run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) succeeded: bool,
    /// Standard output and standard error, in the order of their lines.
    pub(crate) printed: String,
}

// === impl Page ===

impl Page {
    /// Opens `docs/languages/NAME.md`, with an empty folder beside which `plimsoll` is the checkout.
    pub(crate) fn open(name: &str) -> Self {
        let text = fs::read_to_string(workspace().join(format!("docs/languages/{name}.md"))).unwrap();
        let parent = tempdir().unwrap();
        symlink(workspace(), parent.path().join("plimsoll")).unwrap();
        fs::create_dir(parent.path().join("needs-label")).unwrap();
        Self { text, parent }
    }

    /// The folder of the policy.
    pub(crate) fn folder(&self) -> PathBuf {
        self.parent.path().join("needs-label")
    }

    /// The file that a paragraph of the page names at its end: `` `zone.js`: ``; or the first line of the file: `# zone.yaml`.
    pub(crate) fn file(&self, name: &str) -> &str {
        let named = format!("`{name}`");
        let is_named = |(before, code): &(&str, &str)| {
            let paragraph = before.trim_end().lines().last().unwrap_or_default();
            paragraph.ends_with(':') && paragraph.contains(&named) || code.lines().next() == Some(&format!("# {name}"))
        };
        let blocks = self.blocks().filter(|(_, language, _)| !language.is_empty());
        let file = blocks.map(|(before, _, code)| (before, code)).find(is_named);
        file.unwrap_or_else(|| panic!("the page has no file {name}")).1
    }

    /// Writes such a file into the folder of the policy.
    pub(crate) fn write(&self, name: &str) {
        let path = self.folder().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, self.file(name)).unwrap();
    }

    /// The first commands below a heading: a block without a language.
    pub(crate) fn commands(&self, heading: &str) -> &str {
        let is_below = |before: &str| before.lines().any(|line| line.trim_start_matches('#').trim() == heading);
        let blocks = self.blocks().skip_while(|(before, ..)| !is_below(before));
        let commands = blocks.map(|(_, language, code)| (language, code)).find(|(language, _)| language.is_empty());
        commands.unwrap_or_else(|| panic!("the page has no commands below {heading}")).1
    }

    /// Whether the page has this line in a block, as the output of a command.
    pub(crate) fn shows(&self, line: &str) -> bool {
        self.blocks().any(|(_, _, code)| code.lines().any(|shown| shown == line))
    }

    /// Types commands in the folder of the policy. Some lines are replaced by others, such as those that need the network.
    pub(crate) fn run(&self, commands: &str, instead: &[(&str, &str)]) -> Ran {
        let known: Vec<&str> = commands.lines().collect();
        let missing = instead.iter().find(|(line, _)| !known.contains(line));
        assert!(missing.is_none(), "{missing:?} is not on the page:\n{commands}");
        let lines = known.iter().map(|line| {
            let replaced = instead.iter().find(|(old, _)| old == line);
            replaced.map_or(*line, |(_, new)| new)
        });
        let script: Vec<&str> = ["exec 2>&1"].into_iter().chain(lines).collect();
        self.sh(&script.join("\n"))
    }

    /// As [`Page::run`], for commands that succeed; what they print.
    pub(crate) fn follow(&self, commands: &str, instead: &[(&str, &str)]) -> String {
        let ran = self.run(commands, instead);
        assert!(ran.succeeded, "{commands}\nprinted\n{}", ran.printed);
        ran.printed
    }

    /// The blocks of code, each with the text before it and its language.
    fn blocks(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let parts: Vec<&str> = self.text.split("\n```").collect();
        assert!(parts.len() % 2 == 1, "a block of code is not closed");
        let blocks: Vec<_> = parts
            .windows(2)
            .step_by(2)
            .map(|parts| {
                let (language, code) = parts[1].split_once('\n').unwrap_or_default();
                (parts[0], language, code)
            })
            .collect();
        blocks.into_iter()
    }

    fn sh(&self, script: &str) -> Ran {
        let mut sh = Command::new("sh");
        sh.args(["-ec", script]).current_dir(self.folder()).stdin(Stdio::null());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = [binary().parent().unwrap_or(Path::new("")).to_owned()];
        sh.env("PATH", std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path))).unwrap());
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("PLIMSOLL_") || name == "KUBECONFIG") {
                sh.env_remove(name);
            }
        }
        // The make that runs the tests has given flags of its own.
        sh.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
        // A program that is missing must not be downloaded.
        sh.env("npm_config_offline", "true").env("GOPROXY", "off").env("CARGO_NET_OFFLINE", "true");
        let output = sh.output().unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
        Ran { succeeded: output.status.success(), printed: String::from_utf8_lossy(&output.stdout).into_owned() }
    }
}
