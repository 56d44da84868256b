"""The reads of a world in Python give what the host gives: the answers are those of the Rust SDK and of the modules."""

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from conformance import TOPICS, Conformance

from plimsoll import Fits, Keep, Metadata, Owner, Refused, Reject, Replace, Retry, Taint, Unresolvable, Unschedulable
from plimsoll.testing import Candidate, Node, Pod, World

ANSWERS = Path(__file__).parents[3] / "conformance" / "answers"
CREATED = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
WEB = {"app": "web"}

#: That of plugin-sdk/conformance/world.yaml.
WORLD = World(
    pod=Pod(
        "p",
        namespace="web",
        uid="uid-p",
        labels={"a": "ä", "pool": "blue"},
        annotations={"empty": ""},
        priority=-5,
        priority_class="low",
        controller=Owner("batch/v1", "Job", "é", "uid-é"),
        created=CREATED,
        requests={"cpu": "1500m", "memory": "1Gi"},
        images=["web:1", "proxy"],
    ),
    nodes=[
        Node(
            "node-1",
            labels={"é": "😀", "group": "other", "pool": "blue"},
            annotations={"a": "1", "large": "é" * 3000, "score": "100"},
            taints=[Taint("k", "v", "NoSchedule"), Taint("l", effect="NoExecute")],
            allocatable={"cpu": "4"},
            capacity={"cpu": "5"},
            conditions={"Ready": "Unknown"},
            unschedulable=True,
            resources_unknown=["example.com/gpu"],
            images={"web:1": (1 << 32) + 4},
            pods=[
                Pod(
                    "b",
                    namespace="web",
                    labels=WEB,
                    annotations={"a": "x"},
                    priority=(1 << 31) - 1,
                    requests={"memory": "6Gi"},
                    created=CREATED,
                    priority_class="high",
                    controller=Owner("apps/v1", "ReplicaSet", "b-5d7", "uid-b"),
                    phase="Running",
                ),
                Pod("c", namespace="web", labels=WEB, terminating=True),
            ],
        ),
        Node(
            "node-2",
            labels={"group": "best"},
            annotations={"verdict": "fits", "score": "7", "bind": "later"},
            pods=[Pod("d", namespace="web", labels=WEB, terminating=True)],
        ),
        Node("node-3", annotations={"verdict": "unresolvable", "bind": "nothing"}),
        Node(
            "node-4",
            labels={"group": "best", "pool": "red"},
            annotations={"score": "5", "bind": "é\n😀"},
            pods=[Pod("e", namespace="other", labels=WEB, requests={"memory": "1Gi"})],
        ),
    ],
    candidates=[
        Candidate("node-3"),
        Candidate("node-1", ["web/b", "web/c"], 1),
        Candidate("node-2", ["web/d"], 2),
    ],
    namespaces={"web": {"tenant": "a"}},
    facts={"load": {"node-1": "0.5"}, "prices": {"gpu": "3.25", "loss": "-0.125", "note": "é"}},
    now=datetime.fromtimestamp(1_769_864_399, timezone.utc),
)


def answer(name: str) -> Unschedulable:
    return Unschedulable((ANSWERS / f"{name}.txt").read_text().removesuffix("\n"))


@pytest.mark.parametrize("topic", TOPICS)
def test_every_read_gives_what_the_host_gives(topic: str) -> None:
    assert WORLD.filter(Conformance(topic), "node-1") == answer(topic)


def test_without_a_view_every_read_of_it_is_none() -> None:
    without = replace(WORLD, without_cluster=True).filter(Conformance("cluster"), "node-1")
    assert without == answer("cluster-unknown")
    assert replace(WORLD, without_pods=True).filter(Conformance("placed"), "node-1") == answer("placed-unknown")
    assert replace(WORLD, namespaces={}).filter(Conformance("namespace"), "node-1") == answer("namespace-unknown")


def test_every_kind_of_answer_is_that_of_the_node() -> None:
    policy = Conformance("pool")
    assert WORLD.filter(policy, "node-1") == Fits()
    assert WORLD.filter(policy, "node-2") == Fits()
    assert WORLD.filter(policy, "node-3") == Unresolvable("eviction does not help")
    assert WORLD.filter(policy, "node-4") == Unschedulable("another pool")
    assert WORLD.score(policy, "node-1") == 100
    assert WORLD.rank(policy) == {"node-1": 100, "node-2": 8, "node-3": 0, "node-4": 5}


def test_every_kind_of_preemption() -> None:
    policy = Conformance("pod")
    assert WORLD.preempt(policy, "node-3") == Keep()
    assert WORLD.preempt(policy, "node-1") == Replace([0])
    assert WORLD.preempt(policy, "node-2") == Reject("victims=d\nnodes=node-3 node-1 node-2")


def test_a_bind_gives_metadata_or_says_why_not() -> None:
    policy = Conformance("pod")
    assert WORLD.bind(policy, "node-4") == Metadata({"value": "é\n😀", "node": "node-4"}, {"rack": "r1"})
    assert WORLD.bind(policy, "node-3") == Metadata()
    with pytest.raises(Retry, match="not yet"):
        WORLD.bind(policy, "node-2")
    with pytest.raises(Refused, match="p cannot be bound"):
        WORLD.bind(policy, "node-1")
