"""What others have made, each task in a process and a plain folder of its own."""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.acceptance.site import ROOT
from tests.missions.goals import Goal
from tests.missions.peer_commands import COMMANDS, TYPED, Command
from tests.missions.peer_play import Family, Message, Models, PeerPlayed, Said, half

PLAIN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm-256color"}
HERE = ROOT / "tests" / "missions"


@contextmanager
def folders(goal: Goal) -> Iterator[tuple[Path, Path]]:
    """One for the task, with its files, and one for what is kept of it."""
    with tempfile.TemporaryDirectory(prefix="magi-peer-") as made:
        workspace, kept = Path(made, "workspace"), Path(made, "kept")
        workspace.mkdir()
        kept.mkdir()
        for path, text in goal.files.items():
            (workspace / path).write_text(text)
        yield workspace, kept


def shell(command: str, workspace: Path) -> int:
    nothing = subprocess.DEVNULL
    words = ["/bin/bash", "-c", command]
    return subprocess.run(words, cwd=workspace, env=PLAIN, stdin=nothing, stdout=nothing, stderr=nothing).returncode


def bare(goal: Goal) -> list[float]:
    """Seconds that each command takes by bash alone."""
    found = []
    with folders(goal) as (workspace, _):
        for one in COMMANDS[goal.name]:
            command = one(workspace) if callable(one) else one
            began = time.monotonic()
            shell(command, workspace)
            found.append(time.monotonic() - began)
    return found


class ForeignPeer:
    """`program`: what is run, with the endpoint, the two folders and the task behind it."""

    name: str
    program: Sequence[str]

    def __init__(self, models: Models, family: Family) -> None:
        self._models, self._family = models, family

    def answers(self, goal: Goal) -> Sequence[tuple[str, Command | Message]]:
        raise NotImplementedError

    def message(self, said: Any) -> Message:
        raise NotImplementedError

    def play(self, goal: Goal) -> PeerPlayed:
        with folders(goal) as (workspace, kept):
            process = self._begin(goal, workspace, kept)
            self._models.until(lambda left: self._family.over(process))
            if process.returncode:
                raise SystemExit(f"{self.name} fails: {(kept.parent / 'log').read_text()[-2000:]}")
            told = json.loads((kept.parent / "told").read_text().splitlines()[-1])
            reached = shell(goal.check, workspace) == 0
            files = [one for one in kept.rglob("*") if one.is_file()]
            rows = sum(self.rows(one) for one in files)
            size = sum(one.stat().st_size for one in files)
            calls = self._models.calls
        return PeerPlayed(goal.name, reached, calls, rows, size, told["start"], told["private"])

    def rows(self, file: Path) -> int:
        """What stands in a file of what it keeps, as parts."""
        raise NotImplementedError

    def killed(self, goal: Goal, calls: int) -> tuple[bool, list[str]]:
        """Whether the next process begins anew, and what is left of the killed one."""
        with folders(goal) as (workspace, kept):
            process = self._begin(goal, workspace, kept, half(calls))
            self._models.until_held()
            self._family.kill(process)
            had, left = self._models.calls[-1]["messages"], sorted(one.name for one in kept.iterdir() if one.is_file())
            self._models.drop()
            process = self._begin(goal, workspace, kept, hold=1)
            self._models.until_held()
            self._family.kill(process)
            self._models.drop()
            return self._models.calls[0]["messages"] < had, [*left, *self.living(kept)]

    def living(self, kept: Path) -> list[str]:
        """What lives although it was killed, by now no more."""
        return []

    def _begin(self, goal: Goal, workspace: Path, kept: Path, hold: int = 0) -> "subprocess.Popen[Any]":
        says = [(label, self._said(one, workspace)) for label, one in self.answers(goal)]
        self._models.play({"": says}, {"content": ""}, hold)
        words = [*self.program, self._models.url, str(workspace), str(kept), goal.name]
        env = {**PLAIN, "HOME": str(kept)}
        with (kept.parent / "told").open("w") as told, (kept.parent / "log").open("w") as log:
            return subprocess.Popen(words, cwd=workspace, env=env, stdin=subprocess.DEVNULL, stdout=told, stderr=log)

    def _said(self, one: Any, workspace: Path) -> Said:
        if callable(one):
            act: Callable[[Path], str] = one
            return lambda: self.message(act(workspace))
        return self.message(one)


class Mini(ForeignPeer):
    name = "mini-swe-agent"
    program = (str(ROOT / "var/bench/mini_swe_agent/bin/python"), "-P", str(HERE / "peer_mini.py"))

    def answers(self, goal: Goal) -> Sequence[tuple[str, Command | Message]]:
        last = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
        return [*(("command", one) for one in COMMANDS[goal.name]), ("finish", last)]

    def message(self, said: Any) -> Message:
        function = {"name": "bash", "arguments": json.dumps({"command": said})}
        return {
            "content": "I do this now.",
            "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}],
        }

    def rows(self, file: Path) -> int:
        return len(json.loads(file.read_text())["messages"]) if file.suffix == ".json" else 0


class Tmux(ForeignPeer):
    name = "tmux"
    program = ("/usr/bin/python3", "-I", str(HERE / "peer_tmux.py"))

    def answers(self, goal: Goal) -> Sequence[tuple[str, Command | Message]]:
        typed = [("command", {"keys": keys, "seconds": seconds}) for keys, seconds in TYPED.get(goal.name, ())]
        return [*(typed or (("command", one) for one in COMMANDS[goal.name])), ("finish", {"done": True})]

    def message(self, said: Any) -> Message:
        asked = {"keys": said, "seconds": 0} if isinstance(said, str) else said
        return {"content": json.dumps(asked)}

    def rows(self, file: Path) -> int:
        return len(file.read_text().splitlines()) if file.name == "steps" else 0

    def living(self, kept: Path) -> list[str]:
        done = subprocess.run(["tmux", "-S", str(kept / "socket"), "kill-server"], capture_output=True)
        return [] if done.returncode else ["a terminal that lives"]
