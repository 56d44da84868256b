//! The way to the API server.

mod credentials;
mod error;
mod fence;
mod nominate;
mod proxy;
mod version;

use std::{collections::BTreeMap, env, fmt, path::Path, sync::Arc, time::Duration};

use k8s_openapi::api::{core::v1::ConfigMap, storage::v1::CSIStorageCapacity};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::json;

pub use self::{credentials::Credentials, error::ConnectError, nominate::NominateError};
use self::{credentials::shown_url, error::TOKEN, fence::fenced_client};
pub(crate) use self::{error::error_text, version::version_of};
use crate::term::Term;

/// Time limit for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit for writing a request.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// A client of the API server, cheap to clone.
///
/// It neither retries nor sets deadlines: the callers do. Only for its [version](Self::version) it asks until it knows.
#[derive(Clone)]
pub struct ApiServer {
    client: Client,
    fenced: Arc<Fenced>,
    url: String,
    namespace: String,
}

/// Makes a client whose connections end with a term as leader.
type Fenced = dyn Fn(&Arc<Term>) -> kube::Result<Client> + Send + Sync;

// === impl ApiServer ===

impl ApiServer {
    /// Makes a client, in this context of the kubeconfig instead of its current one.
    ///
    /// No request is sent yet: an unreachable API server is not an error. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If the credentials cannot be used.
    pub fn connect(credentials: &Credentials, context: Option<&str>) -> Result<Self, ConnectError> {
        let mut config = credentials.config(context)?;
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        config.write_timeout = Some(WRITE_TIMEOUT);
        config.default_retry = false;
        let (url, namespace) = (shown_url(&config.cluster_url), config.default_namespace.clone());
        let client = Client::try_from(config.clone());
        let client = client.map_err(|error| ConnectError::Client { url: url.clone(), cause: error_text(&error) })?;
        let fenced = Arc::new(move |term: &Arc<Term>| fenced_client(&config, term));
        Ok(Self { client, fenced, url, namespace })
    }

    /// An API server within a test, behind these clients.
    #[cfg(test)]
    pub(crate) fn within(
        client: Client,
        fenced: impl Fn(&Arc<Term>) -> kube::Result<Client> + Send + Sync + 'static,
    ) -> Self {
        let (url, namespace) = ("http://within".to_owned(), "default".to_owned());
        Self { client, fenced: Arc::new(fenced), url, namespace }
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

    /// Reads the entries of a ConfigMap; binary ones are left out. It sets no deadline.
    ///
    /// # Errors
    /// Says why there are none, in the words of the API server if it refuses.
    pub async fn config_map(&self, namespace: &str, name: &str) -> Result<BTreeMap<String, String>, String> {
        let config_maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let read = config_maps.get(name).await.map_err(|error| error_text(&error));
        Ok(read?.data.unwrap_or_default())
    }

    /// Gives a `CSIStorageCapacity` this annotation. It sets no deadline.
    ///
    /// # Errors
    /// Says why it has not been written, in the words of the API server if it refuses.
    pub async fn annotate_storage_capacity(
        &self,
        namespace: &str,
        name: &str,
        annotation: &str,
        value: &str,
    ) -> Result<(), String> {
        let capacities: Api<CSIStorageCapacity> = Api::namespaced(self.client.clone(), namespace);
        let patch = json!({"metadata": {"annotations": {annotation: value}}});
        let patched = capacities.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.map(drop).map_err(|error| error_text(&error))
    }

    /// A client that writes while this term lasts, and never after it.
    pub(crate) fn fenced(&self, term: &Arc<Term>) -> kube::Result<Client> {
        (self.fenced)(term)
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

#[cfg(test)]
mod tests {
    use http::Uri;

    use super::*;

    #[test]
    fn credentials_of_a_kubeconfig_are_in_no_message() {
        let shown = |url: &'static str| shown_url(&Uri::from_static(url));
        assert_eq!(shown("https://user:hunter2@example.com:6443/k?token=abc"), "https://example.com:6443/k");
        assert_eq!(shown("https://[::1]:6443"), "https://[::1]:6443/");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kubeconfig");
        let token = ["hunter2", "hunter2"].concat();
        let text = format!("users:\n- name: me\n  user:\n    token: {token}\n    client-key-data: [oops\n");
        std::fs::write(&file, text).unwrap();
        let error = ApiServer::connect(&Credentials::File(file), None).unwrap_err().to_string();
        assert!(error.contains("expected a file that kubectl can use") && !error.contains("hunter2"), "{error}");
    }

    #[tokio::test]
    async fn a_key_that_is_no_pem_is_in_no_message() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kubeconfig");
        // "-----BEGIN KEYhunter2hunter2\n"
        let key = "LS0tLS1CRUdJTiBLRVlodW50ZXIyaHVudGVyMgo=";
        let text = format!(
            "clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1'}}}}]\n\
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n\
             users: [{{name: u, user: {{client-certificate-data: {key}, client-key-data: {key}}}}}]\n"
        );
        std::fs::write(&file, text).unwrap();
        let error = ApiServer::connect(&Credentials::File(file), None).unwrap_err().to_string();
        assert!(error.ends_with("the client certificate or its key is no valid PEM"), "{error}");
    }
}
