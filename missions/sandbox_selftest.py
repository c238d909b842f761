"""The self-test of the sandbox: before the first command, once a day, and by the doctor.

No command starts before the sandbox has passed.

Why so: missions/DESIGN.md, The sandbox.
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
    """Whether commands can be sandboxed, and a sentence. `tries`: run the probe, otherwise only look for programs."""
    if not tries:
        lacking = workspace.missing_programs()
        return not lacking, lacking or "Commands can be held here. --probe tries what a hostile program would."
    found = run_sandbox_probe()
    return found.holds, found.sentence


def report_landlock() -> str:
    """A sentence that says what Landlock would contain on this machine."""
    with fake_secrets(_database(), SOURCE_FOLDER) as told:
        return landlock_report(told)


def ensure_probed() -> None:
    """Probe the sandbox unless there is a result of this boot. Raises LaunchRefused if it failed."""
    found = held.last_result(workspace.missions_folder()) or run_sandbox_probe(only_if_due=True)
    if not found.holds:
        raise LaunchRefused(found.sentence)


def probe_metric() -> tuple[str, str, list[str], list[tuple[tuple[str, ...], int]]]:
    """The gauge for `runs.metrics`: the last result on this machine."""
    found = held.last_result(workspace.missions_folder())
    holds = bool(found and found.holds and not workspace.missing_programs())
    return "magi_sandbox_holds", "1 where commands of missions are held here.", [], [((), int(holds))]


def probe_daily() -> bool:
    """Probe the sandbox if the last result is a day old. Returns False, as a chore without more to do."""
    if not workspace.containment_problem():
        run_sandbox_probe(only_if_due=True)
    return False


def run_sandbox_probe(*, only_if_due: bool = False) -> ProbeResult:
    """Probe the sandbox and store the result. `only_if_due`: return a result of less than a day instead."""
    if lacking := workspace.containment_problem():
        return ProbeResult(False, lacking, time.time())
    with _alone():
        before = held.last_result(workspace.missions_folder())
        if before and only_if_due and not before.due:
            return before
        return held.save_result(workspace.missions_folder(), *_try())


@contextmanager
def _alone() -> Iterator[None]:
    """Only one probe at a time on this machine."""
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
    """A path that must not be readable inside: the SQLite file, or with PostgreSQL the folder of keys."""
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
    """The finding for the doctor. A machine without the sandbox is no fault: only missions need it."""
    if lacking := workspace.containment_problem():
        return DoctorFinding("sandbox", True, f"No mission can run commands here: {lacking}")
    found = await asyncio.to_thread(run_sandbox_probe)
    return DoctorFinding("sandbox", found.holds, found.sentence)
