"""Policies for plimsoll in Python.

A policy is a dataclass. Its fields are its settings, its methods are the verbs that it has:

    from dataclasses import dataclass
    from plimsoll import Fits, Node, Pod, Policy, Unresolvable, Verdict

    @dataclass
    class NeedsLabel(Policy):
        annotation: str = "example.com/needs"

        def filter(self, pod: Pod, node: Node) -> Verdict:
            key = pod.annotation(self.annotation)
            if key is not None and node.label(key) is None:
                return Unresolvable("node lacks the label that the pod needs")
            return Fits()

`python -m plimsoll build needs_label.py -o needs-label.wasm` makes the module. `plimsoll.testing` asks a policy natively.
What the module logging gets is logged by the gateway.
"""

from .policy import Policy, replace_with
from .quantity import Quantity
from .types import (
    Fits,
    Keep,
    LabelCount,
    Metadata,
    Owner,
    Pair,
    Preemption,
    Refused,
    Reject,
    Replace,
    Retry,
    Selector,
    SettingsError,
    Taint,
    Unresolvable,
    Unschedulable,
    Verdict,
)
from .views import Candidate, Cluster, Facts, Groups, Node, Nodes, Placed, Pod

__all__ = [
    "Candidate",
    "Cluster",
    "Facts",
    "Fits",
    "Groups",
    "Keep",
    "LabelCount",
    "Metadata",
    "Node",
    "Nodes",
    "Owner",
    "Pair",
    "Placed",
    "Pod",
    "Policy",
    "Preemption",
    "Quantity",
    "Refused",
    "Reject",
    "Replace",
    "Retry",
    "Selector",
    "SettingsError",
    "Taint",
    "Unresolvable",
    "Unschedulable",
    "Verdict",
    "replace_with",
]
