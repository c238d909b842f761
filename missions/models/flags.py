"""Flags of missions that deserve a review: search labels that are set at the end."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db import models

from engine.ledger.entries import ATTEMPT, DECIDED, TOOL
from engine.ledger.hashing import EntryDraft
from engine.models import ModelCall, ToolCall
from engine.models.gates import DecisionValue

STEP, TERMINAL_END = "mission.step", "mission.ended"


class MissionFlag(models.TextChoices):
    FOLLOWS = "follows", "Goes on from another"
    REFUSED = "refused", "A gate refused"
    CUT = "cut", "A command was cut"
    RESUMED = "resumed", "The engine was restarted"
    LIMIT = "limit", "Came to a limit"
    SUMMARISED = "summarised", "Summarised"
    PUBLISHED = "published", "Published"


def flags_of(said: Mapping[str, Iterable[EntryDraft]]) -> Iterator[MissionFlag]:
    """The flags that follow from the entries of a mission with an outcome."""
    known = {
        MissionFlag.REFUSED: any(one["said"] == DecisionValue.REJECT for one in _facts(said, DECIDED)),
        MissionFlag.CUT: any(one["reason"] == "cut" for one in _facts(said, TERMINAL_END)),
        MissionFlag.RESUMED: any(one["status"] == ModelCall.Status.INTERRUPTED for one in _facts(said, ATTEMPT)),
        MissionFlag.LIMIT: any(one["last"] for one in _facts(said, STEP)),
        MissionFlag.SUMMARISED: any(map(_summarises, _facts(said, ATTEMPT))),
        MissionFlag.PUBLISHED: any(map(_publishes, _facts(said, TOOL))),
    }
    yield from (remark for remark, holds in known.items() if holds)


def _facts(said: Mapping[str, Iterable[EntryDraft]], kind: str) -> Iterator[dict[str, Any]]:
    return (draft.facts for draft in said.get(kind, ()))


def _summarises(attempt: Mapping[str, Any]) -> bool:
    return bool(attempt["step"].startswith("summary.") and attempt["status"] == ModelCall.Status.ANSWERED)


def _publishes(call: Mapping[str, Any]) -> bool:
    return bool(call["tool"] == "publish_commit" and call["status"] == ToolCall.Status.DONE)
