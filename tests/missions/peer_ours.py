"""Missions as their users have them: an engine in a process of its own, its rows, its sandbox."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.acceptance.site import ROOT
from tests.missions.goals import KEEPER, Answer, Goal
from tests.missions.peer_play import Family, Message, Models, PeerPlayed, Said, half
from tests.stage import Stage

NOTHING = {"content": json.dumps({"reasoning": "I am done.", "tool_name": None, "tool_args": None})}
LEASE = "1"  # of an engine that is to be killed: what it leaves is taken up then


def said(answer: str) -> tuple[str, Message]:
    return (json.loads(answer)["tool_name"] or "", {"content": answer}) if answer else ("", NOTHING)


class Engine:
    def __init__(self, place: Stage, family: Family, **more: str) -> None:
        self._family = family
        with (place.folder / "engines.log").open("a") as log:
            command = [sys.executable, "manage.py", "runengine"]
            self.process = subprocess.Popen(command, cwd=ROOT, env=place.env | more, stdout=log, stderr=log)

    @property
    def cpu(self) -> float:
        """Seconds, with those of its children that it has waited for."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        self._family.kill(self.process)

    def ready(self) -> float:
        """Seconds of the processor by when it has nothing to do."""
        before = -1.0
        while self.cpu - before > 0.02:
            before = self.cpu
            time.sleep(0.5)
        return before


class MissionPeer:
    """`submitted`: seconds of the processor that this process has spent on what an engine is asked for."""

    def __init__(self, place: Stage, models: Models, family: Family) -> None:
        from django.contrib.auth.models import User

        self._place, self._models, self._family = place, models, family
        self._owner = User.objects.create(username="mira")
        self.submitted, self._pk = 0.0, None

    def submit(self, goal: Goal, hold: int = 0) -> Any:
        from missions.presets import agent_row
        from missions.procedure import submit

        began = time.process_time()
        agents = [
            agent_row({"name": name, "rights": ["library"] if name == KEEPER else []}, "peer/one") for name in goal.crew
        ]
        about = {"check": goal.check, "files": sorted(goal.files.items()), "limits": {"at_once": 1}}
        about |= {"library": uuid4().hex}
        self._models.play({name: [self._said(one) for one in of] for name, of in goal.says.items()}, NOTHING, hold)
        self._pk = submit(owner=self._owner, goal=goal.name, agents=agents, **about).pk
        self.submitted += time.process_time() - began
        return self._pk

    def _said(self, answer: Answer) -> tuple[str, Said]:
        if callable(answer):  # of no answer that is made by then it is known before which tool it asks for
            return "command_status", lambda: said(answer(self._pk))[1]
        return said(answer)

    def play(self, goal: Goal) -> PeerPlayed:
        before = self._size()
        pk = self.submit(goal)
        reached = self._reached(goal, pk)
        rows, kept = (now - then for now, then in zip(self._size(), before, strict=True))
        return PeerPlayed(goal.name, reached, self._models.calls, rows, kept + spooled(pk))

    def _reached(self, goal: Goal, pk: Any) -> bool:
        from engine.models import Run

        self._models.until(lambda left: not left and Run.objects.get(pk=pk).is_ended)
        goal.after(pk)
        return Run.objects.get(pk=pk).outcome == "done"

    def killed(self, goal: Goal, calls: int) -> tuple[bool, list[dict[str, Any]]]:
        """Whether the next engine reaches it, and all calls that both have made."""
        engine = Engine(self._place, self._family, MAGI_ENGINE_LEASE=LEASE)
        pk = self.submit(goal, hold=half(calls))
        self._models.until_held()
        engine.kill()
        self._models.drop()
        engine = Engine(self._place, self._family, MAGI_ENGINE_LEASE=LEASE)
        reached = self._reached(goal, pk)
        engine.kill()
        return reached, self._models.calls

    def _size(self) -> tuple[int, int]:
        """All rows, and bytes of the database that are in use."""
        from django.db import connection

        with connection.cursor() as cursor:

            def one(statement: str) -> int:
                cursor.execute(statement)
                return int(cursor.fetchone()[0])

            tables = connection.introspection.table_names(cursor)
            rows = sum(one(f'SELECT COUNT(*) FROM "{table}"') for table in tables)
            pages = one("PRAGMA page_count") - one("PRAGMA freelist_count")
            return rows, pages * one("PRAGMA page_size")


def spooled(pk: Any) -> int:
    """Bytes that stand beside the database, as they lie on the disk."""
    from missions import workspace

    files = (workspace.mission_folder(pk) / "spool").rglob("*")
    return sum(one.stat().st_blocks * 512 for one in files if one.is_file())
