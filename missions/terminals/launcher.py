"""Begins commands: makes a keeper for each, and holds nothing. To kill it loses nothing.

It may be another user than the engine; as root it becomes one without rights for every command. Whoever may speak to it
is known by their user, not by what they say.

Why so: docs/decisions.md, Terminals.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import IO, Any, cast

from missions.sandbox import control_groups, probe_result
from missions.sandbox.bwrap import BubblewrapSandbox, SandboxLimits, available
from missions.sandbox.control_groups import ControlGroup

from . import egress_proxy, pty_supervisor

NOBODY = 64_210  # without a name and without anything of its own, on every machine
PYTHON = "/usr/bin/python3"  # what others may start, too
LONGEST_REQUEST = 128 * 1024
ANSWER_TIMEOUT = 5.0


class LaunchRefused(Exception):
    """It does not begin, and why, in a sentence for people."""


@dataclass(frozen=True)
class Launcher:
    """`home` has a folder for each mission, with its `workspace`, its `spool`, and what of it can be read beside."""

    home: Path

    def prepare(self, mission: str) -> Path:
        """Make the folders of a mission. Raises Refused."""
        place = self._place(mission)
        place.mkdir(mode=0o750, parents=True, exist_ok=True)
        for name in ("workspace", "spool"):
            (place / name).mkdir(mode=0o750, exist_ok=True)
        if is_root():
            self._hand_over([place, place / "workspace", place / "spool"])
        return place

    def _hand_over(self, folders: list[Path]) -> None:
        if closed := next((one for one in self.home.resolve().parents if not one.stat().st_mode & 0o001), None):
            raise LaunchRefused(
                f"Commands run as another user, who may not pass {closed}: set MAGI_MISSIONS_DIR elsewhere."
            )
        self.home.chmod(self.home.stat().st_mode | 0o001)
        for folder in folders:
            os.chown(folder, NOBODY, NOBODY)

    def begin(
        self,
        mission: str,
        call: str,
        program: tuple[str, ...],
        cwd: str,
        limits: SandboxLimits,
        memory: str = "",
        network: dict[str, list[str]] | None = None,
    ) -> None:
        """Whoever asks twice begins it once: the keeper that comes second finds it taken. `memory`: the name of a
        folder of this mission that can be read. `network`: as `terminals/proxy.py` is told. Raises Refused."""
        if lacking := available() or probe_result.refusal_text(self.home, mission):
            raise LaunchRefused(lacking)
        place = self.prepare(mission)
        spool = place / "spool" / _name(call)
        spool.mkdir(mode=0o750, exist_ok=True)
        if is_root():
            os.chown(spool, NOBODY, NOBODY)
        leads_out = self._let_out(spool, network) if network else None
        there = place / _name(memory) if memory else None
        box = BubblewrapSandbox(place / "workspace", program, cwd, there, limits, leads_out)
        start_supervisor(spool, box.request(), control_groups.create_group(box.group_memory))

    def _let_out(self, spool: Path, network: dict[str, list[str]]) -> Path:
        """The folder with the socket, once a proxy listens there."""
        until = time.monotonic() + ANSWER_TIMEOUT
        if not (spool / "started").exists():  # a command that began has the one that it began with
            launch_supervisor(egress_proxy, spool, network, files=[egress_proxy.RULE])
        while not (spool / egress_proxy.ADDRESS).exists():
            if time.monotonic() > until:
                raise LaunchRefused("What leads out of the sandbox does not answer.")
            time.sleep(0.02)
        return (spool / egress_proxy.ADDRESS).parent

    def _place(self, mission: str) -> Path:
        return self.home / _name(mission)


def _name(said: str) -> str:
    """A name of a folder, and no way out of the one that it is in. Raises Refused."""
    if not said or not all(sign.isascii() and (sign.isalnum() or sign in "-_") for sign in said):
        raise LaunchRefused(f"{said!r} is no name of a mission or a call.")
    return said


def is_root() -> bool:
    return os.geteuid() == 0


def start_supervisor(spool: Path, request: dict[str, Any], group: ControlGroup | None = None) -> None:
    """Start a keeper; in this group, where there is one."""
    launch_supervisor(pty_supervisor, spool, request, group)


def launch_supervisor(
    what: ModuleType,
    spool: Path,
    request: dict[str, Any],
    group: ControlGroup | None = None,
    files: Sequence[str] = (),
) -> None:
    """Start a program that needs nobody any more: in a session of its own, with nothing of ours but its source and
    these files, whose paths follow that of the spool."""
    with contextlib.ExitStack() as opened:
        # by a descriptor, for the other user need not be able to walk to it
        open_files = [opened.enter_context(Path(one).open("rb")) for one in (what.__file__ or "", *files)]
        program, *more_files = [f"/proc/self/fd/{one.fileno()}" for one in open_files]
        other: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if is_root() else {}
        command = [PYTHON if other else sys.executable, "-I", "-S", program, str(spool), *more_files]
        nothing, passed = subprocess.DEVNULL, [one.fileno() for one in open_files]
        more = {"pass_fds": passed, "start_new_session": True, "cwd": "/", "env": {}, **other}
        started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing, **more)  # noqa: S603
    if group:
        with contextlib.suppress(OSError):  # without it the keeper adds up
            group.add(started.pid)  # before it is told what to start
            request = request | {"group": str(group.events)}
    with contextlib.suppress(BrokenPipeError), cast("IO[bytes]", started.stdin) as told:
        told.write(json.dumps(request).encode())  # a pipe holds it: one that finds its place taken reads nothing


# ---- the process ----------------------------------------------------------------------------------------------------


class LauncherServer:
    """Answers one line with one line, to the users whose numbers are named alone."""

    def __init__(self, launcher: Launcher, users: frozenset[int]) -> None:
        self._launcher, self._users = launcher, users | {0, os.geteuid()}

    async def serve(self, address: Path) -> None:
        """Until it is cancelled."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers end by themselves, and nobody waits for them
        async with await asyncio.start_unix_server(
            self._meet, sock=self._listen(address), limit=LONGEST_REQUEST
        ) as server:
            await server.serve_forever()

    def _listen(self, address: Path) -> socket.socket:
        address.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(address))
        address.chmod(0o600 if self._users == {0, os.geteuid()} else 0o666)
        return listening

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT):
                if _user_of(writer.get_extra_info("socket")) in self._users:
                    answer = await asyncio.to_thread(self._answer, await reader.readline())
                    writer.write(json.dumps(answer).encode() + b"\n")
                    await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass  # they have gone, or were too slow, or said too much
        finally:
            writer.close()

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            said = json.loads(line)
            limits = SandboxLimits(**said["limits"])
            program, memory = tuple(said["program"]), said.get("memory", "")
            more = {"memory": memory, "network": said.get("network")}
            self._launcher.begin(said["mission"], said["call"], program, said["cwd"], limits, **more)
        except (LaunchRefused, KeyError, TypeError, ValueError) as error:
            return {"refused": str(error)}
        except OSError as error:
            return {"refused": f"The machine refuses: {error.strerror}."}
        return {}


def _user_of(peer: socket.socket) -> int:
    credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[1])


def request_launch(
    address: Path,
    mission: str,
    call: str,
    program: tuple[str, ...],
    cwd: str,
    limits: SandboxLimits,
    memory: str = "",
    network: dict[str, list[str]] | None = None,
) -> None:
    """Have a launcher begin a command. Raises Refused; OSError where no launcher answers."""
    said: dict[str, Any] = {"mission": mission, "call": call, "program": program, "cwd": cwd, "limits": asdict(limits)}
    said["memory"], said["network"] = memory, network
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(ANSWER_TIMEOUT)
        client.connect(str(address))
        client.sendall(json.dumps(said).encode() + b"\n")
        line = client.makefile("rb").readline()
    if not line:
        raise ConnectionError("The launcher answered nothing: this user may not speak to it.")
    if refused := json.loads(line).get("refused"):
        raise LaunchRefused(refused)
