"""A team asked as a language model is: what came of its steps. People who are asked meanwhile are waited for."""

from collections.abc import Mapping
from typing import Any

from runs.as_model import AsModel

from .models import Team
from .rules.claims import noted


def names() -> list[str]:
    return [one.current.name for one in Team.objects.offered().whole() if one.current]


def said(plan: Mapping[str, Any], holds: str) -> dict[str, Any]:
    steps = [
        f"{step['number']}. {step['action']}: {noted(step['note'] or '', step['reply'] or step['status'])}"
        for step in plan["steps"]
    ]
    did = f"What tools did: {plan['figures']}"
    return {"reason": "\n\n".join(filter(None, [plan["summary"], did, "\n".join(steps)]))}


AS_MODEL = AsModel("team", names, lambda name, text: {"task": text, "team": name}, said)
