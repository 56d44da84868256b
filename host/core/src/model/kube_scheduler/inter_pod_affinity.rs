//! The plugin `InterPodAffinity`.

use std::sync::OnceLock;

use hashbrown::{HashMap, HashSet};

use super::{pod_fields::Affinity, rejection::SchedulerRejection};
use crate::model::{AffinityTerm, Cluster, Node, Placed, Pod, Required};

/// The required terms of a pod, and those of placed pods that keep it away.
#[derive(Debug)]
pub(super) struct InterPodAffinity<'p> {
    pod: &'p Pod,
    cluster: &'p Cluster,
    affinity: Vec<AffinityTerm>,
    anti_affinity: Vec<AffinityTerm>,
    /// Found for the first node that has passed the filters before.
    places: OnceLock<Places<'p>>,
}

/// Where the pods are that terms select.
#[derive(Debug, Default)]
struct Places<'p> {
    /// By term of the affinity: near pods that all its terms select.
    near: Vec<Domains<'p>>,
    /// Whether the pod is the first of those that its own affinity selects.
    is_first: bool,
    /// By term of the anti-affinity.
    apart: Vec<Domains<'p>>,
    /// By topology key: near placed pods whose anti-affinity selects the pod.
    kept_away: HashMap<&'p str, Domains<'p>, foldhash::fast::RandomState>,
}

/// Values of a topology key.
type Domains<'p> = HashSet<&'p str, foldhash::fast::RandomState>;

/// The label that the API server gives to each namespace.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

// === impl InterPodAffinity ===

impl<'p> InterPodAffinity<'p> {
    pub(super) fn new(pod: &'p Pod, cluster: &'p Cluster, affinity: Option<Affinity>) -> Self {
        let Affinity { near, apart, .. } = affinity.unwrap_or_default();
        let [affinity, anti_affinity] = [near, apart].map(|required: Option<Required<Vec<AffinityTerm>>>| {
            let terms = required.and_then(|required| required.terms).unwrap_or_default();
            terms.into_iter().map(|term| term.of_namespace(pod.namespace())).collect()
        });
        Self { pod, cluster, affinity, anti_affinity, places: OnceLock::new() }
    }

    pub(super) fn rejection(&self, node: &Node) -> Option<SchedulerRejection<'_>> {
        let Places { near, is_first, apart, kept_away } = self.places.get_or_init(|| self.find());
        let domain = |key: &str| node.labels().get(key);
        let has = |key: &str, domains: &Domains<'_>| domain(key).is_some_and(|domain| domains.contains(domain));
        let mut all = self.affinity.iter().zip(near);
        let is_near = all.all(|(term, domains)| has(&term.topology_key, domains))
            || *is_first && self.affinity.iter().all(|term| domain(&term.topology_key).is_some());
        let mut all = self.anti_affinity.iter().zip(apart);
        let is_apart = !all.any(|(term, domains)| has(&term.topology_key, domains));
        let (reasons, unresolvable): (&[_; 1], _) = if !is_near {
            (&["node(s) didn't match pod affinity rules"], true)
        } else if !is_apart {
            (&["node(s) didn't match pod anti-affinity rules"], false)
        } else if kept_away.iter().any(|(key, domains)| has(key, domains)) {
            (&["node(s) didn't satisfy existing pods anti-affinity rules"], false)
        } else {
            return None;
        };
        Some(SchedulerRejection::new("InterPodAffinity", reasons, unresolvable))
    }

    fn find(&self) -> Places<'p> {
        let Self { pod, cluster, .. } = self;
        let mut places = Places {
            near: self.affinity.iter().map(|_| Domains::default()).collect(),
            apart: self.anti_affinity.iter().map(|_| Domains::default()).collect(),
            ..Places::default()
        };
        let has_terms = !(self.affinity.is_empty() && self.anti_affinity.is_empty());
        let add = |term: &AffinityTerm, node: &'p Node, domains: &mut Domains<'p>| {
            domains.extend(node.labels().get(&term.topology_key));
        };
        let is_selected = |pod: &Pod| self.affinity.iter().all(|term| selects(term, pod, cluster));
        for (node, placed) in cluster.nodes() {
            let terms = placed.into_iter().flat_map(Placed::anti_affinity);
            for term in terms.filter(|term| selects(term, pod, cluster)) {
                add(term, node, places.kept_away.entry(&term.topology_key).or_default());
            }
            for placed in placed.filter(|_| has_terms).map_or(&[][..], Placed::pods) {
                if is_selected(placed) {
                    for (term, domains) in self.affinity.iter().zip(&mut places.near) {
                        add(term, node, domains);
                    }
                }
                for (term, domains) in self.anti_affinity.iter().zip(&mut places.apart) {
                    if selects(term, placed, cluster) {
                        add(term, node, domains);
                    }
                }
            }
        }
        places.is_first = places.near.iter().all(HashSet::is_empty) && is_selected(pod);
        places
    }
}

/// Whether a term selects the pod. A namespace that is not known has its name as its only label.
fn selects(term: &AffinityTerm, pod: &Pod, cluster: &Cluster) -> bool {
    term.selects(pod.namespace(), pod.labels(), |selector| match cluster.namespace(pod.namespace()) {
        Some(namespace) => selector.selects(|key| namespace.labels().get(key)),
        None => selector.selects(|key| (key == NAME_LABEL).then_some(pod.namespace())),
    })
}
