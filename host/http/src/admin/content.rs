//! The interface between the admin listener and the gateway's state.

use bytes::Bytes;

/// The content of the admin listener's pages.
pub trait Admin: Send + Sync {
    /// Whether requests can be answered; one line for each problem that does not prevent that.
    ///
    /// # Errors
    /// One line for each precondition that is missing.
    fn ready(&self) -> Result<Vec<String>, Vec<String>>;

    /// The metrics as `OpenMetrics` text.
    fn metrics(&self) -> String;

    /// The policies in force and those that failed to load.
    fn policies(&self) -> serde_json::Value;

    /// The replica that binds.
    fn leader(&self) -> serde_json::Value;

    /// The sources of facts.
    fn facts(&self) -> serde_json::Value;

    /// The facts in force of these sources, by source and key.
    ///
    /// # Errors
    /// Says which source there is not, or that they are too large for one page.
    fn fact_values(&self, sources: &[&str]) -> Result<serde_json::Value, String>;

    /// The decision tables that a policy has shown so far; none if there is no such policy.
    fn table(&self, policy: &str) -> Option<serde_json::Value>;

    /// Each policy's answer about a pod (JSON) and a node, with the values that it read.
    ///
    /// # Errors
    /// Says why there is no explanation.
    fn explain(&self, group: &str, node: &str, pod: Bytes) -> Result<serde_json::Value, String>;
}
