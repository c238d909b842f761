"""Words that the pages of all runs say alike."""

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
    """How many there are; nobody counts beyond `most`."""
    if number > most:
        return f"More than {most:,} {nouns}"
    return f"1 {noun}" if number == 1 else f"{number:,} {nouns}"


def requester_label(run: Run) -> str:
    """The name of who asked, also when the account is gone; empty for the command line. What another run has made says
    which."""
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
"""Why a run failed, by the code of its error, in as few words as a list has room for."""


def failure_cause(run: Run) -> str:
    """The same of this one; empty where it has not failed."""
    code = (run.error or {}).get("code", "") if run.status == Run.Status.FAILED else ""
    return cause_of(code)


def cause_of(code: str) -> str:
    """The same of a code; one that a procedure made up is said as it is, in words."""
    return CAUSES.get(code, code.replace("_", " "))


def format_day(moment: datetime, now: datetime) -> str:
    """As in today, yesterday, 2 Sep, and 2 Sep 2025 of another year."""
    ago = (now.date() - moment.date()).days
    if ago in (0, 1):
        return ("today", "yesterday")[ago]
    return date_format(moment, "j M" if moment.year == now.year else "j M Y")


def minutes(started: datetime | None, ended: datetime | None) -> str:
    """Minutes and seconds in between, as in 1:05 or 12:05:00; empty while it has not ended."""
    if not (started and ended):
        return ""
    whole, seconds = divmod(int((ended - started).total_seconds()), 60)
    hours, whole = divmod(whole, 60)
    return f"{hours}:{whole:02}:{seconds:02}" if hours else f"{whole}:{seconds:02}"


def format_duration(started: datetime | None, ended: datetime | None) -> str:
    """The same as in 1 min 05 s."""
    return format_seconds(ended - started) if started and ended else ""


def format_seconds(time: timedelta) -> str:
    minutes, seconds = divmod(int(time.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"


def came_to(outcome: str | None) -> str:
    """An outcome as people read it: a code of several words without what joins them."""
    text = outcome or ""
    return text.replace("_", " ") if CODE.fullmatch(text) else text


def overridden(run: Run) -> str:
    """What a person decided instead, last; empty where nobody did."""
    last = last_override(run.reviews.all())
    return (
        f"{action_text(run)} by {last.by} on {date_format(last.made, 'j F Y')}: {came_to(last.outcome)}."
        if last
        else ""
    )


def action_text(run: Run) -> str:
    """What the last override of it did."""
    return "Reinstated" if run.reinstated else "Overridden"


def redacted(run: Run) -> str:
    """The sentence that says so; empty where it is not."""
    return f"Redacted on {date_format(run.redacted, 'j F Y')}: its texts were erased." if run.redacted else ""


def format_usage(calls: Sequence[ModelCall]) -> str:
    """Tokens and, where it is known, cost of all attempts so far, and the time of those that came to nothing; empty
    where no model has been asked."""
    asked = _counted(calls)
    if not asked:
        return lost_time(calls)
    number = sum((call.input_tokens or 0) + (call.output_tokens or 0) for call in asked)
    spent = [format_tokens(number, any(call.estimated for call in asked)), *format_known_cost(_cost(asked))]
    return ", ".join(filter(None, [*spent, lost_time(calls)]))


def lost_time(calls: Sequence[ModelCall]) -> str:
    """Of attempts that came to nothing, where it was a second or more."""
    lost = [call.seconds or 0.0 for call in calls if call.lost]
    time = format_seconds(timedelta(seconds=sum(lost)))
    return f"{time} lost in {counted(len(lost), 'attempt')}" if sum(lost) >= 1 else ""


def format_token_split(calls: Sequence[ModelCall]) -> list[str]:
    """The same, of what was read and of what was written; nothing where no model was asked, or none is known to have
    read anything."""
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
    """It, where it is known: the record alone says that it is not."""
    return [] if amount is None else [format_dollars(amount)]


def format_cost(amount: int | None) -> str:
    return "cost unknown" if amount is None else format_dollars(amount)


def _counted(calls: Sequence[ModelCall]) -> list[ModelCall]:
    return [call for call in calls if call.input_tokens is not None and not is_rehearsal(call.model)]


def _cost(calls: Sequence[ModelCall]) -> int | None:
    costs = [call.cost for call in calls]
    return None if None in costs else sum(cost or 0 for cost in costs)
