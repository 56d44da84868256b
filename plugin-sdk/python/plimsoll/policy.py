"""The base of a policy."""

from __future__ import annotations

from typing import Sequence

from .types import Metadata, Preemption, Verdict
from .views import Candidate, Node, Nodes, Placed, Pod

#: The verbs, in the order of the contract.
VERBS = ("filter", "score", "rank", "preempt", "bind")


class Policy:
    """A policy is a dataclass whose fields are its settings, with a method for each verb that it has.

    A policy must not keep anything from one call to the next, because answers are cached.
    """

    def validate(self) -> None:
        """Refuses settings that are of the right types, and wrong: raises `SettingsError`."""

    def filter(self, pod: Pod, node: Node) -> Verdict:
        """May the pod run on this node?"""
        raise NotImplementedError

    def score(self, pod: Pod, node: Node) -> int:
        """0 to 100; higher is better."""
        raise NotImplementedError

    def rank(self, pod: Pod, nodes: Nodes) -> Sequence[int]:
        """One score of 0 to 100 for each node, in the order of the nodes."""
        raise NotImplementedError

    def preempt(self, pod: Pod, candidate: Candidate) -> Preemption:
        """May the victims of this candidate be evicted for the pod?"""
        raise NotImplementedError

    def bind(self, pod: Pod, node: Node) -> Metadata:
        """What the pod carries from its binding on. Raises `Refused` or `Retry` if it must not be bound."""
        raise NotImplementedError


def verbs_of(policy: type[Policy]) -> list[str]:
    """The verbs that a policy has."""
    return [verb for verb in VERBS if getattr(policy, verb) is not getattr(Policy, verb)]


def replace_with(victims: Sequence[Placed]) -> list[int]:
    """The indices of pods, for `Replace`."""
    return [victim.index for victim in victims]
