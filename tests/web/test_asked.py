"""A few questions of each kind, asked on the made-up web; `python -m tests.web.asked` asks all 60."""

import pytest

from tests.web.asked import asked
from tests.web.wide import Wide
from tests.web.world import NOWHERE, PAGES, world

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def web():
    with Wide() as started:
        yield started


def chosen():
    """One of each kind, traps among them."""
    return list({one.kind: one for one in world().questions}.values())


def test_the_web_is_as_large_as_it_says():
    made = world()
    assert (len(made.pages), len(made.questions), len({one.text for one in made.questions})) == (PAGES, 60, 60)
    assert sum(not one.answer for one in made.questions) == NOWHERE


def test_each_kind_of_question_is_answered_rightly_or_rightly_not(web):
    result = asked(web, chosen(), 0.0)
    assert result.fine, str(result)
    assert (result.right, result.rightly_not) == (len(chosen()) - 1, 1)


def test_whatever_a_model_does_wrong_no_false_quote_is_taken(web):
    result = asked(web, chosen()[:6], 0.4)
    assert result.fine, str(result)
    assert sum(result.ends.values()) == 6
