"""The objects of a test, and as the JSON that policies read fields of."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Mapping, Optional, Sequence

from ..types import Owner, Taint


@dataclass
class Pod:
    """The pod to schedule, or one that is placed."""

    name: str = ""
    namespace: str = "default"
    uid: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    priority: int = 0
    priority_class: str = ""
    controller: Optional[Owner] = None
    created: Optional[datetime] = None
    #: The requests of the whole pod, written as in Kubernetes: {"cpu": "500m", "memory": "4Gi"}.
    requests: Mapping[str, str] = field(default_factory=dict)
    images: Sequence[str] = ()
    #: A pod that is `Succeeded` or `Failed` is not placed any more.
    phase: str = ""
    #: Whether it has a `metadata.deletionTimestamp`.
    terminating: bool = False
    #: The rest of the object, for policies that read fields.
    object: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Node:
    """A node with the pods placed on it."""

    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Taint] = ()
    allocatable: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(default_factory=dict)
    #: The status of each condition: {"Ready": "True"}.
    conditions: Mapping[str, str] = field(default_factory=dict)
    unschedulable: bool = False
    #: Its IP addresses and host names, by which facts may know it.
    addresses: Sequence[str] = ()
    #: The bytes of each image that it has pulled.
    images: Mapping[str, int] = field(default_factory=dict)
    pods: Sequence[Pod] = ()
    #: Whether it may have other pods as well, which the gateway does not know.
    pods_unknown: bool = False
    #: The resources that a DeviceClass provides on it: how much it has of them is not known.
    resources_unknown: Sequence[str] = ()
    #: The rest of the object, for policies that read fields.
    object: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Candidate:
    """A node on which kube-scheduler could make room."""

    node: str
    #: As namespace/name, by descending priority.
    victims: Sequence[str] = ()
    pdb_violations: int = 0


def pod_object(pod: Pod) -> Any:
    metadata: dict[str, Any] = {"name": pod.name, "namespace": pod.namespace}
    _add(metadata, uid=pod.uid, labels=dict(pod.labels), annotations=dict(pod.annotations))
    if pod.created is not None:
        metadata["creationTimestamp"] = pod.created.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    if pod.controller is not None:
        own = pod.controller
        reference = {"apiVersion": own.api_version, "kind": own.kind, "name": own.name, "uid": own.uid}
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    containers: list[Any] = [{"resources": {"requests": dict(pod.requests)}}] if pod.requests else []
    containers += [{"image": image} for image in pod.images]
    spec: dict[str, Any] = {"containers": containers}
    _add(spec, priority=pod.priority, priorityClassName=pod.priority_class)
    all_: dict[str, Any] = {"metadata": metadata, "spec": spec}
    if pod.phase:
        all_["status"] = {"phase": pod.phase}
    return _merged(pod.object, all_)


def node_object(node: Node) -> Any:
    metadata: dict[str, Any] = {"name": node.name}
    _add(metadata, labels=dict(node.labels), annotations=dict(node.annotations))
    spec: dict[str, Any] = {}
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints]
    _add(spec, taints=taints, unschedulable=node.unschedulable)
    status: dict[str, Any] = {}
    _add(
        status,
        conditions=[{"type": kind, "status": value} for kind, value in sorted(node.conditions.items())],
        images=[{"names": [image], "sizeBytes": size} for image, size in sorted(node.images.items())],
        allocatable=dict(node.allocatable),
        capacity=dict(node.capacity),
        addresses=[{"type": "InternalIP", "address": address} for address in node.addresses],
    )
    all_ = _merged(node.object, {"metadata": metadata, "spec": spec, "status": status})
    _steady(all_)
    return all_


def _add(to: dict[str, Any], **values: Any) -> None:
    to.update({key: value for key, value in values.items() if value})


def _merged(given: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The object of a test with what its fields say."""
    merged = dict(given)
    for key, value in own.items():
        outer = merged.get(key)
        both = isinstance(outer, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(outer, value) if both and isinstance(outer, Mapping) else value
    return merged


def _steady(node: dict[str, Any]) -> None:
    """Takes away what no policy can read of a node."""
    for key in ("kind", "apiVersion"):
        node.pop(key, None)
    for key in ("managedFields", "resourceVersion"):
        node["metadata"].pop(key, None)
    conditions = node["status"].get("conditions", [])
    if conditions:
        without = [{key: own[key] for key in own if key != "lastHeartbeatTime"} for own in conditions]
        node["status"]["conditions"] = without


def at_pointer(value: Any, pointer: str) -> Optional[str]:
    """The JSON text at an RFC 6901 pointer."""
    if pointer and not pointer.startswith("/"):
        return None
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and token in value:
            value = value[token]
        elif isinstance(value, (list, tuple)) and token.isdecimal() and str(int(token)) == token and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
