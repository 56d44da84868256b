"""Reads all that a policy can read and answers all that it can answer.

So what it says in Python can be compared with what its twins in the other SDKs say.
"""

import json
import logging
import os
import random
import socket
import sys
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from plimsoll import (
    Candidate,
    Cluster,
    Fits,
    Keep,
    LabelCount,
    Metadata,
    Node,
    Nodes,
    Owner,
    Pair,
    Placed,
    Pod,
    Policy,
    Preemption,
    Quantity,
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
    replace_with,
)

TOPICS = ["pod", "node", "placed", "cluster", "field", "large", "time"]
OTHERS = ["panic", "none", "loop", "memory", "recursion", "exit", "world", "file", "network", "print", "refused"]


@dataclass
class Everything(Policy):
    topic: str

    def validate(self) -> None:
        if self.topic == "refused":
            raise SettingsError("topic: é is refused")
        if self.topic not in TOPICS + OTHERS:
            raise SettingsError(f"topic: expected one of {', '.join(TOPICS + OTHERS)}, found {self.topic!r}")

    def filter(self, pod: Pod, node: Node) -> Verdict:
        logging.debug("asked about %s", node.name)
        verdict = node.annotation("verdict")
        if verdict == "fits":
            return Fits()
        if verdict == "unresolvable":
            return Unresolvable("a text that is not allocated")
        return Unschedulable(self.tell(pod, node))

    def score(self, pod: Pod, node: Node) -> int:
        return Quantity.parse(node.annotation("score") or "0").value

    def rank(self, pod: Pod, nodes: Nodes) -> list[int]:
        groups, counts = nodes.by_label("group"), nodes.counts_labelled("web", "app", "web")
        scores = []
        for node in nodes:
            group = groups.of(node.index)
            is_best = group is not None and groups.values[group] == "best"
            scores.append(self.score(pod, node) + (counts[node.index] if is_best else 0))
        return scores

    def preempt(self, pod: Pod, candidate: Candidate) -> Preemption:
        victims = candidate.victims
        if candidate.pdb_violations == 0:
            return Keep()
        if candidate.pdb_violations == 1:
            return Replace(replace_with(victims[-1:]))
        nodes = [other.node.name for other in candidate.all]
        return Reject(f"{debug([victim.name for victim in victims])} of {debug(nodes)}")

    def bind(self, pod: Pod, node: Node) -> Metadata:
        value = node.annotation("bind")
        if value is None:
            raise Refused(f"{pod.name} cannot be bound")
        if value == "later":
            raise Retry("not yet")
        if value == "nothing":
            return Metadata()
        return Metadata(annotations={"value": value, "node": node.name}, labels={"rack": "r1"})

    def tell(self, pod: Pod, node: Node) -> str:
        tells = {"pod": tell_pod, "field": tell_fields, "time": tell_time}
        of_node = {"node": tell_node, "placed": tell_placed, "large": tell_large}
        if self.topic in tells:
            return tells[self.topic](pod, node)
        if self.topic in of_node:
            return of_node[self.topic](node)
        if self.topic == "cluster":
            return tell_cluster(node.cluster)
        return misbehave(self.topic, node)


def tell_pod(pod: Pod, _: Node) -> str:
    texts = row(pod.name, pod.namespace, pod.uid, some(pod.label("a")), some(pod.label("none")))
    annotations = row(some(pod.annotation("empty")), some(pod.annotation("none")))
    numbers = row(pod.priority, pod.request("cpu"), pod.request("memory"), pod.request("none"))
    owners = row(some(pod.priority_class), some(pod.controller), unix(pod))
    return f"{texts} {annotations} {numbers} {owners} {debug(pod.images)}"


def tell_node(node: Node) -> str:
    texts = row(node.name, some(node.label("é")), some(node.label("none")), some(node.annotation("a")))
    numbers = row(node.allocatable("cpu"), some(node.requested("memory")), some(node.requested("none")))
    images = row(some(node.image_size("web:1")), some(node.image_size("none")))
    status = row(some(node.condition("Ready")), some(node.condition("none")), node.unschedulable)
    capacity = row(node.capacity("cpu"), node.capacity("none"))
    return f"{texts} {debug(node.taints)} {numbers} {images} {status} {capacity}"


def tell_placed(node: Node) -> str:
    every = []
    for pod in node.placed:
        texts = row(pod.name, pod.namespace, some(pod.label("app")), some(pod.annotation("a")))
        numbers = row(pod.priority, pod.request("memory"), unix(pod))
        owners = row(some(pod.priority_class), some(pod.controller), some(pod.phase))
        every.append(f"{texts} {numbers} {owners}")
    return f"{debug(every)} {debug(node.placed_known)} {node.count_labelled('web', 'app', 'web')}"


def tell_cluster(cluster: Cluster) -> str:
    every, smiling = Selector(), Selector(node_label=Pair("é", "😀"))
    web = Selector(namespace="web", label=Pair("app", "web"))
    annotated = Selector(namespace="web", label=Pair("app", "web"), annotation=Pair("a", "x"))
    counts = row(some(cluster.count(every)), some(cluster.count(web)), some(cluster.count(annotated)))
    up_to = some(cluster.count_up_to(every, 1)), some(cluster.count_up_to(smiling, 9))
    capped = row(*up_to, some(cluster.at_least(web, 3)))
    sums = row(some(cluster.requested(every, "memory")), some(cluster.requested(smiling, "memory")))
    nodes = row(some(cluster.nodes_with_label("é", "😀")), some(cluster.label_values("é")))
    return f"{counts} {capped} {sums} {nodes} {debug(some(cluster.at_least(every, 2)))}"


def tell_fields(pod: Pod, node: Node) -> str:
    number, text = debug(some(pod.field("/spec/priority"))), debug(some(node.field("/metadata/name")))
    spec = debug(some(node.field_text("/spec")))
    return f"Ok({number}) Ok({text}) {debug(some(pod.field_text('/none')))} {spec}"


def tell_large(node: Node) -> str:
    texts = [node.annotation("large") for _ in range(20)]
    found = [text for text in texts if text is not None]
    return f"{len(found)} {sum(sum(text.encode()) for text in found)} {debug(some(node.label('é')))}"


def tell_time(pod: Pod, _: Node) -> str:
    granularities = [timedelta(0), timedelta(minutes=1), timedelta(hours=1)]
    return " ".join(str(int(pod.now(own).timestamp())) for own in granularities)


def misbehave(topic: str, node: Node) -> str:
    """Fails as the topic says, or tells what it finds of the world outside."""
    if topic == "none":
        nothing: Any = None
        return str(nothing.name)
    if topic == "loop":
        while True:
            pass
    if topic == "memory":
        keep = []
        while True:
            keep.append(bytearray(1 << 20))
    if topic == "recursion":
        return misbehave(topic, node) + "."
    if topic == "exit":
        sys.exit(3)
    if topic == "print":
        print("to the output")
        print("to the error", file=sys.stderr)
        return "printed"
    if topic == "world":
        begun = time.monotonic()
        moved = time.monotonic() - begun
        return f"{time.time():.0f} {moved} {os.urandom(4).hex()} {random.random()} {dict(os.environ)}"
    try:
        if topic == "file":
            return open("/etc/passwd").read()
        if topic == "network":
            return str(socket.socket())
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    raise LookupError(f"no {node.name} here")


class some:
    """A value that may be absent, shown as in Rust."""

    def __init__(self, value: object) -> None:
        self.value = value


def unix(pod: Pod | Placed) -> some:
    return some(None if pod.created is None else int(pod.created.timestamp()))


def row(*values: object) -> str:
    return f"({', '.join(map(debug, values))})"


def debug(value: object) -> str:
    """One value as Rust shows it."""
    if isinstance(value, some):
        return "None" if value.value is None else f"Some({debug(value.value)})"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(debug, value))}]"
    if isinstance(value, Taint):
        return f"Taint {{ key: {debug(value.key)}, value: {debug(value.value)}, effect: {debug(value.effect)} }}"
    if isinstance(value, LabelCount):
        return f"LabelCount {{ value: {debug(value.value)}, nodes: {value.nodes} }}"
    if isinstance(value, Owner):
        group, kind = debug(value.api_version), debug(value.kind)
        return f"Owner {{ api_version: {group}, kind: {kind}, name: {debug(value.name)}, uid: {debug(value.uid)} }}"
    return str(value)
