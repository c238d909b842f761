"""The pure rules of missions: whose turn it is, when a mission waits, is stuck or ends, names, limits and outcomes.

Why so: missions/DESIGN.md, Missions.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from engine.names import look_alike

DONE, UNPROVEN = "done", "unproven"
RESERVED = (  # names that prompts and rules use for groups and roles
    *(
        "all",
        "everybody",
        "everyone",
        "nobody",
        "human_user",
        "human",
        "user",
        "person",
        "people",
        "owner",
        "you",
        "me",
    ),
    *("system", "assistant", "mission", "agent", "coordinator", "parent", "crew", "tool", "material"),
)
PERSON = "human_user"
COORDINATOR = 1  # the number of the agent that may finish the mission
STUCK_STEP, HALT_STEP, LIMIT_STEP = "stuck.", "halt.", "limit."  # prefixes of steps of gates about the mission
OWN_STEPS = (STUCK_STEP, HALT_STEP, LIMIT_STEP)
MORE, END, GO_ON, OTHERWISE, LEAVE = "more", "end", "go_on", "otherwise", "leave"  # choices there
GROWS = ("steps", "minutes", "spend")  # limits that a person may extend
NEAR = 0.85  # share of a limit from which on prompts mention it
SAME_TOLD, SAME_STOPS = 3, 5  # equal calls in a row
REFUSALS = 3  # in a row stop an agent
MOST_MESSAGES, KEPT_MESSAGES, KEPT_SHARE = 30, 8, 0.6  # messages of a history; share of the context
LEAST_SUMMARISED = 8
MEMORY_LENGTH = 1_500
A_STEP = 11_000, 250  # estimated input and output tokens of one step
STEPS_AT_ONCE = 20  # then other runs get a turn


class AgentState(StrEnum):
    RUNNING = "running"
    STOPPED = "stopped"
    ERROR = "error"


@dataclass(frozen=True)
class MissionLimits:
    """Limits of a mission. They include the child runs of its agents."""

    steps: int = 120
    minutes: int = 60
    agents: int = 5
    depth: int = 1
    children: int = 3
    at_once: int = 2
    terminals: int = 8
    messages: int = 200
    output: int = 4_096  # MiB, of all commands
    disk: int = 1_024  # MiB, of the workspace

    @classmethod
    def of(cls, said: dict[str, Any]) -> Self:
        """Raises ValueError with a sentence for an unknown limit or a number out of range."""
        known = {field.name for field in fields(cls)}
        for name, value in said.items():
            if name not in known:
                raise ValueError(f"There is no limit {name}. There are {', '.join(sorted(known))}.")
            if type(value) is not int or not 0 < value + (name == "depth") <= MOST[name] + (name == "depth"):
                raise ValueError(f"{name.capitalize()}: write a number from 1 to {MOST[name]:,}.")
        return cls(**said)


MOST = {
    **{"steps": 1_000, "minutes": 1_440, "agents": 12, "depth": 3, "children": 11, "at_once": 4},
    **{"terminals": 16, "messages": 2_000, "output": 16_384, "disk": 4_096},
}


# ---- agents ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AgentSituation:
    """The state of one agent, computed from its rows.

    last: when its last step began
    open: its last step is not settled
    stops: its last step was one after which it does nothing by itself
    halted: it has stopped in error
    unread: it has unread messages
    revives: one of them is from somebody who may resume an agent in error
    woken: a command of its own has ended or asks for input, or its timer has elapsed
    until: when its timer elapses
    """

    number: int
    last: datetime | None = None
    open: bool = False
    stops: bool = False
    halted: bool = False
    unread: bool = False
    revives: bool = False
    woken: bool = False
    until: datetime | None = None
    asks: bool = False  # it has stopped in error, and a person must say how it shall continue

    @property
    def state(self) -> AgentState:
        if self.halted:
            return AgentState.RUNNING if self.revives else AgentState.ERROR
        if self.stops and not (self.open or self.unread or self.woken):
            return AgentState.STOPPED
        return AgentState.RUNNING


@dataclass(frozen=True)
class ContinueAgents:
    """Let these agents step. A negative number means that a person is asked about that agent."""

    agents: tuple[int, ...]


@dataclass(frozen=True)
class Reached:
    """A limit was reached, and a person is asked to extend it."""

    limit: str


@dataclass(frozen=True)
class WaitForEvent:
    until: datetime | None


@dataclass(frozen=True)
class MissionPaused:
    by: str


@dataclass(frozen=True)
class MissionStuck:
    told: bool


@dataclass(frozen=True)
class MissionFinished:
    pass


NextAction = ContinueAgents | WaitForEvent | MissionPaused | Reached | MissionStuck | MissionFinished


def what_next(
    agents: Sequence[AgentSituation],
    *,
    finished: bool,
    paused: str = "",
    living: bool = False,
    told: bool = False,
    at_once: int,
) -> NextAction:
    """The next action of a mission.

    living: a command is running whose end wakes an agent
    told: the coordinator was told that nothing else can wake it
    """
    if finished:
        return MissionFinished()
    if paused:
        return MissionPaused(paused)
    if running := (*next_agents(agents, at_once), *questions(agents)):
        return ContinueAgents(running)
    timers = [one.until for one in agents if one.until and one.state == AgentState.STOPPED]
    if living or timers:
        return WaitForEvent(min(timers, default=None))
    return MissionStuck(told)


def next_agents(agents: Iterable[AgentSituation], at_once: int) -> tuple[int, ...]:
    """The agents that step now; the one whose last step is oldest comes first."""
    running = [one for one in agents if one.state == AgentState.RUNNING]
    running.sort(key=lambda one: (one.last is not None, one.last, one.number) if one.last else (False, 0, one.number))
    return tuple(one.number for one in running[:at_once])


def questions(agents: Iterable[AgentSituation]) -> tuple[int, ...]:
    """Negative numbers of the agents about which a person is asked."""
    return tuple(-one.number for one in agents if one.asks)


# ---- names ----------------------------------------------------------------------------------------------------


def fold_name(name: str) -> str:
    """The form in which names are compared: NFKC, stripped and case-folded."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def agent_name_problem(name: str, taken: Iterable[str]) -> str:
    """Why an agent cannot have this name; empty if it can."""
    if not 0 < len(name) <= 40 or not all(sign.isalnum() or sign in "-_" for sign in name):
        return "A name has 1 to 40 letters, digits, - or _."
    if reserved := look_alike(name, RESERVED):
        return f"{name} is a reserved name, or looks like one: {reserved}."
    if look_alike(name, taken):
        return f"{name} is the name of somebody here already."
    return ""


class MemoryAccess(StrEnum):
    NOTHING = "nothing"
    LISTED = "listed"
    WHOLE = "whole"


def memory_access(
    name: str, *, active_for: Sequence[str], visible_to: Sequence[str], except_for: Sequence[str]
) -> MemoryAccess:
    """The access of an agent of this name to a memory with these lists."""
    if _among(name, except_for):
        return MemoryAccess.NOTHING
    if _among(name, active_for):
        return MemoryAccess.WHOLE
    return MemoryAccess.LISTED if _among(name, visible_to) else MemoryAccess.NOTHING


def _among(name: str, names: Sequence[str]) -> bool:
    found = {fold_name(one) for one in names}
    return "all" in found or fold_name(name) in found


# ---- limits ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LimitsUsed:
    steps: int = 0
    minutes: float = 0
    agents: int = 1
    messages: int = 0
    terminals: int = 0
    output: float = 0  # MiB
    spend: float = 0  # share of the spend limit


def share_used(used: LimitsUsed, limits: MissionLimits) -> dict[str, float]:
    """The used share of each limit that ends a mission."""
    shares = {"steps": used.steps / limits.steps, "minutes": used.minutes / limits.minutes, "spend": used.spend}
    return shares | {"output": used.output / limits.output}


def near_limits(used: LimitsUsed, limits: MissionLimits) -> list[str]:
    return [name for name, part in share_used(used, limits).items() if part >= NEAR]


def reached_limits(used: LimitsUsed, limits: MissionLimits) -> str:
    """The first limit that is used up; empty if none is."""
    return next((name for name, part in share_used(used, limits).items() if part >= 1), "")


def spawn_problem(limits: MissionLimits, used: LimitsUsed, *, depth: int, children: int) -> str:
    """Why an agent at this depth with this many children may not spawn another one; empty if it may."""
    if depth >= limits.depth:
        return f"Agents may be made {limits.depth} deep, and you are at {depth}."
    if used.agents >= limits.agents:
        return f"There are {used.agents} agents, and no more may be."
    if children >= limits.children:
        return f"You have made {children}, and may make no more."
    return "Less than a tenth of what it may cost is left." if used.spend > 0.9 else ""


def with_more(limits: MissionLimits, times: Mapping[str, int]) -> MissionLimits:
    """The limits after a person has extended each `times` times, each time by its first value, up to MOST."""
    grown = {name: min(MOST[name], getattr(limits, name) * (times[name] + 1)) for name in times if name in MOST}
    return replace(limits, **grown)


def may_grow(limit: str, limits: MissionLimits) -> bool:
    return limit in GROWS and (limit not in MOST or getattr(limits, limit) < MOST[limit])


# ---- repeated steps -------------------------------------------------------------------------------------------

PASSES = 1.0  # seconds of waiting that count as a change, since something may have happened
ONLY_SLEEPS = re.compile(r"sleep\s+[\d.]+[smh]?")


@dataclass(frozen=True)
class StepMove:
    """A step, to find repetitions.

    same: tool, arguments and result
    asked: when the model was asked
    begun, settled: start and end of the tool call
    waits: the call's purpose is to let time pass
    """

    same: tuple[str, ...]
    asked: datetime
    begun: datetime
    settled: datetime
    waits: bool = False


def same_in_a_row(moves: Sequence[StepMove], changed: datetime | None = None) -> int:
    """How many of the newest moves are equal without a change in between.

    `changed` is when files, output or messages changed last.
    """
    count = 1
    for older, newer in zip(reversed(moves[:-1]), reversed(moves), strict=False):
        if older.same != moves[-1].same or (changed and older.settled <= changed) or _time_passed(older, newer):
            break
        count += 1
    return count


def _time_passed(older: StepMove, newer: StepMove) -> bool:
    lasted = older.settled - older.begun, newer.asked - older.settled
    return older.waits and max(lasted).total_seconds() >= PASSES


def waits(tool: str, args: Mapping[str, Any], state: str = "") -> bool:
    """Whether the purpose of such a call is to let time pass.

    `state` is that of the command in the call's result; after a command has ended, no time passes.
    """
    if tool == "run_command":
        return bool(ONLY_SLEEPS.fullmatch(args.get("command", "").strip()))
    return state != "ended" and (tool == "wait" or (tool == "command_status" and args.get("wait", 0) >= PASSES))


# ---- outcome --------------------------------------------------------------------------------------------------

CHECK_ASKS, CHECK_TIMEOUT = "asks", "timeout"  # reasons why a check was killed
WHY_ENDED = {
    CHECK_ASKS: "it waited for somebody to type something, and nobody is there. Let it ask nothing, as by an option "
    "like --yes, or by < /dev/null",
    CHECK_TIMEOUT: "it took longer than 15 minutes. Let it do less",
}


def why_check_failed(reason: str) -> str:
    """The reason, as the end of a sentence."""
    return WHY_ENDED.get(reason) or reason.replace("_", " ").rstrip(".") or "it was cut short"


def outcome(check_wanted: bool, exit_code: int | None, unproven: str) -> str:
    """Done only if a wanted check has passed, and the coordinator has named nothing unproven."""
    if unproven:
        return UNPROVEN
    return DONE if not check_wanted or exit_code == 0 else UNPROVEN


# ---- memory ---------------------------------------------------------------------------------------------------


def enough_for_summary(messages: int) -> bool:
    """Whether there is enough to summarise besides the newest messages, which stay."""
    return messages >= KEPT_MESSAGES + LEAST_SUMMARISED


def due_for_summary(messages: int, filled: float) -> bool:
    return messages > MOST_MESSAGES or filled > KEPT_SHARE


def kept_steps(messages: Sequence[int]) -> int:
    """How many of the newest steps stay beside a summary. Whole steps stay, so that no call loses its result.

    `messages` are the numbers of messages of all steps.
    """
    count = left = 0
    for number in reversed(messages):
        left += number
        if count and left > KEPT_MESSAGES:
            break
        count += 1
    return count


def keep_tail(text: str, most: int = MEMORY_LENGTH) -> str:
    """Cut whole lines from the beginning, with a mark, if the text is longer than `most` characters."""
    mark = "[earlier lines were cut]"
    if len(text) <= most:
        return text
    lines = text.splitlines()
    while lines and len("\n".join([mark, *lines])) > most:
        lines.pop(0)
    return "\n".join([mark, *lines]) if lines else f"{mark}\n{text[-(most - len(mark) - 1) :]}"
