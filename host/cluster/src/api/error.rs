//! Errors of the way to the API server.

use std::{path::PathBuf, time::Duration};

/// The path of a pod's service account.
pub(super) const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Why the API server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("kubeconfig {}: {cause}: expected a file that kubectl can use, with a current context", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// The error.
        cause: String,
    },
    /// The kubeconfig names a proxy.
    #[error(
        "kubeconfig {} names the proxy {proxy}, and plimsoll does not go through one: a proxy that holds bindings back could deliver them when another replica leads; name an API server that is reached directly",
        path.display()
    )]
    Proxy {
        /// The file.
        path: PathBuf,
        /// Its `proxy-url`.
        proxy: String,
    },
    /// There is no service account to be used.
    #[error(
        "no service account: {0}: expected to run in a pod, with KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the files beside {TOKEN}; elsewhere a kubeconfig must be given"
    )]
    ServiceAccount(String),
    /// The lists did not arrive.
    #[error("{url} was not heard of for {}: {why}", seconds(*max_silence))]
    NotListed {
        /// The URL of the API server.
        url: String,
        /// The time limit.
        max_silence: Duration,
        /// The missing part.
        why: String,
    },
    /// No client can be made from the file or the pod: a bad certificate, key, or command for credentials.
    #[error("{url}: no client can be made from the credentials for it: {cause}")]
    Client {
        /// The URL of the API server.
        url: String,
        /// The error.
        cause: String,
    },
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}
