"""Commands in a sandbox: begun as the launcher does, by a keeper in another process."""

import json
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from missions.sandbox import probe_result
from missions.sandbox.bwrap import SandboxLimits, shell_command
from missions.terminals.drawn import on_other_screen, text_of_command
from missions.terminals.launcher import Launcher
from missions.terminals.output_spool import OutputSpool, SpoolState, SupervisorSilent
from missions.terminals.wait_detection import InputWait, waiting_for
from tests.waiting import wait_until


class Workshop:
    def __init__(self, home: Path) -> None:
        self.launcher, self.mission = Launcher(home), "m1"
        probe_result.save_result(home, True, "")
        self.place = self.launcher.prepare(self.mission)
        self.workspace = self.place / "workspace"

    def begin(self, command: str, call: str = "", cwd: str = ".", **limits: int) -> OutputSpool:
        call = call or uuid4().hex
        self.launcher.begin(self.mission, call, shell_command(command), cwd, SandboxLimits(**limits))
        return self.spool(call)

    def spool(self, call: str) -> OutputSpool:
        return OutputSpool(self.place / "spool" / call)

    def close(self) -> None:
        for spool in map(OutputSpool, (self.place / "spool").iterdir()):
            spool.stop("ended")
            until(lambda spool=spool: spool.state != SpoolState.LIVES)

    def done(self, command: str, **more: int) -> tuple[int, str]:
        """The exit code, and what was on the screen."""
        spool = self.begin(command, **more)
        return ended(spool)["code"], text_of_command(spool)


def until(holds: Callable[[], object]) -> None:
    wait_until(holds, "what a command was to do")


def ended(spool: OutputSpool) -> dict:
    until(lambda: spool.end is not None)
    return spool.end


def standing(spool: OutputSpool) -> InputWait:
    try:
        return waiting_for(spool.status(), other_screen=on_other_screen(spool))
    except SupervisorSilent:
        return InputWait.RUNNING


def becomes(spool: OutputSpool, state: InputWait) -> None:
    until(lambda: standing(spool) == state)


def keeper_of(spool: OutputSpool) -> int:
    until(lambda: spool.state == SpoolState.LIVES and (spool.folder / "sock").exists())
    return json.loads((spool.folder / "started").read_text())["pid"]
