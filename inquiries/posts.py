"""What a roster says of the posts of an inquiry, as the fields of its form, and in words."""

from collections.abc import Iterator, Mapping
from typing import Any

from engine.councils import council_by_id
from runs.forms import as_number

from .models import PostKind, RosterVersion
from .models.rosters import COUNCIL
from .rules.facts import Station

CRITICS = {
    "plan_critic": Station.CRITIC_PLANNER,
    "research_critic": Station.CRITIC_RESEARCHER,
    "answer_critic": Station.CRITIC_EXPERT,
}
MODELS = {
    "planner_model": (Station.PLANNER,),
    "researcher_model": (Station.RESEARCHER,),
    "expert_model": (Station.EXPERT,),
    "finalizer_model": (Station.FINALIZER,),
    "critics_model": tuple(CRITICS.values()),
}
EVERY = "model"  # of all posts
FIELDS = (EVERY, "fallback", *MODELS, *CRITICS, "retry_limit", "two_sites")
TITLES = {
    EVERY: "Model",
    "fallback": "Stands in for it",
    "planner_model": "Plans",
    "researcher_model": "Researches",
    "expert_model": "Answers",
    "finalizer_model": "Words it",
    "critics_model": "Critics that are models",
    "plan_critic": "Reviews the plan",
    "research_critic": "Reviews each result",
    "answer_critic": "Reviews the answer",
    "retry_limit": "Limit of retries",
    "two_sites": "Claims need two sites",
}


def said_of(given: Mapping[str, Any]) -> dict[str, str]:
    """What stands there of the posts, as a roster keeps it: nothing for what is usual."""
    said = {name: str(given.get(name) or "").strip() for name in FIELDS}
    said |= {name: "" for name in CRITICS if said[name] == PostKind.MODEL}
    return {name: "on" if name == "two_sites" else value for name, value in said.items() if value}


def described(posts: Mapping[str, str]) -> list[tuple[str, str]]:
    """For a page: what is said, each with its title."""
    return [(TITLES[name], _shown(name, posts[name])) for name in FIELDS if name in posts]


def _shown(name: str, value: str) -> str:
    if name == "two_sites":
        return "Yes"
    if not value.startswith(COUNCIL):
        return value
    which = value.removeprefix(COUNCIL).strip()
    found = council_by_id(as_number(which))
    return f"The council {found.name if found else which}"


def changes(before: RosterVersion, after: RosterVersion) -> list[str]:
    """What differs between two versions, in plain words."""
    found = [f"The roster was renamed from {before.name} to {after.name}."] if before.name != after.name else []
    found += ["What it is good for was rewritten."] if before.about != after.about else []
    return [*found, *_posts(before.posts, after.posts)]


def _posts(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in (name for name in FIELDS if before.get(name) != after.get(name)):
        was, now = (_shown(name, one[name]) if name in one else "what is usual" for one in (before, after))
        yield f"{TITLES[name]}: {now}, before {was}."
