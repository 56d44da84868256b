"""The rules of Kubernetes for annotations and labels, as the gateway checks them."""

from __future__ import annotations

import re
from typing import Mapping, Optional

from ..types import Metadata

_MAX_ENTRIES = 64
_MAX_ANNOTATION_BYTES = 256 << 10
_NAME = re.compile("[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
_NAME_RULE = "1 to 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends"


def check(metadata: Metadata) -> None:
    """Raises `ValueError` where the gateway ends the call as a fault."""
    breach = _breach("annotation", metadata.annotations) or _breach("label", metadata.labels)
    size = sum(len(text.encode()) for entry in metadata.annotations.items() for text in entry)
    if breach is None and size > _MAX_ANNOTATION_BYTES:
        breach = f"annotations of {size} bytes; at most {_MAX_ANNOTATION_BYTES} are allowed"
    if breach is not None:
        raise ValueError(f"the gateway would end this call as a fault: {breach}")


def _breach(kind: str, entries: Mapping[str, str]) -> Optional[str]:
    if len(entries) > _MAX_ENTRIES:
        return f"{len(entries)} {kind}s; at most {_MAX_ENTRIES} are allowed"
    for key, value in entries.items():
        wrong = _wrong_key(kind, key)
        if wrong is not None:
            return f"the {kind} key {key!r}: {wrong}"
        if kind == "label" and value and not _NAME.fullmatch(value):
            return f"the value {value!r} of the label {key}: it must be empty, or {_NAME_RULE}"
    return None


def _wrong_key(kind: str, key: str) -> Optional[str]:
    prefix, slash, name = key.partition("/") if "/" in key else ("", "", key)
    if slash and (len(prefix) > 253 or not _PREFIX.fullmatch(prefix)):
        return "before its slash it must be a domain of at most 253 bytes, such as example.com"
    if slash and f".{prefix.lower()}".endswith((".kubernetes.io", ".k8s.io")):
        return "kubernetes.io and k8s.io are Kubernetes' own"
    if not _NAME.fullmatch(name):
        return f"its name must have {_NAME_RULE}"
    if kind == "label" and prefix != prefix.lower():
        return "its domain must have no capital letters"
    return None
