//! The address of the API server and the credentials for it: a kubeconfig, or a service account.

use std::{
    env,
    path::{Path, PathBuf},
};

use kube::{
    Config,
    config::{Kubeconfig, KubeconfigError},
};
use plimsoll_system::{bounded_file::check_input, error_chain};

use super::{error::ConnectError, shown_url::shown_url};

/// Maximum bytes of a kubeconfig, and of each file that it names.
const MAX_FILE_BYTES: u64 = 8 << 20;

/// The source of the API server's address and credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// In this file.
    File(PathBuf),
    /// In the files that `$KUBECONFIG` names, one or several.
    Environment,
    /// The service account of the pod that this process runs in.
    ServiceAccount,
}

// === impl Credentials ===

impl Credentials {
    /// Whether `$KUBECONFIG` names a file.
    pub fn is_in_environment() -> bool {
        env::var_os("KUBECONFIG").is_some_and(|paths| !paths.is_empty())
    }

    pub(super) fn config(&self, context: Option<&str>, plugin_runner: &[&str]) -> Result<Config, ConnectError> {
        let (path, file) = match self {
            Self::ServiceAccount => {
                return Config::incluster().map_err(|error| ConnectError::ServiceAccount(error_chain(&error)));
            }
            Self::File(path) => (path.clone(), check_files([path]).map(|()| Kubeconfig::read_from(path))),
            Self::Environment => {
                let path = env::var_os("KUBECONFIG").map(PathBuf::from).unwrap_or_default();
                let checked = check_files(env::split_paths(&path));
                (path, checked.map(|()| Kubeconfig::from_env().map(Option::unwrap_or_default)))
            }
        };
        let irregular = |cause: String| ConnectError::Kubeconfig { path: path.clone(), cause };
        let file = file.map_err(irregular)?;
        let wrong = |error: &(dyn std::error::Error + 'static)| ConnectError::Kubeconfig {
            path: path.clone(),
            cause: without_content(&error_chain(error)),
        };
        let mut file = file.map_err(|error| match error {
            // The client's text puts the path in quotes twice.
            KubeconfigError::ReadConfig(error, file) if file == path => {
                irregular(format!("it cannot be read: {error}"))
            }
            KubeconfigError::ReadConfig(error, file) => {
                irregular(format!("{} cannot be read: {error}", file.display()))
            }
            error => wrong(&error),
        })?;
        if let Some(context) = context {
            file.current_context = Some(context.to_owned());
        }
        check_files(files_of_context(&file)).map_err(irregular)?;
        run_plugins_by(plugin_runner, &mut file);
        let config = Config::try_from(file).map_err(|error| wrong(&error))?;
        match &config.proxy_url {
            Some(proxy) => Err(ConnectError::Proxy { path, proxy: shown_url(proxy) }),
            None => Ok(config),
        }
    }
}

/// Lets a command line run the credential plugins of a kubeconfig; an empty one leaves that to the Kubernetes client.
fn run_plugins_by(runner: &[&str], file: &mut Kubeconfig) {
    let Some((program, before)) = runner.split_first() else { return };
    let users = file.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut());
    for plugin in users.filter_map(|user| user.exec.as_mut()) {
        let Some(command) = plugin.command.take() else { continue };
        plugin.command = Some((*program).to_owned());
        let before = before.iter().map(|text| (*text).to_owned()).chain([command]);
        plugin.args = Some(before.chain(plugin.args.take().unwrap_or_default()).collect());
    }
}

/// Refuses pipes, devices and huge files, which the Kubernetes client would read to their end.
fn check_files(files: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<(), String> {
    files.into_iter().try_for_each(|file| {
        let file = file.as_ref();
        check_input(file, MAX_FILE_BYTES).map_err(|error| format!("{} {error}", file.display()))
    })
}

/// The files that the current context of a kubeconfig names.
fn files_of_context(file: &Kubeconfig) -> impl Iterator<Item = &str> {
    let current = file.contexts.iter().find(|named| Some(&named.name) == file.current_context.as_ref());
    let context = current.and_then(|named| named.context.as_ref());
    let cluster = context.and_then(|context| file.clusters.iter().find(|named| named.name == context.cluster));
    let cluster = cluster.and_then(|named| named.cluster.as_ref());
    let user =
        context.and_then(|context| file.auth_infos.iter().find(|named| Some(&named.name) == context.user.as_ref()));
    let user = user.and_then(|named| named.auth_info.as_ref());
    let of_user = user.map(|user| [&user.client_certificate, &user.client_key, &user.token_file]);
    let of_cluster = cluster.and_then(|cluster| cluster.certificate_authority.as_deref());
    of_cluster.into_iter().chain(of_user.into_iter().flatten().filter_map(Option::as_deref))
}

/// The message of a parser, without the lines of the file that it quotes below: they may have tokens.
fn without_content(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_plugin_is_run_by_the_command_that_ends_it_in_time() {
        let text = "users: [{name: u, user: {exec: {command: aws, args: [get-token], apiVersion: v1}}}, {name: v}]";
        let run = |runner: &[&str]| {
            let mut file = Kubeconfig::from_yaml(text).unwrap();
            run_plugins_by(runner, &mut file);
            let exec = file.auth_infos.remove(0).auth_info.unwrap().exec.unwrap();
            (exec.command.unwrap(), exec.args.unwrap().join(" "))
        };
        assert_eq!(run(&[]), ("aws".to_owned(), "get-token".to_owned()));
        assert_eq!(run(&["runner", "--"]), ("runner".to_owned(), "-- aws get-token".to_owned()));
    }
}
