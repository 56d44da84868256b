//! Licences with a number of seats in each pool of nodes: a pod that needs one runs where a seat is free.
//!
//! ```yaml
//! settings: {label: example.com/licence, pool: example.com/pool, seats: {matlab: 40}}
//! ```
//!
//! `filter` says where a seat is free. Where plimsoll binds the pods it is asked again at bind, with the pods that are
//! being bound counted, so that no two pods take the last seat. `bind` is not needed for that; it is here as an example
//! of a policy with both.

use std::collections::BTreeMap;

use plimsoll_policy::prelude::*;

/// The seats, and the labels that they go by.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LicenceSeats {
    /// The label of a pod that names its licence.
    label: String,
    /// The label of a node that names its pool.
    pool: String,
    /// By licence: the number of pods of one pool that may have it.
    seats: BTreeMap<String, u64>,
}

impl Filter for LicenceSeats {
    fn filter(&self, pod: &Pod, node: &Node) -> Verdict {
        let Some(licence) = pod.label(&self.label) else { return Verdict::Fits };
        let Some(seats) = self.seats.get(licence) else { return Verdict::unresolvable("the licence is unknown") };
        let Some(pool) = node.label(&self.pool) else { return Verdict::unresolvable("node is in no pool") };
        let holders = Selector::all().label(&self.label, licence).node_label(&self.pool, pool);
        match node.cluster().at_least(holders, *seats) {
            Some(false) => Verdict::Fits,
            Some(true) => Verdict::unschedulable("all seats of the licence are taken in the node's pool"),
            None => Verdict::unresolvable("the gateway has no view of the cluster"),
        }
    }
}

impl Bind for LicenceSeats {
    fn bind(&self, pod: &Pod, node: &Node) -> Result<BindMetadata, NotBound> {
        match self.filter(pod, node) {
            Verdict::Fits => Ok(BindMetadata::new()),
            Verdict::Unschedulable(reason) | Verdict::Unresolvable(reason) => Err(NotBound::refused(reason)),
        }
    }
}

export!(LicenceSeats: filter, bind);

#[cfg(test)]
mod tests {
    use plimsoll_policy::testing::{PodBuilder, World, node, pod, settings};

    use super::*;

    const TAKEN: &str = "all seats of the licence are taken in the node's pool";

    fn policy() -> LicenceSeats {
        settings("{label: licence, pool: pool, seats: {matlab: 2, ansys: 1}}").unwrap()
    }

    fn licensed(name: &str, licence: &str) -> PodBuilder {
        pod(name).label("licence", licence)
    }

    /// Three nodes: two in the pool `lab`, one in the pool `office`.
    fn world(pod: PodBuilder) -> World {
        let in_pool = |name: &str, pool: &str| node(name).label("pool", pool);
        World::new(pod).node(in_pool("lab-1", "lab")).node(in_pool("lab-2", "lab")).node(in_pool("office-1", "office"))
    }

    #[test]
    fn seats_are_counted_in_the_pool_and_not_on_the_node() {
        let world = world(licensed("new", "matlab"))
            .placed(licensed("a", "matlab").on("lab-1"))
            .placed(licensed("b", "matlab").on("lab-1"))
            .placed(licensed("c", "ansys").on("office-1"))
            .placed(licensed("d", "matlab").on("office-1"));
        let answers = ["lab-1", "lab-2", "office-1"].map(|node| world.filter(&policy(), node));
        assert_eq!(answers, [Verdict::unschedulable(TAKEN), Verdict::unschedulable(TAKEN), Verdict::Fits]);
        assert_eq!(world.bind(&policy(), "lab-2"), Err(NotBound::refused(TAKEN)));
        assert_eq!(
            world.without_cluster().bind(&policy(), "office-1"),
            Err(NotBound::refused("the gateway has no view of the cluster"))
        );
    }

    #[test]
    fn a_pod_without_a_licence_runs_anywhere_and_one_with_an_unknown_licence_nowhere() {
        assert_eq!(world(pod("new")).filter(&policy(), "lab-1"), Verdict::Fits);
        let unknown = world(licensed("new", "word")).filter(&policy(), "lab-1");
        assert_eq!(unknown, Verdict::unresolvable("the licence is unknown"));
    }

    /// The model: seats by pool and licence, which pods take one after another and give back.
    #[test]
    fn pods_that_come_and_go_never_hold_more_seats_than_there_are() {
        let (policy, nodes) = (policy(), [("lab-1", "lab"), ("lab-2", "lab"), ("office-1", "office")]);
        let mut holders: Vec<(String, &str, (&str, &str))> = vec![];
        // A linear congruential generator: the sequence is the same in every run.
        let mut random = 7u32;
        let mut below = |count: usize| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) as usize % count
        };
        for round in 0..300 {
            if below(3) == 0 && !holders.is_empty() {
                holders.swap_remove(below(holders.len()));
                continue;
            }
            let (name, licence, place) = (format!("p{round}"), ["matlab", "ansys"][below(2)], nodes[below(3)]);
            let placed = |world: World, (name, licence, (node, _)): &(String, &str, (&str, &str))| {
                world.placed(licensed(name, licence).on(node))
            };
            let world = holders.iter().fold(world(licensed(&name, licence)), placed);
            let held = holders.iter().filter(|(_, own, (_, pool))| *own == licence && *pool == place.1).count() as u64;
            let is_free = held < policy.seats[licence];
            assert_eq!(world.filter(&policy, place.0) == Verdict::Fits, is_free, "{holders:?}");
            assert_eq!(world.bind(&policy, place.0).is_ok(), is_free);
            if is_free {
                holders.push((name, licence, place));
            }
        }
    }
}
