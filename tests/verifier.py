"""The programs that auditors run, `tools/verify.py` and its like, without a process for each of many cases."""

import contextlib
import io
import sys
from functools import cache
from pathlib import Path
from types import CodeType

import pytest

VERIFIER = Path(__file__).parents[1] / "tools" / "verify.py"


@cache
def _code(program: Path) -> CodeType:
    return compile(program.read_bytes(), str(program), "exec")


def run_here(*words: object, program: Path = VERIFIER) -> tuple[int, str, str]:
    """The whole program with nothing left of an earlier run: its exit status, and what it says and complains."""
    said, complained = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(complained),
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr(sys, "argv", [str(program), *map(str, words)])
        try:
            exec(_code(program), {"__name__": "__main__"})
        except SystemExit as left:
            return int(left.code or 0), said.getvalue(), complained.getvalue()
    raise AssertionError("it ends with an exit status")
