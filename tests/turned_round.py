"""Each comparison of a plan's rules is turned round, one after the other, and the tests of the rules have to notice.

    python -m tests.turned_round

Nothing of this touches a file: a child process gives the functions their other code before it plays the tests. Exit
status 0 if each one was noticed.
"""

import ast
import contextlib
import importlib
import io
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

import django
import pytest

MODULES = ("course", "decided", "demands", "subjects", "asking")
TESTS = ("tests/plans/test_course.py", "tests/plans/test_subjects.py", "tests/plans/test_asked_of.py")
NOTICED = 77  # exit status of a child
TURNED: dict[type, type] = {
    ast.Eq: ast.NotEq,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.Is: ast.IsNot,
}
TURNED |= {after: before for before, after in TURNED.items()}


def turned(tree: ast.Module) -> Iterator[ast.Compare]:
    """Each comparison, while it is turned round."""
    for node in [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]:
        before = node.ops[0]
        node.ops[0] = TURNED[type(before)]()
        yield node
        node.ops[0] = before


def functions(code: types.CodeType) -> Iterator[types.CodeType]:
    """Those of a module, and of its classes."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from functions(constant)


def put(module: Any, code: types.CodeType) -> None:
    made = {one.co_qualname: one for one in functions(code)}
    for holder in (module, *(one for one in vars(module).values() if isinstance(one, type))):
        for value in list(vars(holder).values()):
            function = getattr(value, "__wrapped__", getattr(value, "fget", getattr(value, "__func__", value)))
            if isinstance(function, types.FunctionType) and function.__code__.co_filename == module.__file__:
                function.__code__ = made[function.__qualname__]


def is_noticed(module: Any, code: types.CodeType) -> bool:
    child = os.fork()
    if not child:
        put(module, code)
        with contextlib.redirect_stdout(io.StringIO()):
            failed = pytest.main(["-q", "-x", "-p", "no:cacheprovider", *TESTS])
        os._exit(NOTICED if failed == pytest.ExitCode.TESTS_FAILED else failed)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == NOTICED


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    number, unnoticed = 0, []
    for name in MODULES:
        module = importlib.import_module(f"plans.rules.{name}")
        source = str(module.__file__)
        with open(source, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in turned(tree):
            number += 1
            if not is_noticed(module, compile(tree, source, "exec")):
                unnoticed.append(f"{name}, line {node.lineno}: {ast.unparse(node)}")
                print("not noticed:", unnoticed[-1], flush=True)
    print(f"{number} comparisons, {len(unnoticed)} not noticed")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
