"""What is sent to the pages of a long debate stays small: `tests/debates/pushes.py` says how long it takes."""

import re
from pathlib import Path

import pytest

from debates.page.display import NOT_REPLAYED, STATUS
from tests.acceptance.site import ROOT
from tests.debates.pushes import weigh

pytestmark = pytest.mark.django_db

LARGEST, LARGEST_AT_FIRST = 8_000, 30_000  # bytes
LONGEST = 5.0 * 6  # milliseconds of the processor; a machine that has much else to do takes some times as many


def test_a_push_at_message_200_is_small(mira):
    found = weigh(mira, again=1)
    assert [one for one in (found.said, found.changed, found.grown) if one.size > LARGEST] == []
    assert found.connected <= LARGEST_AT_FIRST
    assert found.grown.size < 1_500


@pytest.mark.slow  # it measures
def test_a_push_at_message_200_is_soon_made(mira):
    found = weigh(mira, again=5)
    assert [one for one in (found.said, found.changed, found.grown) if one.milliseconds > LONGEST] == []


def test_a_part_that_is_drawn_of_some_fields_shows_no_others():
    for name, fields in (*STATUS.items(), *NOT_REPLAYED.items()):
        [template] = [path for room in ("debates", "runs") if (path := _template(room, name)).exists()]
        assert set(re.findall(r"display\.(\w+)", template.read_text())) <= set(fields), name


def _template(room: str, name: str) -> Path:
    return ROOT / "templates" / room / "fragments" / f"_{name}.html"
