"""Asks a policy natively: no WebAssembly, no cluster. A world answers each read as the gateway does.

    world = World(
        pod=Pod("p", annotations={"example.com/needs": "ssd"}),
        nodes=[Node("fast", labels={"ssd": "true"}), Node("slow")],
    )
    assert world.filter(NeedsLabel(), "slow") != Fits()

An invalid world, such as one with a malformed quantity, raises `ValueError`. So does a read that the gateway would
end as a fault.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Mapping, Sequence, TypeVar

from .. import settings, views
from ..policy import Policy
from ..types import Metadata, Preemption, Verdict
from . import metadata
from .objects import Candidate, Node, Pod
from .reads import Host

__all__ = ["Candidate", "Node", "Pod", "World", "with_settings"]

P = TypeVar("P", bound=Policy)


@dataclass
class World:
    """The cluster and the pod of a test."""

    #: The pod to schedule.
    pod: Pod = field(default_factory=Pod)
    #: The nodes of the request, which are all nodes of the cluster.
    nodes: Sequence[Node] = ()
    #: What kube-scheduler would evict, for `preempt`.
    candidates: Sequence[Candidate] = ()
    #: The labels of each namespace that the gateway knows.
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: The facts of each source by key, as text; those about a node have its name as their key.
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: The time of the request.
    now: datetime = datetime(1970, 1, 1, tzinfo=timezone.utc)
    #: The gateway has no view of the whole cluster: every read of it is none.
    without_cluster: bool = False
    #: The gateway knows no pods but the one to schedule, and so has no view of the cluster either.
    without_pods: bool = False

    def filter(self, policy: Policy, node: str) -> Verdict:
        """Asks about one node."""
        host = self.host(self.nodes)
        return policy.filter(views.Pod(host), host.find(node))

    def score(self, policy: Policy, node: str) -> int:
        """Asks for the score of one node."""
        host = self.host(self.nodes)
        return _checked(policy.score(views.Pod(host), host.find(node)), node)

    def rank(self, policy: Policy) -> dict[str, int]:
        """Asks for the scores of all nodes; by their names."""
        host = self.host(self.nodes)
        scores = policy.rank(views.Pod(host), views.Nodes(host))
        if len(scores) != len(self.nodes):
            raise ValueError(f"the policy gave {len(scores)} scores for {len(self.nodes)} nodes")
        return {node.name: _checked(score, node.name) for node, score in zip(self.nodes, scores)}

    def preempt(self, policy: Policy, node: str) -> Preemption:
        """Asks about the first candidate on a node."""
        host = self.host([self._node(own.node) for own in self.candidates], self.candidates)
        for index, candidate in enumerate(self.candidates):
            if candidate.node == node:
                return policy.preempt(views.Pod(host), views.Candidate(host, index))
        raise ValueError(f"the test asks about a candidate on the node {node!r}; there is none")

    def bind(self, policy: Policy, node: str) -> Metadata:
        """Asks what the pod gets as it is bound to a node; raises `Refused` or `Retry` as the policy does.

        Metadata that breaks the rules of Kubernetes raises `ValueError`, since the gateway ends such a call as a fault.
        """
        host = self.host(self.nodes)
        answer = policy.bind(views.Pod(host), host.find(node))
        metadata.check(answer)
        return answer

    def host(self, nodes: Sequence[Node], candidates: Sequence[Candidate] = ()) -> Host:
        """The reads of a call about these nodes."""
        cluster = None if self.without_cluster or self.without_pods else self.nodes
        return Host(self.pod, nodes, candidates, cluster, self.namespaces, self.facts, self.now, self.without_pods)

    def _node(self, name: str) -> Node:
        for node in self.nodes:
            if node.name == name:
                return node
        raise ValueError(f"a candidate names the node {name!r}; there is no such node")


def with_settings(policy: type[P], json_text: str) -> P:
    """A policy with settings in JSON, with the checks that the gateway makes as it loads the policy."""
    settings.check_types(policy)
    return settings.decode(policy, json_text)


def _checked(score: int, node: str) -> int:
    if not 0 <= score <= 100:
        raise ValueError(f"the policy gave {node} the score {score}; it may give 0 to 100")
    return score
