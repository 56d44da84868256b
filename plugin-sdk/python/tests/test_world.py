"""A world answers each read as the gateway does."""

import dataclasses
import inspect
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Optional, Sequence

import pytest

from plimsoll import Metadata, Owner, Pair, Policy, Selector, Taint, _generated, types, views
from plimsoll.testing import Candidate, Node, Pod, World
from plimsoll.testing.reads import Host

OWNER = Owner("apps/v1", "ReplicaSet", "web-1", "u")
PLACED = [
    Pod("a", labels={"app": "web"}, requests={"cpu": "250m", "memory": "1Gi"}, controller=OWNER, phase="Running"),
    Pod("b", namespace="other", labels={"app": "web"}, requests={"cpu": "1"}, priority=7, terminating=True),
    Pod("done", labels={"app": "web"}, phase="Succeeded"),
]
WORLD = World(
    pod=Pod("p", images=["nginx", "nginx:latest"], created=datetime(2024, 5, 1, tzinfo=timezone.utc)),
    nodes=[
        Node("n0", labels={"zone": "a"}, allocatable={"cpu": "4"}, images={"nginx:latest": 5}, pods=PLACED),
        Node("n1", labels={"zone": "b"}, taints=[Taint("gpu", effect="NoSchedule")], pods_unknown=True, resources_unknown=["x/gpu"]),
        Node("n2", object={"status": {"nodeInfo": {"architecture": "arm64"}}, "kind": "Node"}),
    ],
    candidates=[Candidate("n0", ["other/b", "default/a"], pdb_violations=2)],
    namespaces={"default": {"team": "x"}},
    now=datetime(2024, 5, 1, 12, 34, 56, tzinfo=timezone.utc),
)


def host(world: World = WORLD) -> Host:
    return world.host(world.nodes)


def test_the_pod_is_read() -> None:
    pod = views.Pod(host())
    assert (pod.name, pod.namespace, pod.namespace_label("team"), pod.priority_class) == ("p", "default", "x", None)
    assert pod.images == ["nginx:latest"]
    assert pod.created == datetime(2024, 5, 1, tzinfo=timezone.utc)
    assert pod.now(timedelta(hours=1)) == datetime(2024, 5, 1, 12, tzinfo=timezone.utc)
    assert pod.field("/metadata/name") == "p" and pod.field("/metadata/nothing") is None


def test_nodes_and_their_pods_are_read() -> None:
    nodes = views.Nodes(host())
    first = nodes[0]
    assert (first.allocatable("cpu"), first.requested("cpu"), first.image_size("nginx")) == (4000, 1250, 5)
    assert (first.free("cpu"), nodes[1].free("cpu")) == (2750, "the pods on the node are not known")
    assert nodes[1].free("x/gpu") == "DRA provides the resource on the node, and a policy cannot count its devices"
    assert [pod.name for pod in first.placed] == ["a", "b"]
    assert (first.placed[0].controller, first.placed[0].phase, first.placed[1].priority) == (OWNER, "Running", 7)
    assert (first.count_labelled("default", "app", "web"), list(nodes.counts_labelled("other", "app", "web"))) == (1, [1, 0, 0])
    assert (first.count_active("default", "app", "web"), list(nodes.counts_active("other", "app", "web"))) == (1, [0, 0, 0])
    assert [pod.terminating for pod in first.placed] == [False, True]
    assert (nodes[1].requested("cpu"), nodes[1].placed_known, list(nodes[1].taints)) == (None, False, WORLD.nodes[1].taints)
    groups = nodes.by_label("zone")
    assert (groups.values, [groups.of(node.index) for node in nodes]) == (["a", "b"], [0, 1, None])
    assert nodes[2].field("/status/nodeInfo/architecture") == "arm64" and nodes[2].field("/kind") is None


def test_the_cluster_is_read() -> None:
    cluster = views.Cluster(host())
    web = Selector(label=Pair("app", "web"))
    assert (cluster.count(web), cluster.count_up_to(web, 1), cluster.at_least(web, 3)) == (2, 1, False)
    assert cluster.count(Selector(namespace="other", node_label=Pair("zone", "a"))) == 1
    assert (cluster.requested(web, "cpu"), cluster.nodes_with_label("zone", "a")) == (1250, 1)
    assert [(own.value, own.nodes) for own in cluster.label_values("zone") or []] == [("a", 1), ("b", 1)]


def test_facts_are_read() -> None:
    world = World(nodes=[Node("n0"), Node("n1")], facts={"prices": {"n0": "1.5", "n1": "cheap", "spot": "3"}})
    nodes = views.Nodes(host(world))
    assert (nodes[0].fact_text("prices"), [node.fact_number("prices") for node in nodes]) == ("1.5", [1.5, None])
    assert (nodes.facts.number("prices", "spot"), nodes.facts.text("prices", "none")) == (3.0, None)
    with pytest.raises(ValueError, match="the source of facts 'load', which the world does not have"):
        nodes[0].fact_number("load")


def test_a_fact_about_a_node_has_its_name_or_one_of_its_addresses() -> None:
    addressed = [Node("n0", addresses=["10.0.0.1", "n0.example"]), Node("n1", addresses=["n1", "10.0.0.2"]), Node("n2")]
    nodes = views.Nodes(host(World(nodes=addressed, facts={"load": {"n0.example": "1", "n1": "2", "10.0.0.2": "3"}})))
    assert [node.fact_number("load") for node in nodes] == [1.0, 2.0, None]
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "InternalIP", "address": "n0.example"}]
    assert [node.field("/status/addresses") for node in nodes][::2] == [addresses, None]


def test_what_the_gateway_does_not_know_is_none() -> None:
    for world in (World(nodes=WORLD.nodes, without_cluster=True), World(nodes=WORLD.nodes, without_pods=True)):
        cluster = views.Cluster(host(world))
        assert cluster.count(Selector()) is None and cluster.label_values("zone") is None
    node = views.Nodes(host(World(nodes=WORLD.nodes, without_pods=True)))[0]
    assert (node.placed_count, node.placed_known, node.requested("cpu")) == (0, False, None)


def test_placed_pods_are_from_the_oldest_to_the_newest_without_the_pod_itself() -> None:
    def made(name: str, second: int) -> Pod:
        return Pod(name, created=datetime(2024, 5, 1, 0, 0, second, tzinfo=timezone.utc))

    world = World(pod=Pod("p"), nodes=[Node("n", pods=[made("b", 2), Pod("p"), made("c", 1), made("a", 2)])])
    assert [pod.name for pod in views.Nodes(host(world))[0].placed] == ["c", "a", "b"]


def test_candidates_have_their_victims() -> None:
    candidate = views.Candidate(WORLD.host(WORLD.nodes[:1], WORLD.candidates), 0)
    assert (candidate.node.name, [pod.name for pod in candidate.victims], candidate.pdb_violations) == ("n0", ["b", "a"], 2)


def test_a_read_that_the_gateway_would_end_raises() -> None:
    with pytest.raises(ValueError, match="there is no node 5; the request has 3"):
        host().nodes.name(5)
    with pytest.raises(ValueError, match="there is no placed pod 2; the request has 2"):
        host().placed.name(0, 2)


def test_an_invalid_world_raises() -> None:
    with pytest.raises(ValueError, match="the node n: 'much' is no quantity"):
        host(World(nodes=[Node("n", allocatable={"cpu": "much"})]))


@pytest.mark.parametrize("interface", ["pod", "nodes", "placed", "candidates", "cluster", "facts", "host"])
def test_a_world_has_every_function_of_the_contract(interface: str) -> None:
    contract = getattr(_generated, f"{interface.capitalize()}Functions")
    own = getattr(host(), interface)
    names = [name for name, _ in inspect.getmembers(contract, inspect.isfunction) if not name.startswith("_")]
    source = inspect.getsource(views) + inspect.getsource(_generated)
    for name in names:
        expected = list(inspect.signature(getattr(contract, name)).parameters)[1:]
        assert list(inspect.signature(getattr(own, name)).parameters) == expected, f"{interface}.{name}"
        # The rest of `host` is for the component alone.
        assert interface == "host" or f"_reads.{interface}.{name}(" in source, f"no view reads {interface}.{name}"


@pytest.mark.parametrize("view", [views.Pod, views.Node, views.Nodes, views.Groups, views.Placed, views.Candidate])
def test_help_has_a_text_for_everything_of_a_view(view: type) -> None:
    names = [name for name in dir(view) if not name.startswith("_") and name not in dir(Sequence)]
    without = [name for name in names if not inspect.getdoc(getattr(view, name))]
    assert names and not without


@pytest.mark.parametrize("record", ["Taint", "Owner", "Pair", "Selector", "LabelCount", "Grouping"])
def test_a_record_has_the_fields_of_the_contract_in_their_order(record: str) -> None:
    wit = (Path(views.__file__).parent / "policy.wit").read_text()
    name = re.sub("(?<!^)(?=[A-Z])", "-", record).lower()
    body = re.search(rf"record {name} {{(.*?)}}", wit, re.DOTALL)
    assert body is not None
    names = re.findall(r"([a-z-]+): ", re.sub("//.*", "", body[1]))
    assert [own.name for own in dataclasses.fields(getattr(types, record))] == [own.replace("-", "_") for own in names]


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        (Metadata(labels={"a b": "1"}), "the label key 'a b': its name must have"),
        (Metadata(labels={"a": "ä"}), "the value 'ä' of the label a: it must be empty, or"),
        (Metadata(labels={"A.com/a": "1"}), "the label key 'A.com/a': its domain must have no capital letters"),
        (Metadata(annotations={"a/b/c": ""}), "the annotation key 'a/b/c': its name must have"),
        (Metadata(annotations={"/a": ""}), "the annotation key '/a': before its slash it must be a domain"),
        (Metadata(annotations={"x.k8s.io/a": ""}), "the annotation key 'x.k8s.io/a': kubernetes.io and k8s.io are"),
        (Metadata(annotations={str(at): "" for at in range(65)}), "65 annotations; at most 64 are allowed"),
        (Metadata(annotations={"a": "x" * (256 << 10)}), "annotations of 262145 bytes; at most 262144 are allowed"),
        (Metadata({"Example.com/a": "any text"}, {"a": "", "b.c/d-e": "F_1"}), None),
    ],
)
def test_metadata_that_is_a_fault_in_the_gateway_raises(metadata: Metadata, error: Optional[str]) -> None:
    class Gives(Policy):
        def bind(self, pod: views.Pod, node: views.Node) -> Metadata:
            return metadata

    if error is None:
        assert WORLD.bind(Gives(), "n0") == metadata
    else:
        with pytest.raises(ValueError, match=re.escape(f"the gateway would end this call as a fault: {error}")):
            WORLD.bind(Gives(), "n0")
