"""The pod, the nodes and what else a policy can read. The names are those of the contract (docs/contract.md)."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any, Iterator, Optional, Sequence, overload

from ._generated import CandidateView, ClusterView, FactsView, HostReads, NodesView, NodeView, PlacedView, PodView
from .types import Grouping


class Pod(PodView):
    """The pod being scheduled."""

    @property
    def created(self) -> Optional[datetime]:
        """When the pod was created; `None` if unknown. Answers that depend on it are cached for that pod alone."""
        return _time(self._reads.pod.created())

    def field(self, pointer: str) -> Any:
        """The value at an RFC 6901 pointer into the whole object, such as `/spec/schedulerName`; `None` if there is none."""
        return _parsed(self.field_text(pointer))

    def now(self, granularity: timedelta) -> datetime:
        """The time of the request, rounded down to a multiple of the granularity, which has whole seconds.

        An answer stays cached as long as this value is the same, so use the coarsest that is good enough. The clocks of
        the modules time and datetime stand still.
        """
        seconds = max(int(granularity.total_seconds()), 1)
        return datetime.fromtimestamp(self._reads.host.now(seconds), timezone.utc)


class Node(NodeView):
    """One node of the request."""

    def field(self, pointer: str) -> Any:
        """The value at an RFC 6901 pointer into the whole object; `None` if there is none."""
        return _parsed(self.field_text(pointer))

    def free(self, name: str) -> int | str:
        """The amount of a resource that the pods on the node leave: cpu in millicores, all else in base units.

        A text is the reason why there is none: the pods are not known, or the resource is not (see `resource_known`), which
        kube-scheduler checks itself.
        """
        if not self.resource_known(name):
            return "DRA provides the resource on the node, and a policy cannot count its devices"
        requested = self.requested(name)
        return "the pods on the node are not known" if requested is None else self.allocatable(name) - requested

    @property
    def placed(self) -> list[Placed]:
        """The pods placed on the node, or being bound to it; none where the host has no view of pods."""
        return [Placed(self._reads, self.index, pod) for pod in range(self.placed_count)]

    @property
    def cluster(self) -> Cluster:
        """The cluster that the node is part of."""
        return Cluster(self._reads)

    @property
    def facts(self) -> Facts:
        """The facts that are about no single node."""
        return Facts(self._reads)


class Nodes(NodesView, Sequence[Node]):
    """All nodes of the request, in their order."""

    def __len__(self) -> int:
        return self._reads.nodes.count()

    def __iter__(self) -> Iterator[Node]:
        return (Node(self._reads, index) for index in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Node: ...

    @overload
    def __getitem__(self, index: slice) -> list[Node]: ...

    def __getitem__(self, index: int | slice) -> Node | list[Node]:
        """A node, or the list of a slice."""
        if isinstance(index, slice):
            return [Node(self._reads, own) for own in range(len(self))[index]]
        return Node(self._reads, range(len(self))[index])

    def by_label(self, key: str) -> Groups:
        """All nodes by the value of a label, in one read."""
        return Groups(self._reads.nodes.by_label(key))

    @property
    def cluster(self) -> Cluster:
        """The cluster that the nodes are part of."""
        return Cluster(self._reads)

    @property
    def facts(self) -> Facts:
        """The facts that are about no single node."""
        return Facts(self._reads)


class Groups:
    """Nodes by the value of a label: one group for each value."""

    def __init__(self, grouping: Grouping) -> None:
        self._values = grouping.values
        self._groups = grouping.groups

    @property
    def values(self) -> Sequence[str]:
        """The values of the groups, in their order."""
        return self._values

    def __len__(self) -> int:
        return len(self._values)

    def of(self, node: int) -> Optional[int]:
        """The group of a node by its index; `None` for a node without the label."""
        group = self._groups[node]
        return group if group < len(self._values) else None


class Placed(PlacedView):
    """A pod placed on a node, or being bound to it. `Replace` names it by its `index`."""

    @property
    def created(self) -> Optional[datetime]:
        """When the pod was created; `None` if unknown."""
        return _time(self._reads.placed.created(self._node, self.index))


class Candidate(CandidateView):
    """A node on which kube-scheduler could make room, with the pods that it would evict."""

    @property
    def node(self) -> Node:
        """The node where room would be made."""
        return Node(self._reads, self._reads.candidates.node(self.index))

    @property
    def victims(self) -> list[Placed]:
        """The pods that would be evicted, by descending priority."""
        node = self._reads.candidates.node(self.index)
        return [Placed(self._reads, node, pod) for pod in self._reads.candidates.victims(self.index)]

    @property
    def all(self) -> list[Candidate]:
        """All candidates of the request, this one among them."""
        return [Candidate(self._reads, index) for index in range(self._reads.candidates.count())]

    @property
    def cluster(self) -> Cluster:
        """The cluster that the candidate is part of, its victims included."""
        return Cluster(self._reads)

    @property
    def facts(self) -> Facts:
        """The facts that are about no single node."""
        return Facts(self._reads)


class Cluster(ClusterView):
    """All nodes and pods that the gateway knows, those outside of the request included.

    Each answer is `None` where the gateway has no view of the cluster: a limit should refuse then. Read it again for each
    node: a value that is kept from one call to the next makes cached answers wrong.
    """


class Facts(FactsView):
    """Facts from outside the cluster by their keys, in sources that the policy's sidecar names: prices, budgets, calendars.

    Read a fact again for each node: a value that is kept from one call to the next makes cached answers wrong.
    """


def _time(seconds: int) -> Optional[datetime]:
    return datetime.fromtimestamp(seconds, timezone.utc) if seconds else None


def _parsed(text: Optional[str]) -> Any:
    return None if text is None else json.loads(text)
