"""Reads settings from JSON into a dataclass."""

from __future__ import annotations

import dataclasses
import json
import re
import types
from typing import Any, Sequence, TypeVar, Union, get_args, get_origin, get_type_hints

from .quantity import Quantity
from .types import SettingsError

T = TypeVar("T")


def decode(policy: type[T], text: str) -> T:
    """A policy with the settings of a JSON text. What the text does not name has the default of its field."""
    value = json.loads(text)
    decoded: T = _object(policy, {} if value is None else value, "")
    validate = getattr(decoded, "validate", None)
    if validate is not None:
        validate()
    return decoded


def check_types(policy: type) -> None:
    """Refuses a policy with a field that no settings can fill; `python -m plimsoll build` and `with_settings` call it.

    Raises `TypeError`, which names the field.
    """
    _check_fields(policy, "", ())


def _check_fields(of: Any, path: str, above: tuple[Any, ...]) -> None:
    if of in above or not dataclasses.is_dataclass(of):
        return
    hints = get_type_hints(of)
    for field in dataclasses.fields(of):
        if field.init:
            _check_type(hints[field.name], path + field.name, (*above, of))


def _check_type(of: Any, path: str, above: tuple[Any, ...]) -> None:
    origin, arguments = get_origin(of), get_args(of)
    if origin is dict and arguments:
        if arguments[0] not in (str, int):
            raise TypeError(f"{path}: the keys of a dict in settings are str or int, not {_shown(arguments[0])}")
        _check_type(arguments[1], path, above)
    elif origin in (Union, types.UnionType) or origin in _LISTS and (arguments or of == tuple[()]):
        for own in arguments:
            if own not in (..., type(None)):
                _check_type(own, path, above)
    elif dataclasses.is_dataclass(of) and of is not Quantity:
        _check_fields(of, f"{path}.", above)
    elif of not in (Any, Quantity, *_KINDS) and getattr(origin, "__name__", "") != "Literal":
        raise TypeError(f"{path}: a setting cannot have the type {_shown(of)}")


def _shown(of: Any) -> str:
    return of.__name__ if isinstance(of, type) and not get_args(of) else str(of)


def _object(of: Any, value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        raise _wrong(path, "an object", value)
    own = dataclasses.fields(of) if dataclasses.is_dataclass(of) else ()
    hints, fields = get_type_hints(of), {field.name: field for field in own if field.init}
    for key in value:
        if key not in fields:
            expected = ", ".join(path + name for name in fields) or "none"
            raise SettingsError(f"there is no field {path}{key}; expected {expected}")
    for name, field in fields.items():
        has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if name not in value and not has_default:
            raise SettingsError(f"the field {path}{name} is missing")
    make: Any = of
    return make(**{key: _value(hints[key], own, path + key) for key, own in value.items()})


def _value(of: Any, value: Any, path: str) -> Any:
    origin, arguments = get_origin(of), get_args(of)
    if of is Any:
        return value
    if origin in (Union, types.UnionType):
        return _union(arguments, value, path)
    if origin is not None and origin.__name__ == "Literal":
        if value not in arguments:
            raise SettingsError(f"{path}: expected one of {', '.join(map(str, arguments))}, found {value!r}")
        return value
    if origin in _LISTS:
        return origin(_items(origin, arguments, value, path))
    if origin is dict:
        if not isinstance(value, dict):
            raise _wrong(path, "an object", value)
        return {_key(arguments[0], key, path): _value(arguments[1], own, f"{path}.{key}") for key, own in value.items()}
    if of is Quantity:
        return _quantity(value, path)
    if dataclasses.is_dataclass(of):
        return _object(of, value, f"{path}.")
    return _plain(of, value, path)


def _items(origin: Any, arguments: tuple[Any, ...], value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(path, "a list", value)
    if origin is tuple and arguments[-1:] != (...,):
        if len(value) != len(arguments):
            raise SettingsError(f"{path}: expected a list of {len(arguments)}, found one of {len(value)}")
        types_of_items: Sequence[Any] = arguments
    else:
        types_of_items = [arguments[0]] * len(value)
    return [_value(of, own, f"{path}[{at}]") for at, (of, own) in enumerate(zip(types_of_items, value))]


def _key(of: Any, key: str, path: str) -> Any:
    """A key of a mapping. JSON has only texts as keys, so a number is read from its text, in one form alone."""
    if of is int:
        if not _WHOLE.fullmatch(key):
            raise SettingsError(f"{path}: expected keys that are whole numbers, found {key!r}")
        return int(key)
    return key


def _union(arguments: tuple[Any, ...], value: Any, path: str) -> Any:
    others = [own for own in arguments if own is not type(None)]
    if value is None and len(others) < len(arguments):
        return None
    if len(others) == 1:
        return _value(others[0], value, path)
    for own in others:
        try:
            return _value(own, value, path)
        except SettingsError:
            continue
    raise _wrong(path, " or ".join(_KINDS.get(own, str(own)) for own in others), value)


def _quantity(value: Any, path: str) -> Quantity:
    try:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise ValueError
        return Quantity.parse(str(value))
    except ValueError:
        raise _wrong(path, "a quantity such as 512Mi", value) from None


_LISTS = (list, tuple, set, frozenset)
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_KINDS: dict[Any, str] = {bool: "true or false", str: "a string", int: "a whole number", float: "a number"}


def _plain(of: Any, value: Any, path: str) -> Any:
    if of not in _KINDS:
        raise TypeError(f"{path}: a setting cannot have the type {_shown(of)}")
    is_bool = isinstance(value, bool)
    if of is float and isinstance(value, int) and not is_bool:
        return float(value)
    if not isinstance(value, of) or is_bool and of is not bool:
        raise _wrong(path, _KINDS[of], value)
    return value


def _wrong(path: str, expected: str, value: Any) -> SettingsError:
    if isinstance(value, bool):
        found = "true or false"
    elif isinstance(value, (int, float)):
        found = "a number"
    else:
        kinds: dict[Any, str] = {str: "a string", list: "a list", dict: "an object"}
        found = kinds.get(type(value), "null")
    return SettingsError(f"{path.rstrip('.') or 'the settings'}: expected {expected}, found {found}")
