"""An inquiry asked for as a language model is: its answer, and what it was reasoned from."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from runs.as_model import AsModel, Fact

DOCUMENTS, WEB = "documents", "web"


def names() -> list[str]:
    """The documents of MAGI itself; the web where a search is set up."""
    return [DOCUMENTS, *([WEB] if settings.SEARCH else [])]


def said(inquiry: Mapping[str, Any], holds: str) -> dict[str, Any]:
    parts = [inquiry["answer"], inquiry["trace"] if inquiry["trace"] != inquiry["answer"] else None, inquiry["why"]]
    return {"answer": inquiry["answer"] or "", "reason": "\n\n".join(filter(None, parts))}


AS_MODEL = AsModel(
    "inquiry", names, lambda name, text: {"question": text, "web": name == WEB}, said, {"answer": Fact()}
)
