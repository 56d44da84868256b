"""The policy within its component: passes the host's questions on, and its answers back."""

from __future__ import annotations

import logging
import traceback
from functools import wraps
from typing import Any, Callable, Optional, Sequence, TypeVar

from componentize_py_types import Err
from wit_world.imports import candidates, cluster, facts, host, nodes, placed, pod
from wit_world.imports import types as wit

from . import settings, types
from .policy import Policy
from .views import Candidate, Node, Nodes, Pod

F = TypeVar("F", bound=Callable[..., Any])

_LEVELS = [(logging.ERROR, "ERROR"), (logging.WARNING, "WARN"), (logging.INFO, "INFO"), (0, "DEBUG")]


class _Forward:
    """Forwards the functions of an interface, except those whose records have a class of this package."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class _Owned(_Forward):
    def controller(self, *of: int) -> Optional[types.Owner]:
        own = self._module.controller(*of)
        return None if own is None else types.Owner(own.api_version, own.kind, own.name, own.uid)


class _Nodes(_Forward):
    def taints(self, node: int) -> Sequence[types.Taint]:
        return [types.Taint(own.key, own.value, own.effect) for own in nodes.taints(node)]


class _Cluster(_Forward):
    def label_values(self, key: str) -> Optional[Sequence[types.LabelCount]]:
        values = cluster.label_values(key)
        return None if values is None else [types.LabelCount(own.value, own.nodes) for own in values]


class _ComponentReads:
    pod: Any = _Owned(pod)
    nodes: Any = _Nodes(nodes)
    placed: Any = _Owned(placed)
    candidates: Any = candidates
    cluster: Any = _Cluster(cluster)
    facts: Any = facts
    host: Any = host


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        level = next(name for at_least, name in _LEVELS if record.levelno >= at_least)
        host.log(host.Level[level], self.format(record))


_READS = _ComponentReads()
logging.basicConfig(level=logging.DEBUG, format="%(message)s", handlers=[_Handler()], force=True)


def guarded(method: F) -> F:
    """An exception that nobody catches is the fault `panic`: with its text and line, and its stack in the log."""

    @wraps(method)
    def run(*arguments: Any) -> Any:
        try:
            return method(*arguments)
        except Err:
            raise
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)
            for frame in reversed(frames[1:]):
                host.log(host.Level.ERROR, f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line or ''}")
            at = f", at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
            host.panic(f"{type(error).__name__}: {error}{at}")

    return run  # type: ignore[return-value]


class Guest:
    """One policy. Its settings are read at the first call of an instance."""

    def __init__(self, policy: type[Policy]) -> None:
        self._class = policy
        self._policy: Optional[Policy] = None

    def _own(self) -> Policy:
        if self._policy is None:
            self._policy = settings.decode(self._class, host.settings())
        return self._policy

    @guarded
    def validate(self) -> None:
        try:
            self._own()
        except types.SettingsError as error:
            raise Err(str(error)) from None

    @guarded
    def filter(self, node: int) -> Any:
        answer = self._own().filter(Pod(_READS), Node(_READS, node))
        if isinstance(answer, types.Unschedulable):
            return wit.Verdict_Unschedulable(answer.reason)
        if isinstance(answer, types.Unresolvable):
            return wit.Verdict_Unresolvable(answer.reason)
        if isinstance(answer, types.Fits):
            return wit.Verdict_Fits()
        raise TypeError(f"filter returned {answer!r}; expected Fits, Unschedulable or Unresolvable")

    @guarded
    def score(self, node: int) -> int:
        return _score(self._own().score(Pod(_READS), Node(_READS, node)))

    @guarded
    def rank(self) -> list[int]:
        return [_score(own) for own in self._own().rank(Pod(_READS), Nodes(_READS))]

    @guarded
    def preempt(self, candidate: int) -> Any:
        answer = self._own().preempt(Pod(_READS), Candidate(_READS, candidate))
        if isinstance(answer, types.Reject):
            return wit.Preemption_Reject(answer.reason)
        if isinstance(answer, types.Replace):
            return wit.Preemption_Replace(list(answer.victims))
        if isinstance(answer, types.Keep):
            return wit.Preemption_Keep()
        raise TypeError(f"preempt returned {answer!r}; expected Keep, Reject or Replace")

    @guarded
    def bind(self, node: int) -> Any:
        try:
            answer = self._own().bind(Pod(_READS), Node(_READS, node))
        except types.Refused as refused:
            raise Err(wit.NotBound_Refused(str(refused))) from None
        except types.Retry as retry:
            raise Err(wit.NotBound_Retry(str(retry))) from None
        pairs = [[wit.Pair(key, value) for key, value in own.items()] for own in (answer.annotations, answer.labels)]
        return wit.BindMetadata(*pairs)


def _score(score: Any) -> int:
    if not isinstance(score, int) or not 0 <= score <= 100:
        raise TypeError(f"a score of {score!r}; expected a whole number from 0 to 100")
    return score
