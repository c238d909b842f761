"""Who is asked before something leaves the sandbox: the capability is asked about, never the wording of a command.

Why so: docs/decisions.md, What leaves a mission.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from engine.councils import CouncilUnknown, CouncilUse, find_council

from .models import Mission
from .tools.commands import WITH_NETWORK
from .tools.publish import PUBLISH_COMMIT

CAPABILITIES = {WITH_NETWORK: "network", PUBLISH_COMMIT: "publish"}
COUNCIL = "Leaving review"  # one that is ready-made, and is asked where it is still there, however it is called now
HOURS = 24  # then whoever wanted it reads that nobody decided
NEVER, BOTH = "never", "both"
APPROVER_CHOICES = {
    "network": {BOTH: "A council and a person", "person": "A person", NEVER: "Never"},
    "publish": {BOTH: "A council and a person", "person": "A person", "council": "A council", NEVER: "Never"},
    "typing": {"person": "People who may steer it", NEVER: "Nobody"},
}
"""Who may be asked about what leaves, and who beside agents types into terminals, as whoever begins a mission says it;
what is usual first."""
REFUSED_TEXT = "It was refused before, and is not asked again: {why}"
NOT_POSSIBLE_TEXT = "never: this mission has no {capability}."
ALLOW_OR_REFUSE = (
    {"word": "allow", "decision": "approve", "sentence": "Approve once"},
    {"word": "refuse", "decision": "reject", "sentence": "Reject"},
)


def egress_policy(said: Mapping[str, str]) -> dict[str, Any]:
    """Of a new mission. Usually a person and a council decide, neither of whom knows what the other says; a person
    alone where there is no council."""
    typing = said.get("typing") or "person"
    return {name: _asked(said.get(name) or BOTH) for name in CAPABILITIES.values()} | {"typing": typing}


def _asked(who: str) -> Any:
    if who == NEVER:
        return NEVER
    council = _council() if who != "person" else {}
    return {"who": who if council else "person", **council, "hours": HOURS, "expiry": "return"}


def _council() -> dict[str, Any]:
    """Nothing where it is archived. Where another has had its name it is not known: the gate says so."""
    try:
        found = find_council(COUNCIL)
    except CouncilUnknown:
        return {"council": COUNCIL, "council_id": None}
    return {} if found.archived else {"council": found.name, "council_id": found.id}


def council_uses() -> Iterator[CouncilUse]:
    with suppress(CouncilUnknown):
        yield CouncilUse(find_council(COUNCIL).id, "missions, before something leaves the sandbox")


def policy_for_tool(mission: Mission, tool: str) -> Any:
    """None: as for any tool."""
    capability = CAPABILITIES.get(tool)
    if capability is None:
        return None
    return mission.policy.get(capability) or {"who": "person", "hours": HOURS, "expiry": "return"}
