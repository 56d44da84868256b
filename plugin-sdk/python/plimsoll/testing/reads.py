"""Answers reads as the gateway does."""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Mapping, Optional, Sequence, TypeVar

from .. import views
from ..quantity import Quantity
from ..types import Grouping, LabelCount, Level, Owner, Pair, Selector, Taint
from .objects import Candidate, Node, Pod, at_pointer, node_object, pod_object

T = TypeVar("T")

_MOST = (1 << 63) - 1
_MAX_LABEL_VALUES = 1000
_ENDED = ("Succeeded", "Failed")


class _Pod:
    """A pod as the reads need it."""

    def __init__(self, spec: Pod) -> None:
        self.spec = spec
        self.requests = _amounts(f"the pod {spec.name}", spec.requests)
        self.created = _seconds(spec.created)


class _Node:
    """A node as the reads need it."""

    def __init__(self, spec: Node, without_pods: bool, asked: Pod) -> None:
        self.spec = spec
        self.allocatable = _amounts(f"the node {spec.name}", spec.allocatable)
        self.capacity = _amounts(f"the node {spec.name}", spec.capacity)
        self.images = {_normalized(image): size for image, size in spec.images.items()}
        self.is_known = not spec.pods_unknown and not without_pods
        own = (asked.namespace, asked.name) if asked.name else None
        # The pod to schedule does not stand in its way.
        placed = [pod for pod in spec.pods if pod.phase not in _ENDED and (pod.namespace, pod.name) != own]
        # From the oldest to the newest, as the gateway numbers them.
        placed.sort(key=lambda pod: (_seconds(pod.created), pod.namespace, pod.name))
        self.pods = [] if without_pods else [_Pod(pod) for pod in placed]

    def labelled(self, namespace: str, key: str, value: str) -> Sequence[Pod]:
        return [pod.spec for pod in self.pods if pod.spec.namespace == namespace and pod.spec.labels.get(key) == value]

    def active(self, namespace: str, key: str, value: str) -> int:
        return sum(not pod.terminating for pod in self.labelled(namespace, key, value))


class Host:
    """Answers the reads of one call."""

    def __init__(
        self,
        pod: Pod,
        nodes: Sequence[Node],
        candidates: Sequence[Candidate],
        cluster: Optional[Sequence[Node]],
        namespaces: Mapping[str, Mapping[str, str]],
        facts: Mapping[str, Mapping[str, str]],
        now: datetime,
        without_pods: bool,
    ) -> None:
        own = [_Node(node, without_pods, pod) for node in nodes]
        everything = None if cluster is None else [_Node(node, False, pod) for node in cluster]
        spec = _Pod(pod)
        self.pod = _PodReads(spec, {} if cluster is None else namespaces)
        self.nodes = _NodesReads(own)
        self.placed = _PlacedReads(own)
        self.candidates = _CandidatesReads(own, candidates)
        self.cluster = _ClusterReads(spec, everything)
        self.facts = _FactsReads(own, facts)
        self.host = _HostReads(now)

    def find(self, name: str) -> views.Node:
        for node in views.Nodes(self):
            if node.name == name:
                return node
        raise ValueError(f"the test asks about the node {name!r}; there is no such node")


class _PodReads:
    def __init__(self, pod: _Pod, namespaces: Mapping[str, Mapping[str, str]]) -> None:
        self._pod = pod
        self._namespaces = namespaces

    def name(self) -> str:
        return self._pod.spec.name

    def namespace(self) -> str:
        return self._pod.spec.namespace

    def namespace_label(self, key: str, /) -> Optional[str]:
        return self._namespaces.get(self._pod.spec.namespace, {}).get(key)

    def namespace_known(self) -> bool:
        return self._pod.spec.namespace in self._namespaces

    def uid(self) -> str:
        return self._pod.spec.uid

    def label(self, key: str, /) -> Optional[str]:
        return self._pod.spec.labels.get(key)

    def annotation(self, key: str, /) -> Optional[str]:
        return self._pod.spec.annotations.get(key)

    def priority(self) -> int:
        return self._pod.spec.priority

    def priority_class(self) -> Optional[str]:
        return self._pod.spec.priority_class or None

    def controller(self) -> Optional[Owner]:
        return self._pod.spec.controller

    def created(self) -> int:
        return self._pod.created

    def request(self, name: str, /) -> int:
        return self._pod.requests.get(name, 0)

    def images(self) -> Sequence[str]:
        return list(dict.fromkeys(_normalized(image) for image in self._pod.spec.images))

    def field(self, pointer: str, /) -> Optional[str]:
        return at_pointer(pod_object(self._pod.spec), pointer)


class _NodesReads:
    def __init__(self, nodes: Sequence[_Node]) -> None:
        self._nodes = nodes

    def count(self) -> int:
        return len(self._nodes)

    def name(self, node: int, /) -> str:
        return _at("node", self._nodes, node).spec.name

    def label(self, node: int, key: str, /) -> Optional[str]:
        return _at("node", self._nodes, node).spec.labels.get(key)

    def by_label(self, key: str, /) -> Grouping:
        own = [node.spec.labels.get(key) for node in self._nodes]
        values = list(dict.fromkeys(value for value in own if value is not None))
        return Grouping(values, [len(values) if value is None else values.index(value) for value in own])

    def annotation(self, node: int, key: str, /) -> Optional[str]:
        return _at("node", self._nodes, node).spec.annotations.get(key)

    def taints(self, node: int, /) -> Sequence[Taint]:
        return list(_at("node", self._nodes, node).spec.taints)

    def allocatable(self, node: int, name: str, /) -> int:
        return _at("node", self._nodes, node).allocatable.get(name, 0)

    def resource_known(self, node: int, name: str, /) -> bool:
        return name not in _at("node", self._nodes, node).spec.resources_unknown

    def capacity(self, node: int, name: str, /) -> int:
        return _at("node", self._nodes, node).capacity.get(name, 0)

    def condition(self, node: int, kind: str, /) -> Optional[str]:
        return _at("node", self._nodes, node).spec.conditions.get(kind)

    def unschedulable(self, node: int, /) -> bool:
        return _at("node", self._nodes, node).spec.unschedulable

    def requested(self, node: int, name: str, /) -> Optional[int]:
        own = _at("node", self._nodes, node)
        return _sum(own.pods, name) if own.is_known else None

    def image_size(self, node: int, image: str, /) -> Optional[int]:
        return _at("node", self._nodes, node).images.get(_normalized(image))

    def field(self, node: int, pointer: str, /) -> Optional[str]:
        return at_pointer(node_object(_at("node", self._nodes, node).spec), pointer)


class _PlacedReads:
    def __init__(self, nodes: Sequence[_Node]) -> None:
        self._nodes = nodes

    def _pod(self, node: int, pod: int) -> _Pod:
        return _at("placed pod", _at("node", self._nodes, node).pods, pod)

    def known(self, node: int, /) -> bool:
        return _at("node", self._nodes, node).is_known

    def count(self, node: int, /) -> int:
        return len(_at("node", self._nodes, node).pods)

    def name(self, node: int, pod: int, /) -> str:
        return self._pod(node, pod).spec.name

    def namespace(self, node: int, pod: int, /) -> str:
        return self._pod(node, pod).spec.namespace

    def label(self, node: int, pod: int, key: str, /) -> Optional[str]:
        return self._pod(node, pod).spec.labels.get(key)

    def annotation(self, node: int, pod: int, key: str, /) -> Optional[str]:
        return self._pod(node, pod).spec.annotations.get(key)

    def priority(self, node: int, pod: int, /) -> int:
        return self._pod(node, pod).spec.priority

    def priority_class(self, node: int, pod: int, /) -> Optional[str]:
        return self._pod(node, pod).spec.priority_class or None

    def controller(self, node: int, pod: int, /) -> Optional[Owner]:
        return self._pod(node, pod).spec.controller

    def phase(self, node: int, pod: int, /) -> Optional[str]:
        phase = self._pod(node, pod).spec.phase
        return phase if phase in ("Pending", "Running", "Unknown") else None

    def terminating(self, node: int, pod: int, /) -> bool:
        return self._pod(node, pod).spec.terminating

    def request(self, node: int, pod: int, name: str, /) -> int:
        return self._pod(node, pod).requests.get(name, 0)

    def created(self, node: int, pod: int, /) -> int:
        return self._pod(node, pod).created

    def count_labelled(self, node: int, namespace: str, key: str, value: str, /) -> int:
        return len(_at("node", self._nodes, node).labelled(namespace, key, value))

    def counts_labelled(self, namespace: str, key: str, value: str, /) -> Sequence[int]:
        return [len(node.labelled(namespace, key, value)) for node in self._nodes]

    def count_active(self, node: int, namespace: str, key: str, value: str, /) -> int:
        return _at("node", self._nodes, node).active(namespace, key, value)

    def counts_active(self, namespace: str, key: str, value: str, /) -> Sequence[int]:
        return [node.active(namespace, key, value) for node in self._nodes]


class _CandidatesReads:
    def __init__(self, nodes: Sequence[_Node], candidates: Sequence[Candidate]) -> None:
        self._candidates = candidates
        self._victims = [_victims(candidate, node) for candidate, node in zip(candidates, nodes)]

    def count(self) -> int:
        return len(self._candidates)

    def node(self, candidate: int, /) -> int:
        _at("candidate", self._candidates, candidate)
        return candidate

    def victims(self, candidate: int, /) -> Sequence[int]:
        return _at("candidate", self._victims, candidate)

    def pdb_violations(self, candidate: int, /) -> int:
        return _at("candidate", self._candidates, candidate).pdb_violations


class _ClusterReads:
    def __init__(self, pod: _Pod, nodes: Optional[Sequence[_Node]]) -> None:
        self._pod = pod
        self._nodes = nodes

    def _matching(self, selector: Selector) -> Optional[list[_Pod]]:
        if self._nodes is None:
            return None
        return [pod for node in self._nodes for pod in node.pods if self._matches(selector, node, pod)]

    def _matches(self, selector: Selector, node: _Node, pod: _Pod) -> bool:
        is_own = (pod.spec.namespace, pod.spec.name) == (self._pod.spec.namespace, self._pod.spec.name)
        return (
            not is_own
            and selector.namespace in (None, pod.spec.namespace)
            and _has(pod.spec.labels, selector.label)
            and _has(pod.spec.annotations, selector.annotation)
            and _has(node.spec.labels, selector.node_label)
        )

    def count(self, selector: Selector, /) -> Optional[int]:
        pods = self._matching(selector)
        return None if pods is None else len(pods)

    def count_up_to(self, selector: Selector, n: int, /) -> Optional[int]:
        count = self.count(selector)
        return None if count is None else min(count, n)

    def at_least(self, selector: Selector, n: int, /) -> Optional[bool]:
        count = self.count(selector)
        return None if count is None else count >= n

    def requested(self, selector: Selector, name: str, /) -> Optional[int]:
        pods = self._matching(selector)
        return None if pods is None else _sum(pods, name)

    def nodes_with_label(self, key: str, value: str, /) -> Optional[int]:
        return None if self._nodes is None else sum(node.spec.labels.get(key) == value for node in self._nodes)

    def label_values(self, key: str, /) -> Optional[Sequence[LabelCount]]:
        if self._nodes is None:
            return None
        values = [node.spec.labels[key] for node in self._nodes if key in node.spec.labels]
        if len(set(values)) > _MAX_LABEL_VALUES:
            raise ValueError(f"cluster.label-values lists at most {_MAX_LABEL_VALUES} values; the label has more")
        return [LabelCount(value, values.count(value)) for value in sorted(set(values))]


class _FactsReads:
    def __init__(self, nodes: Sequence[_Node], facts: Mapping[str, Mapping[str, str]]) -> None:
        self._nodes = nodes
        self._facts = facts

    def text(self, source: str, key: str, /) -> Optional[str]:
        if source not in self._facts:
            raise ValueError(f"the policy reads the source of facts {source!r}, which the world does not have")
        return self._facts[source].get(key)

    def number(self, source: str, key: str, /) -> Optional[float]:
        return _number(self.text(source, key))

    def node_text(self, node: int, source: str, /) -> Optional[str]:
        spec = _at("node", self._nodes, node).spec
        texts = (self.text(source, name) for name in (spec.name, *spec.addresses))
        return next((text for text in texts if text is not None), None)

    def node_number(self, node: int, source: str, /) -> Optional[float]:
        return _number(self.node_text(node, source))


class _HostReads:
    def __init__(self, now: datetime) -> None:
        self._now = _seconds(now)

    def settings(self) -> str:
        """It is not asked: a test's policy has its settings already."""
        return "null"

    def now(self, granularity: int, /) -> int:
        return self._now - self._now % max(granularity, 1)

    def log(self, level: Level, message: str, /) -> None:
        """A test's policy logs by the module logging."""

    def panic(self, message: str, /) -> None:
        raise RuntimeError(message)


def _at(what: str, items: Sequence[T], index: int) -> T:
    if not 0 <= index < len(items):
        raise ValueError(f"there is no {what} {index}; the request has {len(items)}")
    return items[index]


def _has(entries: Mapping[str, str], pair: Optional[Pair]) -> bool:
    return pair is None or entries.get(pair.key) == pair.value


def _sum(pods: Sequence[_Pod], name: str) -> int:
    return min(sum(pod.requests.get(name, 0) for pod in pods), _MOST)


def _number(text: Optional[str]) -> Optional[float]:
    """A finite number in decimal digits."""
    if text is None or re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _seconds(at: Optional[datetime]) -> int:
    return 0 if at is None else max(int(at.timestamp()), 0)


def _amounts(what: str, resources: Mapping[str, str]) -> dict[str, int]:
    """Cpu in millicores, and all else in base units."""
    try:
        parsed = {name: Quantity.parse(text) for name, text in resources.items()}
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    return {name: own.millis if name == "cpu" else own.value for name, own in parsed.items()}


def _normalized(image: str) -> str:
    """Adds `:latest` to the name of an image that has neither tag nor digest, as kube-scheduler does."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def _victims(candidate: Candidate, node: _Node) -> list[int]:
    names = [f"{pod.spec.namespace}/{pod.spec.name}" for pod in node.pods]
    for victim in candidate.victims:
        if victim not in names:
            raise ValueError(f"the candidate {candidate.node!r} names the victim {victim!r}; no such pod is placed there")
    return [names.index(victim) for victim in candidate.victims]
