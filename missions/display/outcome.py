"""The outcome of a mission: result, check, decisions at its gates, published branches and remarks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engine.models import Gate, ModelCall, ToolCall
from runs.procedure.spec import RunSnapshot

from .. import publishing
from ..models import Mission
from ..pull_requests import opens_at
from ..rules import why_check_failed
from ..tools.output import output_facts
from ..tools.publish import PUBLISH, PublishCommitArguments
from .files import FileDiff, changed_files, file_diffs
from .terminals import Lines, lines_of

LONGEST_OUTPUT, SHOWN_LINES = 24_000, 400
COMMIT_LENGTH = 40
DIGEST = re.compile(r", sha256 [0-9a-f]{64}(?=, mode )")  # in the gate's text; pages leave it out
STATES = {
    Gate.State.APPROVED: ("approve", "Allowed"),
    Gate.State.REJECTED: ("reject", "Refused"),
    Gate.State.ANSWERED: ("approve", "Answered"),
    Gate.State.EXPIRED: ("none", "Nobody decided in time"),
    Gate.State.PENDING: ("pending", "Not decided"),
}


@dataclass(frozen=True)
class CheckView:
    """`note` says who ran the check and how it ended."""

    command: str
    state: str
    word: str
    note: str
    lines: Lines


@dataclass(frozen=True)
class MissionGateView:
    pk: int
    title: str
    state: str
    word: str
    said: str
    at: datetime | None


@dataclass(frozen=True)
class BranchView:
    """A published branch.

    bundled: whether this machine has a git bundle with it
    base: commit of the repository on which `commits` are based; empty if the mission began without a repository
    commits: pairs of commit and subject, oldest first
    merged: the same for commits of other branches that were published with it
    before: commit of the branch at its target before it was published
    files: one line for each file that differs from `base`
    opens_at: URL at which a forge opens a pull request
    """

    name: str
    commit: str
    to: str
    bundled: bool
    base: str = ""
    commits: tuple[tuple[str, str], ...] = ()
    merged: tuple[tuple[str, str], ...] = ()
    before: str = ""
    files: tuple[str, ...] = ()
    message: str = ""
    opens_at: str = ""


@dataclass(frozen=True)
class MissionOutcomeView:
    """The outcome for the page.

    figures: what its tools did, to compare the result with
    by: the agent and step that finished it
    without: pairs of path and reason for what the workspace was created without, if it began with a repository
    """

    result: str
    unproven: str
    figures: str
    by: str
    check: CheckView | None
    differences: tuple[FileDiff, ...]
    branches: tuple[BranchView, ...]
    has_repository: bool
    without: tuple[tuple[str, str], ...]
    gates: tuple[MissionGateView, ...]
    remarkable: tuple[str, ...]


def outcome_view(seen: RunSnapshot[Mission]) -> MissionOutcomeView | None:
    """None before the mission has ended."""
    mission = seen.row
    if not seen.run.is_ended:
        return None
    finish = mission.finish
    return MissionOutcomeView(
        mission.result,
        mission.unproven,
        figures(mission),
        f"{finish.agent.name}, step {finish.number}" if finish else "",
        _check(mission),
        tuple(file_diffs(mission, SHOWN_LINES)),
        tuple(branches(mission)),
        mission.begun_with is not None,
        tuple(mission.begun_with.without) if mission.begun_with else (),
        tuple(map(_gate, seen.gates)),
        tuple(_remarkable(seen)),
    )


def figures(mission: Mission) -> str:
    """A sentence with what its tools did, counted from rows and not taken from the result that an agent wrote."""
    commands, files = len(mission.terminals.all()), len(list(changed_files(mission)))
    counted = [
        (commands, "command", "run"),
        (files, "file", "changed"),
        (len(_published(mission)), "branch", "published"),
    ]
    return ", ".join(_counted(*one) for one in counted).capitalize() + "."


def _counted(number: int, noun: str, done: str) -> str:
    nouns = {"branch": "branches"}.get(noun, f"{noun}s")
    return f"{number:,} {noun if number == 1 else nouns} {done}" if number else f"no {noun} {done}"


def branches(mission: Mission) -> Iterator[BranchView]:
    """The published branches, each with its newest commit."""
    bundled = publishing.bundle(mission.pk).exists()
    for name, (said, call) in _published(mission).items():
        asked = PublishCommitArguments.model_validate_json(call.arguments) if call and call.arguments else None
        about = _of_asked(asked) if asked else {}
        yield BranchView(name, said["commit"], said["to"], bundled, opens_at=opens_at(mission, name), **about)


def _of_asked(asked: PublishCommitArguments) -> dict[str, Any]:
    commits, merged = (
        tuple((one[:COMMIT_LENGTH], one[COMMIT_LENGTH + 1 :]) for one in each) for each in (asked.commits, asked.merged)
    )
    head, _, _ = asked.difference.partition("\n\n")
    lines = [line for line in head.splitlines()[1:] if line.startswith(("added: ", "changed: ", "removed: "))]
    files = tuple(DIGEST.sub("", line) for line in lines) if asked.base else ()
    about = {"commits": commits, "merged": merged, "files": files}
    return {"base": asked.base, "message": asked.message, "before": asked.there, **about}


def _published(mission: Mission) -> dict[str, tuple[dict[str, Any], ToolCall | None]]:
    """The facts of the newest publication of each branch and its tool call, by name of the branch."""
    steps = [one for one in mission.steps.all() if one.tool == PUBLISH and one.settled and one.ok]
    return {said["branch"]: (said, one.tool_call) for one in steps if (said := output_facts(one.result))}


def _check(mission: Mission) -> CheckView | None:
    found = getattr(mission, "final_check", None)
    if found is None:
        command = mission.check_command
        note = "It was not run: the mission did not come to its end."
        return CheckView(command, "none", "Not run", note, ()) if command else None
    lines = lines_of(found.output.partition("\n")[2][-LONGEST_OUTPUT:].encode(errors="replace"))
    if found.exit_code is None:
        why = why_check_failed(found.reason)
        return CheckView(found.command, "failed", "Could not run", f"It could not be run: {why}.", lines)
    state, word = ("approve", "Passed") if found.exit_code == 0 else ("reject", "Failed")
    note = f"Run by MAGI in a fresh sandbox, over a copy, after the coordinator had finished. Exit {found.exit_code}."
    return CheckView(found.command, state, word, note, lines)


def _gate(gate: Gate) -> MissionGateView:
    last = gate.last_decision
    state, word = STATES.get(Gate.State(gate.state), ("none", gate.state.capitalize()))
    by = f"by {last.by}" if last and last.by else ""
    words = f"“{last.text}”" if last and last.text else ""
    return MissionGateView(gate.pk, gate.title, state, word, " ".join(filter(None, (by, words))), gate.closed)


def _remarkable(seen: RunSnapshot[Mission]) -> Iterator[str]:
    """Sentences about unusual events that a reviewer should look at."""
    row = seen.row
    yield from _restarted(seen)
    if made := [one for one in row.summaries.all() if one.covers and one.holds]:
        said = _times(len(made), "summary stands", "summaries stand")
        yield f"{said} for older steps; all of them are in the record."
    for halt in row.halts.all():
        yield f"{halt.agent.name} stopped in error after step {halt.after}: {halt.get_why_display()}."
    if any(one.last for one in row.steps.all()):
        yield "A limit was reached: the coordinator had one last step."
    yield from _of_people(row)


def _restarted(seen: RunSnapshot[Mission]) -> Iterator[str]:
    calls = sum(call.status == ModelCall.Status.INTERRUPTED for call in seen.calls)
    cut = sum(bool(one.tool_call and one.tool_call.interrupted) for one in seen.row.steps.all())
    if calls or cut:
        yield "The engine was restarted while it worked. No command ran twice."
    if cut:
        yield f"{_times(cut, 'act was', 'acts were')} cut off, and not repeated."


def _of_people(row: Mission) -> Iterator[str]:
    if pauses := sum(one.on for one in row.pauses.all()):
        yield f"It was paused {'once' if pauses == 1 else f'{pauses} times'}."
    if made := [one.name for one in row.crew_list if one.parent]:
        yield f"Made on the way: {', '.join(made)}."
    if typed := sum(len(one.inputs.all()) for one in row.terminals.all()):
        yield f"{_times(typed, 'prompt of a command was', 'prompts of commands were')} answered, once each."


def _times(number: int, one: str, more: str) -> str:
    return f"One {one}" if number == 1 else f"{number:,} {more}"
