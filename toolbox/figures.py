"""Figures that no model should work out by itself: sums, today's date, units.

Why so: docs/decisions.md, Tools.
"""

import re
from collections.abc import Callable
from decimal import Context, Decimal, DecimalException, Inexact, localcontext

from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field

from engine.models import Effect
from engine.tools import Refused, Tool, Use

LONGEST, DEEPEST, DIGITS, PLACES = 1_000, 50, 60, 10
TOKEN = re.compile(r"\s*(?:(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)|([-+*/()%]))")
SIGNS = str.maketrans("−–×·÷:", "--**//")


class Calculation(BaseModel):
    model_config = ConfigDict(extra="forbid")

    expression: str = Field(min_length=1, max_length=LONGEST)


class Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Conversion(BaseModel):
    model_config = ConfigDict(extra="forbid")

    value: Decimal
    unit: str
    to: str


# ---- sums -------------------------------------------------------------------------------------------------


class _Sum:
    """A sum, read from left to right: terms, their factors, and what may stand in brackets."""

    def __init__(self, expression: str) -> None:
        self._tokens, self._place = _tokens(expression.translate(SIGNS)), 0

    @property
    def _next(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._next
        self._place += 1
        return token

    def value(self) -> Decimal:
        found = self._terms(0)
        if self._next:
            raise Refused(f"What does “{self._next}” stand for? It cannot stand there.")
        return found

    def _terms(self, depth: int) -> Decimal:
        found = self._factors(depth)
        while self._next in ("+", "-"):
            found = found + self._factors(depth) if self._take() == "+" else found - self._factors(depth)
        return found

    def _factors(self, depth: int) -> Decimal:
        found = self._signed(depth)
        while self._next in ("*", "/"):
            found = found * self._signed(depth) if self._take() == "*" else _divided(found, self._signed(depth))
        return found

    def _signed(self, depth: int) -> Decimal:
        if self._next in ("+", "-"):
            if depth >= DEEPEST:
                raise Refused(f"More than {DEEPEST} brackets or signs stand in each other.")
            return self._signed(depth + 1) if self._take() == "+" else -self._signed(depth + 1)
        found = self._number(depth)
        while self._next == "%":
            self._take()
            found /= 100
        return found

    def _number(self, depth: int) -> Decimal:
        token = self._take()
        if token == "(":  # noqa: S105 - a bracket
            if depth >= DEEPEST:
                raise Refused(f"More than {DEEPEST} brackets or signs stand in each other.")
            found = self._terms(depth + 1)
            if self._take() != ")":
                raise Refused("A bracket is not closed.")
            return found
        if not token or not (token[0].isdigit() or token[0] == "."):
            raise Refused(f"A number is missing before “{token}”." if token else "A number is missing at the end.")
        return Decimal(token.replace(",", ""))


def _tokens(expression: str) -> list[str]:
    tokens, place, end = [], 0, len(expression.rstrip())
    while place < end:
        found = TOKEN.match(expression, place)
        if not found:
            left = expression[place:].lstrip()
            raise Refused(f"“{left[:20]}” is no part of a sum. There are numbers, + − × ÷, brackets and %.")
        tokens.append(found[1] or found[2])
        place = found.end()
    return tokens


def _divided(one: Decimal, other: Decimal) -> Decimal:
    if not other:
        raise Refused("Nothing can be divided by nought.")
    return one / other


def _exact(work: Callable[[], Decimal]) -> str:
    """What it comes to in plain digits, and whether it was rounded."""
    context = Context(prec=DIGITS)
    with localcontext(context) as used:
        try:
            found = work()
            rounded = round(found, PLACES)
        except DecimalException as error:
            raise Refused("That is too large to be worked out.") from error
        inexact = bool(used.flags[Inexact]) or rounded != found
        shown = f"{rounded:f}"
    shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
    return f"{'0' if shown in ('-0', '') else shown}{' (rounded)' if inexact else ''}"


def calculate(asked: Calculation, use: Use) -> str:
    return f"{asked.expression.strip()} = {_exact(_Sum(asked.expression).value)}"


# ---- the date ---------------------------------------------------------------------------------------------


def today(asked: Nothing, use: Use) -> str:
    now = timezone.now()
    return f"{now:%A, %Y-%m-%d, %H:%M} UTC, week {now.isocalendar().week}"


# ---- units ------------------------------------------------------------------------------------------------

UNITS: dict[str, dict[str, str]] = {
    "length": {
        **{"mm": "0.001", "cm": "0.01", "m": "1", "km": "1000"},
        **{"in": "0.0254", "ft": "0.3048", "yd": "0.9144", "mi": "1609.344", "nmi": "1852"},
    },
    "mass": {"mg": "0.000001", "g": "0.001", "kg": "1", "t": "1000", "oz": "0.028349523125", "lb": "0.45359237"},
    "volume": {"ml": "0.001", "cl": "0.01", "l": "1", "m3": "1000", "gal": "3.785411784", "pt": "0.473176473"},
    "area": {"cm2": "0.0001", "m2": "1", "ha": "10000", "km2": "1000000", "ft2": "0.09290304", "acre": "4046.8564224"},
    "time": {"ms": "0.001", "s": "1", "min": "60", "h": "3600", "d": "86400", "week": "604800"},
    "data": {"B": "1", "kB": "1000", "MB": "1000000", "GB": "1000000000", "KiB": "1024", "MiB": "1048576"},
}
TO_KELVIN: dict[str, tuple[str, str, str]] = {
    "K": ("0", "1", "1"),
    "C": ("273.15", "1", "1"),
    "F": ("459.67", "5", "9"),
}


def convert(asked: Conversion, use: Use) -> str:
    if not asked.value.is_finite():
        raise Refused("That is no number.")
    unit, to = asked.unit.strip().removeprefix("°"), asked.to.strip().removeprefix("°")
    if {unit, to} <= TO_KELVIN.keys():
        return f"{asked.value} {unit} = {_exact(lambda: _temperature(asked.value, unit, to))} {to}"
    for kind in UNITS.values():
        if {unit, to} <= kind.keys():
            found = _exact(lambda kind=kind: asked.value * Decimal(kind[unit]) / Decimal(kind[to]))  # type: ignore[misc]
            return f"{asked.value} {unit} = {found} {to}"
    known = "; ".join(f"{name}: {', '.join(kind)}" for name, kind in UNITS.items())
    raise Refused(f"{asked.unit} cannot be converted to {asked.to}. Known are {known}; temperature: K, C, F.")


def _temperature(value: Decimal, unit: str, to: str) -> Decimal:
    offset, times, by = (Decimal(one) for one in TO_KELVIN[unit])
    kelvin = (value + offset) * times / by
    offset, times, by = (Decimal(one) for one in TO_KELVIN[to])
    return kelvin * by / times - offset


TOOLS = (
    Tool(
        "figures.calculate",
        "Works out a sum of decimal numbers with + − × ÷, brackets and percent: 15% is 0.15. Never do sums yourself.",
        Calculation,
        Effect.READS,
        change=calculate,
    ),
    Tool("figures.today", "Says which day and time it is now, in UTC.", Nothing, Effect.READS, change=today),
    Tool(
        "figures.convert",
        "Converts a number from one unit to another of length, mass, volume, area, time, data or temperature.",
        Conversion,
        Effect.READS,
        change=convert,
    ),
)
