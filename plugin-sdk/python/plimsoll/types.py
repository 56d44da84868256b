"""What a policy reads and answers, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Mapping, Optional, Sequence, Union


class Level(Enum):
    """How urgent a line of the log is."""

    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3


@dataclass(frozen=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str = ""
    effect: str = ""


@dataclass(frozen=True)
class Owner:
    """The owner that controls a pod, and replaces the pod when it is gone: a ReplicaSet, a Job."""

    #: Group and version, such as `apps/v1`: two groups may have one kind.
    api_version: str
    kind: str
    name: str
    uid: str = ""


@dataclass(frozen=True)
class Pair:
    """A label or an annotation with exactly this value."""

    key: str
    value: str


@dataclass(frozen=True)
class Selector:
    """Which pods of the cluster: those for which all given parts hold; every pod where none is given."""

    namespace: Optional[str] = None
    label: Optional[Pair] = None
    annotation: Optional[Pair] = None
    #: A label of the node that the pod is on.
    node_label: Optional[Pair] = None


@dataclass(frozen=True)
class LabelCount:
    """How many nodes have one value of a label."""

    value: str
    nodes: int


@dataclass(frozen=True)
class Grouping:
    """Nodes by the value of a label, as the host gives them: see `Groups`."""

    values: Sequence[str]
    groups: Sequence[int]


@dataclass(frozen=True)
class Fits:
    """The pod may run on the node."""


@dataclass(frozen=True)
class Unschedulable:
    """The pod does not fit now, but may once other pods are gone.

    A reason has at most 1,024 bytes, and nothing that differs from node to node: kube-scheduler counts nodes by reason.
    """

    reason: str


@dataclass(frozen=True)
class Unresolvable:
    """The pod does not fit, whatever else is evicted. The reason is as for `Unschedulable`."""

    reason: str


#: The answer of a filter.
Verdict = Union[Fits, Unschedulable, Unresolvable]


@dataclass(frozen=True)
class Keep:
    """Evict the pods that kube-scheduler proposed."""


@dataclass(frozen=True)
class Reject:
    """Do not preempt on this node."""

    reason: str


@dataclass(frozen=True)
class Replace:
    """Evict these pods of the candidate's node instead, at least one: their `index`."""

    victims: Sequence[int]


#: The decision about one preemption candidate.
Preemption = Union[Keep, Reject, Replace]


@dataclass(frozen=True)
class Metadata:
    """What a pod gets in the write that binds it."""

    #: At most 64; all annotations of a pod have at most 256 KiB. One that the pod has already is overwritten.
    annotations: Mapping[str, str] = field(default_factory=dict)
    #: At most 64, by the rules of Kubernetes for labels. A label that the pod has already with another value is not
    #: overwritten, and the pod is not bound. The API server must be of Kubernetes 1.35 or later.
    labels: Mapping[str, str] = field(default_factory=dict)


class Refused(Exception):
    """A bind that raises it does not bind the pod: kube-scheduler gets the reason and retries the pod after a back-off."""


class Retry(Exception):
    """The pod cannot be bound yet: the host asks again when the cluster has changed, within the time of the request.

    For what ends within seconds, such as a device that is being given back.
    """


class SettingsError(ValueError):
    """The settings are wrong. The text says which one, for the operator."""
