"""Texts and choices of gates about a mission as a whole: a stopped agent, a reached limit, no agent that can continue.

Why so: missions/DESIGN.md, Missions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.llm.pricing import format_dollars

from .egress_policy import HOURS
from .models import AgentStop, Mission, MissionAgent
from .models.asking import bounds_of, cost_limit, halt_step, limit_step
from .rules import END, GO_ON, LEAVE, MORE, MOST, OTHERWISE

STUCK = "Nobody in the crew can go on, and nothing is left that could wake anybody. What shall they do?"
TYPE = (
    "Command {number} waits for input: {command}\nType into it on the page of the mission, or say what they shall do."
)
ANSWER = {"word": GO_ON, "decision": "answer", "sentence": "Let it go on, by these words"}
ENDS = {"word": END, "decision": "answer", "sentence": "End the mission"}
ABOUT_AN_AGENT = (
    {"word": GO_ON, "decision": "answer", "sentence": "Let it go on"},
    {"word": OTHERWISE, "decision": "answer", "sentence": "Let it do otherwise, in these words"},
    ENDS,
)
LEAVES = {"word": LEAVE, "decision": "answer", "sentence": "Leave it, and let the others go on"}
ABOUT_A_LIMIT = (
    {"word": MORE, "decision": "approve", "sentence": "Allow as much again"},
    {"word": END, "decision": "reject", "sentence": "End the mission"},
)
UNITS = {"steps": "steps", "minutes": "minutes of work"}


def about_nobody(mission: Mission, asking: Sequence[Any]) -> dict[str, Any]:
    """`asking`: terminals that wait for input."""
    lines = [TYPE.format(number=one.number, command=one.command[:200]) for one in asking]
    text = "\n\n".join([STUCK, *lines, _goal(mission)])
    return {"kind": "question", "title": f"Stuck: {mission.run.title}", "text": text, "choices": (ANSWER,)}


def about_agent(mission: Mission, agent: MissionAgent, halt: AgentStop) -> dict[str, Any]:
    choices = ABOUT_AN_AGENT if agent.coordinates else (*ABOUT_AN_AGENT[:-1], LEAVES, ENDS)
    after = f"{agent.name} has stopped after step {halt.after}: {halt.get_why_display()}."
    last = next((one.reasoning for one in reversed(mission.steps_of(agent.number))), "")
    said = f"Its last words: {last}" if last else ""
    text = "\n\n".join(filter(None, (after, halt.text, said, _goal(mission))))
    title = f"{agent.name} has stopped: {mission.run.title}"
    return {"step": halt_step(mission, halt), "kind": "question", "title": title, "text": text, "choices": choices}


def about_limit(mission: Mission, limit: str) -> dict[str, Any]:
    """The gate about a limit. Without an answer within HOURS the mission ends."""
    used, more = _of_limit(mission, limit)
    text = (
        f"The mission has used the {used} that it may take. {more} Otherwise its coordinator has one last step, and "
        f"says what came of it; so it is after {HOURS} hours, too.\n\n{_goal(mission)}"
    )
    policy: Mapping[str, Any] = {"who": "person", "hours": HOURS, "expiry": "return"}
    title = f"A limit is reached: {mission.run.title}"
    about = {"step": limit_step(mission, limit), "kind": "budget", "title": title, "text": text}
    return {**about, "choices": ABOUT_A_LIMIT, "policy": policy}


def _of_limit(mission: Mission, limit: str) -> tuple[str, str]:
    """The present limit in words, and a sentence with the extended one."""
    if limit == "spend":
        held = cost_limit(mission) or 0
        return format_dollars(held), f"To go on, it may cost {format_dollars(held + (mission.run.spend or 0))} in all."
    now, own = getattr(bounds_of(mission), limit), getattr(mission.bounds, limit)
    after = min(MOST[limit], now + own)
    return f"{now:,} {UNITS[limit]}", f"To go on, it may take {after - now:,} more, {after:,} in all."


def _goal(mission: Mission) -> str:
    return f"The goal: {mission.goal}"
