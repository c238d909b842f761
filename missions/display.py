"""What the pages of a mission show: every word and number, before any HTML."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.utils import timezone

from engine.models import Run
from runs.face import STANDINGS, Snapshot
from runs.stamps import Stamp, stamp_of
from runs.usage import used
from runs.waits import Wait
from runs.words import shown_name

from . import workshop
from .models import Agent, Mission, Step, Terminal, reading
from .models.files import difference, newest
from .rules import DONE, UNPROVEN, State
from .terminals.spool import State as SpoolState
from .tools.commands import screen_of
from .tools.said import facts_of

OUTCOMES = {DONE: ("approve", "Done"), UNPROVEN: ("reject", "Unproven")}
STATES = {State.RUNNING: ("judging", "Working"), State.STOPPED: ("none", "Stopped"), State.ERROR: ("failed", "Error")}
SHOWN_STEPS, SHOWN_TERMINALS, SHOWN_LINES, SHOWN_MESSAGES = 30, 4, 200, 12
SLOTS = 12  # agents at most
LONGEST_ARGUMENT, LONGEST_RESULT = 300, 4_000


@dataclass(frozen=True)
class AgentShown:
    number: int
    name: str
    model: str
    depth: int
    state: str
    word: str
    steps: int
    last: str


@dataclass(frozen=True)
class StepShown:
    key: str
    agent: str
    number: int
    reasoning: str
    tool: str
    about: str
    state: str
    word: str
    result: str


@dataclass(frozen=True)
class TerminalShown:
    number: int
    command: str
    agent: str
    state: str
    word: str
    text: str
    foot: str


@dataclass(frozen=True)
class MessageShown:
    number: int
    sender: str
    recipient: str
    text: str


@dataclass(frozen=True)
class FileShown:
    path: str
    change: str
    word: str
    added: int
    removed: int


@dataclass(frozen=True)
class Gauge:
    name: str
    value: str
    most: str
    share: int


@dataclass(frozen=True)
class Display:
    id: str
    title: str
    goal: str
    state: str
    word: str
    small: str
    wait: Wait | None
    stamp: Stamp | None
    gauges: tuple[Gauge, ...]
    crew: tuple[AgentShown, ...]
    steps: tuple[StepShown, ...]
    earlier: int
    growing: str
    terminals: tuple[TerminalShown, ...]
    messages: tuple[MessageShown, ...]
    files: tuple[FileShown, ...]
    result: str
    why: str
    check: str
    check_state: str
    check_word: str
    check_output: str
    paused: str
    used: str
    rehearsal: bool
    over: bool
    final: bool
    announcement: str
    created: datetime
    asked_by: str
    followed: str


def display_of(seen: Snapshot[Mission]) -> Display:
    mission, run = seen.row, seen.run
    plate, word = _plate(mission, run)
    steps = list(mission.steps.all())
    check, check_word = _check(mission)
    found = getattr(mission, "final_check", None)
    stamp = stamp_of(run, word, "Rehearsal" if mission.rehearsal else "", lambda outcome: OUTCOMES[outcome][0])
    return Display(
        id=str(run.pk),
        title=run.shown_title,
        goal=mission.goal,
        state=plate,
        word=word,
        small=_small(mission, run),
        wait=seen.wait,
        stamp=stamp,
        gauges=tuple(_gauges(mission, run)),
        crew=tuple(_agent(mission, run, one) for one in mission.crew_list),
        steps=tuple(_step(one) for one in reversed(steps[-SHOWN_STEPS:])),
        earlier=max(0, len(steps) - SHOWN_STEPS),
        growing=next((text for step, text in seen.texts.items() if step[:1].isdigit()), ""),
        terminals=tuple(_terminals(mission, run)),
        messages=tuple(_messages(mission)),
        files=tuple(files_changed(mission)),
        result=mission.result,
        why=mission.unproven,
        check=found.command if found else mission.check_command,
        check_state=check,
        check_word=check_word,
        check_output=found.output.partition("\n")[2][-LONGEST_RESULT:] if found else "",
        paused=mission.paused if not run.over else "",
        used=used(seen.calls),
        rehearsal=mission.rehearsal,
        over=run.over,
        final=run.over and run.status != Run.Status.FAILED,
        announcement=_announcement(mission, run, word),
        created=run.created,
        asked_by=shown_name(run.asked_by),
        followed=str(mission.follows_id) if mission.follows_id else "",
    )


# ---- plate ----------------------------------------------------------------------------------------------------


def _plate(mission: Mission, run: Run) -> tuple[str, str]:
    if run.outcome:
        return OUTCOMES[run.outcome]
    if mission.paused and not run.over:
        return "pending", "Paused"
    return ("judging", "Working") if run.status == Run.Status.RUNNING else STANDINGS[run.status]


def _small(mission: Mission, run: Run) -> str:
    if run.outcome == UNPROVEN:
        return mission.unproven
    if run.over:
        return "Its check passed." if getattr(mission, "final_check", None) else ""
    if mission.paused:
        return f"Paused by {shown_name(mission.paused)}. Acts that were under way came to their end."
    now = timezone.now()
    working = [one.name for one in mission.crew_list if _state(mission, one, now) == State.RUNNING]
    return f"{', '.join(working)} work{'s' * (len(working) == 1)}." if working else "Nobody works."


def _state(mission: Mission, agent: Agent, now: datetime) -> State:
    return reading.seen(mission, agent.number, now).state


def _announcement(mission: Mission, run: Run, word: str) -> str:
    if run.over or mission.paused:
        return f"{word}."
    halts = list(mission.halts.all())
    return f"{halts[-1].agent.name} stopped in error." if halts else ""


def _gauges(mission: Mission, run: Run) -> Iterator[Gauge]:
    bounds = mission.bounds
    minutes = run.worked / 60
    living = sum(one.living for one in mission.terminals.all()) if not run.over else 0
    counts = [
        ("Steps", len(mission.steps.all()), bounds.steps),
        ("Minutes of work", round(minutes), bounds.minutes),
        ("Agents", len(mission.crew_list), bounds.agents),
        ("Terminals", living, bounds.terminals),
        ("Messages", len(mission.messages.all()), bounds.messages),
    ]
    for name, value, most in counts:
        yield Gauge(name, f"{value:,}", f"{most:,}", min(100, round(100 * value / most)))


# ---- the crew -------------------------------------------------------------------------------------------------


def _agent(mission: Mission, run: Run, agent: Agent) -> AgentShown:
    state, word = STATES[_state(mission, agent, timezone.now())]
    if run.over or run.status != Run.Status.RUNNING:
        idle = run.over or run.status == Run.Status.QUEUED
        state, word = ("none", "Ended" if run.over else "Idle") if idle and state == "judging" else (state, word)
    steps = mission.steps_of(agent.number)
    last = steps[-1].reasoning if steps else agent.description
    return AgentShown(agent.number, agent.name, agent.model, agent.depth, state, word, len(steps), last[:300])


def _messages(mission: Mission) -> Iterator[MessageShown]:
    names = {one.number: one.name for one in mission.crew_list}
    for one in reversed(mission.talk[-SHOWN_MESSAGES:]):
        sender = names.get(one.sender, "") if one.sender else shown_name(one.by_name) or "The mission"
        yield MessageShown(one.number, sender, names.get(one.recipient, "people"), one.text)


# ---- steps ----------------------------------------------------------------------------------------------------


def _step(one: Step) -> StepShown:
    state, word = _came_to(one)
    return StepShown(
        one.key, one.agent.name, one.number, one.reasoning, one.tool, _about(one), state, word, _result(one.result)
    )


def _came_to(one: Step) -> tuple[str, str]:
    if not one.tool:
        return "none", "said"
    if not one.settled:
        return "judging", "running"
    facts = facts_of(one.result)
    if not one.ok:
        return "reject", "cut" if one.tool_call and one.tool_call.interrupted else "refused"
    if "exit_code" in facts:
        return ("approve" if facts["exit_code"] == 0 else "reject"), f"exit {facts['exit_code']}"
    return "approve", str(facts.get("state", "done")).replace("_", " ")


def _about(one: Step) -> str:
    """Its first argument, which says most."""
    try:
        arguments = json.loads(one.args) if one.args else {}
    except ValueError:
        return ""
    for name in (
        "command",
        "path",
        "recipient",
        "name",
        "pattern",
        "glob",
        "command_id",
        "agent_name",
        "text",
        "branch",
    ):
        if name in arguments:
            return str(arguments[name])[:LONGEST_ARGUMENT]
    return ""


def _result(text: str) -> str:
    head, _, rest = text.partition("\n")
    shown = rest if facts_of(head) else text
    return (
        shown if len(shown) <= LONGEST_RESULT else f"{shown[:LONGEST_RESULT]}\n… {len(shown) - LONGEST_RESULT:,} more"
    )


# ---- terminals ------------------------------------------------------------------------------------------------


def _terminals(mission: Mission, run: Run) -> Iterator[TerminalShown]:
    """The newest first, living ones before all."""
    agents = {one.pk: one.agent.name for one in mission.steps.all()}
    rows = sorted(mission.terminals.all(), key=lambda one: (one.living, one.number), reverse=True)
    for one in rows[:SHOWN_TERMINALS]:
        state, word = terminal_state(one, run.over)
        foot = [agents.get(one.step_id, "")]
        foot += [f"{one.seconds:,} s"] if one.seconds is not None else []
        foot += [f"{one.size:,} bytes"] if one.size is not None else []
        yield TerminalShown(one.number, one.command, foot[0], state, word, _screen(one), " · ".join(filter(None, foot)))


def terminal_state(one: Terminal, over: bool) -> tuple[str, str]:
    if one.living:
        return ("none", "Ended with it") if over else ("judging", "Living")
    if one.exit_code is None:
        return "failed", one.reason.replace("_", " ").capitalize() or "Never began"
    return ("approve" if one.exit_code == 0 else "reject"), f"Exit {one.exit_code}"


def _screen(one: Terminal) -> str:
    text = one.output
    if one.living:
        spool = workshop.spool(one.mission_id, one.spool)
        text = screen_of(spool).text if spool.state == SpoolState.LIVES else ""
    return "\n".join(text.rstrip("\n").split("\n")[-SHOWN_LINES:])


# ---- files ----------------------------------------------------------------------------------------------------


def _check(mission: Mission) -> tuple[str, str]:
    found = getattr(mission, "final_check", None)
    if found is None:
        return "wait", "To come" if mission.check_command else "None was wanted"
    if found.exit_code is None:
        return "failed", "Could not run"
    return ("approve", "Passed") if found.exit_code == 0 else ("reject", f"Exit {found.exit_code}")


WORDS = {"A": "added", "M": "changed", "D": "removed"}


def files_changed(mission: Mission) -> Iterator[FileShown]:
    """What is otherwise than at the beginning."""
    versions = list(mission.files.all())
    first, last = newest(one for one in versions if one.step_id is None), newest(versions)
    for path in sorted(first.keys() | last.keys()):
        before, after = first.get(path), last.get(path)
        if (before and before.digest) == (after and after.digest):
            continue
        change = "A" if before is None else "D" if after is None else "M"
        lines = difference(path, before.text if before else "", after.text if after else "")[2:]
        added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        yield FileShown(path, change, WORDS[change], added, removed)


def differences(mission: Mission) -> Sequence[tuple[FileShown, list[str]]]:
    """Of each file that is otherwise than at the beginning, the lines of its difference."""
    versions = list(mission.files.all())
    first, last = newest(one for one in versions if one.step_id is None), newest(versions)
    texts = partial(_texts, first, last)
    return [(one, difference(one.path, *texts(one.path))) for one in files_changed(mission)]


def _texts(first: dict, last: dict, path: str) -> tuple[str, str]:
    before, after = first.get(path), last.get(path)
    return (before.text if before else "", after.text if after else "")
