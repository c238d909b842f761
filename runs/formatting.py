"""Wording that the pages of all runs share."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils.dateformat import format as date_format

from engine.llm.pricing import format_dollars
from engine.llm.providers import is_rehearsal
from engine.models import ModelCall, Run, last_override
from engine.plurals import counted

CODE = re.compile("[a-z]+(?:_[a-z]+)+")


def user_label(user: object) -> str:
    return str(getattr(user, "get_full_name", str)() or user) if user else ""


def count_noun(number: int, most: int, noun: str, nouns: str) -> str:
    """Return the number with its noun; larger numbers than `most` are not counted."""
    if number > most:
        return f"More than {most:,} {nouns}"
    return f"1 {noun}" if number == 1 else f"{number:,} {nouns}"


def requester_label(run: Run) -> str:
    """Return the requester's name, also if the account is deleted; empty for the command line.

    For a child run it is the run that created it.
    """
    return run.asked_by if run.parent_id else user_label(run.owner) or run.asked_by


CAUSES = {
    "timeout": "no answer in time",
    "unreachable": "could not be reached",
    "rate_limited": "asked too often",
    "server_error": "the provider failed",
    "unusable_answer": "no usable answer",
    "unauthorized": "the key was refused",
    "unknown_model": "no such model",
    "quota": "the account is used up",
    "content_filter": "stopped by a filter",
    "refused": "the request was refused",
    "too_many_runs": "it made too many runs",
    "internal": "a fault of MAGI",
}
"""Short reasons for failed runs, by error code."""


def failure_cause(run: Run) -> str:
    """Return the reason why this run failed; empty if it has not failed."""
    code = (run.error or {}).get("code", "") if run.status == Run.Status.FAILED else ""
    return cause_of(code)


def cause_of(code: str) -> str:
    """Return the reason for an error code. A code of a procedure is turned into words."""
    return CAUSES.get(code, code.replace("_", " "))


def format_day(moment: datetime, now: datetime) -> str:
    """Format a day as today, yesterday, 2 Sep, or 2 Sep 2025 for another year."""
    ago = (now.date() - moment.date()).days
    if ago in (0, 1):
        return ("today", "yesterday")[ago]
    return date_format(moment, "j M" if moment.year == now.year else "j M Y")


def minutes(started: datetime | None, ended: datetime | None) -> str:
    """Format the duration as 1:05 or 12:05:00; empty until it has ended."""
    if not (started and ended):
        return ""
    whole, seconds = divmod(int((ended - started).total_seconds()), 60)
    hours, whole = divmod(whole, 60)
    return f"{hours}:{whole:02}:{seconds:02}" if hours else f"{whole}:{seconds:02}"


def format_duration(started: datetime | None, ended: datetime | None) -> str:
    """Format the duration as 1 min 05 s."""
    return format_seconds(ended - started) if started and ended else ""


def format_seconds(time: timedelta) -> str:
    minutes, seconds = divmod(int(time.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"


def came_to(outcome: str | None) -> str:
    """Return an outcome for people: the underscores of a code become spaces."""
    text = outcome or ""
    return text.replace("_", " ") if CODE.fullmatch(text) else text


def overridden(run: Run) -> str:
    """Return the last override in a sentence; empty if there is none."""
    last = last_override(run.reviews.all())
    return (
        f"{action_text(run)} by {last.by} on {date_format(last.made, 'j F Y')}: {came_to(last.outcome)}."
        if last
        else ""
    )


def action_text(run: Run) -> str:
    """Return what the last override did."""
    return "Reinstated" if run.reinstated else "Overridden"


def redacted(run: Run) -> str:
    """Return a sentence about the redaction; empty if the run is not redacted."""
    return f"Redacted on {date_format(run.redacted, 'j F Y')}: its texts were erased." if run.redacted else ""


def format_usage(calls: Sequence[ModelCall]) -> str:
    """Return tokens and, if known, cost of all attempts, and the time lost in failed attempts.

    Empty if no model was asked.
    """
    asked = _counted(calls)
    if not asked:
        return lost_time(calls)
    number = sum((call.input_tokens or 0) + (call.output_tokens or 0) for call in asked)
    spent = [format_tokens(number, any(call.estimated for call in asked)), *format_known_cost(_cost(asked))]
    return ", ".join(filter(None, [*spent, lost_time(calls)]))


def lost_time(calls: Sequence[ModelCall]) -> str:
    """Return the time lost in failed attempts, if it is a second or more."""
    lost = [call.seconds or 0.0 for call in calls if call.lost]
    time = format_seconds(timedelta(seconds=sum(lost)))
    return f"{time} lost in {counted(len(lost), 'attempt')}" if sum(lost) >= 1 else ""


def format_token_split(calls: Sequence[ModelCall]) -> list[str]:
    """Return tokens read and written, and the cost; empty if no model was asked or no input tokens are known."""
    asked = _counted(calls)
    if not asked:
        return []
    about = "about " if any(call.estimated for call in asked) else ""
    tokens_in = sum(call.input_tokens or 0 for call in asked)
    tokens_out = sum(call.output_tokens or 0 for call in asked)
    return [f"{about}{tokens_in:,} tokens in, {tokens_out:,} out", format_cost(_cost(asked))]


def format_tokens(number: int, estimated: bool) -> str:
    return f"{'about ' if estimated else ''}{number:,} tokens"


def format_known_cost(amount: int | None) -> list[str]:
    """Return the cost if it is known; only the record shows that it is unknown."""
    return [] if amount is None else [format_dollars(amount)]


def format_cost(amount: int | None) -> str:
    return "cost unknown" if amount is None else format_dollars(amount)


def _counted(calls: Sequence[ModelCall]) -> list[ModelCall]:
    return [call for call in calls if call.input_tokens is not None and not is_rehearsal(call.model)]


def _cost(calls: Sequence[ModelCall]) -> int | None:
    costs = [call.cost for call in calls]
    return None if None in costs else sum(cost or 0 for cost in costs)
