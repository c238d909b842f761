"""Measure what a judgement costs: `python -m tests.bench`, or `make bench`.

One run, contestants by turns and again and again; medians, and ratios to the openai SDK within each turn.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, Self

from tests.bench.environments import ENVIRONMENTS
from tests.bench.work import CONTENT, BenchPlay
from tests.load.audit_load import ENTRIES_EACH, fill
from tests.stage import DATABASES, stage

CONTESTANTS = ("floor", "sdk", "magi")
PEERS = Path("var/bench")  # where `make bench-peers` puts their environments
LONGEST = 20_000  # characters of a content
PLAYS = {
    "one": BenchPlay(20, 1, 0, 120, watched=False),
    "in one piece": BenchPlay(20, 1, 0, 1, watched=False),  # as an endpoint answers that sends a stream in one piece
    "watched": BenchPlay(10, 1, 0, 120, watched=True),
    "20,000 characters": BenchPlay(10, 1, 0, 1, watched=False, content=(CONTENT * 30)[:LONGEST]),
    "50 ms": BenchPlay(10, 1, 50, 120, watched=False),
    "1 s": BenchPlay(2, 1, 1000, 120, watched=False),
    "10 at once": BenchPlay(60, 10, 0, 120, watched=False),
    "100 at once": BenchPlay(200, 100, 0, 120, watched=False),
    "100 at 1 s": BenchPlay(100, 100, 1000, 120, watched=False),
    "1,000 at 1 s": BenchPlay(1000, 1000, 1000, 120, watched=False),
}
SHORT = ("one", "in one piece", "watched")
ONCE = 500  # from so many judgements on a play is performed once in a run


class Process:
    """One contestant, waiting for plays."""

    def __init__(self, name: str, port: int, env: dict[str, str]) -> None:
        command = [*_program(name), name, str(port)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=env, **pipes)

    def __enter__(self) -> Self:
        self._reply()
        return self

    def __exit__(self, *_: object) -> None:
        with self.process:
            self.process.stdin.close()

    def perform(self, play: BenchPlay) -> dict[str, float]:
        self.process.stdin.write(json.dumps(play._asdict()) + "\n")
        self.process.stdin.flush()
        return json.loads(self._reply())

    def _reply(self) -> str:
        if not (line := self.process.stdout.readline()):
            raise SystemExit("A contestant has ended.")
        return line


def _program(name: str) -> list[str]:
    if name not in ENVIRONMENTS:
        return [sys.executable, "-m", "tests.bench.contestants"]
    return [str(PEERS / ENVIRONMENTS[name] / "bin" / "python"), "-m", "tests.bench.peers"]


def measure(options: argparse.Namespace) -> dict[str, dict[str, list[dict[str, float]]]]:
    found: dict[str, dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    with ExitStack() as stack:
        command = [sys.executable, "-m", "tests.bench.endpoint"]
        endpoint = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(endpoint.terminate)
        port = int(endpoint.stdout.readline())
        place = stack.enter_context(stage(options.database, **environment(port)))
        fill(options.finished * ENTRIES_EACH, len(CONTENT))
        env = place.env | {"DJANGO_SETTINGS_MODULE": "magi_site.settings"}
        processes = {name: stack.enter_context(Process(name, port, env)) for name in options.only}
        for process in processes.values():
            process.perform(BenchPlay(3, 1, 0, 120, watched=False))  # what is loaded at first is loaded
        for number in range(options.rounds):
            for play in options.plays:
                if number and PLAYS[play].number >= ONCE:
                    continue
                for name, process in processes.items():
                    if PLAYS[play].watched and name in ENVIRONMENTS:
                        continue  # these are not made to stream
                    row = process.perform(PLAYS[play])
                    found[play][name].append(row)
                    # what is broken off has said something all the same
                    print(f"{play}, {name}: {row['cpu']:.1f} ms, {row['seconds']:.1f} s", file=sys.stderr, flush=True)
    return found


def environment(port: int) -> dict[str, str]:
    """A provider for each kind of endpoint."""
    kinds = {play.provider: f"http://127.0.0.1:{port}{play.path}" for play in PLAYS.values()}
    declared = {name: {"base_url": url, "models": ["gpt-5-mini"], "concurrency": 3_000} for name, url in kinds.items()}
    no_limits = {"MAGI_USER_SUBMISSIONS": "100000", "MAGI_USER_QUEUED": "100000", "MAGI_ENGINE_CONCURRENCY": "1000"}
    return {"MAGI_PROVIDERS": json.dumps(declared), **no_limits}


def figures(play: BenchPlay, name: str, of: dict[str, list[dict[str, float]]]) -> dict[str, float | str]:
    rows, base = of[name], of.get("sdk", of[name])
    pairs = list(zip(rows, base, strict=True))
    done = play.number / median(row["seconds"] for row in rows)
    shown: dict[str, float | str] = {
        "CPU ms": round(median(row["cpu"] for row in rows), 1),
        "of SDK": round(median(row["cpu"] / sdk["cpu"] for row, sdk in pairs), 2),
        "done/s": round(done, 1),
        "times SDK": round(median(sdk["seconds"] / row["seconds"] for row, sdk in pairs), 2),
    }
    ideal = f"{100 * play.ideal * done / play.number:.0f} %" if play.ideal else ""
    return shown | {"of ideal": ideal}


def main(options: argparse.Namespace) -> None:
    found = measure(options)
    table = {play: {name: figures(PLAYS[play], name, of) for name in of} for play, of in found.items()}
    if options.json:
        print(json.dumps({"table": table, "rounds": found}, indent=1))
        return
    print(f"{'':18}{'':18}{'CPU ms':>9}{'of SDK':>9}{'done/s':>9}{'times SDK':>11}{'of ideal':>10}")
    for play, of in table.items():
        for name, row in of.items():
            cells = "".join(f"{row[key]:>{width}}" for key, width in zip(row, (9, 9, 9, 11, 10), strict=True))
            print(f"{play:18}{name:18}{cells}")
    there = f", {options.finished:,} finished before" if options.finished else ""
    print(f"medians of {options.rounds}, {options.database}{there}, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--plays", nargs="+", choices=PLAYS, default=list(PLAYS))
    parser.add_argument("--short", action="store_true", help="one at a time alone, and twice: two minutes")
    parser.add_argument("--finished", type=int, default=0, help="so many judgements are there already")
    parser.add_argument("--only", nargs="+", choices=[*CONTESTANTS, *ENVIRONMENTS], default=list(CONTESTANTS))
    parser.add_argument("--peers", action="store_true", help="with all of them; after `make bench-peers`")
    parser.add_argument("--json", action="store_true", help="for plots, with every round")
    options = parser.parse_args()
    if options.short:
        options.rounds, options.plays = 2, SHORT
    if options.peers:
        options.only = [*options.only, *ENVIRONMENTS]
    main(options)
