"""Rejects nodes that lack the label a pod asks for, and prefers nodes with few pods."""

import logging
from dataclasses import dataclass

from plimsoll import Fits, Node, Pod, Policy, SettingsError, Unresolvable, Verdict


@dataclass
class NeedsLabel(Policy):
    annotation: str = "example.com/needs"

    def validate(self) -> None:
        if not self.annotation:
            raise SettingsError("annotation: it must not be empty")

    def filter(self, pod: Pod, node: Node) -> Verdict:
        key = pod.annotation(self.annotation)
        if key is not None and node.label(key) is None:
            logging.info("%s lacks %s", node.name, key)
            return Unresolvable("node lacks the label that the pod needs")
        return Fits()

    def score(self, pod: Pod, node: Node) -> int:
        return max(100 - node.placed_count, 0)
