"""A panel asked as a language model is: which option came out, and why its members stand by what they do."""

from collections.abc import Mapping
from typing import Any

from runs.as_model import AsModel, Fact

from .models import Panel


def names() -> list[str]:
    return [one.current.name for one in Panel.objects.offered().whole() if one.current]


def said(debate: Mapping[str, Any], holds: str) -> dict[str, Any]:
    reasons = [_reason(member) for member in debate["members"]]
    return {"option": holds, "reasons": reasons, "reason": "\n".join(reasons)}


def _reason(member: Mapping[str, Any]) -> str:
    stands_by = member["stands_by"] or ("abstained" if member["abstained"] else "nothing")
    return f"{member['name']} supports {stands_by}: {member['reasoning']}".rstrip(": ")


AS_MODEL = AsModel(
    "panel",
    names,
    lambda name, text: {"question": text, "panel": name},
    said,
    {"option": Fact(), "reasons": Fact("array")},
)
