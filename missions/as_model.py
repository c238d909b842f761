"""A crew asked as a language model is: the result that it handed in, and why that is unproven where it is."""

from collections.abc import Mapping
from typing import Any

from runs.as_model import AsModel

from .crews import names


def said(mission: Mapping[str, Any], holds: str) -> dict[str, Any]:
    did = f"What tools did: {mission['figures']}"
    return {"reason": "\n\n".join(filter(None, [mission["result"], mission["unproven"], did]))}


AS_MODEL = AsModel("crew", names, lambda name, text: {"goal": text, "crew": name}, said)
