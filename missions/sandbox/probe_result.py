"""The stored result of the last probe of the sandbox on this machine, which is checked before any command.

It is valid for this boot, this user and the present source of the sandbox; any other needs a new probe.

Why so: missions/DESIGN.md, The sandbox.
"""

import json
import os
import time
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

PROBES = "probe-"  # prefix of the names of probes, which may run before there is a result
DAY = 24 * 3600.0  # seconds
NOT_PROBED_TEXT = "The sandbox was not yet tried on this machine. An engine does so within a minute of its start."


@dataclass(frozen=True)
class ProbeResult:
    holds: bool
    sentence: str
    at: float

    @property
    def due(self) -> bool:
        return not 0 <= time.time() - self.at < DAY


def last_result(home: Path) -> ProbeResult | None:
    """The result; None if there is none for this boot, or it is older than two days."""
    try:
        said = json.loads(_file(home).read_text())
        found = ProbeResult(bool(said["holds"]), str(said["sentence"]), float(said["at"]))
        return found if said["boot"] == _boot() and abs(time.time() - found.at) < 2 * DAY else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save_result(home: Path, holds: bool, sentence: str) -> ProbeResult:
    held = ProbeResult(holds, sentence, time.time())
    said = {"holds": holds, "sentence": sentence, "at": held.at, "boot": _boot()}
    temporary = _file(home).with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(said))
    temporary.rename(_file(home))
    return held


def refusal_text(home: Path, mission: str) -> str:
    """Why no command of this mission may start; empty if it may."""
    if mission.startswith(PROBES):
        return ""
    found = last_result(home)
    return NOT_PROBED_TEXT if found is None else "" if found.holds else found.sentence


def _file(home: Path) -> Path:
    return home / f"held-{os.geteuid()}-{_definition()}.json"


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@cache
def _definition() -> str:
    """A digest of the sources of the sandbox and of the attempts."""
    sources = (
        Path(__file__).parent / f"{name}.py"
        for name in ("escape_attempts", "bounds", "bwrap", "control_groups", "seccomp")
    )
    return sha256(b"".join(one.read_bytes() for one in sources)).hexdigest()[:12]
