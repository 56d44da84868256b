"""Amounts, written as in Kubernetes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_MOST = (1 << 63) - 1
_TEXT = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,9})", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {suffix: 1 << 10 * (at + 1) for at, suffix in enumerate(["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])}


@dataclass(frozen=True)
class Quantity:
    """An amount in a policy's settings: `512Mi`, `500m`, `"3"` or the bare number 64.

    Amounts of cpu on pods and nodes are in millicores: compare them with `millis`. All other amounts are in base units:
    compare them with `value`. A fraction of the unit is rounded up, and a number beyond 64 bits is cut, as Kubernetes does.
    """

    value: int
    millis: int

    @staticmethod
    def parse(text: str) -> Quantity:
        """Reads a quantity as the host does."""
        found = _TEXT.fullmatch(text)
        if found is None or not (found[2] or found[3]):
            raise ValueError(f"{text!r} is no quantity")
        sign, whole, fraction, suffix = found[1], found[2], found[3] or "", found[4]
        digits = Fraction(int(whole + fraction), 10 ** len(fraction))
        return Quantity(_scaled(sign, digits, suffix, 1), _scaled(sign, digits, suffix, 1000))


def _scaled(sign: str, number: Fraction, suffix: str, per_unit: int) -> int:
    exponent = 0
    if suffix in _BINARY:
        number *= _BINARY[suffix]
    else:
        exponent = int(suffix[1:]) if suffix[:1] in ("e", "E") and suffix != "E" else _DECIMAL[suffix]
    if number == 0:
        return 0
    # No number needs more: larger ones are cut, smaller ones rounded up to 1.
    exponent = max(min(exponent, 1000), -1000)
    number *= per_unit * Fraction(10) ** exponent
    rounded = min(-(-number.numerator // number.denominator), _MOST)
    return -rounded if sign == "-" else rounded
