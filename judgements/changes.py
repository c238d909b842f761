"""What differs between two versions of a council, in plain words."""

from collections.abc import Iterator, Sequence

Agent = dict[str, str]
Saved = tuple[str, Sequence[Agent]]
"""A council's name and its three agents: name, model, criteria, fallback."""


def changes(before: Saved, after: Saved) -> list[str]:
    """One sentence for each thing that changed. Who keeps the name is the same agent, wherever it sits."""
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


def _sits_elsewhere(agent: Agent, was: Agent, before: Sequence[Agent]) -> bool:
    return agent["name"] != was["name"] and agent["name"] in [other["name"] for other in before]


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else names[0]


def _pairs(before: Sequence[Agent], after: Sequence[Agent]) -> Iterator[tuple[Agent, Agent]]:
    """Each agent with what it was: the one of its name, else the next that is left."""
    left = list(before)  # a name may stand twice in a council of old
    kept: dict[str, Agent] = {}
    for agent in after:
        if same := next((old for old in left if old["name"] == agent["name"]), None):
            kept[agent["name"]] = same
            left.remove(same)
    for agent in after:
        yield kept.get(agent["name"]) or left.pop(0), agent


def _changes_of_agent(old: Agent, new: Agent) -> Iterator[str]:
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
