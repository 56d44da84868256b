//! The scheduler of a world: it asks for binds, and asks again.

use super::{
    MILLISECOND, SCHEDULER_TIMEOUT, TROUBLE, World,
    event::{Pending, SimulationEvent},
};
use crate::simulation::process::{BindOrder, BindResult};

impl World {
    pub(super) fn schedule(&mut self, name: String) {
        let Some(pod) = self.api.pods.get(&name).cloned() else { return };
        // Its own watch may be behind, too.
        if pod.node.is_some() && !self.is_trouble(2) {
            return;
        }
        let node = self.pending.get(&name).and_then(|pending| pending.node.clone());
        let stays = self.chance.percent(40);
        let any = self.api.nodes[self.chance.below(self.api.nodes.len() as u64) as usize].clone();
        let node = node.filter(|_| stays).unwrap_or(any);
        self.attempts += 1;
        let order = BindOrder {
            attempt: self.attempts,
            pod: name.clone(),
            uid: pod.uid,
            node: node.clone(),
            is_forwarded: false,
        };
        self.pending.insert(name, Pending { attempt: self.attempts, node: Some(node), heard: false });
        let index = self.chance.below(2) as usize;
        // In life it is 5 s; here it is anything, in relation to a shorter Lease.
        let patience = SCHEDULER_TIMEOUT / 10 + self.chance.below(SCHEDULER_TIMEOUT * 9 / 10);
        let (there, late) = (self.now + self.delay(true), self.now + patience);
        if !self.is_trouble(4) {
            self.at(there, SimulationEvent::Ask(index, order.clone()));
        }
        self.at(late, SimulationEvent::Hear(order, BindResult::Unknown));
    }

    /// A process is done with a bind.
    pub(super) fn decided(&mut self, at: u64, mut order: BindOrder, outcome: BindResult) {
        match &outcome {
            BindResult::Bound => {
                assert!(
                    self.api.was_bound(&order.uid, &order.node),
                    "{} was lost: it was told that it is bound",
                    order.pod
                );
            }
            BindResult::Unknown => self.tally.unknown += 1,
            BindResult::Forward(url) if !order.is_forwarded => {
                order.is_forwarded = true;
                let peer = self.processes.iter().position(|process| *process.url == **url);
                let there = at + self.delay(true);
                if let Some(peer) = peer.filter(|_| !self.is_trouble(4)) {
                    self.at(there, SimulationEvent::Ask(peer, order));
                }
                return;
            }
            BindResult::Forward(_) | BindResult::Failed(_) => {}
        }
        let back = at + self.delay(true);
        self.at(back, SimulationEvent::Hear(order, outcome));
    }

    pub(super) fn hear(&mut self, order: BindOrder, outcome: &BindResult) {
        let Some(pending) = self.pending.get_mut(&order.pod) else { return };
        if pending.attempt != order.attempt || std::mem::replace(&mut pending.heard, true) {
            return;
        }
        if *outcome != BindResult::Bound && self.chance.percent(50) {
            // It writes why into the pod's status.
            self.api.touch(&order.pod);
            self.happened();
        }
        if *outcome == BindResult::Bound && self.now < TROUBLE {
            // It runs for a while, and another comes in its place.
            let end = self.now + self.chance.below(6_000) * MILLISECOND;
            return self.at(end, SimulationEvent::DeletePod(order.pod));
        }
        let again = self.now + (20 + self.chance.below(600)) * MILLISECOND;
        self.at(again, SimulationEvent::Schedule(order.pod));
    }
}
