"""Named places at which a test can make this process fail: `MAGI_TEST_FAULT=POINT=ACTION@N`, never set in production.

ACTION is `exit` (as kill -9 would), `raise`, or `pause:SECONDS` (the whole process stands still); N says at which
passing. At a point after a commit, `raise` is a commit that happened although its answer was an error.
"""

import os
import signal
import subprocess
from collections import Counter

from django.db import OperationalError

POINTS = (
    "before-claim-commit",
    "after-claim-commit",
    "before-open-commit",
    "after-open-commit",
    "after-call",
    "before-decision-commit",
    "after-decision-commit",
    "before-outcome-commit",
    "after-outcome-commit",
)
POINTS_OF_WAITS = ("before-park-commit", "after-park-commit", "before-rest-commit", "after-rest-commit")
POINTS_OF_GATES = ("before-gate-commit", "after-gate-commit", "before-expiry-commit", "after-expiry-commit")
POINTS_OF_TOOLS = (
    "before-tool-open-commit",
    "after-tool-open-commit",
    "before-tool-done-commit",
    "after-tool-done-commit",
)
POINTS_OF_CHILDREN = ("before-child-commit", "after-child-commit")
ALL_POINTS = (*POINTS, *POINTS_OF_WAITS, *POINTS_OF_GATES, *POINTS_OF_TOOLS, *POINTS_OF_CHILDREN)

_armed: tuple[str, str, int] | None = None
_passed: Counter[str] = Counter()


def arm_fault(fault: str) -> None:
    """Arm the fault; an empty text disarms. ValueError for what is no fault."""
    global _armed
    _passed.clear()
    if not fault:
        _armed = None
        return
    point, _, rest = fault.partition("=")
    action, _, number = rest.partition("@")
    if point not in ALL_POINTS or action.partition(":")[0] not in ("exit", "raise", "pause"):
        raise ValueError(f"no such fault: {fault}")
    _armed = point, action, int(number or 1)


def fault_point(point: str) -> None:
    """Nothing, unless a test armed this point and it is passed for the N-th time."""
    if _armed is None or _armed[0] != point:
        return
    _passed[point] += 1
    if _passed[point] == _armed[2]:
        _act(*_armed[1].split(":"))


def _act(action: str, seconds: str = "0") -> None:
    if action == "exit":
        os._exit(137)
    if action == "raise":
        raise OperationalError("a test made this fail")
    # somebody outside must wake a process that stands still
    waker = f"sleep {float(seconds)}; kill -CONT {os.getpid()}"
    subprocess.Popen(["/bin/sh", "-c", waker], start_new_session=True)  # noqa: S603 - two numbers of ours
    os.kill(os.getpid(), signal.SIGSTOP)


arm_fault(os.environ.get("MAGI_TEST_FAULT", ""))
