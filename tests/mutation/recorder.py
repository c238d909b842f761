"""Which functions of the product each test reaches: written down once, so that few tests are played for each fault.

In a copy of the tree every function says first that it was reached; as a plugin of pytest this keeps what each test has
reached, also in processes that it starts. Programs that run outside of the tree are not recorded, and of a server that
several tests share only what the first of them reaches.
"""

import ast
import json
import os
import time
from array import array
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import reached

PACKAGES = "magi_site engine judgements debates inquiries missions plans runs toolbox office".split()
IMPORT = """try:
    from tests.mutation.reached import reached as _reached
except ImportError:  # a program of its own
    _reached = id
"""


# ---- functions ----------------------------------------------------------------------------------------------


def functions(tree: ast.AST, outer: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Each with its name, as in Class.function; those within others after these."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{outer}{node.name}"
            if not isinstance(node, ast.ClassDef):
                yield name, node
            yield from functions(node, f"{name}.")
        else:
            yield from functions(node, outer)


def around(source: str, line: int) -> list[str]:
    """The functions around this line, the innermost first."""
    found = [name for name, node in functions(ast.parse(source)) if node.lineno <= line <= (node.end_lineno or 0)]
    return found[::-1]


def instrument(root: Path) -> list[str]:
    """Let every function of the product say that it was reached; their names, by their numbers."""
    names: list[str] = []
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            if "migrations" not in path.parts:
                names += _instrument(path, str(path.relative_to(root)), len(names))
    return names


def _instrument(path: Path, name: str, first: int) -> list[str]:
    tree = ast.parse(path.read_text())
    found = list(functions(tree))
    for number, (_, node) in enumerate(found, first):
        node.body.insert(_has_docstring(node), *ast.parse(f"_reached({number})").body)
    futures = [isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body]
    tree.body.insert(_has_docstring(tree) + sum(futures), *ast.parse(IMPORT).body)
    path.write_text(ast.unparse(tree))
    return [f"{name}::{function}" for function, _ in found]


def _has_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Module) -> bool:
    return ast.get_docstring(node, clean=False) is not None


# ---- the plugin ---------------------------------------------------------------------------------------------

_failed: set[str] = set()
_file = reached.FOLDER / str(os.getpid())


def pytest_configure(config: pytest.Config) -> None:
    reached.FOLDER.mkdir(parents=True, exist_ok=True)
    reached.plays_tests = True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _file.write_text(item.nodeid)
    reached.seen.clear()
    began = time.monotonic()
    result = yield
    seconds = round(time.monotonic() - began, 3)
    if item.nodeid not in _failed:
        with open(f"{_file}.tests", "a") as file:
            file.write(json.dumps({"test": item.nodeid, "seconds": seconds, "reached": list(reached.seen)}) + "\n")
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(report.nodeid)


# ---- the map ------------------------------------------------------------------------------------------------


def write_map(folder: Path, names: list[str], target: Path) -> int:
    """First the names of the functions, then a line for each test that passed; how many these are."""
    tests = [json.loads(line) for file in folder.glob("*.tests") for line in file.read_text().splitlines()]
    children: dict[str, set[int]] = defaultdict(set)
    for file in folder.glob("*.children"):
        for line in file.read_text().splitlines():
            number, _, test = line.partition("\t")
            children[test].add(int(number))
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w") as file:
        file.write(json.dumps({"functions": names}) + "\n")
        for one in tests:
            file.write(json.dumps(one | {"reached": sorted({*one["reached"], *children[one["test"]]})}) + "\n")
    return len(tests)


class Map:
    """Which tests reach a function, from a file that `write_map` has written."""

    def __init__(self, file: Path) -> None:
        lines = (json.loads(line) for line in file.open())
        self._names: list[str] = next(lines)["functions"]
        self._tests = [(one["test"], one["seconds"], array("I", one["reached"])) for one in lines]

    def reaching(self, path: str, around: list[str], most: int) -> list[str]:
        """The tests that reach the innermost of these functions, or else the module; the quickest first.

        Of more than may be played half are the quickest, and half those that reach little else.
        """
        numbers = {name: number for number, name in enumerate(self._names) if name.startswith(f"{path}::")}
        of_module = set(numbers.values())
        for wanted in [*({numbers[f"{path}::{name}"]} for name in around if f"{path}::{name}" in numbers), of_module]:
            if found := [one for one in self._tests if not wanted.isdisjoint(one[2])]:
                break
        found.sort(key=lambda one: one[1])
        if len(found) > most:
            half = most // 2
            rest = sorted(found[half:], key=lambda one: -len(of_module.intersection(one[2])) / len(one[2]))
            found = found[:half] + sorted(rest[: most - half], key=lambda one: one[1])
        return [test for test, _, _ in found]
