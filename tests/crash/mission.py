"""Missions of which each leaves three commands living, one of which is typed to: each command ran exactly once and its
whole output is there, and each input was typed once. Besides, launchers are killed while they begin commands, and
keepers while theirs run: no keeper left a process behind.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.crash.kill import Killed, Story, compared

SETTINGS = {"DJANGO_SETTINGS_MODULE": "tests.missions.beside"}
GONE_WITHIN = 1.0


class KilledMissions(Killed):
    called = "missions"
    parts = ("steps", "terminals", "inputs", "files", "memory", "end")
    settings = SETTINGS
    pace = 1.0
    seldom = ("claim", "outcome", "park", "tool-open")
    not_passed = ("expiry", "rest", "child", "gate")
    failing = ("after-tool-open-commit", "before-tool-done-commit")  # before a command begins, and while it lives

    def submit(self) -> Any:
        from missions.presets import agent_row
        from missions.procedure import submit
        from tests.missions.killing import CHECK

        agents = [agent_row({"name": "Ada"}, "rehearsal/instant")]
        self.made.append(submit(owner=self.person, goal="Let them live.", agents=agents, check=CHECK).pk)
        return self.made[-1]

    def play(self) -> bool:
        from missions.sandbox_selftest import run_sandbox_probe

        print(run_sandbox_probe(only_if_due=True).sentence, flush=True)
        well = super().play()
        return all([well, launchers(self.options.launchers), keepers(self.options.keepers)])

    def tidy(self) -> None:
        from missions import workspace

        for pk in self.made:
            workspace.stop_all(pk, "over")
            workspace.remove(pk)

    def look_closer(self, wrong: Counter[str]) -> dict[str, Any]:
        """Each command ran once."""
        from engine.models import ToolCall
        from missions import workspace

        for pk in self.made:
            count = (workspace.mission_folder(pk) / "workspace" / "count").read_text().split()
            if sorted(count) != ["four", "one", "three", "two"]:
                wrong["commands"] += 1
                print(f"{pk}: commands ran {count}", file=sys.stderr)
        calls = ToolCall.objects.filter(run__in=self.made)
        return {"tool calls": calls.count(), "tool calls cut": calls.filter(status="interrupted").count()}

    def faults_offline(self) -> list[str]:
        from tests.missions.test_offline import exported, verified

        return verified(exported().values())[0]

    def story_of(self, pk: Any) -> Story:
        from missions.models import Mission

        row = Mission.objects.with_agents().get(pk=pk)
        steps = [(one.key, one.tool, one.args, one.ok) for one in row.steps.all()]
        terminals = [(one.number, one.exit_code, one.reason, one.size, one.digest) for one in row.terminals.all()]
        inputs = [(one.number, line.number, line.text) for one in row.terminals.all() for line in one.inputs.all()]
        files = sorted((one.path, one.change, one.digest) for one in row.files.all())
        last = {one[0]: one for one in files if one[0] not in ("count", "said")}  # those change whenever somebody looks
        memory = [(one.version, one.text) for one in row.short_memories.all()]
        end = (
            row.run.status,
            row.run.error,
            row.run.outcome,
            row.result,
            row.final_check.exit_code if row.run.outcome else None,
        )
        return steps, terminals, inputs, sorted(last.values()), memory, end


# ---- launchers and keepers ------------------------------------------------------------------------------------------


def launchers(kills: int) -> bool:
    """Each is killed a moment after it was asked; what it began goes on, and whoever asks again begins it not twice."""
    from missions.sandbox.bwrap import SandboxLimits, shell_command
    from missions.terminals.launcher import request_launch
    from tests.missions.commands import Workshop, ended
    from tests.missions.test_launcher import SERVE

    with _workshop(Workshop) as made:
        wrong = 0
        for number in range(kills):
            served = _served(SERVE, made)
            address, command = (
                made.place.parent / "launcher",
                shell_command(f"echo {number} >> count; sleep 0.2; echo done"),
            )
            told = (made.mission, f"c{number}", command, ".", SandboxLimits())
            with suppress(OSError):
                request_launch(address, *told)
            served.kill()
            served.wait()
            made.launcher.begin(*told)
            end = ended(made.spool(f"c{number}"))
            wrong += end["code"] != 0
        count = (made.workspace / "count").read_text().split() if kills else []
        wrong += count != [str(number) for number in range(kills)]
        print(json.dumps({"launchers killed": kills, "wrong": wrong}), flush=True)
        return not wrong


def _served(source: str, made: Any) -> Any:
    import subprocess

    from tests.acceptance.site import ROOT
    from tests.missions.commands import until
    from tests.missions.test_launcher import answers

    process = subprocess.Popen([sys.executable, "-c", source, str(made.place.parent)], cwd=ROOT)
    until(lambda: answers(made))
    return process


def keepers(kills: int) -> bool:
    """With each goes all that it had begun, also what made a session of its own; the command is cut."""
    from missions.terminals.output_spool import SpoolState
    from tests.missions.commands import Workshop, keeper_of, until
    from tests.missions.test_terminals import living

    with _workshop(Workshop) as made:
        slowest = 0.0
        for number in range(kills):
            word = f"{98_000 + number}.5"
            spool = made.begin(f"setsid sleep {word} & echo begun; sleep {word}")
            until(lambda spool=spool: b"begun" in spool.said().data)
            os.kill(keeper_of(spool), signal.SIGKILL)
            began = time.monotonic()
            until(lambda word=word: not living(word))
            slowest = max(slowest, time.monotonic() - began)
            until(lambda spool=spool: spool.state == SpoolState.CUT)
        print(json.dumps({"keepers killed": kills, "slowest": round(slowest, 3)}), flush=True)
        return slowest <= GONE_WITHIN


class _workshop:
    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __enter__(self) -> Any:
        self._home = Path(tempfile.mkdtemp(prefix="magi-missions-"))
        self._made = self._kind(self._home)
        return self._made

    def __exit__(self, *_: object) -> None:
        self._made.close()
        shutil.rmtree(self._home, ignore_errors=True)


def play(options: argparse.Namespace) -> bool:
    return compared(KilledMissions, options)
