"""Parsing of the wait that an endpoint asks for: in headers, in fields of its error, or in the error's words."""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from django.utils import timezone

LONGEST = 366 * 86_400.0  # seconds: nobody waits for so long, and no clock counts for ever
MOST_READ = 16 * 1024  # characters of an error in which it may stand
NUMBER = r"\d{1,12}(?:\.\d{1,12})?"
SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
UNIT = r"(?:milliseconds?|millis|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)"
SPAN = rf"{NUMBER}\s*{UNIT}\b(?:[\s,]*(?:and\s+)?{NUMBER}\s*{UNIT}\b)*|(?:{NUMBER}{UNIT})+\b"
FIELD = re.compile(  # of JSON, maybe once more in a string of JSON
    rf'(?i)\\?"(?:retry_?delay|retry_?after|retry_?after_?(?P<unit>ms|seconds?|secs?|s)|estimated_time)\\?"\s*:\s*'
    rf'(?:{{\s*\\?"seconds\\?"\s*:\s*)?\\?"?(?P<number>{NUMBER})(?P<given>ms|s)?\b'
)
WORDS = re.compile(
    rf"(?i)\b(?:(?:try|retry)(?:ing)?(?:\s+\w+){{0,4}}?\s+(?:in|after)|retry.?after:?|wait(?:ing)?(?:\s+for)?(?:\s+at\s+least)?"
    rf"|available(?:\s+again)?\s+in|resets?\s+in)\s+(?:about\s+|approximately\s+|~\s*)?(?P<span>{SPAN})"
)
PART = re.compile(rf"(?i)(?P<number>{NUMBER})\s*(?P<unit>{UNIT})")
LIMITS = ("requests", "tokens", "input-tokens", "output-tokens")
OF_LIMITS = (  # names of headers, but for “reset” and “remaining”
    *(f"{prefix}ratelimit-{{}}{limit}" for prefix in ("x-", "") for limit in ("", *(f"-{name}" for name in LIMITS))),
    *(f"anthropic-ratelimit-{name}-{{}}" for name in LIMITS),
)


def named(headers: Mapping[str, str], body: str, *, limited: bool = False) -> float | None:
    """Return the seconds to wait, at most LONGEST; None if the response names none.

    `limited` says that the response is about a rate limit. Only then do the rate limit headers count, which every
    response has.
    """
    said = _header(headers)
    if said is None:
        said = in_words(body)
    if said is None and limited:
        said = _of_limits(headers)
    return None if said is None else min(said, LONGEST)


def in_words(body: str) -> float | None:
    """Return the seconds named in the first MOST_READ characters of an error's body; None if there are none."""
    beginning = body[:MOST_READ]
    if found := FIELD.search(beginning):
        milli = "ms" in ((found["unit"] or "").lower(), (found["given"] or "").lower())
        return float(found["number"]) * (0.001 if milli else 1)
    found = WORDS.search(beginning)
    return span(found["span"]) if found else None


def span(text: str) -> float | None:
    """Return the seconds of “7.66s”, “1m20s”, “2 minutes and 5 seconds”; None if there is no time in the text."""
    parts = [float(part["number"]) * _seconds(part["unit"].lower()) for part in PART.finditer(text)]
    return sum(parts) if parts else None


def _seconds(unit: str) -> float:
    return SECONDS["ms"] if unit.startswith(("ms", "mil")) else SECONDS[unit[0]]


def _header(headers: Mapping[str, str]) -> float | None:
    """Return the seconds from `Retry-After` as a number, a date or a span; None if it is none of these."""
    if (milli := _number(headers.get("retry-after-ms", ""))) is not None:
        return milli / 1000
    said = headers.get("retry-after", "")
    if (seconds := _number(said)) is not None:
        return seconds
    try:
        return max(0.0, (parsedate_to_datetime(said) - timezone.now()).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return span(said[:40]) if re.fullmatch(SPAN, said[:40].strip(), re.IGNORECASE) else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _of_limits(headers: Mapping[str, str]) -> float | None:
    """Return the longest reset of the limits that are used up; if none is marked as used up, the shortest reset."""
    used: list[float] = []
    others: list[float] = []
    for reset, left in _limits(headers):
        (used if _number(left) == 0 else others).append(reset)
    return max(used) if used else min(others, default=None)


def _limits(headers: Mapping[str, str]) -> Iterator[tuple[float, str]]:
    for name in OF_LIMITS:
        if (reset := _reset(headers.get(name.format("reset"), ""))) is not None:
            yield reset, headers.get(name.format("remaining"), "")


def _reset(text: str) -> float | None:
    """Return the seconds of a number, a span, a Unix time in seconds or milliseconds, or an ISO date."""
    now, text = timezone.now(), text.strip()[:40]
    if (number := _number(text)) is not None:
        moment = number / 1000 if number > 1e11 else number
        return max(0.0, moment - now.timestamp()) if moment > 1e9 else number
    if re.fullmatch(SPAN, text, re.IGNORECASE):
        return span(text)
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - now).total_seconds())
