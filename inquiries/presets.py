"""Rosters in the library: fields of roles, and descriptions of versions and changes."""

from collections.abc import Iterator, Mapping
from typing import Any

from engine.councils import council_by_id
from runs.forms import parse_number
from runs.procedure.library_section import PresetSection

from .models import RoleKind, Roster, RosterVersion
from .models.presets import COUNCIL
from .rules.events import InquiryStage

CRITICS = {
    "plan_critic": InquiryStage.CRITIC_PLANNER,
    "research_critic": InquiryStage.CRITIC_RESEARCHER,
    "answer_critic": InquiryStage.CRITIC_EXPERT,
}
MODELS = {
    "planner_model": (InquiryStage.PLANNER,),
    "researcher_model": (InquiryStage.RESEARCHER,),
    "expert_model": (InquiryStage.EXPERT,),
    "finalizer_model": (InquiryStage.FINALIZER,),
    "critics_model": tuple(CRITICS.values()),
}
ALL_ROLES_FIELD = "model"  # for all roles without a model of their own
FIELDS = (ALL_ROLES_FIELD, "fallback", *MODELS, *CRITICS, "retry_limit", "two_sites")
TITLES = {
    ALL_ROLES_FIELD: "Model",
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


def role_values(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of the roles as a roster stores them: without defaults."""
    values = {name: str(given.get(name) or "").strip() for name in FIELDS}
    values |= {name: "" for name in CRITICS if values[name] == RoleKind.MODEL}
    return {name: "on" if name == "two_sites" else value for name, value in values.items() if value}


def describe_roles(posts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return label and value of each stored field."""
    return [(TITLES[name], _label(name, posts[name])) for name in FIELDS if name in posts]


def _label(name: str, value: str) -> str:
    if name == "two_sites":
        return "Yes"
    if not value.startswith(COUNCIL):
        return value
    which = value.removeprefix(COUNCIL).strip()
    found = council_by_id(parse_number(which))
    return f"The council {found.name if found else which}"


def describe_changes(before: RosterVersion, after: RosterVersion) -> list[str]:
    """Return one sentence for each change."""
    found = [f"The roster was renamed from {before.name} to {after.name}."] if before.name != after.name else []
    found += ["What it is good for was rewritten."] if before.about != after.about else []
    return [*found, *_posts(before.posts, after.posts)]


def _posts(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in (name for name in FIELDS if before.get(name) != after.get(name)):
        was, now = (_label(name, one[name]) if name in one else "what is usual" for one in (before, after))
        yield f"{TITLES[name]}: {now}, before {was}."


class InquiryTeamSection(PresetSection):
    name, noun, about, label = "rosters", "roster", "who answers a question, and who reviews the work", "roster"
    purpose = "Save who holds the posts, and every question can be asked of them."
    permission = "inquiries.add_roster"
    saved, begins = Roster, "inquiry-new"

    def describe(self, one: Roster) -> tuple[list[str], list[str]]:
        said = describe_roles(one.current.posts) if one.current else []
        about = one.current.about if one.current else ""
        return [f"{title}: {value}" for title, value in said], [about, *(value for _, value in said)]
