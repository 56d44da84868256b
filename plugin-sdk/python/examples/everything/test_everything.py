"""The reads of a world in Python give what the host gives: the answers are those of the Rust SDK and of the modules."""

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from everything import TOPICS, Everything

from plimsoll import Fits, Keep, Metadata, Owner, Refused, Reject, Replace, Retry, Taint, Unresolvable, Unschedulable
from plimsoll.testing import Candidate, Node, Pod, World

ANSWERS = Path(__file__).parents[3] / "go" / "examples" / "everything" / "testdata" / "answers.txt"
CREATED = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
VICTIMS = ["web/b", "web/c"]

#: That of tests/policies/tests/policies/everything.rs.
WORLD = World(
    pod=Pod(
        "p",
        namespace="web",
        labels={"a": "ä"},
        annotations={"empty": ""},
        priority=-5,
        priority_class="low",
        controller=Owner("Job", "é", "batch/v1", "Job/é"),
        created=CREATED,
        requests={"cpu": "1500m", "memory": "1Gi"},
        images=["web:1", "proxy"],
    ),
    nodes=[
        Node(
            "node-1",
            labels={"é": "😀"},
            annotations={"a": "1", "large": "é" * 3000, "score": "100"},
            taints=[Taint("k", "v", "NoSchedule"), Taint("l", effect="NoExecute")],
            allocatable={"cpu": "4"},
            capacity={"cpu": "5"},
            conditions={"Ready": "Unknown"},
            unschedulable=True,
            images={"web:1": (1 << 32) + 4},
            pods=[
                Pod(
                    "b",
                    namespace="web",
                    labels={"app": "web"},
                    annotations={"a": "x"},
                    priority=(1 << 31) - 1,
                    requests={"memory": "6Gi"},
                    created=CREATED,
                    priority_class="high",
                    controller=Owner("ReplicaSet", "b-5d7", "apps/v1", "ReplicaSet/b-5d7"),
                    phase="Running",
                ),
                Pod("c", namespace="web", labels={"app": "web"}),
            ],
        ),
        Node("node-2", annotations={"verdict": "fits", "score": "7"}),
        Node("node-3", annotations={"verdict": "unresolvable"}),
    ],
    candidates=[
        Candidate("node-3"),
        Candidate("node-1", VICTIMS, 1),
        Candidate("node-1", VICTIMS, 2),
    ],
    now=datetime.fromtimestamp(1_769_864_399, timezone.utc),
)


@pytest.mark.parametrize("topic", TOPICS)
def test_every_read_gives_what_the_host_gives(topic: str) -> None:
    answers = dict(line.split(": ", 1) for line in ANSWERS.read_text().splitlines())
    assert WORLD.filter(Everything(topic), "node-1") == Unschedulable(answers[topic])


def test_without_a_view_every_read_of_it_is_none() -> None:
    without = replace(WORLD, without_cluster=True).filter(Everything("cluster"), "node-1")
    assert without == Unschedulable("(None, None, None) (None, None, None) (None, None) (None, None) None")
    assert replace(WORLD, without_pods=True).filter(Everything("placed"), "node-1") == Unschedulable("[] false 0")


def test_every_kind_of_answer_is_that_of_the_node() -> None:
    policy = Everything("time")
    assert WORLD.filter(policy, "node-2") == Fits()
    assert WORLD.filter(policy, "node-3") == Unresolvable("a text that is not allocated")
    assert WORLD.score(policy, "node-1") == 100
    assert WORLD.rank(policy) == {"node-1": 100, "node-2": 7, "node-3": 0}


def test_every_kind_of_preemption() -> None:
    policy = Everything("pod")
    assert WORLD.preempt(policy, "node-3") == Keep()
    assert WORLD.preempt(policy, "node-1") == Replace([0])
    twice = replace(WORLD, candidates=[Candidate("node-3"), Candidate("node-1", VICTIMS, 2)])
    assert twice.preempt(policy, "node-1") == Reject('["b", "c"] of ["node-3", "node-1"]')


def test_a_bind_gives_metadata_or_says_why_not() -> None:
    def bind(value: str) -> Metadata:
        return replace(WORLD, nodes=[Node("n", annotations={"bind": value})]).bind(Everything("pod"), "n")

    assert bind("é") == Metadata({"value": "é", "node": "n"}, {"rack": "r1"})
    assert bind("nothing") == Metadata()
    with pytest.raises(Retry, match="not yet"):
        bind("later")
    with pytest.raises(Refused, match="p cannot be bound"):
        WORLD.bind(Everything("pod"), "node-1")
