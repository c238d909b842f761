"""What model calls used, in words."""

from collections.abc import Sequence

from engine.llm.prices import dollars
from engine.llm.providers import is_rehearsal
from engine.models import ModelCall


def used(calls: Sequence[ModelCall]) -> str:
    """Tokens and, where it is known, cost of all attempts so far; empty where no model has been asked."""
    counted = _counted(calls)
    if not counted:
        return ""
    number = sum((call.input_tokens or 0) + (call.output_tokens or 0) for call in counted)
    return ", ".join([tokens(number, any(call.estimated for call in counted)), *known_cost(_cost(counted))])


def used_both_ways(calls: Sequence[ModelCall]) -> list[str]:
    """The same, of what was read and of what was written; nothing where no model was asked, or none is known to have
    read anything."""
    counted = _counted(calls)
    if not counted:
        return []
    about = "about " if any(call.estimated for call in counted) else ""
    tokens_in = sum(call.input_tokens or 0 for call in counted)
    tokens_out = sum(call.output_tokens or 0 for call in counted)
    return [f"{about}{tokens_in:,} tokens in, {tokens_out:,} out", cost(_cost(counted))]


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
