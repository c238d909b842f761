"""The agents as a tree, the last steps of each, and the messages between them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.urls import reverse
from django.utils import timezone

from engine.models import Effect, Run
from engine.tools import get_tool
from runs.formatting import user_label
from runs.procedure.spec import RunSnapshot
from runs.questions import AGAIN

from ..models import Mission, MissionAgent, MissionStep, queries
from ..models.forks import in_order
from ..rules import MEMORY_LENGTH, MOST_MESSAGES, AgentState
from ..tools.output import output_facts
from .status import questions, state_of

STATES = {
    AgentState.RUNNING: ("judging", "Working"),
    AgentState.STOPPED: ("stopped", "Stopped"),
    AgentState.ERROR: ("failed", "Error"),
}
SHOWN_STEPS, SHOWN_MESSAGES = 24, 8
SLOTS = 12  # agents at most
LONGEST_ARGUMENT, LONGEST_RESULT, LONGEST_SENTENCE = 200, 1_200, 240
MESSAGE_TOOLS = (
    *("command", "path", "recipient", "name", "pattern", "glob", "input", "key", "command_id", "agent_name"),
    *("branch", "question", "text"),
)


@dataclass(frozen=True)
class MissionStepView:
    """`effect` is a word for what the tool may change, `out` whether it acts outside the sandbox.

    `fork` is the URL that forks the mission after this step, or empty.
    """

    number: int
    reasoning: str
    tool: str
    about: str
    effect: str
    out: bool
    state: str
    word: str
    result: str
    fork: str = ""


@dataclass(frozen=True)
class MissionAgentView:
    """One agent and its newest steps.

    doing: text beside the word of its state
    keeps: how full its memory and its history are
    growing: the answer that a model is writing, for the keys of steps in `coming`
    earlier: number of steps that are not shown
    carried: number of steps that came from the forked mission
    """

    number: int
    name: str
    description: str
    model: str
    state: str
    word: str
    doing: str
    last: str
    keeps: str = ""
    growing: str = ""
    coming: frozenset[str] = frozenset()
    earlier: int = 0
    carried: int = 0
    steps: tuple[MissionStepView, ...] = ()
    below: "tuple[MissionAgentView, ...]" = field(default=())


@dataclass(frozen=True)
class MissionMessageView:
    number: int
    sender: str
    recipient: str
    text: str
    at: datetime


def agents(seen: RunSnapshot[Mission]) -> Iterator[MissionAgentView]:
    """All agents, by number."""
    for one in seen.row.crew_list:
        yield _agent(seen, one)


def agent_tree(shown: Mapping[int, MissionAgentView], mission: Mission, parent: int = 0) -> Iterator[MissionAgentView]:
    """The agents that `parent` has spawned, each with its own, without steps. `parent` 0 is the mission."""
    for one in mission.crew_list:
        if one.parent == parent:
            found = shown[one.number]
            line = (found.number, found.name, found.description, found.model, found.state, found.word, found.doing)
            yield MissionAgentView(*line, found.last, below=tuple(agent_tree(shown, mission, one.number)))


def _agent(seen: RunSnapshot[Mission], one: MissionAgent) -> MissionAgentView:
    mission = seen.row
    steps = mission.steps_of(one.number)
    state, word = _state(seen, one)
    forks = _forks(seen)
    coming = {step: text for step, text in seen.texts.items() if step.startswith(f"{one.number}.")}
    return MissionAgentView(
        one.number,
        one.name,
        one.description,
        one.model,
        state,
        word,
        f"step {len(steps)}" if steps else "no step yet",
        (steps[-1].reasoning if steps else one.description)[:LONGEST_SENTENCE],
        _keeps(mission, one),
        next(iter(coming.values()), ""),
        frozenset(coming),
        max(0, len(steps) - SHOWN_STEPS),
        len(mission.past_of(one.number)) - len(steps),
        tuple(_step(seen, step, forks.get(step.pk, "")) for step in reversed(steps[-SHOWN_STEPS:])),
    )


def _forks(seen: RunSnapshot[Mission]) -> dict[int, str]:
    """URLs that fork the mission, by primary key of the step. Empty while it runs: its record is not complete then."""
    run = seen.run
    if run.redacted or not (run.is_ended or run.status == Run.Status.WAITING):
        return {}
    address = reverse("mission-fork", args=[run.pk])
    return {one.pk: f"{address}?step={place}" for place, one in enumerate(in_order(seen.row), 1) if one.settled}


def _state(seen: RunSnapshot[Mission], one: MissionAgent) -> tuple[str, str]:
    run = seen.run
    state, word = STATES[state_of(seen.row, one, timezone.now())]
    if state != "judging":
        return state, word
    if run.is_ended:
        return "stopped", "Ended"
    if _asks(seen, one):
        return "pending", "Asks"
    if seen.row.paused:
        return "pending", "Paused"
    if question := questions(seen).get(one.number):
        return "idle" if question.waits else "retrying" if question.said == AGAIN else state, question.short
    return ("idle", "Idle") if run.status == Run.Status.QUEUED else (state, word)


def _asks(seen: RunSnapshot[Mission], one: MissionAgent) -> bool:
    """Whether one of its steps waits at a gate."""
    return any(gate.pending and gate.step.startswith(f"{one.number}.") for gate in seen.gates)


def _keeps(mission: Mission, one: MissionAgent) -> str:
    _, text = queries.agent_memory(mission, one.number)
    history = queries.messages_now(mission, one.number)
    return f"memory {len(text):,} of {MEMORY_LENGTH:,}, history {history} of {MOST_MESSAGES} messages"


# ---- steps ----------------------------------------------------------------------------------------------------


def _step(seen: RunSnapshot[Mission], one: MissionStep, fork: str) -> MissionStepView:
    state, word = _step_state(seen, one)
    effect, out = _effect(one.tool)
    return MissionStepView(
        one.number, one.reasoning, one.tool, _about(one), effect, out, state, word, _result(one), fork
    )


def _step_state(seen: RunSnapshot[Mission], one: MissionStep) -> tuple[str, str]:
    if not one.tool:
        return "none", "Said"
    if not one.settled:
        asks = any(gate.pending and gate.step == one.key for gate in seen.gates)
        return ("pending", "Waits for a decision") if asks else ("judging", "Running")
    facts = output_facts(one.result)
    if not one.ok:
        return "reject", "Cut off" if one.tool_call and one.tool_call.interrupted else "Refused"
    if "exit_code" in facts:
        return ("approve" if facts["exit_code"] == 0 else "reject"), f"Exit {facts['exit_code']}"
    if one.tool == "run_command":
        return ("pending", "Asks something") if facts.get("state") == "asks" else ("none", "Goes on beside")
    return "approve", _in_words(one.tool, facts)


def _in_words(tool: str, facts: Mapping[str, object]) -> str:
    if "lines" in facts:
        return f"{facts['lines']} line{'s' * (facts['lines'] != 1)}"
    return "Delivered" if tool == "send_message" else "Done"


def _effect(name: str) -> tuple[str, bool]:
    tool = get_tool(name) if name else None
    if tool is None or tool.change:
        return "", False
    if tool.effect == Effect.READS:
        return "reads", False
    return ("sandbox", False) if tool.contained else ("leaves the sandbox", True)


def _about(one: MissionStep) -> str:
    """The most telling argument: the first of MESSAGE_TOOLS that the call has."""
    try:
        arguments = json.loads(one.args) if one.args else {}
    except ValueError:
        return ""
    found = next((str(arguments[name]) for name in MESSAGE_TOOLS if arguments.get(name)), "")
    return found if len(found) <= LONGEST_ARGUMENT else f"{found[:LONGEST_ARGUMENT]}…"


def _result(one: MissionStep) -> str:
    """The end of the result, which is usually the telling part; the record has all of it."""
    head, _, rest = one.result.partition("\n")
    said = (rest if output_facts(head) else one.result).strip("\n")
    return said if len(said) <= LONGEST_RESULT else f"…{said[-LONGEST_RESULT:].partition(chr(10))[2]}"


# ---- messages -------------------------------------------------------------------------------------------------


def messages(mission: Mission, most: int = SHOWN_MESSAGES) -> Iterator[MissionMessageView]:
    names = {one.number: one.name for one in mission.crew_list}
    for one in reversed(mission.messages_in_order[-most:]):
        sender = names.get(one.sender, "") if one.sender else user_label(one.by_name) or "The mission"
        yield MissionMessageView(one.number, sender, names.get(one.recipient, "people"), one.text, one.made)
