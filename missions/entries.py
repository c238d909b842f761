"""A mission's record: entries from its rows, search labels, and the checks of entries.

Why so: missions/DESIGN.md, Missions.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from django.db.models import F

from engine.audit.entries_from_rows import RunEntries
from engine.ledger.entries import ENDED, SUBMITTED
from engine.ledger.hashing import EntryDraft, format_timestamp
from engine.llm.providers import is_rehearsal
from engine.models import Fork
from engine.text.search_terms import label_term

from .models import (
    AgentStop,
    CarriedStep,
    FileVersion,
    HistorySummary,
    MemoryActivation,
    MemoryUse,
    MemoryVersion,
    Mission,
    MissionAgent,
    MissionCheck,
    MissionMessage,
    MissionPause,
    MissionStep,
    ShortTermMemory,
    Terminal,
    TerminalConnection,
    TerminalInput,
)
from .models.flags import MissionFlag, flags_of
from .rules import DONE, fold_name, outcome

NAMES = ("spawned", "step", "result", "halted", "message", "paused", "terminal", "ended", "input", "file", "memory")
SPAWNED, STEP, RESULT, HALTED, MESSAGE, PAUSED, TERMINAL, TERMINAL_END, INPUT, FILE, MEMORY = (
    f"mission.{name}" for name in NAMES
)
SUMMARY, CHECK, CARRIED = "mission.summary", "mission.check", "mission.carried"
ACTIVE, RECALLED, PROPOSED, CONNECTED = (f"mission.{name}" for name in ("active", "recalled", "proposed", "connected"))


# rows with an agent: their entries have only its number, so it is checked that the agent is of the same mission
AGENT_ROWS: Sequence[Any] = (
    MissionStep,
    CarriedStep,
    AgentStop,
    ShortTermMemory,
    HistorySummary,
    MemoryActivation,
    MemoryUse,
)


def build_entries(told: dict[UUID, RunEntries], *, new: bool = False) -> None:
    """Add the entries of these missions to the drafts of their runs. `new`: only those of the submission."""
    missions = Mission.objects.select_related("crew_version", "repository").prefetch_related("agents")
    for mission in missions.filter(pk__in=list(told)):
        first = FileVersion.objects.filter(mission=mission, step=None).order_by("number")
        _fill_submission(told[mission.pk][SUBMITTED][0], mission, list(first))
        for ended in told[mission.pk][ENDED]:
            ended.texts |= {"result": mission.result, "unproven": mission.unproven}
    Fork.objects.tell(told)
    if not new:
        for kind, draft, pk in _drafts(list(told)):
            told[pk][kind].append(draft)


def _fill_submission(draft: EntryDraft, mission: Mission, first: Sequence[FileVersion]) -> None:
    crew = [one for one in mission.agents.all() if not one.parent]
    draft.facts |= {
        "crew": mission.crew,
        "agents": [_agent(one) for one in crew],
        "limits": mission.limits,
        "policy": mission.policy,
        "check_wanted": mission.final_check_wanted,
        "follows": str(mission.follows_id) if mission.follows_id else None,
        "prompt_version": mission.prompt_version,
        "files": [{"number": one.number, "size": one.size} for one in first],
    }
    draft.facts |= {"library": mission.library} if mission.library else {}
    if repository := mission.begun_with:
        names = ("base", "start", "files", "size", "shallow")
        draft.facts["repository"] = _of(repository, *names)
        texts = {"address": repository.address, "branch": repository.branch, "left out": repository.left_out}
        draft.texts |= {f"{name} of the repository": text for name, text in texts.items()}
    if version := mission.crew_version:
        draft.facts["crew_version"] = {"id": version.crew_id, "name": version.name, "version": version.number}
    draft.texts |= {"goal": mission.goal, "check": mission.check_command}
    draft.texts |= {"customs": mission.customs} if mission.customs else {}
    draft.texts |= {f"description of agent {one.number}": one.description for one in crew}
    for one in first:
        draft.texts |= {f"path of file {one.number}": one.path, f"text of file {one.number}": one.text}
        draft.texts[f"digest of file {one.number}"] = one.digest


def _agent(one: MissionAgent) -> dict[str, Any]:
    names = ("number", "name", "parent", "depth", "model", "tools", "rights")
    return {name: getattr(one, name) for name in names}


def _drafts(of: list[UUID]) -> Iterator[tuple[str, EntryDraft, UUID]]:
    """Kind, draft and mission of each entry. Within a kind later rows come last, so sealed entries keep their place."""
    for agent in MissionAgent.objects.filter(mission__in=of, parent__gt=0).order_by("pk"):
        yield _told(SPAWNED, agent, _agent(agent), {"description": agent.description})
    for past in CarriedStep.objects.filter(mission__in=of).select_related("agent").order_by("pk"):
        facts = {"agent": past.agent.number, **_of(past, "number", "tool", "heard", "ok")}
        yield _told(CARRIED, past, facts, {name: getattr(past, name) for name in ("reasoning", "args", "result")})
    steps = list(MissionStep.objects.filter(mission__in=of).select_related("agent", "tool_call").order_by("pk"))
    yield from map(_step, steps)
    yield from map(_result, sorted((one for one in steps if one.settled), key=lambda one: (one.settled, one.pk)))
    for halt in AgentStop.objects.filter(mission__in=of).select_related("agent").order_by("pk"):
        yield _told(
            HALTED, halt, {"agent": halt.agent.number, **_of(halt, "after", "why", "heard")}, {"text": halt.text}
        )
    for message in MissionMessage.objects.filter(mission__in=of).order_by("number"):
        names = ("number", "sender", "recipient", "go_on")
        yield _told(MESSAGE, message, {**_of(message, *names), "by": message.by_name}, {"text": message.text})
    for pause in MissionPause.objects.filter(mission__in=of).order_by("number"):
        yield _told(PAUSED, pause, {**_of(pause, "number", "on"), "by": pause.by_name}, {})
    yield from _terminals(of)
    yield from _kept(of)
    yield from _memories(of)


def _memories(of: list[UUID]) -> Iterator[tuple[str, EntryDraft, UUID]]:
    """Entries about long-term memories, without texts: those are in the chain of each memory. Also connections."""
    for one in MemoryActivation.objects.filter(mission__in=of).select_related("agent").order_by("pk"):
        yield _told(ACTIVE, one, {"agent": one.agent.number, "memory": one.memory_id, "on": one.on}, {})
    for use in MemoryUse.objects.filter(mission__in=of).select_related("agent", "version").order_by("pk"):
        facts = {"agent": use.agent.number, "memory": use.version.memory_id, "version": use.version.number}
        yield _told(RECALLED, use, {**facts, "on": use.on}, {})
    for version in MemoryVersion.objects.filter(mission__in=of).select_related("memory").order_by("pk"):
        names = {"by": version.by, "name": version.memory.name}
        yield _told(PROPOSED, version, {"memory": version.memory_id, **_of(version, "number", "base"), **names}, {})
    for reached in TerminalConnection.objects.filter(mission__in=of).select_related("terminal").order_by("pk"):
        names_of = ("number", "port", "allowed", "sent", "received")
        told = {"terminal": reached.terminal.number, **_of(reached, *names_of)}
        yield _told(CONNECTED, reached, told, {"host": reached.host})


def _kept(of: list[UUID]) -> Iterator[tuple[str, EntryDraft, UUID]]:
    for version in (
        FileVersion.objects.filter(mission__in=of, step__isnull=False).select_related("step__agent").order_by("number")
    ):
        facts = {**_of(version, "number", "change", "size"), "step": version.step.key if version.step else ""}
        yield _told(FILE, version, facts, {name: getattr(version, name) for name in ("path", "digest", "text")})
    for memory in ShortTermMemory.objects.filter(mission__in=of).select_related("agent").order_by("pk"):
        facts = {"agent": memory.agent.number, **_of(memory, "version", "by")}
        yield _told(MEMORY, memory, facts, {"text": memory.text})
    for summary in HistorySummary.objects.filter(mission__in=of).select_related("agent").order_by("pk"):
        texts = {name: getattr(summary, name) for name in ("text", "dump", "digest")}
        yield _told(SUMMARY, summary, {"agent": summary.agent.number, "covers": summary.covers}, texts)
    for check in MissionCheck.objects.filter(mission__in=of).order_by("pk"):
        yield _told(CHECK, check, _of(check, "exit_code", "reason"), {"command": check.command, "output": check.output})


def _terminals(of: list[UUID]) -> Iterator[tuple[str, EntryDraft, UUID]]:
    rows = list(Terminal.objects.filter(mission__in=of).select_related("step__agent").order_by("number"))
    for one in rows:
        yield _told(TERMINAL, one, {"number": one.number, "step": one.step.key}, {"command": one.command})
    for one in sorted((one for one in rows if one.ended), key=lambda one: (one.ended, one.pk)):
        facts = _of(one, "number", "exit_code", "reason", "seconds", "size")
        texts = {"output": one.output, "digest": one.digest}
        yield (
            TERMINAL_END,
            EntryDraft(TERMINAL_END, format_timestamp(one.ended) or "", facts, texts, row=one.pk),
            one.mission_id,
        )
    typed = TerminalInput.objects.filter(terminal__mission__in=of).select_related("terminal", "step__agent")
    for line in typed.order_by("pk"):
        by = {"step": line.step.key} if line.step else {"by": line.by_name}
        facts = {"terminal": line.terminal.number, "number": line.number, **by}
        draft = EntryDraft(INPUT, format_timestamp(line.made) or "", facts, {"text": line.text}, row=line.pk)
        yield INPUT, draft, line.terminal.mission_id


def _of(row: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _told(kind: str, row: Any, facts: dict[str, Any], texts: dict[str, str]) -> tuple[str, EntryDraft, UUID]:
    return kind, EntryDraft(kind, format_timestamp(row.made) or "", facts, texts, row=row.pk), row.mission_id


def _step(one: MissionStep) -> tuple[str, EntryDraft, UUID]:
    facts = {"agent": one.agent.number, **_of(one, "number", "tool", "heard", "last")}
    return _told(STEP, one, facts, {"reasoning": one.reasoning, "args": one.args})


def _result(one: MissionStep) -> tuple[str, EntryDraft, UUID]:
    facts: dict[str, Any] = {"agent": one.agent.number, "number": one.number, "ok": one.ok}
    facts |= {"call": one.tool_call.number if one.tool_call else None}
    return (
        RESULT,
        EntryDraft(RESULT, format_timestamp(one.settled) or "", facts, {"result": one.result}, row=one.pk),
        one.mission_id,
    )


def labels(said: RunEntries) -> Iterator[str]:
    """Search labels from the mission's entries, in addition to those that every run has."""
    [submitted, *_] = said[SUBMITTED]
    yield label_term("rehearsal", any(is_rehearsal(one["model"]) for one in submitted.facts["agents"]))
    if version := submitted.facts.get("crew_version"):
        yield label_term("crew", version["id"])
    if submitted.facts["follows"]:
        yield label_term("flag", MissionFlag.FOLLOWS)
    if any(ended.facts["outcome"] for ended in said[ENDED]):
        yield from (label_term("flag", remark) for remark in flags_of(said))


def misnamed(runs: Sequence[UUID]) -> Iterator[tuple[UUID, str]]:
    """Pairs of mission and fault: a search name of an agent that does not match, or a row of a foreign agent."""
    for agent in MissionAgent.objects.filter(mission__in=runs).order_by("pk"):
        if agent.folded != fold_name(agent.name):
            yield agent.mission_id, f"Its agent {agent.number} is found by another name than it has."
    for model in AGENT_ROWS:
        for row in model.objects.filter(mission__in=runs).exclude(agent__mission=F("mission")):
            yield row.mission_id, f"{row} belongs to an agent of another mission."


# ---- checks ---------------------------------------------------------------------------------------------------


def validate_entries(entries: Sequence[dict[str, Any]]) -> str:
    """Return a fault of the entries, or an empty string.

    Steps must be numbered without gaps and belong to known agents. The outcome "done" needs a check that passed, if one
    was wanted, and a step that finished the mission.
    """
    submitted = next((one for one in entries if one["kind"] == SUBMITTED), None)
    if submitted is None:
        return ""
    return _numbers(submitted, entries) or _outcome(submitted["facts"], entries)


def _numbers(submitted: dict[str, Any], entries: Iterable[dict[str, Any]]) -> str:
    entries = list(entries)
    agents = {one["number"] for one in submitted["facts"]["agents"]}
    agents |= {one["facts"]["number"] for one in entries if one["kind"] == SPAWNED}
    counted = dict.fromkeys(agents, 0)
    for one in (one["facts"] for one in entries if one["kind"] == STEP):
        if one["agent"] not in counted or one["number"] != counted[one["agent"]] + 1:
            return f"Step {one['agent']}.{one['number']} cannot be what came next."
        counted[one["agent"]] += 1
    for kind, name in ((MESSAGE, "Message"), (TERMINAL, "Terminal")):
        numbers = [one["facts"]["number"] for one in entries if one["kind"] == kind]
        if numbers != list(range(1, len(numbers) + 1)):
            return f"A {name.lower()} is missing, or stands elsewhere than it was."
    return ""


def _outcome(asked: dict[str, Any], entries: Sequence[dict[str, Any]]) -> str:
    outcomes = [one["facts"].get("outcome") for one in entries if one["kind"] == ENDED]
    last_outcome = next((one for one in reversed(outcomes) if one), None)
    if not last_outcome:
        return ""
    check = next((one["facts"] for one in entries if one["kind"] == CHECK), None)
    wanted = asked["check_wanted"] or check is not None
    if last_outcome == DONE and outcome(wanted, check["exit_code"] if check else None, "") != DONE:
        return "It came out as done, and its check did not pass."
    steps = {(one["facts"]["agent"], one["facts"]["number"]) for one in entries if _finishes(one)}
    if not any(_is_done(one, steps) for one in entries):
        return "It came to an outcome, and nobody finished it."
    return ""


def _finishes(entry: dict[str, Any]) -> bool:
    return bool(entry["kind"] == STEP and entry["facts"]["tool"] == "finish")


def _is_done(entry: dict[str, Any], steps: set[tuple[int, int]]) -> bool:
    facts = entry["facts"]
    return bool(entry["kind"] == RESULT and facts["ok"] and (facts["agent"], facts["number"]) in steps)
