"""Play a model over ten contents for a judgement and the other procedures, and tell what came of each in a table.

    python -m tests.real.compare --model small.gguf --out small.json [--only NAME ...] [--times 3]
    python -m tests.real.compare --table before.json after.json

Each play has a server of its own and a database in which nothing was done, ends after `--longest` seconds, and is kept
in the file as soon as it is over: what the file has is not played again. `--checkout` says which MAGI is asked.
"""

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.real import played, words
from tests.real.llama import ROOT, Llama, small_model

GOING_ON = ("queued", "running")
MOST_DECISIONS = 10


class ScenarioPlay:
    """One scenario, from a database in which nothing was done to its end."""

    def __init__(self, scenario: played.Scenario, checkout: Path, env: dict[str, str], founded: Path) -> None:
        self._scenario, self._checkout, self._folder = scenario, checkout, Path(env["MAGI_DATA_DIR"])
        self._env = env
        shutil.copy(founded, self._folder / "magi.sqlite3")

    def perform(self, longest: float) -> str:
        """Until it is over, or waits for what is no approval: the status, or that time was up."""
        end, decided = time.monotonic() + longest, 0
        for name, text in self._scenario.files.items():
            (self._folder / name).write_text(text)
        given = [str(self._folder / word) if word in self._scenario.files else word for word in self._scenario.words]
        with self._at_work(*given) as process, suppress(subprocess.TimeoutExpired):
            process.wait(longest)  # it performs what it submits
        while self.row()["status"] == "waiting" and decided < MOST_DECISIONS and (gates := self._to_approve()):
            decided += len(gates)
            for gate in gates:
                self._approve(gate)
            with self._at_work("runengine"):
                while self.row()["status"] in GOING_ON and time.monotonic() < end:
                    time.sleep(1)
        status = self.row()["status"]
        return "time was up" if status in GOING_ON else status

    def row(self) -> dict[str, Any]:
        return self._select("SELECT * FROM engine_run WHERE parent_id IS NULL ORDER BY created LIMIT 1")[0]

    def calls(self) -> list[dict[str, Any]]:
        return self._select("SELECT * FROM engine_modelcall ORDER BY id")

    def _to_approve(self) -> list[dict[str, Any]]:
        """What waits, but for questions: nobody here has an answer."""
        gates = json.loads(self._manage("gates", "--json"))
        return [gate for gate in gates if gate["kind"] != "question" and (not gate["choices"] or _approvals(gate))]

    def _approve(self, gate: dict[str, Any]) -> None:
        then = _approvals(gate)
        words = ["--by", "mira", "--approve", "--digest", gate["digest"]]
        words += ["--then", "all" if "all" in then else then[0]] if then else []
        self._manage("decide", str(gate["id"]), *words, may_fail=True)

    def _select(self, sql: str) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(f"file:{self._folder}/magi.sqlite3?mode=ro", uri=True, timeout=60)) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(sql)]

    def _manage(self, *given: str, may_fail: bool = False) -> str:
        return manage(self._checkout, self._env, *given, may_fail=may_fail)

    @contextmanager
    def _at_work(self, *given: str) -> Iterator["subprocess.Popen[bytes]"]:
        with (self._folder / "said.log").open("ab") as log:
            command = [sys.executable, "manage.py", *given]
            with subprocess.Popen(command, cwd=self._checkout, env=self._env, stdout=log, stderr=log) as process:
                yield process
                process.kill()


def manage(checkout: Path, env: dict[str, str], *given: str, may_fail: bool = False) -> str:
    command = [sys.executable, "manage.py", *given]
    done = subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True, check=False)
    if done.returncode and not may_fail:
        raise RuntimeError(f"manage.py {given[0]} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def environment(folder: Path, llama: Llama | None = None, **more: str) -> dict[str, str]:
    missions = Path(tempfile.gettempdir()) / "magi-missions-real"
    missions.mkdir(mode=0o755, exist_ok=True)  # commands of missions run as somebody else
    bare = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    own = {"MAGI_DATA_DIR": str(folder), "MAGI_MISSIONS_DIR": str(missions)}
    return bare | own | more | (llama.environment if llama else {})


def founded(checkout: Path, folder: Path) -> Path:
    """A new database, with what the plays need in it: to make one takes as long as a short play."""
    database = folder / "magi.sqlite3"
    if not database.exists():
        manage(checkout, environment(folder), "migrate", "--verbosity", "0")
        manage(checkout, environment(folder), "shell", "-c", played.FOUNDED)
    return database


def _approvals(gate: dict[str, Any]) -> list[str]:
    return [choice["word"] for choice in gate["choices"] if choice["decision"] == "approve"]


def play(name: str, model: Path, checkout: Path, database: Path, call: float, longest: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, Llama(model, Path(folder) / "llama.log") as llama:
        deadlines = dict.fromkeys(("MAGI_CALL_TIMEOUT", "MAGI_CALL_FIRST", "MAGI_CALL_SILENCE"), f"{call:g}")
        env = environment(Path(folder), llama, **deadlines)
        one = ScenarioPlay(played.scenario_of(name), checkout, env, database)
        began, status = time.monotonic(), one.perform(longest)
        seconds, counts = time.monotonic() - began, llama.counts()
        return told(one.row(), one.calls(), status) | {
            "seconds": round(seconds),
            "cpu": round(llama.cpu_seconds()),
            "read": counts["prompt_tokens_total"],
            "cached": counts["prompt_tokens_cached_total"],
            "written": counts["tokens_predicted_total"],
        }


def told(run: dict[str, Any], calls: list[dict[str, Any]], status: str) -> dict[str, Any]:
    answers = [
        {
            **{
                key: call[key]
                for key in ("step", "attempt", "status", "error_code", "error", "answer_format", "answer")
            },
            **{key: call[key] for key in ("input_tokens", "output_tokens", "started", "ended")},
            "of_the_prompt": words.of_the_prompt(call["answer"], json.loads(call["prompt"])) if call["answer"] else [],
        }
        for call in calls
    ]
    answered = [one for one in answers if one["status"] == "answered"]
    return {
        "status": status,
        "outcome": run["outcome"],
        "why": json.loads(run["error"])["message"] if run["error"] else "",
        "calls": len(calls),
        "answered": len(answered),
        "failed": Counter(one["error_code"] or one["status"] for one in answers if one["status"] != "answered"),
        "of_the_prompt": sum(bool(one["of_the_prompt"]) for one in answered),
        "attempts": answers,
    }


def table(files: list[Path]) -> Iterator[str]:
    """One line for each play, those of one name from all files below each other."""
    found = [(file.stem, json.loads(file.read_text())) for file in files]
    yield "| play | of | outcome | calls answered; failed | words of the prompt | read | cached | written | s |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in dict.fromkeys(name for _, plays in found for name in plays):
        for stem, plays in found:
            if one := plays.get(name):
                yield f"| {name} | {stem} | {line(one)} |"


def line(one: dict[str, Any]) -> str:
    failed = ", ".join(f"{number} {code}" for code, number in one["failed"].items())
    calls = f"{one['answered']} of {one['calls']}" + (f"; {failed}" if failed else "")
    numbers = (f"{one[key]:,}" for key in ("read", "cached", "written", "seconds"))
    own = f"{one['of_the_prompt']} of {one['answered']}"
    return " | ".join([one["outcome"] or one["status"], calls, own, *numbers])


def main() -> None:
    parser = argparse.ArgumentParser(description="Play a model over contents and procedures, and tell what came of it.")
    parser.add_argument("--model", type=Path, default=small_model(), help="a .gguf file (default: the installed one)")
    parser.add_argument("--out", type=Path, help="where the plays are kept; those in it are not played again")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="which MAGI is asked (default: this one)")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="those that begin so, in this order: “judgement”, “plan 1”"
    )
    parser.add_argument("--founded", type=Path, metavar="FOLDER", help="keeps the database that each play begins from")
    parser.add_argument("--times", type=int, default=3, help="each procedure but the judgement (3)")
    parser.add_argument("--call", type=float, default=600, help="seconds for one call (600): slow is no failure")
    parser.add_argument("--longest", type=float, default=1800, help="seconds for one play (1800)")
    parser.add_argument("--table", nargs="+", type=Path, metavar="FILE", help="only print what these files have")
    options = parser.parse_args()
    if options.table:
        print(*table(options.table), sep="\n")
        return
    if not (options.model and options.out):
        parser.error("--model (or `make var/real/installed`) and --out are needed.")
    plays = json.loads(options.out.read_text()) if options.out.exists() else {}
    names = played.names(options.times)
    wanted = dict.fromkeys(name for begin in options.only or [""] for name in names if name.startswith(begin))
    with tempfile.TemporaryDirectory() as folder:
        database = founded(options.checkout.resolve(), options.founded or Path(folder))
        for name in (name for name in wanted if name not in plays):
            plays[name] = play(name, options.model, options.checkout.resolve(), database, options.call, options.longest)
            options.out.write_text(json.dumps(plays, indent=1, ensure_ascii=False))
            print(f"{name}: {line(plays[name])}", flush=True)
    print(*table([options.out]), sep="\n")


if __name__ == "__main__":
    main()
