import pytest
from needs_label import NeedsLabel

from plimsoll import Fits, SettingsError, Unresolvable
from plimsoll.testing import Node, Pod, World, with_settings

WORLD = World(
    pod=Pod("p", annotations={"example.com/needs": "ssd"}),
    nodes=[Node("fast", labels={"ssd": "true"}, pods=[Pod("a"), Pod("b")]), Node("slow")],
)


def test_a_node_without_the_label_is_refused() -> None:
    policy = with_settings(NeedsLabel, '{"annotation": "example.com/needs"}')
    assert WORLD.filter(policy, "fast") == Fits()
    assert WORLD.filter(policy, "slow") == Unresolvable("node lacks the label that the pod needs")


def test_nodes_with_few_pods_are_preferred() -> None:
    assert [WORLD.score(NeedsLabel(), node) for node in ("fast", "slow")] == [98, 100]


def test_an_empty_annotation_is_refused() -> None:
    with pytest.raises(SettingsError, match="annotation: it must not be empty"):
        with_settings(NeedsLabel, '{"annotation": ""}')
