use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use http::{Method, Request, Response};
use kube::{Client, client::Body};
use serde_json::json;
use tower::{BoxError, service_fn};

use super::*;
use crate::{
    Leadership, LeaseTimings,
    clock::{paused::PausedClock, sleep},
};

/// Somebody writes the Lease all the time: each of our writes is a conflict, 1 ms after it was sent.
fn contested_api(writes: &Arc<AtomicU64>) -> ApiServer {
    let writes = Arc::clone(writes);
    let client = Client::new(
        service_fn(move |request: Request<Body>| {
            let writes = Arc::clone(&writes);
            async move {
                sleep(Duration::from_millis(1)).await;
                let (status, body) = if request.method() == Method::GET {
                    let metadata = json!({"name": "plimsoll", "namespace": "default", "resourceVersion": "7"});
                    (200, json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}))
                } else {
                    writes.fetch_add(1, Ordering::Relaxed);
                    let message = "the object has been modified";
                    (409, json!({"kind": "Status", "status": "Failure", "code": 409, "message": message}))
                };
                Ok::<_, BoxError>(Response::builder().status(status).body(Body::from(body.to_string().into_bytes()))?)
            }
        }),
        "default",
    );
    ApiServer::within(client.clone(), move |_| Ok(client.clone()))
}

#[test]
fn conflicts_on_the_lease_are_retried_after_a_pause() {
    let (start, writes) = (Instant::now(), Arc::<AtomicU64>::default());
    let (clock, runtime) = (PausedClock::new(start, 1), PausedClock::runtime());
    let timings = LeaseTimings::new(Duration::from_secs(10));
    let _leadership = {
        let (_entered, _context) = (clock.enter(), runtime.enter());
        let config = LeaseConfig {
            namespace: "default".to_owned(),
            name: "plimsoll".to_owned(),
            identity: "a".to_owned(),
            url: "http://a".to_owned(),
            timings,
        };
        Leadership::start(&contested_api(&writes), config, async {})
    };
    clock.run(&runtime, start + Duration::from_mins(1));
    // A twentieth of the Lease.
    let count = writes.load(Ordering::Relaxed);
    assert!((100..=120).contains(&count), "{count} writes in a minute");
}
