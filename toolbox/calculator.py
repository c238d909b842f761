"""Tools for what models compute badly: sums, today's date, conversion of units.

Why so: engine/DESIGN.md, Tools.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException, Inexact, localcontext
from fractions import Fraction

from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field

from engine.models import Effect
from engine.tools import Tool, ToolRefused, ToolUse

from .agent_step import SUM_EXAMPLE

LONGEST, DEEPEST, DIGITS, PLACES = 1_000, 50, 60, 10
TOKEN_PATTERN = re.compile(
    r"\s*(?:(\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)|([-+*/^(),;%√]|[a-z]+))", re.ASCII
)
SIGNS = str.maketrans({**dict(zip("−–×·⋅÷:", "--***//", strict=True)), "²": "^2", "³": "^3", "\u00a0": " "})
MOST_POWER = 1_000
PARTS = "There are numbers, + − × ÷ ^, brackets, %, and sqrt, round, abs, min, max, sum and avg."


class CalculationArguments(BaseModel):
    model_config = ConfigDict(title="Calculation", extra="forbid")

    expression: str = Field(min_length=1, max_length=LONGEST)


class NoToolArguments(BaseModel):
    model_config = ConfigDict(title="Nothing", extra="forbid")


class ConversionArguments(BaseModel):
    model_config = ConfigDict(title="Conversion", extra="forbid")

    value: Decimal
    unit: str
    to: str


# ---- sums -------------------------------------------------------------------------------------------------


class _SumParser:
    """Recursive descent parser that evaluates an expression: terms, factors, powers, numbers and functions."""

    def __init__(self, expression: str) -> None:
        self._tokens, self._place = _tokens(expression.lower().translate(SIGNS).replace("**", "^")), 0
        self._percent = False  # whether the last operand was a plain percentage

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
            raise ToolRefused(f"What does “{self._next}” stand for? It cannot stand there.")
        return found

    def _terms(self, depth: int) -> Decimal:
        found = self._factors(depth)
        while self._next in ("+", "-"):
            of_one, sign = self._percent, self._take()
            other = self._factors(depth) * (1 if sign == "+" else -1)
            if self._percent and not of_one and other not in (found * other, 0):
                raise ToolRefused(_two_meanings(found, other))
            found, self._percent = found + other, of_one and self._percent
        return found

    def _factors(self, depth: int) -> Decimal:
        found = self._signed(depth)
        while self._next in ("*", "/", "of"):
            found = _divided(found, self._signed(depth)) if self._take() == "/" else found * self._signed(depth)
            self._percent = False
        return found

    def _signed(self, depth: int) -> Decimal:
        if self._next in ("+", "-"):
            sign = self._take()
            return self._signed(_deeper(depth)) * (1 if sign == "+" else -1)
        return self._power(depth)

    def _power(self, depth: int) -> Decimal:
        """Evaluate powers from the right: 2^3^2 is 2^9, and -2^2 is -4."""
        found, self._percent = self._number(depth), False
        if self._next == "^":
            self._take()
            found = _raised(found, self._signed(_deeper(depth)))
        while self._next == "%":
            self._take()
            found, self._percent = found / 100, True
        return found

    def _number(self, depth: int) -> Decimal:
        token = self._take()
        if token == "(":  # noqa: S105 - a bracket
            found = self._terms(_deeper(depth))
            if self._take() != ")":
                raise ToolRefused("A bracket is not closed.")
            return found
        if token == "√":  # noqa: S105 - a root
            return _root(self._number(_deeper(depth)))
        if token in FUNCTIONS:
            return self._function(token, _deeper(depth))
        if token.isalpha():
            raise ToolRefused(f"“{token}” is no part of a sum. {PARTS}")
        if not token or not (token[0].isdigit() or token[0] == "."):
            raise ToolRefused(f"A number is missing before “{token}”." if token else "A number is missing at the end.")
        return Decimal(token.replace(",", ""))

    def _function(self, name: str, depth: int) -> Decimal:
        if self._take() != "(":
            raise ToolRefused(f"Write {name} with a bracket behind it, as in {name}(2).")
        begun = self._place
        given = [self._terms(depth)]
        while self._next in (",", ";"):
            self._take()
            given.append(self._terms(depth))
        if self._take() != ")":
            raise ToolRefused("A bracket is not closed.")
        if doubtful := next((one for one in self._tokens[begun : self._place] if "," in one[1:]), ""):
            raise ToolRefused(
                f"“{doubtful}” can be one number or several here: write numbers of {name} without commas."
            )
        return FUNCTIONS[name](given)


def _tokens(expression: str) -> list[str]:
    tokens, place, end = [], 0, len(expression.rstrip())
    while place < end:
        found = TOKEN_PATTERN.match(expression, place)
        if not found:
            left = expression[place:].lstrip()
            raise ToolRefused(f"“{left[:20]}” is no part of a sum. {PARTS}")
        tokens.append(found[1] or found[2])
        place = found.end()
    return tokens


def _divided(one: Decimal, other: Decimal) -> Decimal:
    if not other:
        raise ToolRefused("Nothing can be divided by nought.")
    return one / other


def _deeper(depth: int) -> int:
    if depth >= DEEPEST:
        raise ToolRefused(f"More than {DEEPEST} brackets or signs stand in each other.")
    return depth + 1


def _two_meanings(found: Decimal, percent: Decimal) -> str:
    sign, share = ("+", percent) if percent > 0 else ("−", -percent)
    return (
        f"{_plain(share * 100)}% can mean two things behind {sign}: write × {_plain(1 + percent)} for a share of "
        f"{_plain(found)}, or {sign} {_plain(share)} for the number."
    )


def _raised(base: Decimal, power: Decimal) -> Decimal:
    if abs(power) > MOST_POWER:
        raise ToolRefused(f"A power is {MOST_POWER:,} at most.")
    if base < 0 and power != power.to_integral_value():
        raise ToolRefused("A negative number has no such power.")
    if base == 0 and power <= 0:
        raise ToolRefused("Nought has no such power.")
    return base**power


def _root(of: Decimal) -> Decimal:
    if of < 0:
        raise ToolRefused("A negative number has no root.")
    return of.sqrt()


def _rounded(given: Sequence[Decimal]) -> Decimal:
    """Round half up, as people do; a second argument is the number of decimal places."""
    of, places = (*given, Decimal(0))[:2]
    if len(given) > 2 or places != places.to_integral_value() or not -PLACES <= places <= PLACES:
        raise ToolRefused(f"Write round(number) or round(number, places), with {PLACES} places at most.")
    return of.quantize(Decimal(1).scaleb(-int(places)), rounding=ROUND_HALF_UP)


def _of_one(name: str, work: Callable[[Decimal], Decimal]) -> Callable[[Sequence[Decimal]], Decimal]:
    def worked(given: Sequence[Decimal]) -> Decimal:
        if len(given) != 1:
            raise ToolRefused(f"{name} takes one number, and this has {len(given)}.")
        return work(given[0])

    return worked


FUNCTIONS: dict[str, Callable[[Sequence[Decimal]], Decimal]] = {
    "sqrt": _of_one("sqrt", _root),
    "abs": _of_one("abs", abs),
    "round": _rounded,
    "min": min,
    "max": max,
    "sum": lambda given: sum(given, Decimal(0)),
    "avg": lambda given: sum(given, Decimal(0)) / len(given),
}


def _plain(number: Decimal) -> str:
    shown = f"{number:f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def _exact(work: Callable[[], Decimal]) -> str:
    """Return the result in plain digits, with a note if it was rounded."""
    context = Context(prec=DIGITS)
    with localcontext(context) as used:
        try:
            found = work()
            rounded = round(found, PLACES)
        except DecimalException as error:
            raise ToolRefused("That is too large to be worked out.") from error
        inexact = bool(used.flags[Inexact]) or rounded != found
        shown = _plain(rounded)
    return f"{'0' if shown in ('-0', '') else shown}{' (rounded)' if inexact else ''}"


def calculate(asked: CalculationArguments, use: ToolUse) -> str:
    return f"{asked.expression.strip()} = {_exact(_SumParser(asked.expression).value)}"


# ---- the date ---------------------------------------------------------------------------------------------


def today(asked: NoToolArguments, use: ToolUse) -> str:
    now = timezone.now()
    return f"{now:%A, %Y-%m-%d, %H:%M} UTC, week {now.isocalendar().week}"


# ---- units ------------------------------------------------------------------------------------------------

Dimensions = Mapping[str, int]

UNITS: dict[str, dict[str, str]] = {
    "length": {
        **{"mm": "0.001", "cm": "0.01", "m": "1", "km": "1000"},
        **{"in": "0.0254", "ft": "0.3048", "yd": "0.9144", "mi": "1609.344", "nmi": "1852"},
    },
    "mass": {"mg": "0.000001", "g": "0.001", "kg": "1", "t": "1000", "oz": "0.028349523125", "lb": "0.45359237"},
    "volume": {"ml": "0.001", "cl": "0.01", "l": "1", "m3": "1000", "gal": "3.785411784", "pt": "0.473176473"},
    "area": {"cm2": "0.0001", "m2": "1", "ha": "10000", "km2": "1000000", "ft2": "0.09290304", "acre": "4046.8564224"},
    "time": {"ms": "0.001", "s": "1", "min": "60", "h": "3600", "d": "86400", "week": "604800"},
    "speed": {"mph": "0.44704", "kph": "5/18", "kn": "463/900"},
    "energy": {
        "J": "1",
        "kJ": "1000",
        "MJ": "1000000",
        "kcal": "4184",
        "Wh": "3600",
        "kWh": "3600000",
        "MWh": "3600000000",
    },
    "power": {"W": "1", "kW": "1000", "MW": "1000000"},
    "pressure": {"Pa": "1", "hPa": "100", "kPa": "1000", "bar": "100000"},
    "data": {"B": "1", "kB": "1000", "MB": "1000000", "GB": "1000000000", "KiB": "1024", "MiB": "1048576"},
}
IN_METRES = {"volume": Fraction(1, 1000)}  # UNITS has litres; dimensions are in cubic metres
LONGEST_UNIT = 40
OF_KIND: dict[str, Dimensions] = {
    "length": {"m": 1},
    "mass": {"kg": 1},
    "volume": {"m": 3},
    "area": {"m": 2},
    "time": {"s": 1},
    "speed": {"m": 1, "s": -1},
    "energy": {"kg": 1, "m": 2, "s": -2},
    "power": {"kg": 1, "m": 2, "s": -3},
    "pressure": {"kg": 1, "m": -1, "s": -2},
    "data": {"B": 1},
}
_PIECE = re.compile(r"([1-9]\d{0,5})?([A-Za-z]+[23]?)", re.ASCII)
_RAISED_UNITS = str.maketrans({"²": "2", "³": "3", "^": "", "·": "*", "⋅": "*", " ": "", "µ": "u"})
TO_KELVIN: dict[str, tuple[str, str, str]] = {
    "K": ("0", "1", "1"),
    "C": ("273.15", "1", "1"),
    "F": ("459.67", "5", "9"),
}


def convert(asked: ConversionArguments, use: ToolUse) -> str:
    if not asked.value.is_finite():
        raise ToolRefused("That is no number.")
    unit, to = asked.unit.strip().removeprefix("°"), asked.to.strip().removeprefix("°")
    if {unit, to} <= TO_KELVIN.keys():
        return f"{asked.value} {unit} = {_exact(lambda: _temperature(asked.value, unit, to))} {to}"
    one, other = _measured(unit), _measured(to)
    if one and other and one[1] == other[1]:
        times = one[0] / other[0]
        found = _exact(lambda: asked.value * times.numerator / times.denominator)
        return f"{asked.value} {unit} = {found} {to}"
    known = "; ".join(f"{name}: {', '.join(kind)}" for name, kind in UNITS.items())
    more = "temperature: K, C, F. Others are made of these, as in km/h, kg/m3 or l/100km"
    raise ToolRefused(f"{asked.unit} cannot be converted to {asked.to}. Known are {known}; {more}.")


def _measured(unit: str) -> tuple[Fraction, Dimensions] | None:
    """Return the factor of a unit relative to the base units, and its dimensions; None if it is no known unit."""
    dimensions, size = Counter[str](), Fraction(1)
    for number, part in enumerate(unit[:LONGEST_UNIT].translate(_RAISED_UNITS).replace("per", "/").split("/")):
        sign = -1 if number else 1
        for piece in part.split("*"):
            found = _PIECE.fullmatch(piece)
            kind = next((name for name, units in UNITS.items() if found and found[2] in units), "")
            if not found or not kind:
                return None
            size *= (Fraction(found[1] or 1) * Fraction(UNITS[kind][found[2]]) * IN_METRES.get(kind, 1)) ** sign
            dimensions.update({name: power * sign for name, power in OF_KIND[kind].items()})
    return size, {name: power for name, power in dimensions.items() if power}


def _temperature(value: Decimal, unit: str, to: str) -> Decimal:
    offset, times, by = (Decimal(one) for one in TO_KELVIN[unit])
    kelvin = (value + offset) * times / by
    offset, times, by = (Decimal(one) for one in TO_KELVIN[to])
    return kelvin * by / times - offset


TOOLS = (
    Tool(
        "figures.calculate",
        "Works out decimal numbers with + − × ÷ ^, brackets, percent ("
        f"{SUM_EXAMPLE}) and sqrt, round, abs, min, max, sum, avg: round(2/3, 2). Never do sums yourself.",
        CalculationArguments,
        Effect.READS,
        change=calculate,
    ),
    Tool("figures.today", "Says which day and time it is now, in UTC.", NoToolArguments, Effect.READS, change=today),
    Tool(
        "figures.convert",
        "Converts a number from one unit to another: of length, mass, volume, area, time, speed, energy, power, "
        "pressure, data or temperature, or made of these, as km/h to m/s.",
        ConversionArguments,
        Effect.READS,
        change=convert,
    ),
)
