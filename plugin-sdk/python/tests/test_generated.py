"""The generated reads follow from the contract."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
sys.path.insert(0, str(HERE))

import generate  # noqa: E402


@pytest.mark.skipif(generate.tool() is None, reason="componentize-py is not installed")
def test_the_reads_are_those_of_the_contract() -> None:
    assert (HERE / "plimsoll" / "_door.py").read_text() == generate.text(), "run python generate.py"
