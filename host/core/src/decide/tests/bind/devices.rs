//! No device is given to two pods, in whatever order they come.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Barrier},
    thread,
};

use proptest::{collection::vec, prelude::*};

use super::{
    super::fixture::{FakePolicy, mk_member},
    api::{Desk, End, mk_waiting},
};
use crate::{
    decide::{BindOutcome, DecideError, Unbound},
    model::{BindError, MetadataEntry, PlacedRead, Read, Value, View},
};

const DEVICE: &str = "e.com/device";
const NODES: [&str; 3] = ["n1", "n2", "n3"];

/// Gives each pod the lowest device of the node that no placed pod has.
fn allocates(devices: u32) -> FakePolicy {
    FakePolicy::default().bind(move |ask, node| {
        let taken = taken(&ask.view, node);
        let free = (0..devices).find(|device| !taken.contains(&device.to_string()));
        Ok(free.map(|device| vec![MetadataEntry::new(DEVICE, device.to_string())]).ok_or_else(|| "full".to_owned()))
    })
}

fn taken(view: &View, node: u32) -> BTreeSet<String> {
    let Ok(Value::Number(count)) = view.read(Read::PlacedCount(node)) else { panic!("a count is a number") };
    let device = |pod| match view.read(Read::Placed(node, pod as u32, PlacedRead::Annotation(DEVICE))) {
        Ok(Value::Text(device)) => Some(device.into_owned()),
        _ => None,
    };
    (0..count).filter_map(device).collect()
}

/// The failure of the n-th write, if it fails.
#[derive(Debug, Clone, Copy)]
enum Mishap {
    None,
    Fails,
    IsSilent,
    IsLost,
}

fn any_mishap() -> impl Strategy<Value = Mishap> {
    prop_oneof![6 => Just(Mishap::None), 1 => Just(Mishap::Fails), 1 => Just(Mishap::IsSilent), 1 => Just(Mishap::IsLost)]
}

/// Binds every pod from one of some threads. A bind that fails without a refusal is tried again, on the node of
/// `again`. Every other pod is tried there by another thread at the same time, as by a scheduler whose time was over
/// before the first attempt ended.
fn bind_all(desk: &Desk, wishes: &[usize], again: &[usize], threads: usize) -> Vec<Result<BindOutcome, DecideError>> {
    let start = Barrier::new(threads);
    let mut results: BTreeMap<usize, _> = BTreeMap::new();
    let retry = |pod: usize| desk.bind(&format!("p{pod}"), NODES[again[pod]]);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let (start, retry) = (&start, &retry);
                scope.spawn(move || {
                    start.wait();
                    let own = (0..wishes.len()).filter(|pod| pod % threads == worker);
                    let bind = |pod: usize| {
                        let first = || desk.bind(&format!("p{pod}"), NODES[wishes[pod]]);
                        let (first, is_meanwhile) = if pod % 2 == 1 && !again.is_empty() {
                            (thread::scope(|scope| [scope.spawn(first), scope.spawn(|| retry(pod))].map(join)), true)
                        } else {
                            let first = first();
                            ([first.clone(), first], false)
                        };
                        let is_open =
                            |result: &Result<_, _>| matches!(result, Err(DecideError::Unbound(Unbound::Binder { .. })));
                        let result = if first.iter().any(is_open) && !again.is_empty() {
                            retry(pod)
                        } else if is_meanwhile {
                            first.into_iter().max_by_key(Result::is_ok).unwrap()
                        } else {
                            first.into_iter().next().unwrap()
                        };
                        (pod, result)
                    };
                    own.map(bind).collect::<Vec<_>>()
                })
            })
            .collect();
        for worker in workers {
            results.extend(worker.join().unwrap());
        }
    });
    results.into_values().collect()
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_device_is_given_twice_and_none_is_left_while_a_pod_is_refused(
        (wishes, again) in (1_usize..40).prop_flat_map(|count| {
            (vec(0..NODES.len(), count), vec(0..NODES.len(), count))
        }),
        devices in 1u32..8,
        threads in 1usize..8,
        mishaps in vec(any_mishap(), 0..20),
        lags: bool,
    ) {
        let pods = (0..wishes.len()).map(|pod| mk_waiting(&format!("p{pod}"))).collect();
        let desk = Desk::with_nodes(&NODES, vec![mk_member("gpu", allocates(devices), |_| {})], pods);
        desk.api.lag(lags);
        let quiet = mishaps.iter().all(|mishap| matches!(mishap, Mishap::None));
        for mishap in mishaps {
            match mishap {
                Mishap::None => {}
                Mishap::Fails => desk.api.next_write(End::Fails(BindError::Api("it is down".to_owned()))),
                Mishap::IsSilent => desk.api.next_write(End::IsSilent),
                Mishap::IsLost => desk.api.next_write(End::IsLost),
            }
        }
        let again = if quiet { vec![] } else { again };
        let results = bind_all(&desk, &wishes, &again, threads);

        let mut given: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (pod, node) in wishes.iter().enumerate() {
            let name = format!("p{pod}");
            let Some(bound_to) = desk.api.node_of(&name) else { continue };
            let retried = again.get(pod).map(|node| NODES[*node]);
            prop_assert!(bound_to == NODES[*node] || Some(&*bound_to) == retried);
            let device = desk.api.annotation(&name, DEVICE).unwrap();
            prop_assert!(device.parse::<u32>().unwrap() < devices);
            prop_assert!(given.entry(bound_to.clone()).or_default().insert(device), "a device of {} twice", bound_to);
        }
        for (pod, result) in results.iter().enumerate() {
            let bound = desk.api.node_of(&format!("p{pod}")).is_some();
            prop_assert!(bound || result.is_err());
            prop_assert!(!bound || !quiet || !matches!(result, Err(DecideError::Unbound(Unbound::Refused(_)))));
        }
        if quiet {
            for (at, node) in NODES.iter().enumerate() {
                let wanted = wishes.iter().filter(|wish| **wish == at).count();
                prop_assert_eq!(given.get(*node).map_or(0, BTreeSet::len), wanted.min(devices as usize));
            }
        }
    }
}

#[test]
fn sixty_four_threads_fill_three_nodes_exactly() {
    let wishes: Vec<usize> = (0..384).map(|pod| pod % NODES.len()).collect();
    let pods = (0..wishes.len()).map(|pod| mk_waiting(&format!("p{pod}"))).collect();
    let member = mk_member("gpu", allocates(100), |_| {});
    let desk = Desk::with_nodes(&NODES, vec![Arc::clone(&member)], pods);
    let results = bind_all(&desk, &wishes, &[], 64);
    assert_eq!(results.iter().filter(|result| **result == Ok(BindOutcome::Bound)).count(), 300);
    let full = |result: &&Result<_, DecideError>| matches!(result, Err(error) if error.to_string() == "gpu: full");
    assert_eq!(results.iter().filter(full).count(), 84);
}
