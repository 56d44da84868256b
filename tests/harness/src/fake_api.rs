//! An API server in the test's own process: nodes, pods, one Lease, watches and Bindings, over plain HTTP.
//!
//! It serves as much as a gateway asks for, and fails in the ways in which an API server fails ([`FakeApi::fail`],
//! [`FakeApi::stop_listening`], [`FakeApi::cut_connections`], ...). One thread serves one connection.

mod objects;
mod serve;
mod state;

use std::{
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::Arc,
    thread,
};

use anyhow::Result;
use serde_json::{Value, json};
use tempfile::TempDir;

pub use self::state::Fate;
use self::state::{Mood, Shared, State};
use crate::ReservedPort;

/// A running API server; its threads end when it is dropped.
pub struct FakeApi {
    shared: Arc<Shared>,
    /// Kept while nobody listens on it.
    port: ReservedPort,
    directory: TempDir,
}

// === impl FakeApi ===

impl FakeApi {
    /// Starts an API server with these nodes and placed pods on a free port.
    pub fn start(nodes: impl IntoIterator<Item = Value>, pods: impl IntoIterator<Item = Value>) -> Result<Self> {
        let port = ReservedPort::reserve()?;
        let address = port.address();
        let listener = TcpListener::bind(address)?;
        let directory = tempfile::tempdir()?;
        write_kubeconfig(&directory.path().join("kubeconfig"), address)?;
        let shared = Arc::<Shared>::default();
        {
            let mut state = shared.lock();
            for node in nodes {
                state.objects.put_node(node);
            }
            for pod in pods {
                state.objects.put_pod(pod);
            }
        }
        let own = Arc::clone(&shared);
        thread::spawn(move || serve::listen(&own, listener, address));
        Ok(Self { shared, port, directory })
    }

    /// A kubeconfig that leads to it; its own directory is deleted with the server.
    pub fn kubeconfig(&self) -> std::path::PathBuf {
        self.directory().join("kubeconfig")
    }

    /// Adds a node or replaces it.
    pub fn put_node(&self, node: Value) {
        self.change(|state| state.objects.put_node(node));
    }

    /// Adds nodes or replaces them, in one step.
    pub fn put_nodes(&self, nodes: impl IntoIterator<Item = Value>) {
        self.change(|state| nodes.into_iter().for_each(|node| state.objects.put_node(node)));
    }

    /// Adds a namespace or replaces it.
    pub fn put_namespace(&self, namespace: Value) {
        self.change(|state| state.objects.put_namespace(namespace));
    }

    /// Adds a DeviceClass or replaces it.
    pub fn put_device_class(&self, class: Value) {
        self.change(|state| state.objects.put_device_class(class));
    }

    /// Deletes a DeviceClass, if it is there.
    pub fn delete_device_class(&self, name: &str) {
        self.change(|state| state.objects.delete_device_class(name));
    }

    /// Adds a PersistentVolumeClaim, of which only the metadata is served, or replaces it.
    pub fn put_claim(&self, claim: Value) {
        self.change(|state| state.objects.put_claim(claim));
    }

    /// Deletes a PersistentVolumeClaim, if it is there.
    pub fn delete_claim(&self, namespace: &str, name: &str) {
        self.change(|state| state.objects.delete_claim(namespace, name));
    }

    /// Adds a ConfigMap with these entries, or replaces it.
    pub fn put_config_map(&self, namespace: &str, name: &str, data: Value) {
        self.change(|state| state.objects.put_config_map(namespace, name, data));
    }

    /// Adds a pod or replaces it.
    pub fn put_pod(&self, pod: Value) {
        self.change(|state| state.objects.put_pod(pod));
    }

    /// Deletes a pod, if it is there.
    pub fn delete_pod(&self, namespace: &str, name: &str) {
        self.change(|state| state.objects.delete_pod(namespace, name));
    }

    /// A pod as it is now.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<Value> {
        self.shared.lock().objects.pod(namespace, name).cloned()
    }

    /// Looks at every pod that is placed on a node.
    pub fn each_placed_pod(&self, mut look: impl FnMut(&Value)) {
        for pod in self.shared.lock().objects.placed_pods() {
            look(pod);
        }
    }

    /// The Lease as it is now, if there is one.
    pub fn lease(&self) -> Option<Value> {
        let (status, lease) = self.shared.lock().objects.lease();
        (status == 200).then_some(lease)
    }

    /// Writes the Lease, whoever holds it.
    pub fn put_lease(&self, lease: Value) {
        self.change(|state| drop(state.objects.put_lease(lease)));
    }

    /// The number of Bindings that have arrived.
    pub fn bindings(&self) -> u64 {
        self.shared.lock().bindings
    }

    /// The last Binding that arrived: its URL and its body.
    pub fn last_binding(&self) -> Option<(String, Value)> {
        self.shared.lock().last_binding.clone()
    }

    /// The path and the body of each patch so far.
    pub fn patches(&self) -> Vec<(String, Value)> {
        self.shared.lock().patches.clone()
    }

    /// Says from now on that it is of Kubernetes 1 with this minor version.
    pub fn set_minor_version(&self, version: &'static str) {
        self.shared.lock().minor_version = Some(version);
    }

    /// Answers every request with this status from now on, and ends the watches.
    pub fn fail(&self, status: u16) {
        self.fail_at("", status);
        self.cut_connections();
    }

    /// As [`FakeApi::fail`], for the paths that contain a text.
    pub fn fail_at(&self, path: &'static str, status: u16) {
        self.change(|state| state.failing = Some((path, status)));
    }

    /// Lets the requests wait whose paths contain a text, until [`FakeApi::recover`].
    pub fn hold_at(&self, path: &'static str) {
        self.change(|state| state.held = Some(path));
    }

    /// Refuses connections from now on, and closes those that are open.
    pub fn stop_listening(&self) {
        self.become_(Mood::Away);
        self.cut_connections();
        // Wakes the listener, which waits for a connection.
        drop(TcpStream::connect(self.port.address()));
    }

    /// Answers as it should again, on the port that it had.
    pub fn recover(&self) {
        self.change(|state| {
            (state.mood, state.failing, state.held, state.watches_are_silent) = (Mood::Well, None, None, false);
        });
    }

    /// Closes every connection, and with them every watch.
    pub fn cut_connections(&self) {
        let connections = std::mem::take(&mut self.shared.lock().connections);
        // A connection that has ended by itself is what is wanted.
        for stream in connections.values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.shared.changed.notify_all();
    }

    /// Forgets what happened so far: watches that are opened on an old version are told so, and have to list again.
    pub fn compact(&self) {
        self.change(|state| state.objects.compact());
        self.cut_connections();
    }

    /// Decides what the next Bindings meet.
    pub fn decide(&self, fates: impl IntoIterator<Item = Fate>) {
        self.change(|state| state.fates = fates.into_iter().collect());
    }

    /// Keeps watches open and sends no more events.
    pub fn silence_watches(&self) {
        self.change(|state| state.watches_are_silent = true);
    }

    /// Writes a text into the open watches of the resource with this path, as it is.
    pub fn send_raw(&self, path: &'static str, text: &str) {
        self.change(|state| state.raw.push((path, text.to_owned())));
    }

    /// The path and query of each list and watch of the resource with this path.
    pub fn requests(&self, path: &str) -> Vec<String> {
        let state = self.shared.lock();
        state.requests.iter().filter(|target| target.starts_with(path)).cloned().collect()
    }

    fn become_(&self, mood: Mood) {
        self.change(|state| state.mood = mood);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.shared.lock());
        self.shared.changed.notify_all();
    }

    fn directory(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for FakeApi {
    fn drop(&mut self) {
        self.become_(Mood::Ended);
        self.cut_connections();
        drop(TcpStream::connect(self.port.address()));
    }
}

/// Writes a kubeconfig for an API server that speaks plain HTTP and lets everybody in.
pub fn write_kubeconfig(path: &Path, address: SocketAddr) -> Result<()> {
    let config = json!({
        "clusters": [{"name": "fake", "cluster": {"server": format!("http://{address}")}}],
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "nobody"}}],
        "users": [{"name": "nobody", "user": {}}],
        "current-context": "fake",
    });
    Ok(std::fs::write(path, config.to_string())?)
}

#[cfg(test)]
mod tests;
