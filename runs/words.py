"""Words that the pages of all runs say alike."""

import re
from datetime import datetime, timedelta

from django.utils.dateformat import format as date_format

from engine.models import Run, last_override

CODE = re.compile("[a-z]+(?:_[a-z]+)+")


def shown_name(user: object) -> str:
    return str(getattr(user, "get_full_name", str)() or user) if user else ""


def counted(number: int, most: int, noun: str, nouns: str) -> str:
    """How many there are; nobody counts beyond `most`."""
    if number > most:
        return f"More than {most:,} {nouns}"
    return f"1 {noun}" if number == 1 else f"{number:,} {nouns}"


def asked_by(run: Run) -> str:
    """The name of who asked, also when the account is gone; empty for the command line. What another run has made says
    which."""
    return run.asked_by if run.parent_id else shown_name(run.owner) or run.asked_by


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


def cause(run: Run) -> str:
    """The same of this one; empty where it has not failed."""
    code = (run.error or {}).get("code", "") if run.status == Run.Status.FAILED else ""
    return cause_of(code)


def cause_of(code: str) -> str:
    """The same of a code; one that a procedure made up is said as it is, in words."""
    return CAUSES.get(code, code.replace("_", " "))


def day(moment: datetime, now: datetime) -> str:
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


def took(started: datetime | None, ended: datetime | None) -> str:
    """The same as in 1 min 05 s."""
    return lasting(ended - started) if started and ended else ""


def lasting(time: timedelta) -> str:
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
    return f"{deed(run)} by {last.by} on {date_format(last.made, 'j F Y')}: {came_to(last.outcome)}." if last else ""


def deed(run: Run) -> str:
    """What the last override of it did."""
    return "Reinstated" if run.reinstated else "Overridden"


def redacted(run: Run) -> str:
    """The sentence that says so; empty where it is not."""
    return f"Redacted on {date_format(run.redacted, 'j F Y')}: its texts were erased." if run.redacted else ""
