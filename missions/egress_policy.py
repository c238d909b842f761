"""Who must approve before something leaves the sandbox. It depends on the capability, never on a command's wording.

Why so: missions/DESIGN.md, What leaves a mission.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from engine.councils import CouncilUnknown, CouncilUse, find_council

from .models import Mission
from .tools.commands import WITH_NETWORK
from .tools.publish import PUBLISH_COMMIT

CAPABILITIES = {WITH_NETWORK: "network", PUBLISH_COMMIT: "publish"}
COUNCIL = "Leaving review"  # first name of a council that the installation comes with; found also after a rename
HOURS = 24  # until a gate expires; the agent then reads that nobody decided
NEVER, BOTH = "never", "both"
APPROVER_CHOICES = {
    "network": {BOTH: "A council and a person", "person": "A person", NEVER: "Never"},
    "publish": {BOTH: "A council and a person", "person": "A person", "council": "A council", NEVER: "Never"},
    "typing": {"person": "People who may steer it", NEVER: "Nobody"},
}
"""Choices when a mission is submitted, the default first: approvers of each capability, and who types into terminals
besides agents."""
REFUSED_TEXT = "It was refused before, and is not asked again: {why}"
NOT_POSSIBLE_TEXT = "never: this mission has no {capability}."
ALLOW_OR_REFUSE = (
    {"word": "allow", "decision": "approve", "sentence": "Approve once"},
    {"word": "refuse", "decision": "reject", "sentence": "Reject"},
)


def egress_policy(choices: Mapping[str, str]) -> dict[str, Any]:
    """The policy of a new mission.

    By default a person and a council decide, neither of whom sees the other's decision; without a council a person
    decides alone.
    """
    typing = choices.get("typing") or "person"
    return {name: _approvers(choices.get(name) or BOTH) for name in CAPABILITIES.values()} | {"typing": typing}


def _approvers(who: str) -> Any:
    if who == NEVER:
        return NEVER
    council = _council() if who != "person" else {}
    return {"who": who if council else "person", **council, "hours": HOURS, "expiry": "return"}


def _council() -> dict[str, Any]:
    """The council's name and id; empty if it is archived. The id is None if it was not found, which the gate shows."""
    try:
        found = find_council(COUNCIL)
    except CouncilUnknown:
        return {"council": COUNCIL, "council_id": None}
    return {} if found.archived else {"council": found.name, "council_id": found.id}


def council_uses() -> Iterator[CouncilUse]:
    with suppress(CouncilUnknown):
        yield CouncilUse(find_council(COUNCIL).id, "missions, before something leaves the sandbox")


def policy_for_tool(mission: Mission, tool: str) -> Any:
    """The policy for a tool that leaves the sandbox; None for all others, which follow the usual rules."""
    capability = CAPABILITIES.get(tool)
    if capability is None:
        return None
    return mission.policy.get(capability) or {"who": "person", "hours": HOURS, "expiry": "return"}
