"""The policy `conformance` in Python: reads all that a policy can read, answers all, and fails in every way.

docs/conformance.md says what each topic is, and `plimsoll conformance` compares.
"""

import logging
import os
import random
import socket
import sys
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Iterable

from plimsoll import (
    Candidate,
    Cluster,
    Fits,
    Keep,
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
    Unresolvable,
    Unschedulable,
    Verdict,
    replace_with,
)

TOPICS = ["pod", "node", "placed", "cluster", "namespace", "facts", "field", "large", "time"]
ANSWERS = ["pool", "high-score", "no-victims", "missing-candidate"]
FAULTS = ["panic", "trap", "recursion", "loop", "memory", "long-reason", "missing-node", "missing-pod", "foreign-source"]
#: The log, and the environment, in which a runtime could differ.
OTHERS = ["log", "log-flood", "exit", "world", "file", "network", "print"]


@dataclass
class Conformance(Policy):
    topic: str

    def validate(self) -> None:
        known = TOPICS + ANSWERS + FAULTS + OTHERS
        if self.topic == "refused":
            raise SettingsError("topic: é is refused")
        if self.topic not in known:
            raise SettingsError(f"topic: expected one of {', '.join(known)}, found {self.topic!r}")

    def filter(self, pod: Pod, node: Node) -> Verdict:
        verdict = node.annotation("verdict")
        if verdict == "fits":
            return Fits()
        if verdict == "unresolvable":
            return Unresolvable("eviction does not help")
        if self.topic == "pool":
            return Fits() if node.label("pool") == pod.label("pool") else Unschedulable("another pool")
        return Unschedulable(self.tell(pod, node))

    def score(self, pod: Pod, node: Node) -> int:
        if self.topic == "high-score":
            return 101
        return Quantity.parse(node.annotation("score") or "0").value

    def rank(self, pod: Pod, nodes: Nodes) -> list[int]:
        groups, labelled = nodes.by_label("group"), nodes.counts_labelled("web", "app", "web")
        counts = [sum(both) for both in zip(labelled, nodes.counts_active("web", "app", "web"))]
        scores = []
        for node in nodes:
            group = groups.of(node.index)
            is_best = group is not None and groups.values[group] == "best"
            scores.append(self.score(pod, node) + (counts[node.index] if is_best else 0))
        return scores

    def preempt(self, pod: Pod, candidate: Candidate) -> Preemption:
        if self.topic == "no-victims":
            return Replace([])
        if self.topic == "missing-candidate":
            return Reject(Candidate(candidate._reads, 1000).node.name)
        victims = candidate.victims
        if candidate.pdb_violations == 0:
            return Keep()
        if candidate.pdb_violations == 1:
            return Replace(replace_with(victims[-1:]))
        nodes = [other.node.name for other in candidate.all]
        return Reject(lines(victims=joined([victim.name for victim in victims]), nodes=joined(nodes)))

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
        tells = {"pod": tell_pod, "namespace": tell_namespace, "field": tell_fields, "time": tell_time}
        of_node = {"node": tell_node, "placed": tell_placed, "facts": tell_facts, "large": tell_large}
        if self.topic in tells:
            return tells[self.topic](pod, node)
        if self.topic in of_node:
            return of_node[self.topic](node)
        if self.topic == "cluster":
            return tell_cluster(node.cluster)
        if self.topic in OTHERS:
            return tell_other(self.topic)
        return misbehave(self.topic, node)


def tell_pod(pod: Pod, _: Node) -> str:
    return lines(
        name=pod.name,
        namespace=pod.namespace,
        uid=pod.uid,
        label=pod.label("a"),
        label_none=pod.label("none"),
        annotation_empty=pod.annotation("empty"),
        annotation_none=pod.annotation("none"),
        priority=pod.priority,
        priority_class=pod.priority_class,
        controller=pod.controller,
        created=pod.created,
        request_cpu=pod.request("cpu"),
        request_memory=pod.request("memory"),
        request_none=pod.request("none"),
        images=joined(pod.images),
    )


def tell_node(node: Node) -> str:
    return lines(
        name=node.name,
        label=node.label("é"),
        label_none=node.label("none"),
        annotation=node.annotation("a"),
        taints=joined([f"{own.key}={own.value}:{own.effect}" for own in node.taints]),
        allocatable=node.allocatable("cpu"),
        known=node.resource_known("cpu"),
        known_device=node.resource_known("example.com/gpu"),
        capacity=node.capacity("cpu"),
        capacity_none=node.capacity("none"),
        requested=node.requested("memory"),
        requested_none=node.requested("none"),
        image_size=node.image_size("web:1"),
        image_size_none=node.image_size("none"),
        condition=node.condition("Ready"),
        condition_none=node.condition("none"),
        unschedulable=node.unschedulable,
    )


def tell_placed(node: Node) -> str:
    own = [
        lines(
            known=node.placed_known,
            count_labelled=node.count_labelled("web", "app", "web"),
            count_active=node.count_active("web", "app", "web"),
        )
    ]
    for at, pod in enumerate(node.placed):
        told = lines(
            name=pod.name,
            namespace=pod.namespace,
            label=pod.label("app"),
            annotation=pod.annotation("a"),
            priority=pod.priority,
            priority_class=pod.priority_class,
            controller=pod.controller,
            phase=pod.phase,
            terminating=pod.terminating,
            request=pod.request("memory"),
            created=pod.created,
        )
        own += [f"{at}.{line}" for line in told.split("\n")]
    return "\n".join(own)


def tell_cluster(cluster: Cluster) -> str:
    every, smiling = Selector(), Selector(node_label=Pair("é", "😀"))
    web = Selector(namespace="web", label=Pair("app", "web"))
    annotated = Selector(namespace="web", label=Pair("app", "web"), annotation=Pair("a", "x"))
    values = cluster.label_values("group")
    return lines(
        count=cluster.count(every),
        count_web=cluster.count(web),
        count_annotated=cluster.count(annotated),
        count_up_to_1=cluster.count_up_to(every, 1),
        count_smiling=cluster.count_up_to(smiling, 9),
        at_least_2=cluster.at_least(every, 2),
        at_least_4_web=cluster.at_least(web, 4),
        requested=cluster.requested(every, "memory"),
        requested_smiling=cluster.requested(smiling, "memory"),
        nodes_with_label=cluster.nodes_with_label("é", "😀"),
        label_values=None if values is None else joined([f"{own.value}:{own.nodes}" for own in values]),
    )


def tell_namespace(pod: Pod, _: Node) -> str:
    return lines(
        known=pod.namespace_known,
        label=pod.namespace_label("tenant"),
        label_none=pod.namespace_label("none"),
    )


def tell_facts(node: Node) -> str:
    facts = node.facts
    return lines(
        text=facts.text("prices", "note"),
        text_none=facts.text("prices", "none"),
        number=facts.number("prices", "gpu"),
        number_negative=facts.number("prices", "loss"),
        number_of_text=facts.number("prices", "note"),
        node_text=node.fact_text("load"),
        node_number=node.fact_number("load"),
    )


def tell_fields(pod: Pod, node: Node) -> str:
    return lines(
        priority=pod.field("/spec/priority"),
        name=node.field("/metadata/name"),
        none=pod.field_text("/none"),
        spec=node.field_text("/spec"),
    )


def tell_large(node: Node) -> str:
    texts = [node.annotation("large") for _ in range(20)]
    found = [text for text in texts if text is not None]
    return lines(count=len(found), sum=sum(sum(text.encode()) for text in found), label=node.label("é"))


def tell_time(pod: Pod, _: Node) -> str:
    zero, minute, hour = timedelta(0), timedelta(minutes=1), timedelta(hours=1)
    return lines(now_0=pod.now(zero), now_60=pod.now(minute), now_3600=pod.now(hour))


def misbehave(topic: str, node: Node) -> str:
    """Fails as the topic says, or reaches a limit without a fault."""
    if topic == "trap":
        nothing: Any = None
        return str(nothing.name)
    if topic == "recursion":
        return misbehave(topic, node) + "."
    if topic == "loop":
        while True:
            pass
    if topic == "memory":
        keep = []
        while True:
            keep.append(bytearray(1 << 20))
    if topic == "long-reason":
        return "x" * 2000
    if topic == "missing-node":
        return Node(node._reads, 1000).name
    if topic == "missing-pod":
        return Placed(node._reads, node.index, 1000).name
    if topic == "foreign-source":
        return str(node.facts.text("foreign", "key"))
    raise LookupError(f"no {node.name} here")


def tell_other(topic: str) -> str:
    """Writes to the log, or tells what it finds of the world outside."""
    if topic == "log":
        for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            logging.log(level, "é at level %s", logging.getLevelName(level))
        return "lines=4"
    if topic == "log-flood":
        for line in range(10_000):
            logging.info("line %d", line)
        return "lines=10000"
    if topic == "exit":
        sys.exit(3)
    if topic == "print":
        print("to the output")
        print("to the error", file=sys.stderr)
        return "printed"
    try:
        if topic == "file":
            return open("/etc/passwd").read()
        if topic == "network":
            return str(socket.socket())
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    begun = time.monotonic()
    moved = time.monotonic() - begun
    return f"{time.time():.0f} {moved} {os.urandom(4).hex()} {random.random()} {dict(os.environ)}"


def lines(**values: object) -> str:
    """Lines of `key=value`; a value that is absent is `-`."""
    return "\n".join(f"{key.replace('_', '-')}={show(value)}" for key, value in values.items())


def show(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        # Not every language writes a fraction in the same way.
        return str(int(value * 1000))
    if isinstance(value, datetime):
        return str(int(value.timestamp()))
    if isinstance(value, Owner):
        return joined([value.api_version, value.kind, value.name, value.uid])
    return str(value)


def joined(texts: Iterable[str]) -> str:
    return " ".join(texts)
