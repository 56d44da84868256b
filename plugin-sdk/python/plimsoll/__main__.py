"""`python -m plimsoll build policy.py -o policy.wasm`: makes a module of a policy, with componentize-py."""

from __future__ import annotations

import argparse
import importlib
import inspect
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .policy import Policy, verbs_of
from .settings import check_types

_WIT = Path(__file__).parent / "policy.wit"
#: The verb's interface in the contract, where it has another name.
_INTERFACES = {"bind": "binding"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m plimsoll", description="Builds policies for plimsoll.")
    build = parser.add_subparsers(required=True).add_parser("build", help="make a module (.wasm) of a policy")
    build.add_argument("source", type=Path, help="the Python file with the policy: the one subclass of Policy in it")
    build.add_argument("-o", "--output", type=Path, help="the module; without it beside the source")
    build.add_argument("--stub-wasi", action="store_true", help="leave out WASI: what the policy prints is lost")
    arguments = parser.parse_args()
    try:
        build_module(arguments.source, arguments.output, arguments.stub_wasi)
    except (BuildError, subprocess.CalledProcessError) as error:
        sys.exit(f"plimsoll build: {error}")


class BuildError(Exception):
    """Why there is no module."""


def build_module(source: Path, output: Path | None, stub_wasi: bool = False) -> None:
    """Builds the policy of a Python file."""
    beside = Path(sys.executable).parent
    tool = shutil.which("componentize-py", path=beside) or shutil.which("componentize-py")
    if tool is None:
        raise BuildError("componentize-py is missing: pip install 'componentize-py==0.25.1'")
    policy = find(source)
    verbs = verbs_of(policy)
    if not verbs:
        raise BuildError(f"{policy.__name__} in {source} has no verb: define filter, score, rank, preempt or bind")
    try:
        check_types(policy)
    except TypeError as error:
        raise BuildError(f"{policy.__name__} in {source}: {error}") from None
    output = output or source.with_name(source.stem.replace("_", "-") + ".wasm")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "wit").mkdir()
        (folder / "wit" / "policy.wit").write_text(_WIT.read_text() + world(verbs))
        (folder / "plimsoll_app.py").write_text(app(source.stem, policy.__name__, verbs))
        paths = [folder, source.resolve().parent, Path(__file__).resolve().parents[1]]
        command = [tool, "-q", "-d", str(folder / "wit"), "-w", "built", "componentize", "plimsoll_app"]
        command += [argument for path in paths for argument in ("-p", str(path))]
        command += ["-o", str(output.resolve()), *(["--stub-wasi"] if stub_wasi else [])]
        subprocess.run(command, check=True)


def find(source: Path) -> type[Policy]:
    """The policy of a Python file."""
    if not source.is_file() or source.suffix != ".py":
        raise BuildError(f"{source} is no Python file")
    if not source.stem.isidentifier():
        raise BuildError(f"{source}: Python cannot import a file of this name; use letters, digits and _")
    sys.path.insert(0, str(source.resolve().parent))
    module = importlib.import_module(source.stem)
    classes = [item for _, item in inspect.getmembers(module, inspect.isclass) if item.__module__ == source.stem]
    policies: list[type[Policy]] = [item for item in classes if issubclass(item, Policy)]
    if len(policies) != 1:
        raise BuildError(f"{source} has {len(policies)} subclasses of Policy; a module has one")
    return policies[0]


def world(verbs: list[str]) -> str:
    """The world of a policy with these verbs."""
    exports = " ".join(f"export {_INTERFACES.get(verb, verb)};" for verb in ["validate", *verbs])
    return f"\nworld built {{ include imports; {exports} }}\n"


def app(module: str, policy: str, verbs: list[str]) -> str:
    """The module that componentize-py exports: a class for each interface."""
    lines = [
        "from plimsoll._guest import Guest",
        f"from {module} import {policy}",
        f"_guest = Guest({policy})",
    ]
    for verb in ["validate", *verbs]:
        arguments = {"validate": "", "rank": "", "preempt": ", candidate"}.get(verb, ", node")
        lines += [
            f"class {_INTERFACES.get(verb, verb).capitalize()}:",
            f"    def {verb}(self{arguments}):",
            f"        return _guest.{verb}({arguments[2:]})",
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
