"""Sums, dates and units are worked out, and never by a model."""

import contextlib
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.tools import ToolRefused, available_tools
from toolbox.calculator import CalculationArguments, ConversionArguments, NoToolArguments, calculate, convert, today


def worked_out(expression):
    return calculate(CalculationArguments(expression=expression), None).rpartition(" = ")[2]


@pytest.mark.parametrize(
    ("expression", "comes_to"),
    [
        ("1 + 2 × 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("0.1 + 0.2", "0.3"),
        ("10 − 4 − 3", "3"),
        ("100 ÷ 8 / 2", "6.25"),
        ("200 × 15%", "30"),
        ("1,200.50 + .5", "1201"),
        ("-(-3)", "3"),
        ("1 / 3", "0.3333333333 (rounded)"),
        ("1 - 1", "0"),
        ("-0", "0"),
        ("99999999999999999999 + 1", "100000000000000000000"),
        ("2^10 + 2**3 − 3²", "1023"),
        ("-2^2 + 2^3^2", "508"),
        ("sqrt(16) + √9", "7"),
        ("2 ^ 0.5", "1.4142135624 (rounded)"),
        ("round(2.345, 2) + round(2.5)", "5.35 (rounded)"),
        ("max(1; 200) − min(3, 4) + abs(-3) + sum(1, 2) + avg(1, 2)", "204.5"),
        ("15% of 80", "12"),
        ("15% + 10%", "0.25"),
    ],
)
def test_a_sum_is_worked_out(expression, comes_to):
    assert worked_out(expression) == comes_to


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("1 / 0", "Nothing can be divided by nought."),
        ("(1 + 2", "A bracket is not closed."),
        ("1 +", "A number is missing at the end."),
        ("2 (3)", "What does “(” stand for?"),
        ("__import__('os')", "“__import__('os')” is no part of a sum."),
        ("200 + 15%", "15% can mean two things behind +: write × 1.15 for a share of 200, or + 0.15 for the number."),
        ("sqrt(-1)", "A negative number has no root."),
        ("(-8)^0.5", "A negative number has no such power."),
        ("9^9999", "A power is 1,000 at most."),
        ("max(100,200)", "“100,200” can be one number or several here"),
        ("round(1, 2, 3)", "Write round(number) or round(number, places)"),
        ("cosine(2)", "“cosine” is no part of a sum."),
        ("1 2", "What does “2” stand for?"),
        ("(" * 60 + "1", "More than 50 brackets"),
        ("-" * 999 + "1", "More than 50 brackets or signs"),
        ("9" * 500 + "×" + "9" * 400, "That is too large to be worked out."),
    ],
)
def test_what_is_no_sum_is_refused_in_a_sentence(expression, sentence):
    with pytest.raises(ToolRefused, match=re.escape(sentence)):
        worked_out(expression)


@given(some.lists(some.decimals(-999, 999, places=2), min_size=1, max_size=8))
def test_a_long_sum_is_exact(numbers):
    assert Decimal(worked_out(" + ".join(f"({one})" for one in numbers))) == sum(numbers)


@given(some.text(max_size=40))
def test_whatever_is_typed_ends_in_a_figure_or_a_sentence(expression):
    with contextlib.suppress(ToolRefused):
        assert " = " in calculate(CalculationArguments.model_construct(expression=expression), None)


@pytest.mark.parametrize(
    ("value", "unit", "to", "says"),
    [
        ("10", "km", "mi", "10 km = 6.2137119224 (rounded) mi"),
        ("1", "h", "s", "1 h = 3600 s"),
        ("100", "°C", "F", "100 C = 212 F"),
        ("2", "lb", "g", "2 lb = 907.18474 g"),
        ("90", "km/h", "m/s", "90 km/h = 25 m/s"),
        ("60", "mph", "km / h", "60 mph = 96.56064 km / h"),
        ("6", "l/100km", "l/km", "6 l/100km = 0.06 l/km"),
        ("1", "g/ml", "kg/m³", "1 g/ml = 1000 kg/m³"),
        ("1", "kWh", "MJ", "1 kWh = 3.6 MJ"),
        ("10", "MB/s", "GB per h", "10 MB/s = 36 GB per h"),
    ],
)
def test_units_are_converted(value, unit, to, says):
    assert convert(ConversionArguments(value=value, unit=unit, to=to), None) == says


def test_what_cannot_be_converted_is_refused_with_what_can():
    with pytest.raises(ToolRefused, match=r"km cannot be converted to kg. Known are length: mm, cm"):
        convert(ConversionArguments(value="1", unit="km", to="kg"), None)


def test_today_is_a_day_of_the_week():
    assert re.fullmatch(r"\w+day, \d{4}-\d\d-\d\d, \d\d:\d\d UTC, week \d+", today(NoToolArguments(), None))


def test_the_toolbox_is_offered():
    assert {
        "figures.calculate",
        "figures.today",
        "figures.convert",
        "mail.draft",
        "mail.send",
    } <= available_tools().keys()
