"""Every fault point with every action on both databases, as real processes; writes `docs/faults.md`.

    python -m tests.crash.fault_table

One judgement, one worker that fails at one place, and an honest one beside it. With `--database` and `--action`
only a part is tried, and nothing is written.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.acceptance.site import ROOT, EngineProcess, can_stop
from tests.endpoint import ScriptedEndpoint
from tests.stage import DATABASES, Stage, stage, tidy_on_signals

TABLE = ROOT / "docs" / "faults.md"
ACTIONS = ("exit", "raise", "pause")
AT_ONCE = 6
LEASE = 2
PAUSE = 300  # seconds; this process ends it before, when the honest worker has taken the judgement
LOCKED = LEASE + 3.0  # seconds to wait where it cannot: a pause inside a transaction keeps its locks
PASSING = {"claim": 1, "outcome": 1}  # the first time; all other points in the middle of the judgement
MIDDLE = 5
LONGEST = 100.0  # seconds for one judgement; a loaded machine is slow
FAILED = "a test made this fail"  # what a worker logs that was made to raise

stopping = threading.Event()


class Trouble(Exception):
    """A case did not end as it must."""


@dataclass
class FaultCase:
    """One fault in one database."""

    point: str
    action: str
    stage: Stage
    claims: int = 0  # of the judgement's run: two where the honest worker took it over

    @property
    def name(self) -> str:
        return f"{self.point}-{self.action}"

    @property
    def fault(self) -> str:
        number = PASSING.get(self.point.split("-")[1], MIDDLE)
        return f"{self.point}={self.action}{f':{PAUSE}' if self.action == 'pause' else ''}@{number}"

    def play(self) -> str:
        """Empty if all is well, else what is not."""
        from django.db import connections

        with ExitStack() as stack:
            self.folder = self.stage.folder / self.name
            self.folder.mkdir()
            env = self.stage.env | copy_database(self.stage, self.name, self.folder)
            endpoint = stack.enter_context(ScriptedEndpoint())
            env |= {"OPENAI_BASE_URL": endpoint.base_url}
            try:
                return self.judge(endpoint, env, stack)
            except Trouble as trouble:
                return str(trouble)
            finally:
                connections[self.name].close()

    def judge(self, endpoint: ScriptedEndpoint, env: dict[str, str], stack: ExitStack) -> str:
        from tests.crash.chaos_check import REASON

        weather = {"objections": 0.3, "shortest_delay": 0.05, "longest_delay": 0.1}
        endpoint.script(default={"reason": REASON}, weather=weather, ledger=str(self.folder / "ledger"))
        log = self.folder / "log"
        faulty = stack.enter_context(EngineProcess(env | {"MAGI_TEST_FAULT": self.fault}, log))
        wait_until("the fault struck", lambda: self.has_struck(faulty, log))
        struck = time.time()
        end_children(faulty.process.pid)  # one of them would continue it
        honest = stack.enter_context(EngineProcess(env, self.folder / "honest"))
        if self.action == "pause":
            wait_until("the honest worker runs", lambda: can_stop(honest.process.pid))
            self.wait_for_takeover()
            faulty.process.send_signal(signal.SIGCONT)
            time.sleep(1)  # for what it writes too late
        wait_until("the judgement ended", self.has_ended)
        workers = [honest] if self.action == "exit" else [honest, faulty]
        return self.verdict(struck, [worker.stop() for worker in workers])

    def has_struck(self, faulty: EngineProcess, log: Path) -> bool:
        match self.action:
            case "exit":
                return faulty.process.poll() == 137
            case "pause":
                return faulty.state == "T"
        return FAILED in log.read_text()

    def wait_for_takeover(self) -> None:
        """Where nothing is left to do, or a lock is held, there is none."""
        if self.point.startswith("before"):
            stopping.wait(LOCKED)
        else:
            wait_until("the honest worker took over", lambda: self.has_ended() or self.count_claims() > 1)

    def count_claims(self) -> int:
        from engine.models import Run

        return Run.objects.using(self.name).get().claims

    def has_ended(self) -> bool:
        from engine.models import Run

        return not Run.objects.using(self.name).filter(ended=None).exists()

    def verdict(self, struck: float, stopped: list[int]) -> str:
        from engine.models import ModelCall, Run
        from tests.crash.chaos_check import SAVED, Blow, check

        blow = Blow("fault", struck - LEASE, time.time(), all_of_them=True)
        report = check(self.folder / "ledger", blows=[blow], using=self.name)
        problems = [str(finding) for finding in report.findings]
        self.claims = self.count_claims()
        if Run.objects.using(self.name).get().outcome is None:
            problems.append("no verdict")
        again = list(ModelCall.objects.using(self.name).filter(status="interrupted").values_list("step", flat=True))
        if len(again) > len(set(again)) or len({step[1] for step in again}) > 1:
            problems.append(f"more calls again than were in flight: {again}")
        if any(SAVED in (self.folder / log).read_text() for log in ("log", "honest")):
            problems.append("only a constraint of the database has kept a row out")
        if any(stopped):
            problems.append(f"told to stop, the workers ended with {stopped}")
        return "; ".join(problems)


def wait_until(what: str, happened: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST
    while not happened():
        if time.monotonic() > end or stopping.wait(0.02):
            raise Trouble(f"never: {what}")


def end_children(pid: int) -> None:
    """With all that they have started: each leads a session of its own."""
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in thread.read_text().split():
            os.killpg(int(child), signal.SIGKILL)


# ---- databases -------------------------------------------------------------------------------------------------


def submit_one() -> None:
    """The judgement that every copy of the database holds."""
    from django.db import connection

    from judgements.models import Judgement
    from magi_site.sqlite.base import close_pooled
    from tests.conftest import JAPAN, agents

    Judgement.objects.submit(owner=None, content=JAPAN, agents=agents("openai/a", "openai/b", "openai/c"))
    connection.close()
    close_pooled()  # what is written beside the file comes into it: it is copied


def copy_database(stage: Stage, name: str, folder: Path) -> dict[str, str]:
    """What a worker's environment says of the copy; here it is known to Django by its name."""
    from django.db import connections

    settings = connections.settings["default"]
    if stage.postgres:
        with copying:
            url = stage.postgres.create(name, template="magi")
        connections.settings[name] = settings | {"NAME": name}
        return {"DATABASE_URL": url}
    shutil.copy(stage.folder / "magi.sqlite3", folder)
    connections.settings[name] = settings | {"NAME": str(folder / "magi.sqlite3")}
    return {"MAGI_DATA_DIR": str(folder)}


copying = threading.Lock()  # PostgreSQL copies a database for one at a time

# ---- the table -------------------------------------------------------------------------------------------------


def play(database: str, actions: list[str]) -> dict[str, str]:
    """What went wrong, by the name of the case."""
    with stage(database, MAGI_ENGINE_LEASE=str(LEASE), MAGI_CALL_TIMEOUT="10") as place:
        from engine.fault_injection import POINTS

        submit_one()
        cases = [FaultCase(point, action, place) for action in actions for point in POINTS]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                return dict(pool.map(played, cases))
            finally:
                stopping.set()


def played(case: FaultCase) -> tuple[str, str]:
    begun = time.monotonic()
    problem = case.play()
    seconds, outcome = time.monotonic() - begun, problem or "ok"
    print(f"{case.name:<32} {seconds:3.0f} s  {case.claims} claims  {outcome}", file=sys.stderr, flush=True)
    return case.name, problem


def apart(database: str) -> dict[str, str]:
    """One process for each database: Django's settings are made once."""
    command = [sys.executable, "-m", "tests.crash.fault_table", "--database", database, "--json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            return json.loads(process.communicate()[0])
        except BaseException:
            process.terminate()
            raise


TEXT = """\
# What a worker survives

A worker was made to fail at a named point of its work on a judgement, once in each way, while another worker stood
by; afterwards every row and every request at the model endpoint was read. **ok** means: the judgement ended with nine
decisions and the verdict that they make, nothing was lost or done twice, and no more model calls were made again than
were in flight. *exit* is the worker's sudden death, as by `kill -9`; *raise* is an error of the database at this
point, which after a commit means a commit whose answer was lost; *pause* is a worker that stands still until its
lease has ended and then goes on as if nothing had happened. *open* is the commit that records a model call before its
request is sent, *call* the moment after its answer has come, *decision* the commit of answer and decision,
*outcome* the commit of the verdict and the run's end. Each case was tried on SQLite and on PostgreSQL by
`python -m tests.crash.fault_table`.

| fault point | exit | raise | pause |
|---|---|---|---|
"""


def table(found: dict[str, dict[str, str]]) -> str:
    names = list(found[DATABASES[0]])
    points = dict.fromkeys(name.rpartition("-")[0] for name in names)
    rows = [f"| `{point}` | {' | '.join(cell(found, f'{point}-{action}') for action in ACTIONS)} |" for point in points]
    return TEXT + "\n".join(rows) + "\n"


def cell(found: dict[str, dict[str, str]], name: str) -> str:
    problems = [f"{database}: {problems[name]}" for database, problems in found.items() if problems[name]]
    return "; ".join(problems) or "ok"


def main(options: argparse.Namespace) -> int:
    tidy_on_signals()
    if options.database:
        found = play(options.database, options.action or list(ACTIONS))
        if options.json:
            print(json.dumps(found))
            return 0
        return 1 if any(found.values()) else 0
    everything = {database: apart(database) for database in DATABASES}
    TABLE.write_text(table(everything))
    return 1 if any(problem for found in everything.values() for problem in found.values()) else 0


def read_options() -> Any:
    parser = argparse.ArgumentParser(description="Try every fault and write the table of what came of it.")
    parser.add_argument("--database", choices=DATABASES, help="only this one; nothing is written")
    parser.add_argument("--action", choices=ACTIONS, action="append", help="with --database: only this one")
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(read_options()))
