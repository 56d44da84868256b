//! A pod as policies can read it: the one being scheduled, or one that is placed.

mod wire;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use bytes::Bytes;

pub use self::wire::HostPort;
use self::wire::PodJson;
pub(super) use self::wire::is_pod_level;
use super::{AntiAffinity, Claim, Entries, ObjectError, Owner, Quantities, at_pointer, parse, placed};

/// Annotations or labels by key.
type Texts = BTreeMap<Box<str>, Box<str>>;

/// The scheduler of a pod that names none.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// One pod. Pods may share the parts that they have in common: see [`Pool`](super::Pool).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    name: Box<str>,
    pub(super) namespace: Arc<str>,
    uid: Box<str>,
    pub(super) labels: Arc<Entries>,
    pub(super) annotations: Arc<Entries>,
    priority: i32,
    pub(super) priority_class: Option<Arc<str>>,
    pub(super) controller: Option<Arc<Owner>>,
    created: i64,
    pub(super) requests: Arc<Quantities>,
    host_ports: Arc<[HostPort]>,
    pub(super) anti_affinity: Option<Arc<AntiAffinity>>,
    pub(super) group: Option<Arc<str>>,
    pub(super) node: Option<Arc<str>>,
    nomination: Option<Nomination>,
    phase: Option<Phase>,
    is_terminating: bool,
    whole: Option<Arc<Whole>>,
}

/// Why a pod that is not bound counts on a node: it is in `status.nominatedNodeName`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nomination {
    /// kube-scheduler has chosen the node, and the pod waits there for volumes, claims or a gang.
    Chosen,
    /// Its condition says that it is unschedulable: most likely it waits until the pods that it has preempted are gone.
    Preemptor,
}

crate::words! {
    /// `status.phase`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Phase {
        /// Not all of its containers have started.
        Pending = "Pending",
        /// At least one of its containers runs, starts or restarts.
        Running = "Running",
        /// All containers have ended well, and will not start again.
        Succeeded = "Succeeded",
        /// All containers have ended, one of them with an error, and will not start again.
        Failed = "Failed",
        /// Its node does not report it.
        Unknown = "Unknown",
    }
}

/// The parts that only the pod being scheduled has.
#[derive(Debug, PartialEq, Eq)]
struct Whole {
    json: Bytes,
    images: Box<[Box<str>]>,
    named: Quantities,
    scheduler_name: Option<Box<str>>,
    volume_claims: Box<[Claim]>,
    has_resource_claims: bool,
}

// === impl Pod ===

impl Pod {
    /// Reads the JSON of the pod being scheduled; it answers every read.
    ///
    /// # Errors
    /// If it is not JSON, or a field that policies read has another type.
    pub fn from_json(json: Bytes) -> Result<Self, ObjectError> {
        let wire: PodJson<'_> = parse("Pod", &json)?;
        let (images, named) = (wire.spec.images(), wire.spec.named_resources());
        let (volume_claims, has_resource_claims) = (wire.volume_claims(), wire.spec.has_resource_claims());
        let scheduler_name = wire.spec.scheduler_name.as_deref().filter(|name| !name.is_empty()).map(Box::from);
        let pod = Self::from_wire(wire, false);
        let whole = Whole { json, images, named, scheduler_name, volume_claims, has_resource_claims };
        Ok(Self { whole: Some(Arc::new(whole)), ..pod })
    }

    /// Reads the JSON of a placed or nominated pod; only fields that policies can read of such a pod are kept, and of annotations of
    /// more than [`MAX_KEPT_ANNOTATION_BYTES`](super::MAX_KEPT_ANNOTATION_BYTES) only the smaller values.
    ///
    /// # Errors
    /// As for [`Pod::from_json`].
    pub fn placed_from_json(json: &[u8]) -> Result<Self, ObjectError> {
        let mut wire: PodJson<'_> = parse("Pod", json)?;
        wire.metadata.annotations = placed::kept_annotations(wire.metadata.annotations);
        Ok(Self::from_wire(wire, true))
    }

    /// The same pod as one that is placed on a node, with more annotations and labels.
    #[must_use]
    pub fn placed_on(&self, node: &str, annotations: &Texts, labels: &Texts) -> Self {
        let with = |own: &Entries, added: &Texts| -> Entries {
            own.iter().chain(added.iter().map(|(key, value)| (key.as_ref(), value.as_ref()))).collect()
        };
        let is_same = labels.is_empty();
        Self {
            node: Some(node.into()),
            labels: if is_same { Arc::clone(&self.labels) } else { Arc::new(with(&self.labels, labels)) },
            annotations: Arc::new(placed::kept_annotations(with(&self.annotations, annotations))),
            whole: None,
            ..self.clone()
        }
    }

    /// Whether policies decide alike about this pod and another state of it, both as pods being scheduled. The status is
    /// left out: kube-scheduler writes a condition there when it has tried the pod.
    pub fn has_substance_of(&self, other: &Self) -> bool {
        const PARTS: [&str; 5] = [
            "/metadata/labels",
            "/metadata/annotations",
            "/metadata/ownerReferences",
            "/metadata/deletionTimestamp",
            "/spec",
        ];
        PARTS.iter().all(|at| self.field(at) == other.field(at))
    }

    /// The JSON that it was read from, of a pod being scheduled.
    pub fn json(&self) -> Option<&Bytes> {
        self.whole.as_ref().map(|whole| &whole.json)
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `metadata.namespace`.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// `metadata.labels`.
    pub fn labels(&self) -> &Entries {
        &self.labels
    }

    /// `metadata.annotations`.
    pub fn annotations(&self) -> &Entries {
        &self.annotations
    }

    /// `spec.priority`, 0 if absent.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// `spec.priorityClassName`.
    pub fn priority_class(&self) -> Option<&str> {
        self.priority_class.as_deref()
    }

    /// The owner that is its controller.
    pub fn controller(&self) -> Option<&Owner> {
        self.controller.as_deref()
    }

    /// `status.phase`; none if it has none, or one that Kubernetes does not have today.
    pub fn phase(&self) -> Option<Phase> {
        self.phase
    }

    /// `metadata.creationTimestamp` in Unix seconds, 0 if absent or before 1970.
    pub fn created(&self) -> i64 {
        self.created
    }

    /// Whether both are the same pod of the cluster: by UID, or by namespace and name where one has no UID.
    pub(crate) fn is_same_object(&self, other: &Self) -> bool {
        if self.uid.is_empty() || other.uid.is_empty() {
            return self.namespace == other.namespace && self.name == other.name && !self.name.is_empty();
        }
        self.uid == other.uid
    }

    /// Effective requests, by kube-scheduler's rules.
    pub fn requests(&self) -> &Quantities {
        &self.requests
    }

    /// The ports of its node that the pod listens on.
    pub fn host_ports(&self) -> &[HostPort] {
        &self.host_ports
    }

    /// Its required anti-affinity, which keeps other pods away from where it is placed.
    pub(crate) fn anti_affinity(&self) -> Option<&Arc<AntiAffinity>> {
        self.anti_affinity.as_ref()
    }

    /// Whether it has a `metadata.deletionTimestamp`.
    pub(crate) fn is_terminating(&self) -> bool {
        self.is_terminating
    }

    /// `spec.nodeName`, if the pod is bound; of a [nominated](Self::nomination) pod the node that it is nominated for.
    pub fn node(&self) -> Option<&str> {
        self.node.as_deref()
    }

    /// Why a placed pod is nominated for its node; none if it is bound.
    pub fn nomination(&self) -> Option<Nomination> {
        self.nomination
    }

    /// Whether the pod has ended and holds nothing on its node.
    pub fn finished(&self) -> bool {
        matches!(self.phase, Some(Phase::Succeeded | Phase::Failed))
    }

    /// The images of its containers; none for a placed pod.
    pub fn images(&self) -> &[Box<str>] {
        self.whole.as_ref().map_or(&[], |whole| &whole.images)
    }

    /// `spec.schedulerName`, which names a profile of kube-scheduler; the default one for a placed pod.
    pub fn scheduler_name(&self) -> &str {
        self.whole.as_ref().and_then(|whole| whole.scheduler_name.as_deref()).unwrap_or(DEFAULT_SCHEDULER)
    }

    /// The PersistentVolumeClaims that its volumes name, bound or not; none for a placed pod.
    pub(crate) fn volume_claims(&self) -> &[Claim] {
        self.whole.as_ref().map_or(&[], |whole| &whole.volume_claims)
    }

    /// Whether `spec.resourceClaims` has any; false for a placed pod.
    pub(crate) fn has_resource_claims(&self) -> bool {
        self.whole.as_ref().is_some_and(|whole| whole.has_resource_claims)
    }

    /// JSON text at an RFC 6901 pointer; none for a placed pod.
    pub fn field(&self, pointer: &str) -> Option<&str> {
        let text = std::str::from_utf8(&self.whole.as_ref()?.json).ok()?;
        at_pointer(text, pointer)
    }

    /// `spec.schedulingGroup.podGroupName`.
    pub(crate) fn pod_group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// `status.nominatedNodeName` of the pod being scheduled.
    pub(crate) fn nominated_node(&self) -> Option<&str> {
        let json = self.field("/status/nominatedNodeName")?;
        // The name of a node needs no escape.
        json.strip_prefix('"')?.strip_suffix('"').filter(|name| !name.is_empty())
    }

    /// Whether a container names the resource in its requests or limits, if only with 0.
    pub fn names_resource(&self, name: &str) -> bool {
        self.whole.as_ref().map_or(self.requests(), |whole| &whole.named).names(name)
    }

    fn from_wire(wire: PodJson<'_>, is_placed: bool) -> Self {
        let (requests, host_ports) = (Arc::new(wire.effective_requests(is_placed)), wire.spec.host_ports());
        let (text, namespace) =
            (|text: Cow<'_, str>| Box::from(text.as_ref()), Arc::<str>::from(wire.metadata.namespace()));
        let group = wire.spec.pod_group();
        let owners = wire.metadata.owner_references.unwrap_or_default();
        let bound = wire.spec.node_name.filter(|name| !name.is_empty());
        let is_unschedulable = wire.status.is_unschedulable();
        let nominated = wire.status.nominated_node_name.filter(|name| is_placed && bound.is_none() && !name.is_empty());
        let nomination = if is_unschedulable { Nomination::Preemptor } else { Nomination::Chosen };
        Self {
            name: text(wire.metadata.name),
            namespace: Arc::clone(&namespace),
            uid: text(wire.metadata.uid),
            labels: Arc::new(wire.metadata.labels),
            annotations: Arc::new(wire.metadata.annotations),
            priority: wire.spec.priority.unwrap_or(0),
            priority_class: wire.spec.priority_class_name.as_deref().filter(|name| !name.is_empty()).map(Into::into),
            controller: owners.into_iter().find(Owner::is_controller).map(Arc::new),
            created: wire.metadata.creation_timestamp.and_then(|text| seconds(&text)).map_or(0, |at| at.max(0)),
            requests,
            host_ports,
            anti_affinity: wire.spec.affinity.and_then(|affinity| AntiAffinity::from_json(affinity, &namespace)),
            group,
            nomination: nominated.is_some().then_some(nomination),
            node: bound.or(nominated).map(|name| name.as_ref().into()),
            phase: wire.status.phase.as_deref().and_then(Phase::from_name),
            is_terminating: wire.metadata.deletion_timestamp.is_some(),
            whole: None,
        }
    }
}

/// An RFC 3339 time in Unix seconds.
fn seconds(timestamp: &str) -> Option<i64> {
    timestamp.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(spec: &str) -> Pod {
        let json = format!(r#"{{"metadata":{{"name":"p","uid":"u"}},"spec":{spec}}}"#);
        Pod::from_json(Bytes::from(json)).unwrap()
    }

    #[test]
    fn init_containers_run_one_by_one_and_sidecars_beside_everything() {
        let pod =
            pod(r#"{"containers":[{"resources":{"requests":{"cpu":"1"}}},{"resources":{"requests":{"cpu":"500m"}}}],
                "initContainers":[
                  {"resources":{"requests":{"cpu":"1"}}},
                  {"restartPolicy":"Always","resources":{"requests":{"cpu":"200m"}}},
                  {"resources":{"requests":{"cpu":"3","memory":"1Gi"}}}],
                "overhead":{"cpu":"50m"}}"#);
        assert_eq!(pod.requests().get("cpu"), 3250);
        assert_eq!(pod.requests().get("memory"), 1 << 30);
        assert_eq!(pod.requests().get("example.com/gpu"), 0);
    }

    #[test]
    fn pod_level_requests_replace_the_sum() {
        let pod = pod(r#"{"resources":{"requests":{"cpu":"4"}},
                "containers":[{"resources":{"requests":{"cpu":"1","memory":"1Ki"}}}]}"#);
        assert_eq!(pod.requests().get("cpu"), 4000);
        assert_eq!(pod.requests().get("memory"), 1024);
    }

    /// A pod of two containers and a sidecar, which ask for 1, 2 and 1 CPUs.
    fn resized(spec: &str, status: &str) -> Pod {
        let json = format!(
            r#"{{"metadata":{{"name":"p"}},"spec":{{"nodeName":"n1",
                "containers":[{{"name":"a","resources":{{"requests":{{"cpu":"1"}}}}}},
                              {{"name":"b","resources":{{"requests":{{"cpu":"2"}}}}}}],
                "initContainers":[{{"name":"s","restartPolicy":"Always","resources":{{"requests":{{"cpu":"1"}}}}}}]
                {spec}}},"status":{{"phase":"Running"{status}}}}}"#
        );
        assert_eq!(Pod::from_json(Bytes::from(json.clone())).unwrap().node(), Some("n1"));
        Pod::placed_from_json(json.as_bytes()).unwrap()
    }

    #[test]
    fn a_placed_pod_counts_the_most_of_what_it_asks_for_was_allocated_and_has() {
        let infeasible = r#","conditions":[{"type":"Ready"},{"type":"PodResizePending","reason":"Infeasible"}]"#;
        let deferred = r#","conditions":[{"type":"PodResizePending","reason":"Deferred"}]"#;
        let a = |allocated: &str, actual: &str| {
            format!(
                r#","containerStatuses":[{{"name":"a","allocatedResources":{allocated},"resources":{actual}}},
                    {{"name":"gone","allocatedResources":{{"cpu":"50"}}}}]"#
            )
        };
        let (one, four) = (r#"{"cpu":"1"}"#, r#"{"requests":{"cpu":"4"}}"#);
        let sidecar = r#","initContainerStatuses":[{"name":"s","resources":{"requests":{"cpu":"6"}}}]"#;
        let both = r#","containerStatuses":[{"name":"a","allocatedResources":{"cpu":"1"},
            "resources":{"requests":{"cpu":"4"}}},{"name":"b","allocatedResources":{"cpu":"3"}}]"#;
        let table = [
            ("no status", String::new(), 4000),
            ("shrinking: its container still has 4", a(one, four), 7000),
            ("growing: the node has admitted 5", a(r#"{"cpu":"5"}"#, "null"), 8000),
            ("the container has what its spec asks for", a(one, r#"{"requests":{"cpu":"1"}}"#), 4000),
            ("a sidecar shrinks", sidecar.to_owned(), 9000),
            ("the largest sum, not the sum of the largest", both.to_owned(), 8000),
            ("a deferred resize counts", format!("{deferred}{}", a("null", r#"{"requests":{"cpu":"500m"}}"#)), 4000),
            ("an infeasible one does not", format!("{infeasible}{}", a("null", r#"{"requests":{"cpu":"500m"}}"#)), 500),
            ("nothing of an infeasible one is known", infeasible.to_owned(), 0),
            ("null everywhere", r#","containerStatuses":null,"conditions":null,"resources":null"#.to_owned(), 4000),
        ];
        for (case, status, expected) in table {
            assert_eq!(resized("", &status).requests().get("cpu"), expected, "{case}");
        }
    }

    #[test]
    fn a_placed_pod_with_pod_level_resources_counts_the_most_of_spec_and_status() {
        let spec = r#","resources":{"requests":{"cpu":"1"}},"overhead":{"cpu":"50m"}"#;
        let infeasible = r#","conditions":[{"type":"PodResizePending","reason":"Infeasible"}]"#;
        let status = |actual: u8, allocated: u8| {
            format!(r#","resources":{{"requests":{{"cpu":"{actual}"}}}},"allocatedResources":{{"cpu":"{allocated}"}}"#)
        };
        let table = [
            (spec, String::new(), 1050),
            (spec, status(6, 6), 6050),
            (spec, status(2, 3), 3050),
            (spec, format!("{infeasible}{}", status(0, 0)), 50),
            (spec, format!(r#"{infeasible},"allocatedResources":{{"cpu":"3"}}"#), 1050),
            // Without pod-level requests the status of the pod is the sum of its containers.
            ("", status(5, 3), 5000),
            (r#","resources":{"requests":{"example.com/gpu":"9"}}"#, status(5, 3), 5000),
        ];
        for (spec, status, expected) in table {
            assert_eq!(resized(spec, &status).requests().get("cpu"), expected, "{spec} {status}");
        }
    }

    #[test]
    fn the_pod_being_scheduled_counts_by_its_spec_alone() {
        let pod = br#"{"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]},
            "status":{"containerStatuses":[{"name":"a","allocatedResources":{"cpu":"4"}}],
                "conditions":[{"type":"PodResizePending","reason":"Infeasible"}]}}"#;
        assert_eq!(Pod::from_json(Bytes::from_static(pod)).unwrap().requests().get("cpu"), 1000);
        assert_eq!(Pod::placed_from_json(pod).unwrap().requests().get("cpu"), 4000);
    }

    #[test]
    fn fractions_of_containers_are_rounded_up_once_as_a_sum() {
        let sum = |name: &str, one: &str, other: &str| {
            let container = |amount| format!(r#"{{"resources":{{"requests":{{"{name}":"{amount}"}}}}}}"#);
            pod(&format!(r#"{{"containers":[{},{}]}}"#, container(one), container(other))).requests().get(name)
        };
        assert_eq!(sum("memory", "1500m", "500m"), 2);
        assert_eq!(sum("memory", "1.2", "1.2"), 3);
        assert_eq!(sum("memory", "12Pi", "1m"), (12 << 50) + 1);
        assert_eq!(sum("cpu", "1500m", "0.5"), 2000);
        assert_eq!(sum("example.com/disk", "6Ei", "6Ei"), i64::MAX);
    }

    #[test]
    fn a_resource_named_with_zero_is_still_named() {
        let pod = pod(r#"{"containers":[{"resources":{"limits":{"example.com/gpu":"0"}}}],"initContainers":null}"#);
        assert!(pod.names_resource("example.com/gpu"));
        assert!(!pod.names_resource("cpu"));
        assert_eq!(pod.requests().get("example.com/gpu"), 0);
    }

    #[test]
    fn a_pod_that_names_no_scheduler_is_of_the_default_one() {
        assert_eq!(pod(r#"{"schedulerName":"batch"}"#).scheduler_name(), "batch");
        for unnamed in [pod(r#"{"schedulerName":""}"#), pod("{}"), Pod::default()] {
            assert_eq!(unnamed.scheduler_name(), "default-scheduler");
        }
    }

    #[test]
    fn images_are_listed_once_and_with_a_tag() {
        let pod = pod(
            r#"{"containers":[{"image":"a"},{"image":"a:latest"},{"image":"b:1"}],"initContainers":[{"image":"c"}],
                "volumes":[{"name":"m","image":{"reference":"model"}},{"name":"e","emptyDir":{}}]}"#,
        );
        let images: Vec<&str> = pod.images().iter().map(AsRef::as_ref).collect();
        assert_eq!(images, ["c:latest", "a:latest", "b:1", "model:latest"]);
    }

    #[test]
    fn a_pod_that_is_placed_has_its_new_annotations_and_no_fields() {
        let json = br#"{"metadata":{"name":"p","labels":{"app":"web"},"annotations":{"a":"1","b":"1"}},
            "spec":{"nodeName":""}}"#;
        let pod = Pod::from_json(Bytes::from_static(json)).unwrap();
        let placed = pod.placed_on(
            "n1",
            &[("b".into(), "2".into()), ("c".into(), "3".into())].into(),
            &[("rack".into(), "r1".into())].into(),
        );
        assert_eq!(placed.annotations().iter().collect::<Vec<_>>(), [("a", "1"), ("b", "2"), ("c", "3")]);
        assert_eq!(placed.labels().iter().collect::<Vec<_>>(), [("app", "web"), ("rack", "r1")]);
        assert_eq!((placed.name(), placed.node()), ("p", Some("n1")));
        assert_eq!((pod.node(), pod.field("/metadata/name")), (None, Some("\"p\"")));
        assert_eq!(placed.field("/metadata/name"), None);
    }

    #[test]
    fn a_null_creation_time_is_unknown_and_a_real_one_is_read() {
        let null = Pod::placed_from_json(br#"{"metadata":{"name":"p","creationTimestamp":null}}"#).unwrap();
        assert_eq!(null.created(), 0);
        assert_eq!(null.namespace(), "default");
        let real = Pod::placed_from_json(
            br#"{"metadata":{"creationTimestamp":"1970-01-02T00:00:00Z"},"status":{"phase":"Failed"}}"#,
        )
        .unwrap();
        assert_eq!(real.created(), 86_400);
        let early = Pod::placed_from_json(br#"{"metadata":{"creationTimestamp":"1969-01-02T00:00:00Z"}}"#).unwrap();
        assert_eq!(early.created(), 0);
        assert!(real.finished());
    }

    #[test]
    fn owner_priority_class_phase_and_anti_affinity_are_read_of_any_pod_and_kept_as_it_is_bound() {
        let json = r#"{"metadata":{"name":"p","ownerReferences":[
                {"apiVersion":"v1","kind":"Node","name":"n","uid":"1"},{"kind":"Node","controller":false},
                {"apiVersion":"batch/v1","kind":"Job","name":"train","uid":"u\u002d1","controller":true}]},
            "spec":{"priorityClassName":"high","nodeName":"","affinity":{"podAntiAffinity":
                {"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}]}}},"status":{"phase":"Pending"}}"#;
        let waiting = Pod::from_json(Bytes::from(json)).unwrap();
        let placed = waiting.placed_on("n1", &Texts::new(), &Texts::new());
        let read = Pod::placed_from_json(json.as_bytes()).unwrap();
        for pod in [&waiting, &placed, &read] {
            assert_eq!(pod.controller().map(Owner::to_string).as_deref(), Some("batch/v1 Job train (UID u-1)"));
            assert_eq!((pod.priority_class(), pod.phase()), (Some("high"), Some(Phase::Pending)));
            assert_eq!(pod.anti_affinity().unwrap().terms().len(), 1);
            assert!(!pod.finished());
        }
        for json in [
            r#"{"metadata":{"ownerReferences":null},"spec":{"priorityClassName":""},"status":{"phase":""}}"#,
            r#"{"metadata":{"ownerReferences":[{"kind":"Job","controller":null}]},"status":{"phase":"Hibernating"}}"#,
        ] {
            let pod = Pod::placed_from_json(json.as_bytes()).unwrap();
            assert_eq!((pod.controller(), pod.priority_class(), pod.phase()), (None, None, None));
        }
    }
}
