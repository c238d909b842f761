"""Whether commands can be held here, and whether the sandbox keeps in what would get out: tried before the first
command, every day, and by the doctor. Until it holds, no command begins.

Why so: docs/decisions.md, The sandbox.
"""

import asyncio
import fcntl
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings

from engine.doctor import DoctorFinding

from . import workspace
from .sandbox import probe_result as held
from .sandbox.alternatives import landlock_report
from .sandbox.bounds import BOUNDS, SandboxBound
from .sandbox.probe import LONGEST, fake_secrets, run_probe
from .sandbox.probe_result import PROBES, ProbeResult
from .terminals.drawn import text_of_command
from .terminals.launcher import LaunchRefused
from .terminals.output_spool import OutputSpool

BY_GROUP = "The memory of a command's processes together is bounded by the kernel, in a control group."
BY_SUM = (
    "The memory of a command's processes together is added up while it runs, and a command above its limit is ended: "
    "no control group can be made here."
)
SOURCE_FOLDER = Path(__file__).resolve().parent.parent


def probe_result(*, tries: bool) -> tuple[bool, str]:
    """Whether it holds, and a sentence."""
    if not tries:
        lacking = workspace.missing_programs()
        return not lacking, lacking or "Commands can be held here. --probe tries what a hostile program would."
    found = run_sandbox_probe()
    return found.holds, found.sentence


def run_startup_probe() -> str:
    """What the other level would hold here, in a sentence."""
    with fake_secrets(_database(), SOURCE_FOLDER) as told:
        return landlock_report(told)


def ensure_probed() -> None:
    """Try it where that was not done since the machine came up. Refused where it does not hold."""
    found = held.last_result(workspace.missions_folder()) or run_sandbox_probe(only_if_due=True)
    if not found.holds:
        raise LaunchRefused(found.sentence)


def probe_metric() -> tuple[str, str, list[str], list[tuple[tuple[str, ...], int]]]:
    """For `runs.metrics`: what was found when it was tried last on this machine."""
    found = held.last_result(workspace.missions_folder())
    holds = bool(found and found.holds and not workspace.missing_programs())
    return "magi_sandbox_holds", "1 where commands of missions are held here.", [], [((), int(holds))]


def probe_daily() -> bool:
    """A chore."""
    if not workspace.containment_problem():
        run_sandbox_probe(only_if_due=True)
    return False


def run_sandbox_probe(*, only_if_due: bool = False) -> ProbeResult:
    """What comes of it, kept for whoever begins commands."""
    if lacking := workspace.containment_problem():
        return ProbeResult(False, lacking, time.time())
    with _alone():
        before = held.last_result(workspace.missions_folder())
        if before and only_if_due and not before.due:
            return before
        return held.save_result(workspace.missions_folder(), *_try())


@contextmanager
def _alone() -> Iterator[None]:
    """One at a time on this machine."""
    workspace.missions_folder().mkdir(parents=True, exist_ok=True)
    with open(workspace.missions_folder() / "held.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _try() -> tuple[bool, str]:
    mission = f"{PROBES}{uuid4().hex[:8]}"
    try:
        with fake_secrets(_database(), SOURCE_FOLDER) as told:
            found = run_probe(lambda program: text_of_command(_run(mission, "probe", program)), told)
        if not found.holds:
            return False, str(found)
        ends = {bound: _end(mission, bound) for bound in BOUNDS}
    except LaunchRefused as refused:
        return False, str(refused)
    finally:
        shutil.rmtree(workspace.mission_folder(mission), ignore_errors=True)
    if unbounded := [bound.name for bound, end in ends.items() if end.get("reason") != bound.reason]:
        return False, f"{found} Nothing ended a command that passed its limit of the {' and the '.join(unbounded)}."
    return True, f"{found} {BY_GROUP if ends[BOUNDS[0]]['grouped'] else BY_SUM}"


def _end(mission: str, bound: SandboxBound) -> dict[str, Any]:
    return _run(mission, f"bound-{BOUNDS.index(bound)}", bound.program, bound.limits).end or {}


def _database() -> Path:
    """A file of the record that nobody inside may read; with a server of its own, the folder of the keys."""
    name = settings.DATABASES["default"]["NAME"]
    return (
        Path(name) if "sqlite" in settings.DATABASES["default"]["ENGINE"] else Path(settings.ENVIRONMENT.MAGI_DATA_DIR)
    )


def _run(mission: str, name: str, program: tuple[str, ...], limits: Mapping[str, int] | None = None) -> OutputSpool:
    workspace.start_command(mission, name, program, ".", "", (), **{"seconds": int(LONGEST), **(limits or {})})
    spool = workspace.spool(mission, name)
    until = time.monotonic() + LONGEST + 20
    while spool.end is None and time.monotonic() < until:
        time.sleep(0.05)
    return spool


async def check_sandbox() -> DoctorFinding | None:
    """Where it cannot even be made that is no fault: nothing but missions needs it."""
    if lacking := workspace.containment_problem():
        return DoctorFinding("sandbox", True, f"No mission can run commands here: {lacking}")
    found = await asyncio.to_thread(run_sandbox_probe)
    return DoctorFinding("sandbox", found.holds, found.sentence)
