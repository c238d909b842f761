"""What makes a mission worth a look: labels by which it is found once it is over."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db import models

from engine.evidence.chain import Draft
from engine.evidence.entries import ATTEMPT, DECIDED, TOOL
from engine.models import ModelCall, ToolCall
from engine.models.gates import Decision

STEP, TERMINAL_END = "mission.step", "mission.ended"


class Remark(models.TextChoices):
    FOLLOWS = "follows", "Goes on from another"
    REFUSED = "refused", "A gate refused"
    CUT = "cut", "A command was cut"
    RESUMED = "resumed", "The engine was restarted"
    LIMIT = "limit", "Came to a limit"
    SUMMARISED = "summarised", "Summarised"
    PUBLISHED = "published", "Published"


def remarks(said: Mapping[str, Iterable[Draft]]) -> Iterator[Remark]:
    """Of what is told of a mission that came to an outcome."""
    known = {
        Remark.REFUSED: any(one["said"] == Decision.REJECT for one in _facts(said, DECIDED)),
        Remark.CUT: any(one["reason"] == "cut" for one in _facts(said, TERMINAL_END)),
        Remark.RESUMED: any(one["status"] == ModelCall.Status.INTERRUPTED for one in _facts(said, ATTEMPT)),
        Remark.LIMIT: any(one["last"] for one in _facts(said, STEP)),
        Remark.SUMMARISED: any(map(_summarises, _facts(said, ATTEMPT))),
        Remark.PUBLISHED: any(map(_publishes, _facts(said, TOOL))),
    }
    yield from (remark for remark, holds in known.items() if holds)


def _facts(said: Mapping[str, Iterable[Draft]], kind: str) -> Iterator[dict[str, Any]]:
    return (draft.facts for draft in said.get(kind, ()))


def _summarises(attempt: Mapping[str, Any]) -> bool:
    return bool(attempt["step"].startswith("summary.") and attempt["status"] == ModelCall.Status.ANSWERED)


def _publishes(call: Mapping[str, Any]) -> bool:
    return bool(call["tool"] == "publish_commit" and call["status"] == ToolCall.Status.DONE)
