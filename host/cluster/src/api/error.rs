//! Errors of the way to the API server, without the credentials that the Kubernetes client quotes.

use std::{error::Error, io, iter::successors, path::PathBuf, time::Duration};

use kube::client::{AuthError, RustlsTlsError};
use plimsoll_core::excerpt;
use plimsoll_system::error_chain;

/// Maximum bytes of the API server's message.
const MAX_MESSAGE: usize = 300;

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
    /// The kubeconfig or the environment names a proxy.
    #[error(
        "{named_by} the proxy {proxy}, and plimsoll does not go through one: a proxy that holds bindings back could deliver them when another replica leads; name an API server that is reached directly"
    )]
    Proxy {
        /// The file or the variable, with its verb.
        named_by: String,
        /// The URL of the proxy.
        proxy: String,
    },
    /// There is no service account to be used.
    #[error(
        "no service account: {0}: expected to run in a pod, with KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the files beside {TOKEN}; elsewhere a kubeconfig must be given"
    )]
    ServiceAccount(String),
    /// The lists did not arrive.
    #[error("{url} was not heard of for {} s: {why}", max_silence.as_secs_f64())]
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

/// The text of an error of the client and of its causes, without credentials.
///
/// The client quotes the command of a credential plugin with its environment and its arguments, and all that it
/// printed, which may be a token. Replies and logs must have none of it.
pub(crate) fn error_text(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref() {
        Some(kube::Error::Api(status)) => {
            return format!("the API server answered {}: {}", status.code, excerpt(&status.message, MAX_MESSAGE));
        }
        // The client quotes a line of the key, as numbers.
        Some(kube::Error::RustlsTls(RustlsTlsError::InvalidIdentityPem(_))) => {
            return "the client certificate or its key is no valid PEM".to_owned();
        }
        Some(kube::Error::Service(cause)) => return error_text(cause.as_ref()),
        _ => {}
    }
    match successors(Some(error), |&error| error.source()).find_map(|cause| cause.downcast_ref()) {
        Some(AuthError::AuthExecRun { .. } | AuthError::AuthExec(_) | AuthError::AuthExecParse(_)) => {
            "the credential plugin of the kubeconfig failed: run it by hand to see what it prints".to_owned()
        }
        // Over TLS the library calls an end without a farewell a violation of TLS.
        _ if successors(Some(error), |&error| error.source()).any(is_end) => {
            "the API server closed the connection".to_owned()
        }
        _ => error_chain(error),
    }
}

fn is_end(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::process::ExitStatusExt,
        process::{ExitStatus, Output},
    };

    use super::*;

    fn exec_run() -> AuthError {
        let (status, stdout) = (ExitStatus::from_raw(1 << 8), b"{\"token\":\"hunter2\"}".to_vec());
        let out = Box::new(Output { status, stdout, stderr: b"hunter2".to_vec() });
        AuthError::AuthExecRun { cmd: "SECRET=\"hunter2\" \"aws\" \"--password=hunter2\"".to_owned(), out }
    }

    #[test]
    fn a_failed_credential_plugin_is_quoted_nowhere() {
        let errors = [
            kube::Error::Auth(exec_run()),
            kube::Error::Service(Box::new(exec_run())),
            kube::Error::Auth(AuthError::AuthExec("hunter2".to_owned())),
        ];
        for text in errors.map(|error| error_text(&error)) {
            assert!(text.contains("plugin of the kubeconfig failed") && !text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn other_errors_keep_their_causes() {
        let error = kube::Error::Service("connection refused".into());
        assert_eq!(error_text(&error), "connection refused");
        let text = "peer closed connection without sending TLS close_notify";
        let closed = io::Error::new(io::ErrorKind::UnexpectedEof, text);
        assert_eq!(error_text(&kube::Error::Service(closed.into())), "the API server closed the connection");
    }
}
