"""The launcher, which starts a supervisor for each command and keeps no state, so killing it loses nothing.

It may run as another user than the engine; as root it starts commands as a user without rights. Callers are
authenticated by the user id of the socket's peer.

Why so: missions/DESIGN.md, Terminals.
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

NOBODY = 64_210  # a user id without name and files
PYTHON = "/usr/bin/python3"  # executable by other users, too
LONGEST_REQUEST = 128 * 1024  # bytes
ANSWER_TIMEOUT = 5.0  # seconds


class LaunchRefused(Exception):
    """The command is not started. The text is a sentence for people."""


@dataclass(frozen=True)
class Launcher:
    """`home` has a folder for each mission with its `workspace`, its `spool` and folders of readable memories."""

    home: Path

    def prepare(self, mission: str) -> Path:
        """Make the folders of a mission. Raises LaunchRefused."""
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
        """Start a command. A repeated call does not start it again: the second supervisor finds it claimed.

        call: name of its spool
        memory: name of a readable folder of this mission
        network: the request to `egress_proxy`, if it may reach hosts

        Raises LaunchRefused.
        """
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
        """Start a proxy and return the folder with its socket once it listens."""
        until = time.monotonic() + ANSWER_TIMEOUT
        if not (spool / "started").exists():  # a command that has started keeps its first proxy
            launch_supervisor(egress_proxy, spool, network, files=[egress_proxy.RULE])
        while not (spool / egress_proxy.ADDRESS).exists():
            if time.monotonic() > until:
                raise LaunchRefused("What leads out of the sandbox does not answer.")
            time.sleep(0.02)
        return (spool / egress_proxy.ADDRESS).parent

    def _place(self, mission: str) -> Path:
        return self.home / _name(mission)


def _name(said: str) -> str:
    """Check that this is a plain name of a folder, which cannot lead elsewhere. Raises LaunchRefused."""
    if not said or not all(sign.isascii() and (sign.isalnum() or sign in "-_") for sign in said):
        raise LaunchRefused(f"{said!r} is no name of a mission or a call.")
    return said


def is_root() -> bool:
    return os.geteuid() == 0


def start_supervisor(spool: Path, request: dict[str, Any], group: ControlGroup | None = None) -> None:
    """Start a supervisor, in this control group if there is one."""
    launch_supervisor(pty_supervisor, spool, request, group)


def launch_supervisor(
    what: ModuleType,
    spool: Path,
    request: dict[str, Any],
    group: ControlGroup | None = None,
    files: Sequence[str] = (),
) -> None:
    """Start a detached program in a session of its own, with an empty environment.

    Its arguments are the spool and the paths of `files`; the request is its standard input.
    """
    with contextlib.ExitStack() as opened:
        # by descriptors, because the other user may not be able to reach the files
        open_files = [opened.enter_context(Path(one).open("rb")) for one in (what.__file__ or "", *files)]
        program, *more_files = [f"/proc/self/fd/{one.fileno()}" for one in open_files]
        other: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if is_root() else {}
        command = [PYTHON if other else sys.executable, "-I", "-S", program, str(spool), *more_files]
        nothing, passed = subprocess.DEVNULL, [one.fileno() for one in open_files]
        more = {"pass_fds": passed, "start_new_session": True, "cwd": "/", "env": {}, **other}
        started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing, **more)  # noqa: S603
    if group:
        with contextlib.suppress(OSError):  # the supervisor then measures memory itself
            group.add(started.pid)  # before the request, so that the command is in the group from its start
            request = request | {"group": str(group.events)}
    with contextlib.suppress(BrokenPipeError), cast("IO[bytes]", started.stdin) as told:
        told.write(
            json.dumps(request).encode()
        )  # fits into the pipe: a supervisor whose command is claimed does not read it


# ---- the process ----------------------------------------------------------------------------------------------------


class LauncherServer:
    """Answers one line with one line, only to these user ids, root and itself."""

    def __init__(self, launcher: Launcher, users: frozenset[int]) -> None:
        self._launcher, self._users = launcher, users | {0, os.geteuid()}

    async def serve(self, address: Path) -> None:
        """Serve until cancelled."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for supervisors, so the kernel must reap them
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
            pass  # the client has gone, is too slow, or its request is too long
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
    """Ask a launcher to start a command. Raises LaunchRefused, and OSError if no launcher answers."""
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
