"""The engine's access to workspaces, and the start of commands: by the launcher if one runs, otherwise by the engine.

Why so: missions/DESIGN.md, Terminals.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from .sandbox import probe_result
from .sandbox.bwrap import SandboxLimits, available, shell_command
from .terminals import launcher
from .terminals.launcher import Launcher, LaunchRefused
from .terminals.output_spool import OutputSpool, SpoolState
from .workspace_files import FileChange, FileProblem, Workspace

CHECK = "check"  # name of the check's spool, and suffix of its folder
CONTENTS = "contents"  # suffix of the folder with contents of files that are in no row
PREPARED = "prepared"
# nobody can answer a check's pager, editor or prompt; these variables make many programs not start one
NOBODY_IS_THERE = (
    *("PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat"),
    *("EDITOR=true", "VISUAL=true", "GIT_EDITOR=true", "GIT_TERMINAL_PROMPT=0", "GIT_SSH_COMMAND=ssh -oBatchMode=yes"),
    *("DEBIAN_FRONTEND=noninteractive", "PIP_NO_INPUT=1", "NPM_CONFIG_YES=true"),
)
# for our own commands in the sandbox: filters or helpers of a crew get no terminal on which they could ask
ASKS_NOBODY = (
    *("/usr/bin/env", *NOBODY_IS_THERE, "/usr/bin/setsid", "--wait"),
    *("/bin/sh", "-c", 'exec "$@" </dev/null', "sh"),
)
SOCKET = "launcher"
KILLED_WITHIN, LOOK = 12.0, 0.05  # seconds
CUT_FOR = 40  # polls: a command that is just starting looks as if it was cut
MIN_FREE_BYTES = 2_000_000_000  # required for a new workspace


def missions_folder() -> Path:
    return Path(settings.MISSIONS_DIR)


def missing_programs() -> str:
    """Why this machine cannot run commands, by the programs it lacks or the last probe; empty if it can."""
    if lacking := containment_problem():
        return lacking
    found = probe_result.last_result(missions_folder())
    return "" if found is None or found.holds else found.sentence


def containment_problem() -> str:
    """Why a sandbox cannot be created on this machine; empty if it can."""
    if lacking := available():
        return lacking
    missions_folder().mkdir(parents=True, exist_ok=True)
    closed = [one for one in missions_folder().resolve().parents if not one.stat().st_mode & 0o001]
    if launcher.is_root() and closed:
        return f"Commands run as another user, who may not pass {closed[0]}: set MAGI_MISSIONS_DIR elsewhere."
    return ""


def mission_folder(mission: UUID | str) -> Path:
    return missions_folder() / str(mission)


def workspace(mission: UUID | str) -> Workspace:
    return Workspace(mission_folder(mission) / "workspace")


def memory(mission: UUID | str, name: str) -> Workspace:
    return Workspace(mission_folder(mission) / name)


def fill_memory(mission: UUID | str, name: str, files: Mapping[str, str]) -> None:
    """Make the folder contain exactly these files, readable for the user of commands."""
    folder = mission_folder(mission) / name
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    there = {one.name: one for one in folder.iterdir()}
    for file in there.keys() - files.keys():
        there[file].unlink()
    for file, text in files.items():
        if file not in there or there[file].read_bytes() != text.encode():
            temporary = folder / f".{file}.new"
            temporary.write_bytes(text.encode())
            temporary.chmod(0o644)
            temporary.rename(folder / file)


def spool(mission: UUID | str, name: str) -> OutputSpool:
    return OutputSpool(mission_folder(mission) / "spool" / name)


def prepare(
    mission: UUID | str, files: Iterable[tuple[str, bytes]], fill: Callable[[Path], None] | None = None
) -> None:
    """Create the workspace with these files, once. `fill` writes into the empty folder before them.

    Raises LaunchRefused.
    """
    done = mission_folder(mission) / PREPARED
    if done.exists():
        return
    Launcher(missions_folder()).prepare(str(mission))
    if (free := shutil.disk_usage(missions_folder()).free) < MIN_FREE_BYTES:
        raise LaunchRefused(
            f"There are {free / 1e9:.1f} GB free at {missions_folder()}, and {MIN_FREE_BYTES / 1e9:.0f} GB are needed."
        )
    made = workspace(mission)
    if fill:
        fill(mission_folder(mission) / "workspace")
    for path, data in files:
        made.write(path, data)
    done.touch()


def start_command(
    mission: UUID | str,
    name: str,
    program: tuple[str, ...],
    cwd: str = ".",
    memory: str = "",
    hosts: Sequence[str] = (),
    **limits: int,
) -> None:
    """Start a command. A repeated call does not start it again.

    memory: name of a readable folder of the mission
    hosts: what it may reach, as in example.org:443

    Raises LaunchRefused.
    """
    about: dict[str, Any] = {"cwd": cwd, "limits": SandboxLimits(**limits), "memory": memory}
    about["network"] = {"hosts": list(hosts), "inner": list(settings.PAGES_ALLOWED_HOSTS)} if hosts else None
    try:
        launcher.request_launch(missions_folder() / SOCKET, str(mission), name, program, **about)
    except OSError:  # no launcher runs here
        Launcher(missions_folder()).begin(str(mission), name, program, **about)


@dataclass(frozen=True)
class CommandEnded:
    code: int | None
    said: str


def run_to_end(mission: UUID | str, name: str, program: tuple[str, ...], seconds: float) -> CommandEnded:
    """Run a command of our own in the sandbox, without a Terminal row. A repeated call returns the first result.

    Raises LaunchRefused, also if it takes longer than `seconds`.
    """
    start_command(mission, name, (*ASKS_NOBODY, *program))
    found, until, looks = spool(mission, name), time.monotonic() + seconds, 0
    while not (end := found.end) and time.monotonic() < until and looks < CUT_FOR:
        looks = looks + 1 if found.state == SpoolState.CUT else 0
        time.sleep(LOOK)
    if not end:
        found.stop("timeout")
        raise LaunchRefused(f"It did not come to an end within {seconds:.0f} s, or was cut.")
    return CommandEnded(end["code"], found.said().data.decode(errors="replace").strip()[-500:])


def hand_over(folder: Path) -> None:
    """Give all files to the user of commands. Safe only before any command has run there."""
    if launcher.is_root():
        for one in (folder, *folder.rglob("*")):
            os.chown(one, launcher.NOBODY, launcher.NOBODY, follow_symlinks=False)


def forget_command(mission: UUID | str, name: str) -> None:
    """Stop a command and delete its spool, so that it can be started again."""
    found = spool(mission, name)
    until = time.monotonic() + KILLED_WITHIN
    while found.state == SpoolState.LIVES and time.monotonic() < until:
        found.stop("finished")
        time.sleep(LOOK)
    shutil.rmtree(found.folder, ignore_errors=True)


def start_check(mission: UUID, command: str) -> None:
    """Start the check in its own sandbox over a copy of the workspace, to which nobody else writes."""
    own = f"{mission}-{CHECK}"
    if not (mission_folder(own) / PREPARED).exists():
        shutil.rmtree(mission_folder(own) / "workspace", ignore_errors=True)
        made = Launcher(missions_folder()).prepare(own)
        # cp keeps owners and links, and follows no links
        source = f"{mission_folder(mission) / 'workspace'}/."
        subprocess.run(["/bin/cp", "-a", source, str(made / "workspace")], check=True, capture_output=True)  # noqa: S603
        (made / PREPARED).touch()
    start_command(own, CHECK, program_of_check(command))


def program_of_check(command: str) -> tuple[str, ...]:
    return ("/usr/bin/env", *NOBODY_IS_THERE, *shell_command(command))


def check_spool(mission: UUID) -> OutputSpool:
    return spool(f"{mission}-{CHECK}", CHECK)


def stop_all(mission: UUID | str, reason: str) -> int:
    """Stop all running commands; return their number."""
    folder = mission_folder(mission) / "spool"
    found = [OutputSpool(one) for one in folder.iterdir()] if folder.is_dir() else []
    living = [one for one in found if one.state == SpoolState.LIVES]
    for one in living:
        one.stop(reason)
    return len(living)


def remove(mission: UUID | str) -> None:
    for one in (mission_folder(mission), mission_folder(f"{mission}-{CHECK}"), mission_folder(f"{mission}-{CONTENTS}")):
        shutil.rmtree(one, ignore_errors=True)


def remove_files(mission: UUID, paths: Iterable[str]) -> None:
    for path in paths:
        with suppress(FileProblem):
            workspace(mission).remove(path)


def changes(mission: UUID, known: Mapping[str, str], first: Mapping[str, str] | None = None) -> list[FileChange]:
    """Changes since `known`, digests by path. `first`: git blob names by path of original files without a row."""
    return workspace(mission).changes(known, first or {})
