//! Errors of the Kubernetes client, without the credentials that they quote.

use std::{error::Error, iter::successors, process::Output};

use kube::client::{AuthError, RustlsTlsError};
use plimsoll_system::error_chain;

/// The exit code of a command that was ended because it took too long, as `timeout(1)` gives it; a plugin may end with it by itself.
pub const PLUGIN_TIMED_OUT: u8 = 124;

/// The text of an error of the client and of its causes, without credentials.
///
/// The client quotes the command of a credential plugin with its environment and its arguments, and all that it
/// printed, which may be a token. Replies and logs must have none of it.
pub(crate) fn error_text(error: &(dyn Error + 'static)) -> String {
    if let Some(kube::Error::RustlsTls(RustlsTlsError::InvalidIdentityPem(_))) = error.downcast_ref() {
        // The client quotes a line of the key, as numbers.
        return "the client certificate or its key is no valid PEM".to_owned();
    }
    let mut causes = successors(Some(error), |&error| error.source());
    causes.find_map(|cause| cause.downcast_ref()).map_or_else(|| error_chain(error), auth_error_text)
}

fn auth_error_text(error: &AuthError) -> String {
    const BY_HAND: &str = "run it by hand to see what it prints";
    match error {
        AuthError::AuthExecRun { out, .. } if timed_out(out) => {
            format!("the credential plugin of the kubeconfig did not end in time: {BY_HAND}")
        }
        AuthError::AuthExecRun { out, .. } => {
            format!("the credential plugin of the kubeconfig failed with {}: {BY_HAND}", out.status)
        }
        AuthError::AuthExecParse(_) => {
            format!("the credential plugin of the kubeconfig printed no ExecCredential: {BY_HAND}")
        }
        AuthError::AuthExec(_) => {
            "the auth-provider of the kubeconfig gave no credentials: expected one of the kinds exec, token or \
             client certificate"
                .to_owned()
        }
        other => error_chain(other),
    }
}

fn timed_out(output: &Output) -> bool {
    output.status.code() == Some(PLUGIN_TIMED_OUT.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn exec_run(code: i32) -> AuthError {
        let status = std::process::ExitStatus::from_raw(code << 8);
        let out = Output { status, stdout: b"{\"token\":\"hunter2\"}".to_vec(), stderr: b"hunter2".to_vec() };
        AuthError::AuthExecRun {
            cmd: "SECRET=\"hunter2\" \"aws\" \"--password=hunter2\"".to_owned(),
            out: Box::new(out),
        }
    }

    #[test]
    fn a_failed_credential_plugin_is_quoted_nowhere() {
        let table: [(kube::Error, &str); 4] = [
            (kube::Error::Auth(exec_run(1)), "failed with exit status: 1"),
            (kube::Error::Service(Box::new(exec_run(1))), "failed with exit status: 1"),
            (kube::Error::Service(Box::new(exec_run(124))), "did not end in time"),
            (kube::Error::Auth(AuthError::AuthExec("hunter2".to_owned())), "gave no credentials"),
        ];
        for (error, expected) in table {
            let text = error_text(&error);
            assert!(text.contains(expected) && !text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn other_errors_keep_their_causes() {
        let error = kube::Error::Service("connection refused".into());
        assert_eq!(error_text(&error), "ServiceError: connection refused");
    }
}
