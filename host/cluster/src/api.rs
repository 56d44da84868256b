//! The way to the API server.

use std::{
    env, fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use kube::{Client, Config, config::Kubeconfig};

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a request may take to be written.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a pod finds its service account.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// A client of the API server, cheap to clone.
///
/// It does not ask again by itself, and sets no deadline for an answer: whoever asks knows both.
#[derive(Clone)]
pub struct ApiServer {
    client: Client,
    config: Arc<Config>,
    url: String,
    namespace: String,
}

/// Why there is no way to the API server.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("kubeconfig {}: {cause}: expected a file that kubectl can use, with a current context", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// There is no service account to be used.
    #[error(
        "no service account: {0}: expected to run in a pod, with KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the files beside {TOKEN}; elsewhere a kubeconfig must be given"
    )]
    ServiceAccount(String),
    /// The lists were not complete in time.
    #[error("{url} did not answer in time: {why}")]
    NotListed {
        /// Where the API server is.
        url: String,
        /// What is missing.
        why: String,
    },
    /// What the file or the pod says makes no client: a certificate, a key, a command that gives credentials.
    #[error("{url}: no client can be made from the credentials for it: {cause}")]
    Client {
        /// Where the API server is.
        url: String,
        /// What is wrong.
        cause: String,
    },
}

// === impl ApiServer ===

impl ApiServer {
    /// Makes a client from a kubeconfig, or, without one, from the pod's service account.
    ///
    /// Nothing is asked yet: an API server that is down is no error. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If the file or the service account cannot be used.
    pub fn connect(kubeconfig: Option<&Path>) -> Result<Self, ConnectError> {
        let mut config = match kubeconfig {
            Some(path) => from_file(path)?,
            None => Config::incluster().map_err(|error| ConnectError::ServiceAccount(chain(&error)))?,
        };
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        config.write_timeout = Some(WRITE_TIMEOUT);
        config.default_retry = false;
        let (url, namespace) = (config.cluster_url.to_string(), config.default_namespace.clone());
        let client = Client::try_from(config.clone());
        let client = client.map_err(|error| ConnectError::Client { url: url.clone(), cause: chain(&error) })?;
        Ok(Self { client, config: Arc::new(config), url, namespace })
    }

    /// Whether this process runs in a pod that has a service account.
    pub fn is_in_cluster() -> bool {
        env::var_os("KUBERNETES_SERVICE_HOST").is_some() && Path::new(TOKEN).exists()
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The namespace of the kubeconfig's context, or of the pod.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// What the client was made from.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The client itself.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").field("url", &self.url).finish_non_exhaustive()
    }
}

fn from_file(path: &Path) -> Result<Config, ConnectError> {
    let wrong = |error: &(dyn std::error::Error + 'static)| ConnectError::Kubeconfig {
        path: path.to_owned(),
        cause: chain(error),
    };
    let file = Kubeconfig::read_from(path).map_err(|error| wrong(&error))?;
    Config::try_from(file).map_err(|error| wrong(&error))
}

/// An error with its causes, each said once.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
