//! What a term needs before its first write.

use std::{sync::Arc, time::Instant};

use arc_swap::ArcSwapOption;
use kube::Client;
use tokio::sync::watch::Receiver;
use tracing::{info, warn};

use super::Ledger;
use crate::{
    ApiServer, clock,
    lease::{Standing, Term},
};

/// A term that may write.
pub(super) struct Ready {
    pub(super) term: Arc<Term>,
    /// Its connections end with the term.
    pub(super) client: Client,
    /// When the view was fresh.
    pub(super) since: Instant,
}

/// Lists afresh at the start of every term. It goes on until it is aborted, or the election ends.
pub(super) async fn keep_ready(
    api: ApiServer,
    ledger: Arc<dyn Ledger>,
    mut changes: Receiver<Standing>,
    ready: Arc<ArcSwapOption<Ready>>,
) {
    loop {
        let standing = changes.borrow_and_update().clone();
        ready.store(None);
        let change = match standing {
            Standing::Leads(term) => tokio::select! {
                biased;
                change = changes.changed() => change,
                made = make(&api, ledger.as_ref(), term) => {
                    ready.store(Some(Arc::new(made)));
                    changes.changed().await
                }
            },
            Standing::Follows { .. } | Standing::Awaits { .. } | Standing::Vacant(_) => changes.changed().await,
        };
        if change.is_err() {
            ready.store(None);
            return;
        }
    }
}

async fn make(api: &ApiServer, ledger: &dyn Ledger, term: Arc<Term>) -> Ready {
    loop {
        match api.fenced(&term) {
            Ok(client) => {
                // Whatever an earlier leader wrote is seen by a list that starts now.
                ledger.relist().await;
                info!(term = term.number(), "the cluster was listed afresh: this gateway binds");
                return Ready { term, client, since: clock::now() };
            }
            Err(error) => {
                warn!(term = term.number(), %error, "this gateway leads and cannot bind");
                clock::sleep(term.pace().pause()).await;
            }
        }
    }
}
