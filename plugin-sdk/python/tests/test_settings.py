"""Settings: what is wrong is named, with its field."""

from dataclasses import dataclass, field, make_dataclass
from typing import Any, Literal, Optional

import pytest

from plimsoll import Quantity, SettingsError
from plimsoll.settings import check_types, decode


@dataclass
class Pool:
    name: str
    share: float = 0.5


@dataclass
class Settings:
    label: str
    limit: int = 3
    strict: bool = False
    memory: Quantity = Quantity.parse("1Gi")
    mode: Literal["soft", "hard"] = "soft"
    pools: list[Pool] = field(default_factory=list)
    weights: dict[str, int] = field(default_factory=dict)
    zone: Optional[str] = None
    limits: dict[int, str] = field(default_factory=dict)
    window: tuple[str, int] = ("a", 1)
    range: tuple[int, ...] = ()


def test_settings_are_read_into_their_fields() -> None:
    text = """{"label": "a", "limit": 4, "strict": true, "memory": "512Mi", "mode": "hard",
               "pools": [{"name": "p", "share": 1}], "weights": {"x": 2}, "zone": null}"""
    own = decode(Settings, text)
    assert own == Settings("a", 4, True, Quantity.parse("512Mi"), "hard", [Pool("p", 1.0)], {"x": 2}, None)
    assert decode(Settings, '{"label": "a"}') == Settings("a")


def test_keys_and_the_elements_of_a_tuple_have_their_types() -> None:
    text = '{"label": "a", "limits": {"5": "x", "-1": "y"}, "window": ["b", 2], "range": [1, 2, 3]}'
    own = decode(Settings, text)
    assert (own.limits, own.window, own.range) == ({5: "x", -1: "y"}, ("b", 2), (1, 2, 3))


@pytest.mark.parametrize(
    ("of", "error"),
    [
        (dict[float, str], "a: the keys of a dict in settings are str or int, not float"),
        (dict[tuple[str, int], str], r"a: the keys of a dict in settings are str or int, not tuple\[str, int\]"),
        (list[dict[bool, str]], "a: the keys of a dict in settings are str or int, not bool"),
        (dict, "a: a setting cannot have the type dict"),
        (complex, "a: a setting cannot have the type complex"),
        (Optional[list[bytes]], "a: a setting cannot have the type bytes"),
    ],
)
def test_a_type_that_no_settings_have_is_refused_before_any_are_read(of: Any, error: str) -> None:
    with pytest.raises(TypeError, match=f"^{error}$"):
        check_types(make_dataclass("Policy", [("a", of)]))


def test_the_types_of_settings_are_those_of_the_page() -> None:
    check_types(Settings)
    check_types(make_dataclass("Policy", [("a", Any), ("b", tuple[()]), ("c", dict[str, set[Pool]]), ("d", "int | None")]))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("null", "the field label is missing"),
        ("[]", "the settings: expected an object, found a list"),
        ('{"label": 3}', "label: expected a string, found a number"),
        ('{"label": "a", "limit": true}', "limit: expected a whole number, found true or false"),
        ('{"label": "a", "limit": 1.5}', "limit: expected a whole number, found a number"),
        ('{"label": "a", "strict": "yes"}', "strict: expected true or false, found a string"),
        ('{"label": "a", "memory": "much"}', "memory: expected a quantity such as 512Mi, found a string"),
        ('{"label": "a", "mode": "mild"}', "mode: expected one of soft, hard, found 'mild'"),
        ('{"label": "a", "pools": {}}', "pools: expected a list, found an object"),
        ('{"label": "a", "pools": [{"name": 3}]}', r"pools\[0\].name: expected a string, found a number"),
        ('{"label": "a", "pools": [{"nam": "p"}]}', r"there is no field pools\[0\].nam; expected pools\[0\].name"),
        ('{"label": "a", "weights": {"x": "2"}}', "weights.x: expected a whole number, found a string"),
        ('{"label": "a", "limits": {"05": "x"}}', "limits: expected keys that are whole numbers, found '05'"),
        ('{"label": "a", "limits": {"x": "y"}}', "limits: expected keys that are whole numbers, found 'x'"),
        ('{"label": "a", "window": ["a", "b"]}', r"window\[1\]: expected a whole number, found a string"),
        ('{"label": "a", "window": ["a", 1, 2]}', "window: expected a list of 2, found one of 3"),
        ('{"label": "a", "range": [1, "2"]}', r"range\[1\]: expected a whole number, found a string"),
        ('{"lable": "a"}', "there is no field lable; expected label, limit, strict"),
    ],
)
def test_what_is_wrong_is_named_with_its_field(text: str, error: str) -> None:
    with pytest.raises(SettingsError, match=f"^{error}"):
        decode(Settings, text)


@pytest.mark.parametrize(
    ("text", "value", "millis"),
    [
        ("500m", 1, 500),
        ("1.5Gi", 3 << 29, 3000 << 29),
        ("3", 3, 3000),
        ("1e3", 1000, 1_000_000),
        ("2E", 2 * 10**18, (1 << 63) - 1),
        ("1n", 1, 1),
        ("-1500m", -2, -1500),
        ("9e99999", (1 << 63) - 1, (1 << 63) - 1),
        ("0e99999", 0, 0),
    ],
)
def test_quantities_are_read_as_kubernetes_does(text: str, value: int, millis: int) -> None:
    assert Quantity.parse(text) == Quantity(value, millis)


@pytest.mark.parametrize("text", ["", ".", "1 Gi", "1gi", "Gi", "1.2.3", "e3", "1e", "٣"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity"):
        Quantity.parse(text)
