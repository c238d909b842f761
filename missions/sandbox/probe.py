"""A probe of the sandbox: the escape attempts, run against a stand-in for the engine that has a secret and listens.

Why so: missions/DESIGN.md, The sandbox.
"""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import escape_attempts

PYTHON = "/usr/bin/python3"  # path inside the sandbox
LONGEST = 60.0  # seconds

Run = Callable[[tuple[str, ...]], str]
"""Runs a program in the sandbox and returns its output."""


@dataclass(frozen=True)
class SandboxProbe:
    """The number of attempts and the names of those that escaped; `trouble` if the probe could not run."""

    tried: int
    through: tuple[str, ...]
    trouble: str = ""

    @property
    def holds(self) -> bool:
        return not self.trouble and not self.through and self.tried == len(escape_attempts.ATTEMPTS)

    def __str__(self) -> str:
        if self.trouble:
            return f"The sandbox could not be tried: {self.trouble}"
        if self.through:
            return f"{len(self.through)} of {self.tried} attempts got out of the sandbox: {', '.join(self.through)}."
        return f"The sandbox kept in {self.tried} of {len(escape_attempts.ATTEMPTS)} attempts."


def run_probe(run: Run, told: dict[str, Any]) -> SandboxProbe:
    """Run all attempts. `told` comes from `fake_secrets`."""
    source = Path(escape_attempts.__file__).read_text()
    lines = run((PYTHON, "-I", "-S", "-c", source, json.dumps(told))).splitlines()
    found = [
        json.loads(line[line.index("{") :]) for line in lines if line.endswith("}")
    ]  # one attempt types into the terminal
    if len(found) < len(escape_attempts.ATTEMPTS):
        return SandboxProbe(len(found), (), f"it said {' '.join(lines[-3:]) or 'nothing'}")
    return SandboxProbe(len(found), tuple(one["attempt"] for one in found if not one["kept"]))


STAND_IN = """
import socket, sys, time
loopback = socket.create_server(("127.0.0.1", 0))
abstract, path = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
abstract.bind("\\0" + sys.argv[1]); abstract.listen(); path.bind(sys.argv[2]); path.listen()
print(loopback.getsockname()[1], flush=True)
time.sleep(float(sys.argv[3]))
"""


@contextlib.contextmanager
def fake_secrets(database: Path, checkout: Path) -> Iterator[dict[str, Any]]:
    """Start a process with a secret that listens on loopback and two Unix sockets; yield what the attempts look for."""
    secret, marker = secrets.token_hex(16), secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="magi-probe-") as folder:
        os.chmod(folder, 0o755)  # noqa: S103 - the sandbox must keep them out, not the mode
        outside, address = Path(folder, "outside"), Path(folder, "sock")
        outside.write_text(secret)
        command = [sys.executable, "-I", "-S", "-c", STAND_IN, f"magi-{marker}", str(address), str(LONGEST * 2)]
        with subprocess.Popen(command, env={"MAGI_SECRET": secret}, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
            try:
                port = int(process.stdout.readline()) if process.stdout else 0
                os.chmod(address, 0o777)  # noqa: S103
                yield {
                    "port": port,
                    "pid": process.pid,
                    "secret": secret,
                    "backwards": marker[::-1],
                    "abstract": f"magi-{marker}",
                    "socket": str(address),
                    "outside": str(outside),
                    "database": str(database),
                    "checkout": str(checkout),
                }
            finally:
                process.kill()


def is_reachable_outside(told: dict[str, Any]) -> bool:
    """Whether the stand-in can be reached from outside the sandbox; otherwise the probe would prove nothing."""
    with socket.create_connection(("127.0.0.1", told["port"]), timeout=5), open(told["outside"]) as file:
        return file.read() == told["secret"]
