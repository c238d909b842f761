"""The small goals reached by missions, by mini-swe-agent and by an agent in tmux, with the same scripted answers.

    python -m tests.missions.peers [--rounds 3]      by `make bench-missions`, which makes the environment of the second

Who has a shell alone gets a command for each step (`peer_commands.py`) and runs it in a plain folder; missions run
theirs in the sandbox. Between an answer and the next question lies what a step takes without its model: from that of a
command is taken away what bash alone needs for the same. Then everybody is killed at the half of each goal, and begun
again. Exit status 0 if missions reach all goals, killed or not, with an intact record.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tests.missions.goals import GOALS, Goal
from tests.missions.peer_commands import COMMANDS, WITHOUT
from tests.missions.peer_ours import Engine, MissionPeer
from tests.missions.peer_play import Family, Models, PeerPlayed, percentile
from tests.missions.peer_theirs import ForeignPeer, Mini, Tmux, bare
from tests.stage import stage

OURS = "missions"
ASKING = "answer a prompt"
OF_COMMANDS = ("command", "run_command", "send_command_input")
BARE = 3  # times before and as many behind: the machine is not always as busy
THEIRS = tuple(goal for goal in GOALS if goal.name in COMMANDS)


@dataclass
class Figures:
    """`cpu`: seconds of the processor, beside those before the first question."""

    played: list[PeerPlayed] = field(default_factory=list)
    cpu: float = 0.0
    start: float = 0.0
    seconds: float = 0.0
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    @property
    def steps(self) -> int:
        return sum(len(one.calls) for one in self.played)

    def overhead(self, alone: dict[str, list[float]]) -> list[float]:
        """Milliseconds of commands, but for the goal in which one waits on purpose until it is typed to. What bash
        needs is known of goals in which each step has its command."""
        found = list[float]()
        for one in self.played:
            known = [*alone.get(one.goal, ()), *(0.0 for _ in one.calls)]
            steps = [(call, known[number]) for number, call in enumerate(one.calls[1:]) if one.goal != ASKING]
            found += [call["gap"] - away for call, away in steps if call["after"] in OF_COMMANDS]
        return [max(0.0, 1000 * one) for one in found]

    @property
    def internal(self) -> list[float]:
        """The same of tools that run nothing."""
        calls = (call for one in self.played for call in one.calls[1:])
        return [1000 * call["gap"] for call in calls if call["after"] not in OF_COMMANDS]

    def row(self, goals: int, alone: dict[str, list[float]]) -> dict[str, Any]:
        tokens = [call["tokens"] for one in self.played for call in one.calls]
        commands, internal = self.overhead(alone), self.internal
        return {
            "goals": f"{len({one.goal for one in self.played if one.reached})} of {goals}",
            "steps": self.steps,
            "command p50": round(percentile(commands, 50)),
            "command p95": round(percentile(commands, 95)),
            "internal p50": round(percentile(internal, 50)) if internal else "",
            "internal p95": round(percentile(internal, 95)) if internal else "",
            "rows": round(sum(one.rows for one in self.played) / self.steps, 1),
            "kB": round(sum(one.kept for one in self.played) / self.steps / 1000, 1),
            "tokens": round(sum(tokens) / len(tokens)),
            "CPU s": round(self.cpu / self.steps, 3),
            "to begin": round(self.start, 2),
            "seconds": round(self.seconds, 1),
            "load": round(self.load, 1),
            "private": sorted({at for one in self.played for at in one.private}),
        }


def theirs(peer: ForeignPeer, family: Family, rounds: int) -> Figures:
    before, began = family.cpu, time.monotonic()
    played = [peer.play(goal) for _ in range(rounds) for goal in THEIRS]
    family.collect()
    starts = [one.start for one in played]
    return Figures(played, family.cpu - before - sum(starts), median(starts), time.monotonic() - began)


def ours(missions: MissionPeer, engine: Engine, family: Family, rounds: int) -> Figures:
    """One that nobody measures comes first: an engine stands before it is asked for something."""
    start = engine.ready()
    missions.play(GOALS[2])
    before, missions.submitted = family.cpu + engine.cpu, 0.0
    began = time.monotonic()
    played = [missions.play(goal) for _ in range(rounds) for goal in GOALS]
    seconds = time.monotonic() - began
    engine.kill()
    return Figures(played, family.cpu - before + missions.submitted, start, seconds)


def measured(options: argparse.Namespace, home: str) -> bool:
    family = Family()
    with Models() as models:
        providers = json.dumps({"peer": {"base_url": models.url}})
        by_bash = {goal.name: [bare(goal) for _ in range(BARE)] for goal in THEIRS}
        peers = [kind(models, family) for kind in (Mini, Tmux) if kind.name in options.only]
        found = {one.name: theirs(one, family, options.rounds) for one in peers}
        with stage("sqlite", MAGI_MISSIONS_DIR=home, MAGI_PROVIDERS=providers) as place:
            from engine.audit.full_verification import verify_all
            from missions.sandbox_selftest import run_sandbox_probe

            print(run_sandbox_probe(only_if_due=True).sentence, flush=True)
            missions = MissionPeer(place, models, family)
            found[OURS] = ours(missions, Engine(place, family), family, options.rounds)
            for goal in THEIRS:
                by_bash[goal.name] += [bare(goal) for _ in range(BARE)]
            told(found, {name: [median(of) for of in zip(*times, strict=True)] for name, times in by_bash.items()})
            well = after_kills(missions, peers, found)
            faults = verify_all().faults
    print(*faults[:10], f"load {os.getloadavg()[0]:.1f}", sep="\n", flush=True)
    return well and not faults and all(one.reached for one in found[OURS].played)


def told(found: dict[str, Figures], alone: dict[str, list[float]]) -> None:
    rows = {name: of.row(len(GOALS), alone) for name, of in found.items()}
    print(f"{'':16}" + "".join(f"{name:>13}" for name in rows[OURS]))
    for name, row in rows.items():
        print(f"{name:16}" + "".join(f"{one!s:>13}" for one in row.values()))
    for goal, why in WITHOUT.items():
        print(f"by missions alone: {goal}, for {why}")
    print("ms of bash alone:", {name: [round(1000 * one) for one in of] for name, of in alone.items()})
    for name, of in found.items():
        print(
            f"{name}, ms of each tool, p50 and p95, with what runs: {by_tool(of)}; the longest: {longest(of)}",
            flush=True,
        )


def by_tool(of: Figures) -> dict[str, str]:
    gaps: dict[str, list[float]] = {}
    for one in of.played:
        for call in one.calls[1:]:
            gaps.setdefault(call["after"], []).append(1000 * call["gap"])
    return {name: f"{percentile(some, 50):.0f} {percentile(some, 95):.0f}" for name, some in sorted(gaps.items())}


def longest(of: Figures) -> list[str]:
    found = [(call["gap"], f"{one.goal} {n}") for one in of.played for n, call in enumerate(one.calls[1:], 1)]
    return [f"{name}: {1000 * gap:.0f}" for gap, name in sorted(found, reverse=True)[:4]]


def after_kills(missions: MissionPeer, peers: Sequence[ForeignPeer], found: dict[str, Figures]) -> bool:
    def calls_of(name: str, goal: Goal) -> int:
        return len(next(one for one in found[name].played if one.goal == goal.name).calls)

    for peer in peers:
        ends = [peer.killed(goal, calls_of(peer.name, goal)) for goal in THEIRS]
        left = sorted({one for _, of in ends for one in of})
        anew = sum(begins for begins, _ in ends)
        print(f"{peer.name}: killed at the half of {len(ends)} goals, {anew} begin anew; left: {', '.join(left)}")
    again = [(goal, *missions.killed(goal, calls_of(OURS, goal))) for goal in GOALS]
    reached = sum(well for _, well, _ in again)
    more = sum(len(calls) - calls_of(OURS, goal) for goal, _, calls in again)
    print(
        f"{OURS}: killed at the half of {len(again)} goals, {reached} are reached, with {more} calls more", flush=True
    )
    return reached == len(GOALS)


def main(options: argparse.Namespace) -> bool:
    home = tempfile.mkdtemp(prefix="magi-missions-")
    Path(home).chmod(0o711)
    try:
        return measured(options, home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Reach the same small goals here and by others.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=[Mini.name, Tmux.name], default=[Mini.name, Tmux.name])
    sys.exit(0 if main(parser.parse_args()) else 1)
