from dataclasses import replace
from datetime import datetime, timezone

import pytest
from maintenance_window import MaintenanceWindow

from plimsoll import Fits, SettingsError, Unresolvable, Verdict
from plimsoll.testing import Node, Pod, World, with_settings

WINDOW = "2026-12-01T22:00:00Z/2026-12-02T02:00:00Z"
IN_IT = Unresolvable("node is in maintenance")
BEFORE_IT = Unresolvable("node's maintenance begins before the pod is done")


def asked(at: str, windows: str = WINDOW, runtime: str | None = None) -> Verdict:
    """The verdict about a node with these windows, at a time of 2026-12-01 in UTC."""
    hour, minute = map(int, at.split(":"))
    world = World(
        pod=Pod("p", annotations={} if runtime is None else {"example.com/runtime-minutes": runtime}),
        nodes=[Node("n", annotations={"example.com/maintenance": windows})],
        now=datetime(2026, 12, 1, hour, minute, tzinfo=timezone.utc),
    )
    return world.filter(MaintenanceWindow(), "n")


def test_no_pod_is_placed_in_a_window_and_an_hour_before() -> None:
    assert asked("20:59") == Fits()
    assert asked("21:00") == Fits()
    assert asked("21:05") == BEFORE_IT
    assert asked("22:00") == IN_IT
    assert asked("23:59") == IN_IT


def test_a_node_is_free_again_once_its_window_is_over() -> None:
    assert asked("12:00", "2026-12-01T08:00:00Z/2026-12-01T12:00:00Z") == Fits()
    assert asked("11:59", "2026-12-01T08:00:00Z/2026-12-01T12:00:00Z") == IN_IT


def test_a_pod_that_says_how_long_it_runs_must_be_done_before() -> None:
    assert asked("18:00", runtime="240") == Fits()
    assert asked("18:00", runtime="241") == BEFORE_IT
    assert asked("21:30", runtime="5") == BEFORE_IT


def test_windows_have_any_time_zone_and_there_may_be_several() -> None:
    later = "2027-01-01T00:00:00+01:00/2027-01-01T01:00:00+01:00"
    assert asked("20:00", f"{later}, {WINDOW}") == Fits()
    assert asked("22:30", f"{later}, {WINDOW}") == IN_IT
    assert asked("20:30", "2026-12-01T22:00:00+01:00/2026-12-01T23:00:00+01:00") == BEFORE_IT


def test_a_node_without_windows_fits() -> None:
    world = World(nodes=[Node("n")])
    assert world.filter(MaintenanceWindow(), "n") == Fits()


NO_ZONE = "2026-12-01T22:00:00/2026-12-02T02:00:00"
REVERSED = "2026-12-02T02:00:00Z/2026-12-01T22:00:00Z"


@pytest.mark.parametrize("windows", ["", "tonight", "/", WINDOW + ",", WINDOW + "/1", NO_ZONE, REVERSED])
def test_windows_that_cannot_be_read_keep_pods_away(windows: str) -> None:
    assert asked("12:00", windows) == Unresolvable("the node's maintenance windows cannot be read")


@pytest.mark.parametrize("runtime", ["", "long", "-5", "1.5", "٣", "99999999"])
def test_a_runtime_that_is_no_number_is_refused(runtime: str) -> None:
    assert asked("12:00", runtime=runtime) == Unresolvable("the pod's runtime is no number of minutes")


def test_the_time_is_read_in_steps() -> None:
    policy = replace(MaintenanceWindow(), step=60)
    world = World(
        nodes=[Node("n", annotations={"example.com/maintenance": WINDOW})],
        now=datetime(2026, 12, 1, 21, 59, tzinfo=timezone.utc),
    )
    assert world.filter(policy, "n") == Fits()


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ('{"notice": -1}', "notice: expected 0 minutes or more, found -1"),
        ('{"step": 0}', "step: expected 1 to 60 minutes, found 0"),
        ('{"window": "a"}', "there is no field window; expected windows, runtime, notice, step"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: str, error: str) -> None:
    with pytest.raises(SettingsError, match=f"^{error}"):
        with_settings(MaintenanceWindow, settings)
