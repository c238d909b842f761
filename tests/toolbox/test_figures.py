"""Sums, dates and units are worked out, and never by a model."""

import contextlib
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.tools import Refused, tools
from toolbox.figures import Calculation, Conversion, Nothing, calculate, convert, today


def worked_out(expression):
    return calculate(Calculation(expression=expression), None).rpartition(" = ")[2]


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
        ("1 2", "What does “2” stand for?"),
        ("(" * 60 + "1", "More than 50 brackets"),
        ("-" * 999 + "1", "More than 50 brackets or signs"),
        ("9" * 500 + "×" + "9" * 400, "That is too large to be worked out."),
    ],
)
def test_what_is_no_sum_is_refused_in_a_sentence(expression, sentence):
    with pytest.raises(Refused, match=re.escape(sentence)):
        worked_out(expression)


@given(some.lists(some.decimals(-999, 999, places=2), min_size=1, max_size=8))
def test_a_long_sum_is_exact(numbers):
    assert Decimal(worked_out(" + ".join(f"({one})" for one in numbers))) == sum(numbers)


@given(some.text(max_size=40))
def test_whatever_is_typed_ends_in_a_figure_or_a_sentence(expression):
    with contextlib.suppress(Refused):
        assert " = " in calculate(Calculation.model_construct(expression=expression), None)


@pytest.mark.parametrize(
    ("value", "unit", "to", "says"),
    [
        ("10", "km", "mi", "10 km = 6.2137119224 (rounded) mi"),
        ("1", "h", "s", "1 h = 3600 s"),
        ("100", "°C", "F", "100 C = 212 F"),
        ("2", "lb", "g", "2 lb = 907.18474 g"),
    ],
)
def test_units_are_converted(value, unit, to, says):
    assert convert(Conversion(value=value, unit=unit, to=to), None) == says


def test_what_cannot_be_converted_is_refused_with_what_can():
    with pytest.raises(Refused, match=r"km cannot be converted to kg. Known are length: mm, cm"):
        convert(Conversion(value="1", unit="km", to="kg"), None)


def test_today_is_a_day_of_the_week():
    assert re.fullmatch(r"\w+day, \d{4}-\d\d-\d\d, \d\d:\d\d UTC, week \d+", today(Nothing(), None))


def test_the_toolbox_is_offered():
    assert {"figures.calculate", "figures.today", "figures.convert", "mail.draft", "mail.send"} <= tools().keys()
