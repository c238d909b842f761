"""Tool calls of a run, for its pages, its record and API clients."""

import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from engine.models import ToolCall

from .point_in_time import row_at_moment

MAX_SHOWN = 16_000  # characters of a result on a page


@dataclass(frozen=True)
class ToolUseLine:
    heading: str
    facts: str
    arguments: str
    output: str
    error: str


def tool_uses(pk: UUID) -> list[ToolCall]:
    return tool_uses_of_runs([pk])[pk]


def tool_uses_of_runs(pks: Sequence[UUID]) -> Mapping[UUID, list[ToolCall]]:
    """Return the tool calls of each run in order, in one query."""
    found: dict[UUID, list[ToolCall]] = {pk: [] for pk in pks}
    for call in ToolCall.objects.select_related("gate").filter(run__in=pks):
        found[call.run_id].append(call)
    return found


def tool_use_line(call: ToolCall) -> ToolUseLine:
    left_out = call.output_size - min(len(call.output), MAX_SHOWN) if call.output else 0
    output = call.output[:MAX_SHOWN] + (f"\n[{left_out:,} more characters]" if left_out > 0 else "")
    facts = [
        call.get_effect_display().lower(),
        "stays in a place of its own" if call.contained else "",
        "begun again" if call.number > 1 else "",
        "brought text from outside" if call.outside else "",
        f"after gate {call.gate_id}" if call.gate_id else "",
        f"{call.seconds:.1f} s" if call.seconds is not None else "",
        f"{call.ended:%H:%M:%S} UTC" if call.ended else "",
    ]
    heading = f"{call.tool}: {call.get_status_display().lower()}"
    return ToolUseLine(heading, " · ".join(filter(None, facts)), _indented(call.arguments), output, call.error)


def _indented(arguments: str) -> str:
    return json.dumps(json.loads(arguments), ensure_ascii=False, indent=2) if arguments else ""


# ---- at a moment in the past --------------------------------------------------------------------------------


def tool_use_at(call: ToolCall, moment: datetime) -> ToolCall:
    if call.ended is None or call.ended <= moment:
        return row_at_moment(call, moment)
    then = copy(call)
    then.status, then.ended, then.outside = ToolCall.Status.OPEN, None, False
    then.output = then.error = ""
    then.output_size = 0
    return then


def moments_of_uses(calls: Sequence[ToolCall]) -> list[datetime]:
    return [moment for call in calls for moment in (call.made, call.ended) if moment]
