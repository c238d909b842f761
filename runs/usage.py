"""What model calls used, in words."""

from collections.abc import Sequence
from datetime import timedelta

from engine.llm.prices import dollars
from engine.llm.providers import is_rehearsal
from engine.models import ModelCall
from engine.plurals import counted

from .words import lasting


def used(calls: Sequence[ModelCall]) -> str:
    """Tokens and, where it is known, cost of all attempts so far, and the time of those that came to nothing; empty
    where no model has been asked."""
    asked = _counted(calls)
    if not asked:
        return lost_time(calls)
    number = sum((call.input_tokens or 0) + (call.output_tokens or 0) for call in asked)
    spent = [tokens(number, any(call.estimated for call in asked)), *known_cost(_cost(asked))]
    return ", ".join(filter(None, [*spent, lost_time(calls)]))


def lost_time(calls: Sequence[ModelCall]) -> str:
    """Of attempts that came to nothing, where it was a second or more."""
    lost = [call.seconds or 0.0 for call in calls if call.lost]
    time = lasting(timedelta(seconds=sum(lost)))
    return f"{time} lost in {counted(len(lost), 'attempt')}" if sum(lost) >= 1 else ""


def used_both_ways(calls: Sequence[ModelCall]) -> list[str]:
    """The same, of what was read and of what was written; nothing where no model was asked, or none is known to have
    read anything."""
    asked = _counted(calls)
    if not asked:
        return []
    about = "about " if any(call.estimated for call in asked) else ""
    tokens_in = sum(call.input_tokens or 0 for call in asked)
    tokens_out = sum(call.output_tokens or 0 for call in asked)
    return [f"{about}{tokens_in:,} tokens in, {tokens_out:,} out", cost(_cost(asked))]


def tokens(number: int, estimated: bool) -> str:
    return f"{'about ' if estimated else ''}{number:,} tokens"


def known_cost(amount: int | None) -> list[str]:
    """It, where it is known: the record alone says that it is not."""
    return [] if amount is None else [dollars(amount)]


def cost(amount: int | None) -> str:
    return "cost unknown" if amount is None else dollars(amount)


def _counted(calls: Sequence[ModelCall]) -> list[ModelCall]:
    return [call for call in calls if call.input_tokens is not None and not is_rehearsal(call.model)]


def _cost(calls: Sequence[ModelCall]) -> int | None:
    costs = [call.cost for call in calls]
    return None if None in costs else sum(cost or 0 for cost in costs)
