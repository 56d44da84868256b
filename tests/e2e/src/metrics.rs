//! The metrics page of a scheduler.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kube::{Client, Config};

use crate::Scheduler;

/// A scheduler that is not ready by then never will be.
const PATIENCE: Duration = Duration::from_mins(2);

/// Reads the metrics of a scheduler.
pub struct SchedulerMetrics(Client);

// === impl SchedulerMetrics ===

impl SchedulerMetrics {
    /// Waits until the scheduler is ready.
    #[expect(clippy::disallowed_methods, reason = "a scheduler that starts is asked now and then, with a deadline")]
    pub async fn of(scheduler: &Scheduler) -> Result<Self> {
        let mut config = Config::new(format!("https://{}", scheduler.port.address()).parse()?);
        config.accept_invalid_certs = true;
        let metrics = Self(Client::try_from(config)?);
        let started = Instant::now();
        while metrics.get("/readyz").await.is_err() {
            ensure!(started.elapsed() < PATIENCE, "the scheduler does not become ready");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(metrics)
    }

    /// Reads a page: `/metrics`.
    pub async fn get(&self, path: &str) -> Result<String> {
        Ok(self.0.request_text(hyper::Request::get(path).body(vec![])?).await?)
    }
}
