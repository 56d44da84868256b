//! The node of a candidate with its victims, from the snapshot and the request.

use std::{borrow::Cow, sync::Arc};

use hashbrown::HashMap;

use crate::{
    Cluster, Placed, Pod, Slot,
    decide::{CandidateQuery, DecideError, Victims, filter::NOT_SEEN},
    node_cache::NodeCache,
};

/// The node of a candidate with its pods, and the indices of the victims among them; or why it is dropped.
type PlacedCandidate = Result<(Slot, Vec<u32>), Cow<'static, str>>;

/// Looks the candidate's node and victims up.
pub(super) fn place(
    query: &CandidateQuery<'_>,
    cluster: Option<&Cluster>,
    node_cache: &NodeCache,
) -> Result<PlacedCandidate, DecideError> {
    let seen = cluster.and_then(|cluster| cluster.slots().get(cluster.find(&query.node)? as usize)).cloned();
    let (slot, mut victims) = match &query.victims {
        Victims::Uids(uids) => {
            let Some(slot) = seen else { return Ok(Err(NOT_SEEN.1.into())) };
            let position = |uid: &Cow<'_, str>| slot.placed.as_ref().and_then(|placed| placed.position(uid));
            let mut victims = Vec::with_capacity(uids.len());
            for uid in uids {
                let Some(victim) = position(uid) else {
                    return Ok(Err(format!("victim with the UID {uid} not seen yet").into()));
                };
                victims.push(victim);
            }
            (slot, victims)
        }
        Victims::Pods(objects) => {
            // A scheduler that sends whole objects has sent this node with a filter request, of this pod or of another:
            // candidates are mostly nodes that its own filters had refused for this one.
            let placed = seen.as_ref().and_then(|slot| slot.placed.clone());
            let sent = node_cache.known().by_name(&query.node).cloned().map(|node| Slot { node, placed });
            let Some(mut slot) = sent.or(seen) else { return Ok(Err(NOT_SEEN.1.into())) };
            let pods = objects.iter().map(|json| Pod::placed_from_json(json)).collect::<Result<Vec<_>, _>>()?;
            let victims = place_pods(&mut slot, pods);
            (slot, victims)
        }
    };
    let mut named = vec![false; slot.placed.as_deref().map_or(0, |placed| placed.pods().len())];
    victims.retain(|victim: &u32| !std::mem::replace(&mut named[*victim as usize], true));
    Ok(Ok((slot, victims)))
}

/// Adds the pods that the node's own view does not have; returns the indices of all of them.
fn place_pods(slot: &mut Slot, pods: Vec<Pod>) -> Vec<u32> {
    let known = slot.placed.take();
    let mut all: Vec<Arc<Pod>> = known.as_ref().map(|known| known.pods().to_vec()).unwrap_or_default();
    let mut added: HashMap<Box<str>, u32> = HashMap::new();
    let mut index_of = |pod: Pod| {
        let at = known.as_ref().and_then(|known| known.position(pod.uid()));
        at.unwrap_or_else(|| {
            *added.entry(pod.uid().into()).or_insert_with(|| {
                all.push(Arc::new(pod));
                all.len() as u32 - 1
            })
        })
    };
    let indices = pods.into_iter().map(&mut index_of).collect();
    slot.placed = Some(Arc::new(if known.is_some() { Placed::new(all) } else { Placed::partial(all) }));
    indices
}
