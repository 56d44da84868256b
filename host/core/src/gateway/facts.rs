//! Facts from outside: those that the host has fetched, and those that come with policies.

use std::sync::Arc;

use super::Gateway;
use crate::{
    decide::Roster,
    model::{Cluster, Facts, facts::Moment},
};

// === impl Gateway ===

impl Gateway {
    /// The facts in force.
    pub fn facts(&self) -> Arc<Facts> {
        self.facts.current()
    }

    /// Replaces the facts of the sources of the gateway. Requests in flight finish with those that they started with.
    pub fn set_facts(&self, facts: &Facts) {
        if self.facts.set_gateway_sources(facts) {
            self.publish_facts();
        }
    }

    /// Puts the facts in force that come with the policies of a roster, before the roster is.
    pub(super) fn set_facts_of(&self, roster: &Roster) {
        let sources = roster.members().flat_map(|member| member.sidecar_facts.iter().cloned()).collect();
        if self.facts.set_sidecar_sources(sources) {
            self.publish_facts();
        }
    }

    /// Replaces the cluster, and prepares the data for requests that follow from it alone.
    pub fn set_cluster(&self, cluster: Arc<Cluster>) {
        let _publishing = self.publishing.lock();
        if self.cluster().is_none_or(|before| !Arc::ptr_eq(&before, &cluster)) {
            self.publish(cluster);
            self.binds.notify_change();
        }
    }

    /// Publishes a cluster with the facts in force. Binds wait for this lock, so the facts are compared before it is
    /// taken. If calls overlap, each publishes the newest facts.
    fn publish_facts(&self) {
        let _publishing = self.publishing.lock();
        if let Some(before) = self.cluster() {
            self.publish(Arc::new(before.successor(before.slots().clone())));
        }
    }

    /// Puts a cluster in force. It takes over columns and totals from the one before it.
    fn publish(&self, cluster: Arc<Cluster>) {
        // No request must wait for it.
        cluster.names();
        cluster.set_facts(self.facts.current());
        cluster.columns().set_limit(self.cache_limit.columns());
        if let Some(before) = self.cluster() {
            cluster.follow(&before);
        }
        self.cluster.store(Some(cluster));
    }

    /// The time and the facts that a request sees to its end.
    pub(super) fn moment(&self) -> Moment {
        Moment { now: self.clock.unix_seconds(), facts: self.facts.current() }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        thread,
        time::{Duration, Instant},
    };

    use super::*;
    use crate::{
        decide::NoObserver,
        model::{FactSource, SystemClock},
    };

    const PATIENCE: Duration = Duration::from_secs(30);

    fn mk_gateway() -> Gateway {
        let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), PATIENCE);
        gateway.set_cluster(Arc::new(Cluster::from_objects(vec![], vec![])));
        gateway
    }

    fn mk_facts(value: usize) -> Facts {
        let source = FactSource::from_texts([("k", value.to_string())]).unwrap();
        Facts::from_iter([(Arc::from("load"), Arc::new(source))])
    }

    #[test]
    fn facts_are_compared_while_a_bind_has_the_lock() {
        let gateway = mk_gateway();
        gateway.set_facts(&mk_facts(1));
        let bind = gateway.publishing.lock();
        // Equal facts return, and other ones are in force before the lock is free.
        thread::scope(|scope| {
            scope.spawn(|| gateway.set_facts(&mk_facts(1))).join().unwrap();
            let other = scope.spawn(|| gateway.set_facts(&mk_facts(2)));
            let started = Instant::now();
            while *gateway.facts() != mk_facts(2) {
                assert!(started.elapsed() < PATIENCE, "the new facts wait for the bind");
                thread::yield_now();
            }
            drop(bind);
            other.join().unwrap();
        });
        assert_eq!(**gateway.cluster().unwrap().facts().unwrap(), mk_facts(2));
    }

    #[test]
    fn the_newest_facts_are_shown_however_calls_overlap() {
        let gateway = mk_gateway();
        for round in 0..50 {
            thread::scope(|scope| {
                let gateway = &gateway;
                for value in 0..4 {
                    scope.spawn(move || gateway.set_facts(&mk_facts(4 * round + value)));
                }
            });
            assert_eq!(gateway.cluster().unwrap().facts(), Some(&gateway.facts()));
        }
    }
}
