//! The version of the API server.

use std::time::Duration;

use kube::Client;
use tracing::warn;

use super::{ApiServer, error_text};
use crate::clock;

/// Time limit for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The wait before the API server is asked again.
const RETRY: Duration = Duration::from_secs(1);

// === impl ApiServer ===

impl ApiServer {
    /// Its major and minor version, once it answers.
    pub async fn version(&self) -> (u32, u32) {
        let mut is_first = true;
        loop {
            let error = match clock::timeout(ANSWER_TIMEOUT, version_of(&self.client)).await {
                Ok(Ok(version)) => return version,
                Ok(Err(error)) => error_text(&error),
                Err(_) => format!("it was silent for {ANSWER_TIMEOUT:?}"),
            };
            if std::mem::take(&mut is_first) {
                warn!(error, "the version of the API server is not known: it is asked again every {RETRY:?}");
            }
            clock::sleep(RETRY).await;
        }
    }
}

/// The major and minor version of the API server. It sets no deadline.
pub(crate) async fn version_of(client: &Client) -> kube::Result<(u32, u32)> {
    let version = client.apiserver_version().await?;
    Ok((number(&version.major), number(&version.minor)))
}

/// Providers write a minor version such as `36+`.
fn number(text: &str) -> u32 {
    text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::{
            Arc,
            atomic::{AtomicU64, Ordering},
        },
        time::Instant,
    };

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use tower::{BoxError, service_fn};

    use super::*;
    use crate::clock::paused::PausedClock;

    #[test]
    fn a_version_is_read_as_a_number() {
        for (text, expected) in [("34", 34), ("36+", 36), ("9", 9), ("100", 100), ("", 0), ("x", 0)] {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    /// An API server that cannot be reached, is silent, refuses, and answers.
    fn slow_api() -> ApiServer {
        let asked = Arc::<AtomicU64>::default();
        let client = Client::new(
            service_fn(move |request: Request<Body>| {
                assert_eq!(request.uri().path(), "/version");
                let asked = asked.fetch_add(1, Ordering::Relaxed);
                async move {
                    let (status, minor) = match asked {
                        0 => return Err(BoxError::from("unreachable")),
                        1 => pending().await,
                        2 => (403, ""),
                        _ => (200, "34+"),
                    };
                    let body = json!({"major": "1", "minor": minor, "gitVersion": "", "gitCommit": "", "gitTreeState": "",
                        "buildDate": "", "goVersion": "", "compiler": "", "platform": ""});
                    Ok(Response::builder().status(status).body(Body::from(body.to_string().into_bytes()))?)
                }
            }),
            "default",
        );
        ApiServer::within(client.clone(), move |_| Ok(client.clone()))
    }

    #[test]
    fn the_version_is_asked_for_until_there_is_an_answer() {
        let start = Instant::now();
        let (clock, runtime) = (PausedClock::new(start, 1), PausedClock::runtime());
        let version = {
            let (_entered, _context) = (clock.enter(), runtime.enter());
            let api = slow_api();
            tokio::spawn(async move { (api.version().await, clock::now() - start) })
        };
        clock.run(&runtime, start + Duration::from_mins(1));
        assert_eq!(runtime.block_on(version).unwrap(), ((1, 34), RETRY * 3 + ANSWER_TIMEOUT));
    }
}
