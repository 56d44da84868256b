//! Tie-breaks between nodes: their order by name, and hashes of their names.

use crate::model::{Pod, Slots};

/// For each slot its place in the order of names, and a hash of its name.
#[derive(Debug)]
pub(crate) struct NodeOrder {
    /// A share of 2^32, the largest for the smallest name.
    by_name: Box<[u32]>,
    hashes: Box<[u64]>,
}

// === impl NodeOrder ===

impl NodeOrder {
    pub(crate) fn new(slots: &Slots) -> Self {
        let mut sorted: Vec<(&str, u32)> = slots.iter().map(|slot| &**slot.node.name()).zip(0..).collect();
        sorted.sort_unstable_by(|one, other| other.cmp(one));
        let mut by_name: Box<[u32]> = vec![0; sorted.len()].into();
        for (place, (_, slot)) in sorted.iter().enumerate() {
            // Below 2^32: the place is below the length.
            by_name[*slot as usize] = (((place as u64) << 32) / sorted.len() as u64) as u32;
        }
        Self { by_name, hashes: slots.iter().map(|slot| hash(slot.node.name())).collect() }
    }

    /// A share of 2^32: the smaller a node's name, the larger it is.
    #[inline]
    pub(crate) fn by_name(&self, slot: u32) -> u32 {
        self.by_name[slot as usize]
    }

    /// A share of 2^32 that follows from the pod and the node's name alone.
    #[inline]
    pub(crate) fn spread(&self, slot: u32, pod: u64) -> u32 {
        (mixed(self.hashes[slot as usize] ^ pod) >> 32) as u32
    }

    /// The hash of a pod's UID, or of its namespace and name if it has none.
    pub(crate) fn hash_of_pod(pod: &Pod) -> u64 {
        match pod.uid() {
            "" => mixed(hash(pod.namespace())) ^ hash(pod.name()),
            uid => hash(uid),
        }
    }
}

/// FNV-1a, which has no key: every replica must compute the same.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The finalizer of `SplitMix64`: each bit of the number affects all bits of the result.
#[inline]
const fn mixed(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Node, Slot};

    fn slots(names: &[&str]) -> Slots {
        let slot = |name: &&str| {
            let json = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
            Slot { node: Arc::new(Node::from_json(json.into()).unwrap()), placed: None }
        };
        names.iter().map(slot).collect()
    }

    fn pod(uid: &str) -> Pod {
        let json = format!(r#"{{"metadata":{{"name":"p","namespace":"d","uid":"{uid}"}}}}"#);
        Pod::from_json(json.into()).unwrap()
    }

    #[test]
    fn the_smallest_name_has_the_largest_share() {
        let order = NodeOrder::new(&slots(&["n2", "n10", "n1", "m9"]));
        let quarter = 1 << 30;
        assert_eq!([0, 1, 2, 3].map(|slot| order.by_name(slot)), [0, quarter, 2 * quarter, 3 * quarter]);
        assert_eq!(NodeOrder::new(&Slots::default()).by_name.len(), 0);
    }

    /// The numbers may change with a version; within one they are the same for every process and every cluster.
    #[test]
    fn a_spread_follows_from_pod_and_name_alone() {
        let (one, other) = (NodeOrder::new(&slots(&["a", "b"])), NodeOrder::new(&slots(&["c", "b", "a"])));
        for uid in ["", "u", "5f1b0c4e-0b0e-4b57-9c56-0c7a6f3c7c11"] {
            let pod = NodeOrder::hash_of_pod(&pod(uid));
            assert_eq!((one.spread(0, pod), one.spread(1, pod)), (other.spread(2, pod), other.spread(1, pod)));
        }
        let (u, v) = (NodeOrder::hash_of_pod(&pod("u")), NodeOrder::hash_of_pod(&pod("v")));
        assert_eq!((one.spread(0, u), one.spread(0, v)), (3_287_988_256, 2_107_949_577));
    }

    #[test]
    fn pods_are_spread_evenly() {
        let names: Vec<String> = (0..10).map(|node| format!("node-{node}")).collect();
        let order = NodeOrder::new(&slots(&names.iter().map(String::as_str).collect::<Vec<_>>()));
        let mut pods = [0; 10];
        for number in 0..10_000 {
            let pod = NodeOrder::hash_of_pod(&pod(&format!("uid-{number}")));
            let best = (0..10u32).max_by_key(|slot| order.spread(*slot, pod)).unwrap();
            pods[best as usize] += 1;
        }
        assert!(pods.iter().all(|count| (900..1_100).contains(count)), "{pods:?}");
    }
}
