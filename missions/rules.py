"""Who of a crew works next, when a mission waits, is stuck or over, and what nobody may do more of: on paper.

Why so: docs/decisions.md, Missions.
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
RESERVED = (  # what the rules of a crew and its prompts call somebody
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
COORDINATOR = 1  # the number of whoever may finish
STUCK_STEP, HALT_STEP, LIMIT_STEP = "stuck.", "halt.", "limit."  # begin names of gates: how does it go on?
OWN_STEPS = (STUCK_STEP, HALT_STEP, LIMIT_STEP)
MORE, END, GO_ON, OTHERWISE, LEAVE = "more", "end", "go_on", "otherwise", "leave"  # what is chosen there
GROWS = ("steps", "minutes", "spend")  # of which a person is asked for more before it ends
NEAR = 0.85  # of a limit: from here on every agent is told
SAME_TOLD, SAME_STOPS = 3, 5  # equal calls in a row
REFUSALS = 3  # in a row stop an agent
MOST_MESSAGES, KEPT_MESSAGES, KEPT_SHARE = 30, 8, 0.6  # of a history: an answer, its result, what was heard
LEAST_SUMMARISED = 8
MEMORY_LENGTH = 1_500
A_STEP = 11_000, 250  # tokens that a step reads and writes, about
STEPS_AT_ONCE = 20  # then other runs take their turn


class AgentState(StrEnum):
    RUNNING = "running"
    STOPPED = "stopped"
    ERROR = "error"


@dataclass(frozen=True)
class MissionLimits:
    """Of the whole tree; the children of its agents count as well."""

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
        """ValueError with a sentence where one is none, or larger than may be."""
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
    """One agent as its rows say: `open` a step whose tool has not come to its end; `stops` its last step was one after
    which it does nothing by itself; `unread` and `revives` messages, the latter of those who may let one in error go
    on; `woken`: a terminal of its own has ended, or asks, or its timer is over."""

    number: int
    last: datetime | None = None
    open: bool = False
    stops: bool = False
    halted: bool = False
    unread: bool = False
    revives: bool = False
    woken: bool = False
    until: datetime | None = None
    asks: bool = False  # it has come to an error, and a person has not said yet how it goes on

    @property
    def state(self) -> AgentState:
        if self.halted:
            return AgentState.RUNNING if self.revives else AgentState.ERROR
        if self.stops and not (self.open or self.unread or self.woken):
            return AgentState.STOPPED
        return AgentState.RUNNING


@dataclass(frozen=True)
class ContinueAgents:
    """With the number of an agent below nought a person is asked about it."""

    agents: tuple[int, ...]


@dataclass(frozen=True)
class Reached:
    """A limit, of which a person is asked for more."""

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
    """`living`: a terminal lives whose end wakes somebody; `told`: the coordinator was told that nothing is left."""
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
    """Who steps now: the one whose last step is oldest first."""
    running = [one for one in agents if one.state == AgentState.RUNNING]
    running.sort(key=lambda one: (one.last is not None, one.last, one.number) if one.last else (False, 0, one.number))
    return tuple(one.number for one in running[:at_once])


def questions(agents: Iterable[AgentSituation]) -> tuple[int, ...]:
    """About whom a person is asked."""
    return tuple(-one.number for one in agents if one.asks)


# ---- names ----------------------------------------------------------------------------------------------------


def fold_name(name: str) -> str:
    """As names are compared, on both sides."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def agent_name_problem(name: str, taken: Iterable[str]) -> str:
    """Why nobody can be called so; empty where somebody can."""
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
    """What an agent of this name has of a memory."""
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
    spend: float = 0  # the share of what it may cost


def share_used(used: LimitsUsed, limits: MissionLimits) -> dict[str, float]:
    """Of each limit after which nothing new begins, how much is used up."""
    shares = {"steps": used.steps / limits.steps, "minutes": used.minutes / limits.minutes, "spend": used.spend}
    return shares | {"output": used.output / limits.output}


def near_limits(used: LimitsUsed, limits: MissionLimits) -> list[str]:
    return [name for name, part in share_used(used, limits).items() if part >= NEAR]


def reached_limits(used: LimitsUsed, limits: MissionLimits) -> str:
    """The limit after which nothing new begins; empty where there is none."""
    return next((name for name, part in share_used(used, limits).items() if part >= 1), "")


def spawn_problem(limits: MissionLimits, used: LimitsUsed, *, depth: int, children: int) -> str:
    """Why an agent at this depth may not make another one; empty where it may."""
    if depth >= limits.depth:
        return f"Agents may be made {limits.depth} deep, and you are at {depth}."
    if used.agents >= limits.agents:
        return f"There are {used.agents} agents, and no more may be."
    if children >= limits.children:
        return f"You have made {children}, and may make no more."
    return "Less than a tenth of what it may cost is left." if used.spend > 0.9 else ""


def with_more(limits: MissionLimits, times: Mapping[str, int]) -> MissionLimits:
    """As much again as often as a person has allowed it, and never more than there may be at all."""
    grown = {name: min(MOST[name], getattr(limits, name) * (times[name] + 1)) for name in times if name in MOST}
    return replace(limits, **grown)


def may_grow(limit: str, limits: MissionLimits) -> bool:
    return limit in GROWS and (limit not in MOST or getattr(limits, limit) < MOST[limit])


# ---- going round in circles -----------------------------------------------------------------------------------

PASSES = 1.0  # seconds that somebody waits are a change, for the world has gone on
ONLY_SLEEPS = re.compile(r"sleep\s+[\d.]+[smh]?")


@dataclass(frozen=True)
class StepMove:
    """A step: `same`, what it was and came to; `asked`, when its model was; `begun` and `settled`, its act. `waits`: it
    was there to let time pass, as long as it `settled`, or until the next one."""

    same: tuple[str, ...]
    asked: datetime
    begun: datetime
    settled: datetime
    waits: bool = False


def same_in_a_row(moves: Sequence[StepMove], changed: datetime | None = None) -> int:
    """How often the newest of these was the same, with nothing changed in between. `changed`: when files, output or
    messages were otherwise last."""
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
    """Whether such a call is there to let time pass. `state`: of the command that it waited for, as its result says; of
    one that has ended nothing was to be waited for."""
    if tool == "run_command":
        return bool(ONLY_SLEEPS.fullmatch(args.get("command", "").strip()))
    return state != "ended" and (tool == "wait" or (tool == "command_status" and args.get("wait", 0) >= PASSES))


# ---- what came of it ------------------------------------------------------------------------------------------

CHECK_ASKS, CHECK_TIMEOUT = "asks", "timeout"  # why a check was ended
WHY_ENDED = {
    CHECK_ASKS: "it waited for somebody to type something, and nobody is there. Let it ask nothing, as by an option "
    "like --yes, or by < /dev/null",
    CHECK_TIMEOUT: "it took longer than 15 minutes. Let it do less",
}


def why_check_failed(reason: str) -> str:
    """The end of a sentence."""
    return WHY_ENDED.get(reason) or reason.replace("_", " ").rstrip(".") or "it was cut short"


def outcome(check_wanted: bool, exit_code: int | None, unproven: str) -> str:
    """Never green by a word alone: where a check was wanted it has to have passed."""
    if unproven:
        return UNPROVEN
    return DONE if not check_wanted or exit_code == 0 else UNPROVEN


# ---- memory ---------------------------------------------------------------------------------------------------


def enough_for_summary(messages: int) -> bool:
    """Some besides those that are kept: what fills the room may be the newest."""
    return messages >= KEPT_MESSAGES + LEAST_SUMMARISED


def due_for_summary(messages: int, filled: float) -> bool:
    return messages > MOST_MESSAGES or filled > KEPT_SHARE


def kept_steps(messages: Sequence[int]) -> int:
    """How many of the newest steps stay beside a summary, each with so many messages: no call without its result."""
    count = left = 0
    for number in reversed(messages):
        left += number
        if count and left > KEPT_MESSAGES:
            break
        count += 1
    return count


def keep_tail(text: str, most: int = MEMORY_LENGTH) -> str:
    """Whole lines are left out, with a mark, where a compression was still too long."""
    mark = "[earlier lines were cut]"
    if len(text) <= most:
        return text
    lines = text.splitlines()
    while lines and len("\n".join([mark, *lines])) > most:
        lines.pop(0)
    return "\n".join([mark, *lines]) if lines else f"{mark}\n{text[-(most - len(mark) - 1) :]}"
