//! The preparation of a term for its first write.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use arc_swap::ArcSwapOption;
use kube::Client;
use tokio::sync::watch::Receiver;
use tracing::{info, warn};

use super::assume_cache::AssumeCache;
use crate::{
    ApiServer,
    api::error_text,
    clock,
    lease::{LeadershipState, Term},
};

/// A term that may write.
pub(super) struct Ready {
    pub(super) term: Arc<Term>,
    /// Its connections end with the term.
    pub(super) client: Client,
    /// When the list of this term had ended.
    pub(super) since: Instant,
    /// Whether the API server is known to copy the labels of a Binding to the pod.
    pub(super) takes_labels: AtomicBool,
}

/// Lists the cluster again at the start of every term. It runs until it is aborted, or the election ends.
pub(super) async fn keep_ready(
    api: ApiServer,
    assume_cache: Arc<dyn AssumeCache>,
    mut changes: Receiver<LeadershipState>,
    ready: Arc<ArcSwapOption<Ready>>,
) {
    loop {
        let leadership_state = changes.borrow_and_update().clone();
        ready.store(None);
        let change = match leadership_state {
            LeadershipState::Leads(term) => tokio::select! {
                biased;
                change = changes.changed() => change,
                made = make(&api, assume_cache.as_ref(), term) => {
                    ready.store(Some(Arc::new(made)));
                    changes.changed().await
                }
            },
            LeadershipState::Follows { .. } | LeadershipState::Awaits { .. } | LeadershipState::Vacant(_) => {
                changes.changed().await
            }
        };
        if change.is_err() {
            ready.store(None);
            return;
        }
    }
}

async fn make(api: &ApiServer, assume_cache: &dyn AssumeCache, term: Arc<Term>) -> Ready {
    loop {
        match api.fenced(&term) {
            Ok(client) => {
                // A list that starts now contains all writes of earlier leaders.
                assume_cache.relist().await;
                info!(term = term.number(), "the cluster was listed afresh: this gateway binds");
                return Ready { term, client, since: clock::now(), takes_labels: AtomicBool::new(false) };
            }
            Err(error) => {
                warn!(term = term.number(), error = error_text(&error), "this gateway leads and cannot bind");
                clock::sleep(term.timings().pause()).await;
            }
        }
    }
}
