"""Commands in a sandbox: begun as the launcher does, by a keeper in another process."""

import json
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from missions.sandbox import held
from missions.sandbox.box import Limits, shell
from missions.terminals.drawn import on_other_screen, text_of_command
from missions.terminals.launcher import Launcher
from missions.terminals.spool import Silent, Spool, State
from missions.terminals.waiting import Waiting, waiting_for
from tests.waiting import wait_until


class Workshop:
    def __init__(self, home: Path) -> None:
        self.launcher, self.mission = Launcher(home), "m1"
        held.keep(home, True, "")
        self.place = self.launcher.prepare(self.mission)
        self.workspace = self.place / "workspace"

    def begin(self, command: str, call: str = "", cwd: str = ".", **limits: int) -> Spool:
        call = call or uuid4().hex
        self.launcher.begin(self.mission, call, shell(command), cwd, Limits(**limits))
        return self.spool(call)

    def spool(self, call: str) -> Spool:
        return Spool(self.place / "spool" / call)

    def close(self) -> None:
        for spool in map(Spool, (self.place / "spool").iterdir()):
            spool.stop("ended")
            until(lambda spool=spool: spool.state != State.LIVES)

    def done(self, command: str, **more: int) -> tuple[int, str]:
        """The exit code, and what was on the screen."""
        spool = self.begin(command, **more)
        return ended(spool)["code"], text_of_command(spool)


def until(holds: Callable[[], object]) -> None:
    wait_until(holds, "what a command was to do")


def ended(spool: Spool) -> dict:
    until(lambda: spool.end is not None)
    return spool.end


def standing(spool: Spool) -> Waiting:
    try:
        return waiting_for(spool.status(), other_screen=on_other_screen(spool))
    except Silent:
        return Waiting.RUNNING


def becomes(spool: Spool, state: Waiting) -> None:
    until(lambda: standing(spool) == state)


def keeper_of(spool: Spool) -> int:
    until(lambda: spool.state == State.LIVES and (spool.folder / "sock").exists())
    return json.loads((spool.folder / "started").read_text())["pid"]
