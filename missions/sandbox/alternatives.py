"""A report on Landlock as an alternative to bubblewrap: which escape attempts it would block. It is not used.

Why so: missions/DESIGN.md, The sandbox.
"""

import base64
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from . import landlock, seccomp
from .bwrap import PYTHON, SandboxLimits
from .probe import LONGEST, SandboxProbe, run_probe

NOBODY_UID = 64_210  # the same as the launcher's
# only a user namespace: escape attempts never run outside of one
APART = ("/usr/bin/unshare", "--user", "--map-user=1000", "--map-group=1000", "--")
NOT_OFFERED = "Landlock: not offered here. {why}"
NOT_USED_TEXT = "Landlock, which holds no command: kept in {kept} of {tried} attempts. Through came: {through}."


def landlock_report(told: dict[str, Any]) -> str:
    """The report as a sentence. `told` is passed to `probe.run_probe`."""
    if why := landlock.landlock_problem() or (
        "" if seccomp.available() else "The filter of calls is written for x86-64 alone."
    ):
        return NOT_OFFERED.format(why=why)
    found = probe_alternatives(told)
    if found.trouble:
        return f"Landlock could not be tried: {found.trouble}."
    kept = found.tried - len(found.through)
    return NOT_USED_TEXT.format(kept=kept, tried=found.tried, through=", ".join(found.through) or "none")


def probe_alternatives(told: dict[str, Any]) -> SandboxProbe:
    with tempfile.TemporaryDirectory(prefix="magi-landlock-") as folder:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY_UID, NOBODY_UID)
        return run_probe(lambda program: _said(folder, program), told)


def _said(folder: str, program: tuple[str, ...]) -> str:
    limits = SandboxLimits()
    of_each = {"FSIZE": limits.file, "DATA": limits.memory, "NOFILE": limits.descriptors, "CORE": 0}
    asked = {
        "folder": folder,
        "filter": base64.b64encode(seccomp.filter_bytes(seccomp.UNIX)).decode(),
        "limits": of_each | {"NPROC": limits.processes},
        "program": program,
    }
    source = Path(landlock.__file__).read_text()
    command = [*APART, PYTHON, "-I", "-S", "-c", source, json.dumps(asked)]
    other: dict[str, Any] = {"user": NOBODY_UID, "group": NOBODY_UID, "extra_groups": []} if os.geteuid() == 0 else {}
    own: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
        "env": {},
        "cwd": "/",
    }
    try:
        done = subprocess.run(command, timeout=LONGEST, check=False, start_new_session=True, **own, **other)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return bytes(done.stdout).decode(errors="replace")
