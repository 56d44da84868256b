"""Keeps pods off nodes whose maintenance begins before the pods are done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Optional

from plimsoll import Fits, Node, Pod, Policy, SettingsError, Unresolvable, Verdict

Window = tuple[datetime, datetime]


@dataclass
class MaintenanceWindow(Policy):
    #: The annotation of a node with its windows: `2026-12-01T22:00:00Z/2026-12-02T02:00:00Z`, more of them after commas.
    windows: str = "example.com/maintenance"
    #: The annotation of a pod with the minutes that it runs.
    runtime: str = "example.com/runtime-minutes"
    #: The minutes before a window in which no pod is placed, however soon it is done.
    notice: int = 60
    #: Minutes to whose multiple the time is rounded down: answers stay cached meanwhile.
    step: int = 5

    def validate(self) -> None:
        if self.notice < 0:
            raise SettingsError(f"notice: expected 0 minutes or more, found {self.notice}")
        if not 1 <= self.step <= 60:
            raise SettingsError(f"step: expected 1 to 60 minutes, found {self.step}")

    def filter(self, pod: Pod, node: Node) -> Verdict:
        text = node.annotation(self.windows)
        if text is None:
            # The time is not read, so the answer stays cached while the node has no windows.
            return Fits()
        try:
            windows = [window(part) for part in text.split(",")]
        except ValueError:
            return Unresolvable("the node's maintenance windows cannot be read")
        try:
            runtime = minutes(pod.annotation(self.runtime))
        except ValueError:
            return Unresolvable("the pod's runtime is no number of minutes")
        now = pod.now(timedelta(minutes=self.step))
        busy_until = now + max(timedelta(minutes=self.notice), runtime)
        for begin, end in windows:
            if begin <= now < end:
                return Unresolvable("node is in maintenance")
            if now < begin < busy_until:
                return Unresolvable("node's maintenance begins before the pod is done")
        return Fits()


def window(text: str) -> Window:
    """One window, as an interval of ISO 8601. Raises `ValueError` if it is none, or does not name its time zone."""
    begin, end = (moment(part) for part in text.strip().split("/"))
    if begin >= end:
        raise ValueError(f"{text!r} ends before it begins")
    return begin, end


def moment(text: str) -> datetime:
    # Before Python 3.11 fromisoformat does not know the Z.
    at = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    if at.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return at


def minutes(text: Optional[str]) -> timedelta:
    """A number of minutes, of at most seven digits; 0 without one. Raises `ValueError` for any other text."""
    if text is None:
        return timedelta(0)
    if not (text.isascii() and text.isdecimal() and len(text) <= 7):
        raise ValueError(f"{text!r} is no number of minutes")
    return timedelta(minutes=int(text))
