"""The pod, the nodes and what else a policy can read. The names are those of the contract (docs/contract.md)."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any, Iterator, Optional, Sequence

from ._door import Door
from .types import Grouping, LabelCount, Owner, Selector, Taint


class Pod:
    """The pod being scheduled."""

    def __init__(self, door: Door) -> None:
        self._door = door

    @property
    def name(self) -> str:
        return self._door.pod.name()

    @property
    def namespace(self) -> str:
        return self._door.pod.namespace()

    @property
    def namespace_known(self) -> bool:
        """Whether the host knows the pod's namespace. A policy that decides by its labels asks this first."""
        return self._door.pod.namespace_known()

    def namespace_label(self, key: str) -> Optional[str]:
        """The value of a label of the pod's namespace; none if it does not have it, or is not known."""
        return self._door.pod.namespace_label(key)

    @property
    def uid(self) -> str:
        return self._door.pod.uid()

    def label(self, key: str) -> Optional[str]:
        """The value of a label; none if the pod does not have it."""
        return self._door.pod.label(key)

    def annotation(self, key: str) -> Optional[str]:
        """The value of an annotation; none if the pod does not have it."""
        return self._door.pod.annotation(key)

    @property
    def priority(self) -> int:
        """0 if it has none."""
        return self._door.pod.priority()

    @property
    def priority_class(self) -> Optional[str]:
        return self._door.pod.priority_class()

    @property
    def controller(self) -> Optional[Owner]:
        """The owner that controls the pod; none if it has none."""
        return self._door.pod.controller()

    @property
    def created(self) -> Optional[datetime]:
        """When the pod was created. Answers that depend on it are cached for that pod alone."""
        return _time(self._door.pod.created())

    def request(self, name: str) -> int:
        """The effective request of a resource: cpu in millicores, all else in base units; 0 if none."""
        return self._door.pod.request(name)

    @property
    def images(self) -> Sequence[str]:
        """The images of all containers, each once, with a tag or digest."""
        return self._door.pod.images()

    def field(self, pointer: str) -> Any:
        """The value at an RFC 6901 pointer into the whole object, such as `/spec/schedulerName`; none if there is none."""
        return _parsed(self.field_text(pointer))

    def field_text(self, pointer: str) -> Optional[str]:
        """The same as JSON text."""
        return self._door.pod.field(pointer)

    def now(self, granularity: timedelta) -> datetime:
        """The time of the request, rounded down to a multiple of the granularity, which has whole seconds.

        An answer stays cached as long as this value is the same, so use the coarsest that is good enough. The clocks of
        the modules time and datetime stand still.
        """
        seconds = max(int(granularity.total_seconds()), 1)
        return datetime.fromtimestamp(self._door.host.now(seconds), timezone.utc)


class Node:
    """One node of the request."""

    def __init__(self, door: Door, index: int) -> None:
        self._door = door
        self.index = index

    @property
    def name(self) -> str:
        return self._door.nodes.name(self.index)

    def label(self, key: str) -> Optional[str]:
        """The value of a label; none if the node does not have it."""
        return self._door.nodes.label(self.index, key)

    def annotation(self, key: str) -> Optional[str]:
        """The value of an annotation; none if the node does not have it."""
        return self._door.nodes.annotation(self.index, key)

    @property
    def taints(self) -> Sequence[Taint]:
        return self._door.nodes.taints(self.index)

    def allocatable(self, name: str) -> int:
        """What the node has of a resource for pods: cpu in millicores, all else in base units; 0 if none."""
        return self._door.nodes.allocatable(self.index, name)

    def capacity(self, name: str) -> int:
        """What the machine has of a resource: cpu in millicores, all else in base units; 0 if none."""
        return self._door.nodes.capacity(self.index, name)

    def condition(self, kind: str) -> Optional[str]:
        """The status of a condition such as `Ready`: `True`, `False` or `Unknown`; none if it is not reported."""
        return self._door.nodes.condition(self.index, kind)

    @property
    def unschedulable(self) -> bool:
        """Whether the node is cordoned."""
        return self._door.nodes.unschedulable(self.index)

    def requested(self, name: str) -> Optional[int]:
        """The sum of the requests of the pods placed on the node; none where the host has no view of pods."""
        return self._door.nodes.requested(self.index, name)

    def image_size(self, image: str) -> Optional[int]:
        """Bytes of an image that the node has pulled; none if it has not."""
        return self._door.nodes.image_size(self.index, image)

    def field(self, pointer: str) -> Any:
        """As `Pod.field`."""
        return _parsed(self.field_text(pointer))

    def field_text(self, pointer: str) -> Optional[str]:
        """As `Pod.field_text`."""
        return self._door.nodes.field(self.index, pointer)

    def fact_text(self, source: str) -> Optional[str]:
        """The text of the fact about the node; none if the source has none."""
        return self._door.facts.node_text(self.index, source)

    def fact_number(self, source: str) -> Optional[float]:
        """The number of the fact about the node; none if its text is no number."""
        return self._door.facts.node_number(self.index, source)

    @property
    def placed_known(self) -> bool:
        """Whether the host knows all pods of the node. A policy with a limit asks this first."""
        return self._door.placed.known(self.index)

    @property
    def placed_count(self) -> int:
        """How many pods are placed on the node; 0 where the host has no view of pods."""
        return self._door.placed.count(self.index)

    @property
    def placed(self) -> list[Placed]:
        """The pods placed on the node, or being bound to it; none where the host has no view of pods."""
        return [Placed(self._door, self.index, pod) for pod in range(self.placed_count)]

    def count_labelled(self, namespace: str, key: str, value: str) -> int:
        """How many pods of a namespace on this node carry a label with this value."""
        return self._door.placed.count_labelled(self.index, namespace, key, value)

    @property
    def cluster(self) -> Cluster:
        return Cluster(self._door)

    @property
    def facts(self) -> Facts:
        """The facts that are about no single node."""
        return Facts(self._door)


class Nodes(Sequence[Node]):
    """All nodes of the request, in their order."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def __len__(self) -> int:
        return self._door.nodes.count()

    def __iter__(self) -> Iterator[Node]:
        return (Node(self._door, index) for index in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        """A node, or the list of a slice."""
        if isinstance(index, slice):
            return [Node(self._door, own) for own in range(len(self))[index]]
        return Node(self._door, range(len(self))[index])

    def by_label(self, key: str) -> Groups:
        """All nodes by the value of a label, in one read."""
        return Groups(self._door.nodes.by_label(key))

    def counts_labelled(self, namespace: str, key: str, value: str) -> Sequence[int]:
        """`Node.count_labelled` of each node, in one read."""
        return self._door.placed.counts_labelled(namespace, key, value)

    @property
    def cluster(self) -> Cluster:
        return Cluster(self._door)

    @property
    def facts(self) -> Facts:
        """The facts that are about no single node."""
        return Facts(self._door)


class Groups:
    """Nodes by the value of a label: one group for each value."""

    def __init__(self, grouping: Grouping) -> None:
        #: The values of the groups, in their order.
        self.values = grouping.values
        self._groups = grouping.groups

    def __len__(self) -> int:
        return len(self.values)

    def of(self, node: int) -> Optional[int]:
        """The group of a node by its index; none for a node without the label."""
        group = self._groups[node]
        return group if group < len(self.values) else None


class Placed:
    """A pod placed on a node, or being bound to it."""

    def __init__(self, door: Door, node: int, index: int) -> None:
        self._door = door
        self._node = node
        #: Among the pods of its node: what `Replace` names.
        self.index = index

    @property
    def name(self) -> str:
        return self._door.placed.name(self._node, self.index)

    @property
    def namespace(self) -> str:
        return self._door.placed.namespace(self._node, self.index)

    def label(self, key: str) -> Optional[str]:
        """The value of a label; none if the pod does not have it."""
        return self._door.placed.label(self._node, self.index, key)

    def annotation(self, key: str) -> Optional[str]:
        """The value of an annotation; none if the pod does not have it.

        Of the annotations of a placed pod at most 16 KiB are kept: a value that is not kept ends the call with a fault.
        """
        return self._door.placed.annotation(self._node, self.index, key)

    @property
    def priority(self) -> int:
        return self._door.placed.priority(self._node, self.index)

    @property
    def priority_class(self) -> Optional[str]:
        return self._door.placed.priority_class(self._node, self.index)

    @property
    def controller(self) -> Optional[Owner]:
        """The owner that controls the pod; none if it has none."""
        return self._door.placed.controller(self._node, self.index)

    @property
    def phase(self) -> Optional[str]:
        """`Pending`, `Running` or `Unknown`; none if it has none."""
        return self._door.placed.phase(self._node, self.index)

    def request(self, name: str) -> int:
        """As `Pod.request`."""
        return self._door.placed.request(self._node, self.index, name)

    @property
    def created(self) -> Optional[datetime]:
        return _time(self._door.placed.created(self._node, self.index))


class Candidate:
    """A node on which kube-scheduler could make room, with the pods that it would evict."""

    def __init__(self, door: Door, index: int) -> None:
        self._door = door
        self.index = index

    @property
    def node(self) -> Node:
        return Node(self._door, self._door.candidates.node(self.index))

    @property
    def victims(self) -> list[Placed]:
        """The pods that would be evicted, by descending priority."""
        node = self._door.candidates.node(self.index)
        return [Placed(self._door, node, pod) for pod in self._door.candidates.victims(self.index)]

    @property
    def pdb_violations(self) -> int:
        """How many PodDisruptionBudgets the eviction would violate."""
        return self._door.candidates.pdb_violations(self.index)

    @property
    def all(self) -> list[Candidate]:
        """All candidates of the request, this one among them."""
        return [Candidate(self._door, index) for index in range(self._door.candidates.count())]

    @property
    def cluster(self) -> Cluster:
        return Cluster(self._door)

    @property
    def facts(self) -> Facts:
        """The facts that are about no single node."""
        return Facts(self._door)


class Cluster:
    """All nodes and pods that the gateway knows, those outside of the request included.

    Each answer is none where the gateway has no view of the cluster: a limit should refuse then. Read it again for each
    node: a value that is kept from one call to the next makes cached answers wrong.
    """

    def __init__(self, door: Door) -> None:
        self._door = door

    def count(self, selector: Selector) -> Optional[int]:
        """How many pods match."""
        return self._door.cluster.count(selector)

    def count_up_to(self, selector: Selector, n: int) -> Optional[int]:
        """How many pods match, but at most `n`."""
        return self._door.cluster.count_up_to(selector, n)

    def at_least(self, selector: Selector, n: int) -> Optional[bool]:
        """Whether at least `n` pods match. A limit needs no more, and this is cached best."""
        return self._door.cluster.at_least(selector, n)

    def requested(self, selector: Selector, name: str) -> Optional[int]:
        """The sum of the requests of the pods that match."""
        return self._door.cluster.requested(selector, name)

    def nodes_with_label(self, key: str, value: str) -> Optional[int]:
        """How many nodes have a label with this value."""
        return self._door.cluster.nodes_with_label(key, value)

    def label_values(self, key: str) -> Optional[Sequence[LabelCount]]:
        """The values of a node label, ascending, each with how many nodes have it."""
        return self._door.cluster.label_values(key)


class Facts:
    """Facts from outside the cluster by their keys, in sources that the policy's sidecar names: prices, budgets, calendars.

    Read a fact again for each node: a value that is kept from one call to the next makes cached answers wrong.
    """

    def __init__(self, door: Door) -> None:
        self._door = door

    def text(self, source: str, key: str) -> Optional[str]:
        """The text of a fact by its key; none if the source has none."""
        return self._door.facts.text(source, key)

    def number(self, source: str, key: str) -> Optional[float]:
        """The number of a fact by its key; none if its text is no number."""
        return self._door.facts.number(source, key)


def _time(seconds: int) -> Optional[datetime]:
    return datetime.fromtimestamp(seconds, timezone.utc) if seconds else None


def _parsed(text: Optional[str]) -> Any:
    return None if text is None else json.loads(text)
