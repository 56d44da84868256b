//! Runs the command of a kubeconfig that makes credentials (`exec`), with a time limit.
//!
//! The Kubernetes client has no time limit for such a command: the first run blocks the thread that makes the client,
//! later ones hold up all requests to the API server. So it starts this program, which ends in time, and bounds the
//! output. Without a terminal the command has a separate process group, which is ended as a whole.

use std::{
    fs::File,
    io::{self, IsTerminal, Read, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, ExitCode, Stdio},
    sync::mpsc::{self, Sender},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use plimsoll_cluster::PLUGIN_TIMED_OUT;
use rustix::process::{self, Pid, Signal};

use crate::{args::CredentialPluginArgs, text};

/// The command line that runs a credential plugin: the running executable, even if its file was replaced since.
pub(crate) const PLUGIN_RUNNER: [&str; 3] = ["/proc/self/exe", "credential-plugin", "--"];

/// Time limit of a plugin.
const PLUGIN_TIMEOUT: Duration = Duration::from_secs(30);

/// The same at a terminal, where somebody may have to log in.
const LOGIN_TIMEOUT: Duration = Duration::from_mins(5);

/// Time limit for the rest of the output after the plugin has ended: a process that it left behind may hold the pipe.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum bytes of the output; an `ExecCredential` has a few KiB.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// The interval at which the plugin is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(super) fn credential_plugin(args: &CredentialPluginArgs) -> Result<ExitCode> {
    // clap requires a command.
    let Some((program, rest)) = args.command.split_first() else { return Ok(ExitCode::FAILURE) };
    let default = if io::stdin().is_terminal() { LOGIN_TIMEOUT } else { PLUGIN_TIMEOUT };
    let timeout = args.timeout.unwrap_or(default);
    // A separate process group can be ended as a whole, but could not ask at the terminal, nor be ended by Ctrl-C.
    let has_group = File::open("/dev/tty").is_err();
    let mut command = Command::new(program);
    if has_group {
        command.process_group(0);
    }
    // Standard error may have credentials, too: a person may see it, but no log.
    let stderr = if io::stderr().is_terminal() { Stdio::inherit() } else { Stdio::null() };
    let child = command.args(rest).stdout(Stdio::piped()).stderr(stderr).spawn();
    let mut child = child.with_context(|| format!("cannot start {}", program.display()))?;
    let (copying, copied) = mpsc::channel();
    copy(child.stdout.take(), io::stdout(), copying);
    let Some(code) = wait(&mut child, has_group, Instant::now() + timeout)? else {
        eprintln!("{} gave no credentials within {}: it was ended", program.display(), text::duration(timeout));
        return Ok(ExitCode::from(PLUGIN_TIMED_OUT));
    };
    // An error: the output has ended, or a process that was left behind holds it.
    let _ = copied.recv_timeout(OUTPUT_TIMEOUT);
    Ok(ExitCode::from(code))
}

/// Copies the beginning of an output; drops `copying` at its end.
fn copy(from: Option<impl Read + Send + 'static>, mut to: impl Write + Send + 'static, copying: Sender<()>) {
    let copy = move || {
        if let Some(from) = from {
            // A reader that has gone needs no more of it.
            let _ = io::copy(&mut from.take(MAX_OUTPUT_BYTES), &mut to).and_then(|_| to.flush());
        }
        drop(copying);
    };
    thread::spawn(copy);
}

/// The exit code of the process; `None` if it had to be ended.
fn wait(child: &mut Child, has_group: bool, deadline: Instant) -> Result<Option<u8>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)));
        }
        if Instant::now() >= deadline {
            end(child, has_group)?;
            return Ok(None);
        }
        #[expect(clippy::disallowed_methods, reason = "it waits for a process, at most until the deadline")]
        thread::sleep(POLL_INTERVAL);
    }
}

/// Ends the process, and all of its process group if that is a separate one.
fn end(child: &mut Child, has_group: bool) -> io::Result<()> {
    if has_group {
        process::kill_process_group(Pid::from_child(child), Signal::KILL)?;
    } else {
        child.kill()?;
    }
    child.wait().map(drop)
}
