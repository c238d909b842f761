"""Describes the differences between two versions of a council."""

from collections.abc import Iterator, Sequence

from runs.procedure.library_section import PresetSection

from .models import Council

AgentDict = dict[str, str]
CouncilContentDict = tuple[str, Sequence[AgentDict]]
"""A council's name and its three agents: name, model, criteria, fallback."""


def describe_changes(before: CouncilContentDict, after: CouncilContentDict) -> list[str]:
    """Return one sentence for each change. An agent is identified by its name, in whichever seat it is."""
    sentences = []
    if before[0] != after[0]:
        sentences.append(f"The council was renamed from {before[0]} to {after[0]}.")
    moved = [
        agent["name"] for was, agent in zip(before[1], after[1], strict=True) if _sits_elsewhere(agent, was, before[1])
    ]
    if moved:
        sentences.append(f"{_listed(moved)} changed places.")
    for old, new in _pairs(before[1], after[1]):
        sentences += _changes_of_agent(old, new)
    return sentences


def _sits_elsewhere(agent: AgentDict, was: AgentDict, before: Sequence[AgentDict]) -> bool:
    return agent["name"] != was["name"] and agent["name"] in [other["name"] for other in before]


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else names[0]


def _pairs(before: Sequence[AgentDict], after: Sequence[AgentDict]) -> Iterator[tuple[AgentDict, AgentDict]]:
    """Pair each agent with its former version: the one with its name, else the next unpaired one."""
    left = list(before)  # an old council may have a name twice
    kept: dict[str, AgentDict] = {}
    for agent in after:
        if same := next((old for old in left if old["name"] == agent["name"]), None):
            kept[agent["name"]] = same
            left.remove(same)
    for agent in after:
        yield kept.get(agent["name"]) or left.pop(0), agent


def _changes_of_agent(old: AgentDict, new: AgentDict) -> Iterator[str]:
    name = new["name"]
    if old["name"] != name:
        yield f"{old['name']} was renamed to {name}."
    if old["criteria"] != new["criteria"]:
        yield f"Criteria of {name} changed."
    if old["model"] != new["model"]:
        yield f"{name} asks {_model(new['model'])} instead of {_model(old['model'])}."
    if old["fallback"] != new["fallback"]:
        yield _change_of_fallback(name, old["fallback"], new["fallback"])


def _model(name: str) -> str:
    return name or "the default model"


def _change_of_fallback(name: str, old: str, new: str) -> str:
    if not new:
        return f"{name} has no fallback any more."
    return f"{name} has {new} as fallback instead of {old}." if old else f"{name} has {new} as fallback now."


class CouncilSection(PresetSection):
    name, noun, about, label = "councils", "council", "three agents that judge", "council"
    purpose = "Save three agents that you want to ask more than once, and every judgement can start from them."
    permission = "judgements.add_council"
    saved, begins = Council, "new"

    def describe(self, one: Council) -> tuple[list[str], list[str]]:
        agents = one.agents()
        return [agent["name"] for agent in agents], [agent[part] for agent in agents for part in ("name", "criteria")]
