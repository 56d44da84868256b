//! The address of the API server and the credentials for it: a kubeconfig, or a service account.

use std::{env, io::ErrorKind, path::PathBuf};

use http::Uri;
use kube::{
    Config,
    config::{Kubeconfig, KubeconfigError},
};
use plimsoll_system::error_chain;

use super::{error::ConnectError, proxy};

/// Stands for no proxy in a kubeconfig: else the client takes `$HTTPS_PROXY`, for whatever URL.
const DIRECT: &str = "direct";

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

    pub(super) fn config(&self, context: Option<&str>) -> Result<Config, ConnectError> {
        let (path, file) = match self {
            Self::ServiceAccount => {
                return Config::incluster().map_err(|error| ConnectError::ServiceAccount(error_chain(&error)));
            }
            Self::File(path) => (path.clone(), Kubeconfig::read_from(path)),
            Self::Environment => {
                let paths = env::var_os("KUBECONFIG").unwrap_or_default();
                let merged = merged(env::split_paths(&paths));
                (paths.into(), merged)
            }
        };
        let config = file.and_then(|mut file| {
            file.current_context = context.map(str::to_owned).or(file.current_context);
            for cluster in file.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
                cluster.proxy_url = cluster.proxy_url.take().filter(|url| !url.is_empty()).or(Some(DIRECT.to_owned()));
            }
            Config::try_from(file)
        });
        match config {
            Ok(mut config) => match config.proxy_url.take().filter(|url| *url != DIRECT) {
                Some(proxy) => Err(refused(format!("kubeconfig {} names", path.display()), &proxy)),
                None => direct(config),
            },
            Err(error) => {
                // Below the first line the parser quotes the file, which may have tokens.
                let cause = error_chain(&error).lines().next().unwrap_or_default().to_owned();
                Err(ConnectError::Kubeconfig { path, cause })
            }
        }
    }
}

/// What these files have together; as for kubectl, some may not exist.
fn merged(paths: impl Iterator<Item = PathBuf>) -> Result<Kubeconfig, KubeconfigError> {
    let is_absent = |error: &KubeconfigError| matches!(error, KubeconfigError::ReadConfig(cause, _) if cause.kind() == ErrorKind::NotFound);
    let read = paths.filter(|path| !path.as_os_str().is_empty()).map(Kubeconfig::read_from);
    let mut present = read.filter(|file| !file.as_ref().is_err_and(is_absent));
    present.try_fold(Kubeconfig::default(), |merged, file| {
        let mut file = file?;
        file.current_context = file.current_context.filter(|name| !name.is_empty());
        merged.merge(file)
    })
}

/// The configuration, unless the environment names a proxy for its URL.
fn direct(config: Config) -> Result<Config, ConnectError> {
    match proxy::of(&config.cluster_url, |name| env::var(name).ok()) {
        None => Ok(config),
        Some((variable, proxy)) => {
            let host = config.cluster_url.host().unwrap_or_default();
            let named_by = format!("$NO_PROXY does not cover {host}, and ${variable} names");
            Err(refused(named_by, &proxy.parse().unwrap_or_default()))
        }
    }
}

fn refused(named_by: String, proxy: &Uri) -> ConnectError {
    ConnectError::Proxy { named_by, proxy: shown_url(proxy) }
}

/// A URL without the parts that may be credentials: its user and its query.
pub(super) fn shown_url(url: &Uri) -> String {
    let port = url.port_u16().map_or_else(String::new, |port| format!(":{port}"));
    let host = url.host().unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme_str().unwrap_or("http"), url.path())
}
