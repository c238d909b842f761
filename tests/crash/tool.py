"""Whoever uses tools is killed at random: every task is there exactly once, nothing outside was done twice, and each
use that was cut has exactly one gate that asks what became of it.
"""

import argparse
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.acceptance.site import EngineProcess, environment, manage

PACE = 0.4  # seconds of life, on average, from the moment that an engine works
RUNS = 10  # at the beginning


def play(options: argparse.Namespace) -> bool:
    kills = options.kills
    with tempfile.TemporaryDirectory() as name:
        folder, chance = Path(name), random.Random(options.seed)
        more = {"DJANGO_SETTINGS_MODULE": "tests.acting.settings", "MAGI_ENGINE_LEASE": "1", "ACTING_PAUSE": "0.3"}
        env = environment(folder, **more)
        manage("migrate", env=env)
        for kill in range(kills):
            said(env, "submit", str(RUNS if kill == 0 else 3))
            with EngineProcess(env, folder / f"engine{kill}") as engine:
                wait_for_work(folder)
                time.sleep(chance.uniform(0, 2 * PACE))
                engine.process.kill()
            said(env, "say", chance.choice(["leave", "happened"]))
            if kill % 20 == 19:
                print(f"{kill + 1} kills", flush=True)
        with EngineProcess(env, folder / "last"):
            found = come_to_an_end(env)
    print(json.dumps(found))
    whole = sum(found["statuses"].values())
    return not (found["twice"] or found["faults"] or found["asked_wrongly"]) and found["tasks"] == 2 * whole


def wait_for_work(folder: Path) -> None:
    """Until this engine has used a tool."""
    there, until = calls(folder), time.monotonic() + 60
    while calls(folder) == there:
        if time.monotonic() > until:
            raise SystemExit("The engine does nothing.")
        time.sleep(0.02)


def calls(folder: Path) -> int:
    with closing(sqlite3.connect(f"file:{folder}/magi.sqlite3?mode=ro", uri=True, timeout=20)) as database:
        return int(database.execute("SELECT count(*) FROM engine_toolcall").fetchone()[0])


def come_to_an_end(env: dict[str, str]) -> Any:
    until = time.monotonic() + 300
    while set((found := said(env, "judge"))["statuses"]) != {"finished"}:
        if time.monotonic() > until:
            raise SystemExit(f"what was left did not come to its end: {found}")
        said(env, "say", "leave")
        time.sleep(1)
    return found


def said(env: dict[str, str], *words: str) -> Any:
    command = [sys.executable, "-m", "tests.acting", *words]
    return json.loads(subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout)
